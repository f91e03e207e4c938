from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ckptplan.fit.rate import gamma_posterior, mtbf_confidence

RECORDS = 2_000


@pytest.mark.parametrize(
    ("hours", "failures", "mle", "low", "high"),
    [
        (1296, 419, 3.093078759, 2.810634096, 3.411999537),
        (1000, 3, 333.3333333, 114.0605513, 1616.365055),
        (500, 0, np.inf, 166.9041003, np.inf),
    ],
)
def test_reference_intervals(hours, failures, mle, low, high):
    """Time-truncated 95 % intervals equal the reference; without a failure only the lower limit is finite."""
    np.testing.assert_allclose(mtbf_confidence(hours, failures, 0.95), (mle, low, high), rtol=1e-9)


def test_reference_posterior():
    """Three failures in 1,000 h with the prior of Jeffreys give the reference."""
    posterior = gamma_posterior(1000, 3, prior_shape=0.5, prior_exposure=0, level=0.9)
    np.testing.assert_allclose(posterior, (0.0035, 285.7142857, 142.1753061, 922.7859292), rtol=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_limits_are_chi_squared_quantiles(level):
    """Both kinds of interval equal 2t over the quantiles of scipy, over a whole array of counts."""
    k, tail = np.arange(1.0, 200.0), (1 - level) / 2
    for until_failure, more in ((False, 2), (True, 0)):
        c = mtbf_confidence(7.0, k, level, until_failure=until_failure)
        np.testing.assert_allclose(c.low, 14 / stats.chi2.ppf(1 - tail, 2 * k + more), rtol=1e-11)
        np.testing.assert_allclose(c.high, 14 / stats.chi2.ppf(tail, 2 * k), rtol=1e-11)


def test_posterior_limits_are_gamma_quantiles():
    """A given prior adds its failures and its time."""
    p = gamma_posterior(100.0, 4, 2.0, 30.0, 0.8)
    rate = stats.gamma(6.0, scale=1 / 130.0)
    np.testing.assert_allclose(p, (rate.mean(), 1 / rate.mean(), 1 / rate.ppf(0.9), 1 / rate.ppf(0.1)), rtol=1e-11)


def exact_coverage(expected: float) -> float:
    """Probability that the 95 % interval of a Poisson count of a given mean holds the truth."""
    k = np.arange(600.0)
    c = mtbf_confidence(expected, k)
    return float(stats.poisson.pmf(k, expected)[(c.low <= 1.0) & (c.high >= 1.0)].sum())


@pytest.mark.parametrize("expected", [3, 10, 100])
def test_coverage_over_a_fixed_time(expected):
    """Of 2,000 records of a fixed length the 95 % interval covers the true MTBF in 93 to 98 %, as many as it must."""
    counts = np.random.default_rng(20261130).poisson(expected, RECORDS)
    c = mtbf_confidence(float(expected), counts)
    covered = np.mean((c.low <= 1.0) & (c.high >= 1.0))
    assert 0.93 <= covered <= 0.98
    exact = exact_coverage(expected)
    assert covered == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / RECORDS))


@pytest.mark.parametrize("failures", [3, 10, 100])
def test_coverage_until_a_failure(failures):
    """Counting until failure k the interval covers with exactly its level."""
    exposure = np.random.default_rng(7).exponential(1.0, (RECORDS, failures)).sum(axis=1)
    c = mtbf_confidence(exposure, failures, until_failure=True)
    covered = np.mean((c.low <= 1.0) & (c.high >= 1.0))
    assert 0.93 <= covered <= 0.98
    assert covered == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / RECORDS))


def test_coverage_has_one_dip():
    """It is at least the level, but just above three expected failures an empty record excludes the truth."""
    away = np.concatenate([np.linspace(0.05, 2.99, 60), np.linspace(3.69, 30, 200)])
    assert min(map(exact_coverage, away)) >= 0.95
    dip = [exact_coverage(mean) for mean in np.linspace(2.9958, 3.68, 60)]
    assert min(dip) == pytest.approx(0.9382, abs=1e-4)
    # Had the limit of the empty record been two-sided, nothing would be missing: exp(-mean) is its probability.
    assert min(c + np.exp(-m) for c, m in zip(dip, np.linspace(2.9958, 3.68, 60), strict=True)) >= 0.95


def test_posterior_coverage_under_its_prior():
    """For rates drawn from the prior the 90 % limits hold the truth in 90 % of records."""
    rng = np.random.default_rng(3)
    rate = rng.gamma(2.0, 1 / 50.0, RECORDS)
    p = gamma_posterior(200.0, rng.poisson(200.0 * rate), 2.0, 50.0, 0.9)
    covered = np.mean((p.mtbf_low <= 1 / rate) & (1 / rate <= p.mtbf_high))
    assert covered == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / RECORDS))


@pytest.mark.parametrize("bad", [(0, 3, 0.95), (-1, 3, 0.95), (1, -1, 0.95), (1, 3, 0), (1, 3, 1), (np.nan, 3, 0.95)])
def test_invalid_is_nan(bad):
    """Input outside the domain is nan in every field."""
    assert np.isnan(mtbf_confidence(*bad)).all()


def test_invalid_posterior_is_nan():
    """A posterior that is no distribution, and a count until a failure that never came, are nan."""
    assert np.isnan(gamma_posterior(100, 0, 0.0, 0.0)).all()
    assert np.isnan(gamma_posterior(0, 1, 0.5, 0.0)).all()
    assert np.isnan(gamma_posterior(1, 1, level=1.0)).all()
    assert np.isnan(mtbf_confidence(100, 0, until_failure=True)).all()

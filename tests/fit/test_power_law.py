from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from ckptplan.fit.power_law import cramer_von_mises, exact_mtbf, power_law
from tests.fit.laws_in_numbers import REPAIRS, within

RECORDS = 600


def test_repair_times_of_nist():
    """NIST 8.4.5.2: b 0.483506, a 0.2913003, MTBF at 1,500 h 310.234 h, 80 % limits 157.7138 and 548.5566 h."""
    found = power_law(REPAIRS, 1500.0, level=0.8)
    assert found.shape_modified == pytest.approx(0.483506, abs=5e-7)
    assert found.scale_modified == pytest.approx(0.2913003, abs=5e-8)
    assert found.mtbf_at_end == pytest.approx(310.234, abs=5e-4)
    assert (found.mtbf_low, found.mtbf_high) == pytest.approx((157.7138, 548.5566), abs=5e-5)
    assert found.growth == pytest.approx(1 - 0.483506, abs=5e-7)


def test_most_likely_values_and_exact_limits_of_the_shape():
    """The shape is n over the summed logs, a t^b is n at the end, and limits and test are chi-squared."""
    s, found = np.log(1500 / REPAIRS).sum(), power_law(REPAIRS, 1500.0)
    assert found.shape == pytest.approx(10 / s)
    assert found.scale * 1500**found.shape == pytest.approx(10)
    np.testing.assert_allclose(
        (found.shape_low, found.shape_high), stats.chi2.ppf([0.025, 0.975], 20) / (2 * s), rtol=1e-10
    )
    assert found.trend_p_value == pytest.approx(2 * stats.chi2.sf(2 * s, 20))


def test_until_a_failure_there_is_one_less():
    """The failure that ends the observation is no evidence of where failures fall: n - 2 and 2n - 2 take over."""
    s, found = np.log(1478 / REPAIRS).sum(), power_law(REPAIRS, 1478.0, until_failure=True)
    assert found.shape_modified == pytest.approx(8 / s)
    np.testing.assert_allclose(found.shape_low, stats.chi2.ppf(0.025, 18) / (2 * s), rtol=1e-10)
    assert (found.mtbf_low, found.mtbf_high) == (found.mtbf_exact_low, found.mtbf_exact_high)


@pytest.mark.parametrize("n", [1, 2, 10, 60])
def test_exact_limits_leave_their_tails(n):
    """At the limits n failures or fewer, and n or more, have 2.5 %, by Bessel functions of 30 digits."""
    low, high = exact_mtbf(n, 4.0, 1.0, 0.95)
    with mp.workdps(30):
        for limit, tail in ((low, lambda k: k <= n), (high, lambda k: k >= n)):
            if not np.isfinite(limit):
                continue
            x = mp.mpf(4) / limit
            whole = mp.sqrt(x) * mp.besseli(1, 2 * mp.sqrt(x))
            below = [x**k / (mp.factorial(k) * mp.factorial(k - 1)) for k in range(1, n + 1)]
            at_most = mp.fsum(below) / whole
            share = at_most if tail(0) else 1 - at_most + below[-1] / whole
            assert float(share) == pytest.approx(0.025, rel=1e-8)
    assert (high == np.inf) == (n == 1)


@pytest.mark.parametrize("b", [0.6, 1.5])
@pytest.mark.parametrize("expected", [10, 60])
def test_coverage_over_a_fixed_time(b, expected):
    """Of 600 records the 95 % interval of b covers in 95 %; those of the MTBF at the end cover at least that."""
    rng = np.random.default_rng(20261130)
    shape, crow, exact = 0, 0, 0
    for _ in range(RECORDS):
        found = power_law(rng.random(max(2, rng.poisson(expected))) ** (1 / b), 1.0)
        mtbf = 1 / (b * expected)
        shape += found.shape_low <= b <= found.shape_high
        crow += found.mtbf_low <= mtbf <= found.mtbf_high
        exact += found.mtbf_exact_low <= mtbf <= found.mtbf_exact_high
    assert within(shape / RECORDS, 0.95, RECORDS)
    assert min(crow, exact) / RECORDS >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / RECORDS)


def test_coverage_until_a_failure():
    """Counting until failure 6 the interval of the MTBF at that moment covers in exactly 95 % of 600 records."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(RECORDS):
        t = np.cumsum(rng.exponential(1.0, 6)) ** 2  # b = 1/2: expected failures are the square root of t
        found = power_law(t, t[-1], until_failure=True)
        held += found.mtbf_low <= 2 * np.sqrt(t[-1]) <= found.mtbf_high
    assert within(held / RECORDS, 0.95, RECORDS)


@pytest.mark.parametrize(("b", "power"), [(0.6, 0.96), (1.5, 0.80)])
def test_a_trend_is_found(b, power):
    """Of records with 50 failures on average the test finds b = 0.6 in 96 % and b = 1.5 in 80 %."""
    rng = np.random.default_rng(7)
    found = [power_law(rng.random(rng.poisson(50)) ** (1 / b), 1.0).trend_p_value < 0.05 for _ in range(400)]
    assert within(np.mean(found), power, 400)


def test_no_trend_is_not_found():
    """Of 1,000 records of constant rate the test, which is exact, calls 5 % a trend."""
    rng = np.random.default_rng(8)
    found = [power_law(rng.random(20), 1.0).trend_p_value < 0.05 for _ in range(1000)]
    assert within(np.mean(found), 0.05, 1000)


@pytest.mark.parametrize(("m", "critical"), [(5, 0.160), (10, 0.167), (20, 0.169), (60, 0.171)])
def test_cramer_von_mises_agrees_with_the_published_table(m, critical):
    """At the critical values of MIL-HDBK-189 for 10 % the p-value is 10 %, within the error of the drawn law."""
    middle = (np.arange(m) + 0.5) / m
    away = np.sqrt((critical - 1 / (12 * m)) / m)
    statistic, p_value = cramer_von_mises(middle + away)
    assert statistic == pytest.approx(critical)
    assert p_value == pytest.approx(0.1, abs=0.02)


def test_a_wrong_form_is_found():
    """A rate that is high in the middle is no power law."""
    t = np.concatenate([np.linspace(0.01, 0.4, 5), np.linspace(0.4, 0.6, 60), np.linspace(0.6, 1.0, 5)])
    assert power_law(t, 1.0).fit_p_value < 0.01
    assert power_law(np.linspace(0.02, 0.98, 40) ** 2, 1.0).fit_p_value > 0.1


def test_few_failures():
    """One or two failures give limits and a note, not a trend; none gives nothing; one at the start is left out."""
    none, one, three = power_law([], 9.0), power_law([4.0], 9.0), power_law([2.0, 4.0, 5.0], 9.0)
    assert np.isnan(none.shape)
    assert np.isnan(one.mtbf_at_end)
    assert one.mtbf_exact_low > 0
    assert none.note
    assert one.note
    assert not three.note
    assert three.shape_modified > 0
    start = power_law([0.0, 2.0, 4.0, 5.0], 9.0)
    assert start.note.startswith("1 failures")
    assert start.shape == three.shape


def test_a_million_failures():
    """A million instants have limits that agree with each other and with the truth."""
    found = power_law(np.random.default_rng(1).random(1_000_000) ** 2, 1.0)
    assert found.mtbf_low < 2e-6 < found.mtbf_high
    assert found.mtbf_low == pytest.approx(found.mtbf_exact_low, rel=1e-5)
    assert found.mtbf_high == pytest.approx(found.mtbf_exact_high, rel=1e-5)

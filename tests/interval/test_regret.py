from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.regret import (
    expected_regret_after_failures,
    posterior_regret,
    regret_exact,
    regret_ratio_first_order,
)


@pytest.mark.parametrize(("ratio", "expected"), [(2, 1.060660172), (4, 1.25), (10, 1.739252713), (1, 1.0)])
def test_reference_ratio(ratio, expected):
    """An MTBF wrong by a factor costs the same in both directions: 6 % for 2, 25 % for 4, 74 % for 10."""
    assert regret_ratio_first_order(ratio) == pytest.approx(expected, rel=1e-9)
    assert regret_ratio_first_order(1 / ratio) == pytest.approx(expected, rel=1e-9)


def test_reference_exact_regret():
    """Planning with four times the true MTBF loses 2.27 points."""
    r = regret_exact(60, 11135.0835322, 44540.3341289, restart=600)
    np.testing.assert_allclose(r, (2272.065241, 0.8298646019, 0.8525507844, 0.02268618252), rtol=1e-9)


def test_exact_regret_tends_to_first_order():
    """For a stall far below the MTBF the lost goodput is the first-order excess of the overhead."""
    r = regret_exact(1e-6, 1.0, 3.0)
    assert r.regret == pytest.approx(np.sqrt(2e-6) * (regret_ratio_first_order(3.0) - 1), rel=5e-3)


def test_a_floor_that_binds_both_plans_leaves_no_regret():
    """Where the flush sets the interval, the MTBF assumed does not matter."""
    assert regret_exact(5, 11135, 5000, flush=3000).regret == 0


@pytest.mark.parametrize(("failures", "expected"), [(1, 0.3293403882), (5, 0.02953619254)])
def test_reference_expected_regret(failures, expected):
    """The expected regret after k failures equals the reference."""
    assert expected_regret_after_failures(failures) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("failures", [1, 2.5, 9, 15.9, 16, 40, 1e4, 1e8])
def test_expected_regret_against_40_digits(failures):
    """Full precision for any count, although the ratio differs from 1 in the last digits only."""
    with mp.workdps(40):
        k = mp.mpf(failures)
        exact = (mp.gammaprod([k + 0.5], [k]) / mp.sqrt(k) + mp.sqrt(k) * mp.gammaprod([k - 0.5], [k])) / 2 - 1
        assert expected_regret_after_failures(failures) == pytest.approx(float(exact), rel=1e-11)


def test_expected_regret_is_an_eighth_of_one_over_k():
    """It falls as 1/(8k), and means nothing below one failure."""
    k = np.array([100.0, 1e4, 1e6])
    np.testing.assert_allclose(expected_regret_after_failures(k) * 8 * k, 1.0, rtol=1e-2)
    assert np.isnan(expected_regret_after_failures([0.0, 0.9, np.nan])).all()


@pytest.mark.parametrize(
    ("failures", "exposure", "shape", "time"), [(3, 4e4, 0.5, 0), (0, 0, 1, 11135), (9, 1e5, 1, 1e4)]
)
def test_posterior_regret_against_quadrature(failures, exposure, shape, time):
    """The expected loss equals the integral of the loss for each true rate over the posterior."""
    a, b = failures + shape, exposure + time
    W = np.sqrt(2 * 60 * b / a)
    rate = stats.gamma(a, scale=1 / b)

    def loss(r):
        return (60 / W + r * W / 2 - np.sqrt(120 * r)) * rate.pdf(r)

    expected, _ = integrate.quad(loss, 0, rate.ppf(1 - 1e-15), limit=400, epsabs=1e-13, points=[rate.ppf(0.01), a / b])
    r = posterior_regret(60, failures, exposure, shape, time)
    assert r.overhead == pytest.approx(expected, rel=1e-6)
    assert r.relative == pytest.approx(expected / np.sqrt(120 * a / b), rel=1e-6)


def test_posterior_regret_in_exact_goodput():
    """Nine failures, 1 s of stall: the exact goodput lost on average is the first-order figure to a tenth of it."""
    shape, time = 9.5, 9.5 * 11135.0
    rate = stats.gamma(shape, scale=1 / time).ppf((np.arange(20_000) + 0.5) / 20_000)
    used = exact_interval(1.0, time / shape)
    lost = exact_goodput(exact_interval(1.0, 1 / rate), 1.0, 1 / rate) - exact_goodput(used, 1.0, 1 / rate)
    assert lost.mean() == pytest.approx(float(posterior_regret(1.0, 9, time).overhead), rel=0.1)


def test_posterior_regret_uses_the_effective_stall():
    """A flush that slows training counts like a stall of that length; the relative loss is 1/(8 (k + a0))."""
    r = posterior_regret(2, 20, 2e5, flush=100, speed=0.9)
    np.testing.assert_allclose(r, posterior_regret(12, 20, 2e5), rtol=1e-14)
    assert r.relative == pytest.approx(1 / (8 * 20.5), rel=0.01)


def test_invalid_is_nan():
    """Input outside the domain is nan, without a warning."""
    assert np.isnan(regret_ratio_first_order([0, -1, np.nan])).all()
    assert np.isnan(regret_exact(60, 100, -1, strike=Strike.SAFE).regret)
    assert np.isnan(posterior_regret([-1, 60, 60], [1, -1, 0], [1, 1, 0], 0.0)).all()

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.online import adaptive_cycle_goodput, online_interval

M = 11135.08
SAFE = {"restart": 600, "strike": Strike.SAFE}


def test_reference_interval():
    """Before the first failure the prior alone gives Young's interval for its MTBF."""
    assert online_interval(60, 0, 0, 1, 11135) == pytest.approx(1155.941175, rel=1e-9)


def test_interval_with_a_flush():
    """A flush adds its slow-down to the stall, and its length is a floor."""
    assert online_interval(2, 3, 9e4, 1, 1e4, flush=100, speed=0.9) == pytest.approx(np.sqrt(2 * 12 * 1e5 / 4))
    assert online_interval(2, 3, 9e4, 1, 1e4, flush=3000, speed=1.0) == 3000


def test_reference_cycle():
    """One failure seen: the goodput averages to the reference."""
    g = adaptive_cycle_goodput(60, M, 1, 1, M, **SAFE)
    assert g == pytest.approx(0.8518333174, rel=1e-9)


@pytest.mark.parametrize(("failures", "points"), [(0, 6.7), (1, 3.6), (5, 1.1)])
def test_a_prior_ten_times_too_optimistic(failures, points):
    """It costs 6.7 points of goodput in the first cycle, 3.6 after one failure and 1.1 after five."""
    best = exact_goodput(exact_interval(60, M), 60, M, **SAFE)
    lost = best - adaptive_cycle_goodput(60, M, failures, 1, 10 * M, **SAFE)
    assert 100 * lost == pytest.approx(points, abs=0.05)


@pytest.mark.parametrize("failures", [1, 2.5, 9, 400, 1e6])
@pytest.mark.parametrize("prior", [(1, M), (0.5, 0), (3, 0.01 * M)])
def test_cycle_against_adaptive_quadrature(failures, prior):
    """The mean over the time that the failures took agrees with scipy's integration of the same density."""

    def part(p):
        t = M * stats.gamma.ppf(p, failures)
        return float(exact_goodput(online_interval(60, failures, t, *prior), 60, M, **SAFE))

    expected, _ = integrate.quad(part, 0, 1, epsabs=1e-8, limit=200)
    assert adaptive_cycle_goodput(60, M, failures, *prior, **SAFE) == pytest.approx(expected, rel=1e-6)


def test_regret_is_an_eighth_over_the_failures():
    """With a good prior the overhead lost after k failures is k/(8 (k + a0)^2) of the least, near 1/(8 (k + a0))."""
    k = np.array([20.0, 100.0, 1000.0])
    d = 1e-4 * M  # so that first order holds
    least = 1 - float(exact_goodput(exact_interval(d, M), d, M))
    lost = (1 - least - adaptive_cycle_goodput(d, M, k, 1, M)) / least
    np.testing.assert_allclose(lost * 8 * (k + 1) ** 2 / k, 1.0, rtol=0.08)


def test_broadcast_and_invalid():
    """Arrays broadcast; input outside the domain is nan beside valid neighbours."""
    g = adaptive_cycle_goodput([60, 60, -1], M, [[0], [0.5], [3]], 1, M, flush=10, speed=0.9)
    assert g.shape == (3, 3)
    np.testing.assert_array_equal(np.isnan(g), [[False, False, True], [True, True, True], [False, False, True]])
    assert np.isnan(online_interval(60, [-1, 0, 1], [0, 0, -1], 1, [1, 0, 5])).all()
    assert np.isposinf(online_interval(60, 0, 100, 0, 0))

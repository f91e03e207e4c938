from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.finite import best_finite_plan, expected_time, time_variance


@pytest.mark.parametrize(
    ("S", "W", "d", "M", "R", "D", "strike", "mean", "variance"),
    [
        (100000, 3600, 60, 11135, 600, 0, "safe", 126655.8304, 92472922.47),
        (100000, 3600, 60, 11135, 600, 0, "DR", 126833.4783, None),
        (20000, 3000, 1500, 4000, 1000, 200, "safe", 68276.11629, 379338862.2),
    ],
)
def test_reference_values(S, W, d, M, R, D, strike, mean, variance):
    """Expected time and variance of a finite amount of work equal the reference."""
    assert expected_time(S, W, d, M, restart=R, downtime=D, strike=Strike(strike)) == pytest.approx(mean, rel=1e-9)
    if variance is not None:
        assert time_variance(S, W, d, M, recovery=D + R) == pytest.approx(variance, rel=1e-9)


def test_reference_best_plan():
    """The best division of 100,000 s is 90 pieces, the last one longer by the stall it is spared."""
    plan = best_finite_plan(100000, 60, 11135, restart=600)
    assert plan.pieces == 90
    assert plan.mean_s == pytest.approx(117224.9451, rel=1e-9)
    assert plan.work_piece_s == pytest.approx(1110.444444, rel=1e-9)
    assert plan.last_piece_s == pytest.approx(1170.444444, rel=1e-9)


def test_best_plan_beats_every_number_of_pieces():
    """No number of equal attempts up to 400 has a shorter expected time."""
    for work, stall, mtbf in ((1e5, 60, 11135), (3e3, 60, 2000), (100, 60, 1e4), (2e4, 1500, 4000)):
        K = np.arange(1, 401)
        every = mtbf * K * np.expm1((work + (K - 1) * stall) / (K * mtbf))
        plan = best_finite_plan(work, stall, mtbf)
        assert plan.pieces == K[every.argmin()]
        assert plan.mean_s == pytest.approx(every.min(), rel=1e-12)


def test_multiple_of_the_interval_has_one_save_fewer_than_pieces():
    """0.3 s in pieces of 0.1 s takes two saves, although 0.3/0.1 is not 3 in doubles."""
    M = 10.0
    expected = M * (2 * np.expm1(1.1 / M * 1) + np.expm1(0.1 / M))
    assert expected_time(0.3, 0.1, 1.0, M) == pytest.approx(expected, rel=1e-12)


def test_against_simulation():
    """Mean and variance agree with simulated runs within four standard errors."""
    S, W, d, M, Q = 5000.0, 1500.0, 100.0, 2000.0, 300.0
    rng = np.random.default_rng(5)
    total = np.zeros(60_000)
    for piece in (W + d, W + d, W + d, S - 3 * W):
        todo = np.arange(total.size)
        while todo.size:
            gap = rng.exponential(M, todo.size)
            fails = gap < piece
            total[todo] += np.where(fails, gap + Q, piece)
            todo = todo[fails]
    mean = expected_time(S, W, d, M, restart=Q, strike=Strike.SAFE)
    assert abs(total.mean() - mean) < 4 * total.std() / np.sqrt(total.size)
    spread = (total - total.mean()) ** 2
    error = spread.std() / np.sqrt(total.size)
    assert abs(spread.mean() - time_variance(S, W, d, M, recovery=Q)) < 4 * error


def test_invalid_is_nan():
    """Input outside its domain is nan."""
    assert np.isnan(expected_time(-1, 10, 1, 100))
    assert np.isnan(time_variance(10, 0, 1, 100))
    assert np.isnan(best_finite_plan(10, 1, 0).pieces)

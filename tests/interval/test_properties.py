from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import asynchronous_interval, interval_floor
from ckptplan.interval.breakdown import exact_goodput, exact_shares, gross_shares
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.methods import METHODS
from ckptplan.interval.steps import whole_steps

seconds = st.floats(1e-6, 1e9)
recovery = st.floats(0, 1e6)
strikes = st.sampled_from(Strike)
methods = st.sampled_from([method for method in METHODS.values() if method.function is not None])


@given(methods, seconds, seconds, st.floats(1e-3, 1e3))
def test_scaling_all_times_scales_the_interval(method, stall, mtbf, scale):
    """The unit of time does not matter."""
    assert method.function(scale * stall, scale * mtbf) == pytest.approx(
        scale * float(method.function(stall, mtbf)), rel=1e-12
    )


@given(methods, seconds, seconds, st.floats(1.001, 100))
def test_monotone_in_stall_and_mtbf(method, stall, mtbf, factor):
    """A longer stall or a longer MTBF never shortens the interval."""
    W = method.function(stall, mtbf)
    # At stalls of many MTBFs the exact interval is M to the last digit: equal up to rounding.
    assert method.function(factor * stall, mtbf) >= W * (1 - 1e-13)
    # Daly's rule drops from M to (8/9) M when a longer MTBF brings d below 2 M.
    if method.name != "daly" or not factor * mtbf > stall / 2 >= mtbf:
        assert method.function(stall, factor * mtbf) >= W * (1 - 1e-13)


@given(seconds, seconds, recovery, recovery, strikes)
def test_no_grid_point_beats_the_optimum(stall, mtbf, downtime, restart, strike):
    """On a grid of a factor 100 to both sides nothing has a higher goodput."""
    W = exact_interval(stall, mtbf)
    grid = np.concatenate([W * np.geomspace(0.01, 100, 201), W * np.linspace(0.9, 1.1, 41)])
    rules = {"downtime": downtime, "restart": restart, "strike": strike}
    best = exact_goodput(W, stall, mtbf, **rules)
    # Below the least normal number a double has no digits left to compare.
    assert (exact_goodput(grid, stall, mtbf, **rules) <= best * (1 + 1e-12) + np.finfo(np.float64).tiny).all()


@given(seconds, seconds, seconds, recovery, recovery, strikes, st.floats(0, 1e4), st.floats(0, 1))
def test_shares_sum_to_one(interval, stall, mtbf, downtime, restart, strike, flush, speed):
    """Shares lie in [0, 1] and sum to one, with and without a flush, in both ledgers."""
    W = max(interval, float(interval_floor(flush, speed)))
    rules = {"downtime": downtime, "restart": restart, "strike": strike}
    for s in (
        exact_shares(W, stall, mtbf, **rules, flush=flush, speed=speed),
        gross_shares(W, stall, mtbf, **rules),
    ):
        parts = np.array([s.useful, s.save, s.rework, s.restart])
        assert parts.sum() == pytest.approx(1, abs=1e-12)
        assert (parts >= 0).all()
        assert (parts <= 1).all()
        assert s.goodput == s.useful


@given(st.floats(0.1, 1e4), st.floats(0, 1e4), st.floats(0, 1), st.floats(1, 1e7))
def test_asynchronous_optimum_beats_longer_intervals(stall, flush, speed, mtbf):
    """No interval at or above the floor has a higher goodput."""
    W = asynchronous_interval(stall, flush, speed, mtbf)
    grid = np.maximum(W * np.geomspace(0.1, 30, 150), interval_floor(flush, speed))
    best = exact_goodput(W, stall, mtbf, flush=flush, speed=speed)
    tiny = np.finfo(np.float64).tiny  # as above
    assert (exact_goodput(grid, stall, mtbf, flush=flush, speed=speed) <= best * (1 + 1e-12) + tiny).all()


@given(st.floats(0.01, 1e3), st.floats(1e-3, 1e3), st.floats(1e2, 1e7))
def test_whole_steps_beat_their_neighbours(stall, step, mtbf):
    """No other whole number of steps next to the chosen one has a higher exact goodput."""
    n = float(whole_steps(exact_interval(stall, mtbf), step, stall, mtbf))
    near = np.array([m for m in (n - 1, n, n + 1) if m >= 1])
    goodput = exact_goodput(near * step, stall, mtbf)
    assert goodput.max() <= exact_goodput(n * step, stall, mtbf) * (1 + 1e-12)


@pytest.mark.parametrize("stall", [1e-3, 60.0, 1e5])
@pytest.mark.parametrize("restart", [0.0, 600.0, 1e7])
def test_one_to_ten_million_gpus(stall, restart):
    """From 1 to 10 million GPUs, also with d > M and R > M, results are finite, ordered and in range."""
    mtbf = 50677 * 3600 / np.geomspace(1, 1e7, 71)
    for method in METHODS.values():
        if method.function is None:
            continue
        W = method.function(stall, mtbf)
        assert np.isfinite(W).all()
        assert (W > 0).all()
        # Fewer failures, longer intervals; Daly's branch at d = 2 M is the one exception, by at most 1/9.
        assert (np.diff(W) <= (W[:-1] / 8 if method.name == "daly" else 0)).all()
        shares = exact_shares(W, stall, mtbf, restart=restart)
        total = shares.useful + shares.save + shares.rework + shares.restart
        np.testing.assert_allclose(total, 1, rtol=1e-12)
    best = exact_goodput(exact_interval(stall, mtbf), stall, mtbf, restart=restart)
    assert (np.diff(best) <= 0).all()
    assert ((best >= 0) & (best <= 1)).all()

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.interval.stragglers import break_even_slowdown, eviction_gain, eviction_worth

DAY = 86_400.0
COSTS = {"stall": 60.0, "restart": 600.0}


def simulated(rng, slowdown, rate, lasts, run, stop, evicted):
    """Useful seconds and wall seconds of many runs in which nodes become slow at random and stay so for a time."""
    useful, wall = [], []
    for count in rng.poisson(rate * run, size=3000):
        begin = np.sort(rng.uniform(0, run, count))
        reach = np.minimum(begin + lasts, run)
        covered = np.maximum.accumulate(np.concatenate([[0.0], reach]))[:-1]
        slow = np.maximum(reach - np.maximum(begin, covered), 0.0).sum()
        useful.append(run - slow * (1 - 1 / slowdown))
        wall.append(run + (stop * np.sum(begin + lasts <= run) if evicted else 0.0))
    return np.array(useful), np.array(wall)


@pytest.mark.parametrize(("found_after", "persists"), [(3600.0, DAY), (6 * 3600.0, 10 * DAY), (1800.0, np.inf)])
def test_simulated_runs(found_after, persists):
    """Both shares of runs of four days agree with simulated ones within four standard errors."""
    rng = np.random.default_rng(11)
    slowdown, nodes, M, run, goodput = 1.4, 256, 400 * DAY, 4 * DAY, 0.9
    shares = eviction_worth(
        slowdown, nodes, M, found_after=found_after, **COSTS, persists=persists, run=run, goodput=goodput
    )
    for lasts, evicted, share in ((found_after, True, shares.evicting), (persists, False, shares.keeping)):
        useful, wall = simulated(rng, slowdown, nodes / M, lasts, run, 660.0, evicted)
        ratio = useful.sum() / wall.sum()
        error = np.std(useful - ratio * wall) / wall.mean() / np.sqrt(wall.size)
        assert abs(goodput * (1 - ratio) - share) < 4 * error


def test_independent_nodes_that_recover():
    """In the long run the share agrees with nodes that alternate by themselves, up to the stated L/M_slow."""
    nodes, M, lasts = 512, 300 * DAY, 3600.0
    alternating = 1 - (M / (M + lasts)) ** nodes
    keeping = eviction_worth(2.0, nodes, M, found_after=lasts, **COSTS, persists=lasts).keeping
    assert keeping / 0.5 == pytest.approx(alternating, rel=lasts / M)
    assert keeping / 0.5 != pytest.approx(alternating, rel=lasts / M / 100)


@pytest.mark.parametrize("exposed", [1e-12, 1e-5, 0.3, 50.0])
def test_forty_digits(exposed):
    """Shares keep their digits from vanishing to many slow nodes, for nodes that recover within the run or not."""
    nodes, M, f = 64, 1e12, 1.0 + 2.0**-20
    run = exposed * M / nodes
    for lasts in (run / 3, np.inf):
        keeping = eviction_worth(f, nodes, M, found_after=0.0, **COSTS, persists=lasts, run=run).keeping
        with mpmath.workdps(40):
            a, T = mpmath.mpf(nodes) / M, mpmath.mpf(run)
            length = T if lasts == np.inf else mpmath.mpf(lasts)
            none = (1 - mpmath.exp(-a * length)) / a + (T - length) * mpmath.exp(-a * length)
            exact = (1 - none / T) * (1 - 1 / mpmath.mpf(f))
            assert abs(keeping / exact - 1) < 1e-14


def test_long_run_limits():
    """Left alone for ever, some node is always slow in the end; found at once, only evictions cost anything."""
    shares = eviction_worth(1.25, 1000, 100 * DAY, found_after=0.0, **COSTS)
    assert shares.keeping == pytest.approx(1 - 1 / 1.25, rel=1e-15)
    stopped = 1000 / (100 * DAY) * 660
    assert shares.evicting == pytest.approx(stopped / (1 + stopped), rel=1e-15)
    assert shares.worth == pytest.approx(shares.keeping - shares.evicting, rel=1e-15)


@pytest.mark.parametrize(("found_after", "counted"), [(0.0, 1.0), (0.25 * DAY, 0.75), (DAY, 0.0), (2 * DAY, 0.0)])
def test_only_nodes_found_before_the_end_are_evicted(found_after, counted):
    """A slow node that is found after the run has ended costs no restart."""
    shares = eviction_worth(1.0, 50, 10 * DAY, found_after=found_after, **COSTS, run=DAY)
    stopped = 5 * counted * 660  # five nodes a day
    assert shares.evicting == pytest.approx(stopped / (DAY + stopped), rel=1e-14)
    assert shares.keeping == 0


def test_nodes_that_recover_before_they_are_found_are_never_evicted():
    """Then evicting is the same as keeping."""
    shares = eviction_worth(1.3, 100, 30 * DAY, found_after=7200.0, **COSTS, persists=3600.0)
    assert shares.evicting == shares.keeping > 0
    assert shares.worth == 0


def test_the_worth_of_finding_slow_nodes_sooner():
    """Each hour of delay costs, and a mild slow-down of short duration is cheaper to bear than to evict."""
    later = eviction_worth(1.3, 2000, 1000 * DAY, found_after=3600.0 * np.arange(1, 6), **COSTS)
    assert (np.diff(later.worth) < 0).all()
    assert (later.worth > 0).all()
    assert eviction_worth(1.01, 2000, 1000 * DAY, found_after=600.0, **COSTS, persists=7200.0).worth < 0


def test_evict_if_the_slowdown_times_the_rest_of_the_run_exceeds_the_cost():
    """Eleven minutes against 2 % of the rest: from nine hours and ten minutes on an eviction pays."""
    remaining = np.array([32_999.0, 33_001.0])
    gain = eviction_gain(1.02, remaining, **COSTS)
    np.testing.assert_allclose(gain, 0.02 * remaining - 660, rtol=1e-10)
    assert gain[0] < 0 < gain[1]
    np.testing.assert_allclose(break_even_slowdown(remaining, **COSTS), 1 + 660 / remaining, rtol=1e-15)


@given(st.floats(1, 1e8), st.floats(0, 1e4), st.floats(0, 1e4), st.floats(1, 1e8) | st.just(np.inf), st.floats(0.01, 1))
def test_the_break_even_slowdown_is_where_the_gain_vanishes(remaining, stall, restart, persists, goodput):
    """Slightly above it an eviction gains time, slightly below it loses some, and an infinite one means never."""
    rules = {"stall": stall, "restart": restart, "persists": persists, "goodput": goodput}
    f = float(break_even_slowdown(remaining, **rules))
    assert f >= 1
    if np.isinf(f):
        assert eviction_gain(1e9, remaining, **rules) <= 0
        return
    assert eviction_gain(1 + (f - 1) * 1.001 + 1e-9, remaining, **rules) >= 0
    if stall + restart > 0 and f > 1 + 1e-9:
        assert eviction_gain(1 + (f - 1) * 0.999, remaining, **rules) < 0


@pytest.mark.parametrize(("slowdown", "persists"), [(1.5, np.inf), (1.5, 30_000.0), (3.0, 150_000.0), (1.0, np.inf)])
def test_gain_against_a_walk_through_the_run(slowdown, persists):
    """Counting the wall time of both choices step by step gives the same gain, to a step."""
    remaining, goodput, t = 40_000.0, 0.8, 2.0
    walls = []
    for evict in (False, True):
        wall, work = (660.0, 0.0) if evict else (0.0, 0.0)
        while work < remaining:
            slow = not evict and wall < persists
            wall += t / goodput * (slowdown if slow else 1.0)
            work += t
        walls.append(wall)
    gain = eviction_gain(slowdown, remaining, **COSTS, persists=persists, goodput=goodput)
    assert abs(walls[0] - walls[1] - gain) <= slowdown * t / goodput + 1e-6


def test_broadcast_and_invalid():
    """Arrays broadcast; input outside the domain is nan beside valid neighbours."""
    shares = eviction_worth([[0.9], [1.2]], 100, [DAY, -DAY, np.nan, 9 * DAY], found_after=60.0, **COSTS)
    np.testing.assert_array_equal(np.isnan(shares.worth), [[True] * 4, [False, True, True, False]])
    for name, value in {"found_after": -1.0, "stall": -1.0, "restart": -1.0, "persists": -1.0, "run": 0.0}.items():
        arguments = {"found_after": 60.0, **COSTS} | {name: value}
        assert np.isnan(eviction_worth(1.2, 100, DAY, **arguments)).all()
    np.testing.assert_array_equal(np.isnan(eviction_gain([0.9, 1.1, np.inf], DAY, **COSTS)), [True, False, True])
    np.testing.assert_array_equal(np.isnan(break_even_slowdown([-1.0, 0.0, DAY], **COSTS)), [True, False, False])
    assert np.isnan(break_even_slowdown(DAY, **COSTS, goodput=[0.0, 1.1])).all()
    assert break_even_slowdown(0.0, **COSTS) == np.inf
    assert break_even_slowdown(0.0, stall=0.0, restart=0.0) == 1.0

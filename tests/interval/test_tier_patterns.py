from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import asynchronous_interval
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.steps import whole_steps
from ckptplan.interval.tier_cases import TieredSaves
from ckptplan.interval.tier_chain import tier_goodput
from ckptplan.interval.tier_drain import tier_interval_floor
from ckptplan.interval.tier_optimum import tier_interval
from ckptplan.interval.tier_patterns import best_pattern, pattern_goodputs
from ckptplan.interval.tier_recovery import Causes
from ckptplan.interval.tiers import tiers_first_order
from tests.interval import tier_markov

PUBLISHED = [
    # rates, costs, goodput, cheap saves per dear one, goodput of one level
    ([7.78e-6, 5.19e-7], [9, 438], 0.96695, 26, 0.913814),
    ([8.54e-7, 2.01e-7], [15, 1835], 0.96776, 22, 0.937244),
]


def saves(stall, rate, restart, strike=Strike.DR, **more):
    """One cause per level, recoveries that depend on the level alone."""
    levels = range(1, np.shape(rate)[-1] + 1)
    return TieredSaves(stall, Causes(rate, levels, recovery_parts(0, restart, strike)), **more)


def random_saves(rng, levels, **more):
    """Stalls from 0.1 to 3000 s, MTBFs from 2000 s to 4 months, in any convention and with any strike."""
    stall = np.sort(10.0 ** rng.uniform(-1, 3.5, levels))
    rate, restart = 10.0 ** -rng.uniform(3.3, 7, levels), np.sort(10.0 ** rng.uniform(0, 3.5, levels))
    convention = ("additive", "replace")[rng.integers(2)]
    return saves(stall, rate, restart, list(Strike)[rng.integers(3)], slot_cost=convention, **more)


def slot_stalls(job, kept):
    """Stall of a slot by its highest kept level."""
    stall = np.asarray(job.stall)[list(kept)]
    return stall if job.slot_cost == "replace" else np.cumsum(stall)


def test_reference_optimum():
    """The best pattern of two levels, its interval and goodput equal the reference, in both conventions."""
    for stall, convention in (([5, 60], "additive"), ([5, 65], "replace")):
        best = best_pattern(saves(stall, [0.000125, 2.5e-05], [60, 600], slot_cost=convention))
        np.testing.assert_array_equal(best.every, [1, 8])
        assert best.kept.all()
        assert best.interval_s == pytest.approx(267.0273846, rel=1e-5)
        assert best.goodput == pytest.approx(0.891225513, rel=1e-9)


@pytest.mark.parametrize(("rate", "cost", "goodput", "cheap", "single"), PUBLISHED)
def test_published_optima_of_two_levels(rate, cost, goodput, cheap, single):
    """Published optima (Moody et al. 2010; Gholami and Schintke 2019) are reproduced, with the process they assume.

    Restart costs what a save costs, may be struck, and a dear save replaces a cheap one (26 cheap ones to a dear one is
    every 27th). A failure that a cheap save survives reads the newest save, and where that is a dear one it pays the
    dear restart: so the chain, state by state, gives both goodputs to the five digits printed. Here the level gone back
    to decides what a recovery takes, because a dear save leaves copies below it: better by lam_1 (R_2 - R_1)/n, 1.2e-4
    and 0.7e-4, at the same pattern. The goodputs of one level agree to the six digits printed (0.9372435 and 0.937244).
    """
    best = best_pattern(saves(cost, rate, cost, slot_cost="replace"))
    np.testing.assert_array_equal(best.every, [1, cheap + 1])
    assert best.single_goodput == pytest.approx(single, abs=6e-7)
    W, every = float(best.interval_s), [1, cheap + 1]
    as_published = tier_markov.goodput(W, every, cost, rate, cost, struck=True, from_save_read=True)
    assert goodput <= as_published < goodput + 1e-5
    copies_below = tier_markov.goodput(W, every, cost, rate, cost, struck=True)
    assert best.goodput == pytest.approx(copies_below, rel=1e-10)
    gain = rate[0] * (cost[1] - cost[0]) / every[1] * goodput
    assert best.goodput - as_published == pytest.approx(gain, rel=0.05)
    additive = best_pattern(saves(cost, rate, cost))
    np.testing.assert_array_equal(additive.every, [1, cheap + 1])
    assert additive.goodput < best.goodput


def test_published_optimum_of_three_levels():
    """A third level with the published costs is worth at least the published goodput."""
    job = saves([9, 50, 438], [7.78e-6, 5.19e-7, 3e-8], [9, 50, 438], slot_cost="replace")
    best = best_pattern(job)
    assert best.goodput >= 0.9613
    W, every = float(best.interval_s), best.every.astype(int).tolist()
    as_published = tier_markov.goodput(
        W, every, *(job.stall, job.causes.rate, job.stall), struck=True, from_save_read=True
    )
    assert 0.9613 <= as_published < best.goodput


def test_interval_is_best_for_its_pattern():
    """Neighbours of the interval of a pattern are worse; one level gives the exact interval of single saves."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        levels = int(rng.integers(1, 5))
        every = np.cumprod([1, *rng.integers(1, 65, levels - 1)])
        job = random_saves(rng, levels)
        stall, causes = np.cumsum(job.stall), job.causes
        W = tier_interval(every, stall, causes)
        near = tier_goodput(W * np.array([1, 1 - 1e-3, 1 + 1e-3]), every, stall, causes)
        assert near.argmax() == 0
    ratio = 10.0 ** np.linspace(-14, 2, 50)[:, np.newaxis]
    one = tier_interval([1], ratio, Causes([1.0], [1], recovery_parts(0, [0.1], Strike.DR)))
    np.testing.assert_allclose(one, exact_interval(ratio[:, 0], 1.0), rtol=1e-13)


def test_best_of_all_patterns_at_all_intervals():
    """No pattern of any kept levels, at any interval of a fine grid, is better than the best; the best is reached."""
    rng = np.random.default_rng(2)
    for _ in range(12):
        job = random_saves(rng, 3)
        best = best_pattern(job, largest_ratio=6)
        reached = [best.single_goodput]
        for kept in ([0, 1, 2], [0, 2], [1, 2], [2]):
            least = 2 if job.slot_cost == "replace" else 1
            ratios = np.array(list(product(range(least, 7), repeat=len(kept) - 1)), dtype=float)
            every = np.cumprod(np.insert(ratios, 0, 1, axis=-1), axis=-1)[:, np.newaxis]
            level = [sum(k < own for k in kept) + 1 for own in range(3)]
            recovery = type(job.causes.recovery)(*(part[kept] for part in job.causes.recovery))
            W = np.geomspace(0.3, 3, 801) * best.interval_s
            g = tier_goodput(W, every, slot_stalls(job, kept), Causes(job.causes.rate, level, recovery))
            reached.append(g.max())
        assert max(reached) <= best.goodput * (1 + 1e-13)
        assert max(reached) >= best.goodput * (1 - 1e-5)


@pytest.mark.parametrize("drained", [False, True])
@pytest.mark.parametrize("steps", [False, True])
def test_search_finds_the_best_of_all_patterns(steps, drained):
    """With four levels the search near the first order finds what all patterns give."""
    rng = np.random.default_rng(3)
    for _ in range(3 if steps else 12):
        flush = 10.0 ** rng.uniform(0, 3, 4) * (rng.random(4) < 0.5) * drained
        job = random_saves(rng, 4, exposed=0.9 * flush, flush=flush)
        step_time_s = 10.0 ** rng.uniform(-1, 2) if steps else None
        near = best_pattern(job, step_time_s=step_time_s, largest_ratio=12)
        every = best_pattern(job, step_time_s=step_time_s, largest_ratio=12, all_patterns=True)
        assert near.goodput == pytest.approx(float(every.goodput), rel=1e-13)


def test_whole_steps():
    """The interval is the best whole number of steps over all patterns; with one level that of single saves."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        job = random_saves(rng, 2)
        t = float(best_pattern(job).interval_s * rng.uniform(0.05, 2))
        best = best_pattern(job, step_time_s=t, largest_ratio=8)
        assert best.steps == np.rint(best.steps) >= 1
        assert best.interval_s == best.steps * t
        n = np.arange(1, 200)
        kept = np.arange(2) if best.kept.all() else np.array([1])
        least = 2 if job.slot_cost == "replace" else 1
        every = [[[1, k]] for k in range(least, 9)] if len(kept) == 2 else [[1]]
        recovery = type(job.causes.recovery)(*(part[kept] for part in job.causes.recovery))
        level = [1, len(kept)]
        g = tier_goodput(n * t, every, slot_stalls(job, kept), Causes(job.causes.rate, level, recovery))
        assert g.max() == pytest.approx(float(best.goodput), rel=1e-13)
    for t in (0.7, 6, 760, 3000):
        one = best_pattern(saves([60], [1 / 11135], [600]), step_time_s=t)
        assert one.steps == whole_steps(exact_interval(60, 11135), t, 60, 11135)


def test_drains_end_before_the_next_one():
    """The drain sets the interval where saves are dense; one level is an asynchronous save."""
    F, om = 4000.0, 0.99
    job = saves([2, (1 - om) * F], [1e-4, 1e-5], [60, 600], exposed=[0, om * F], flush=[0, F])
    best = best_pattern(job)
    assert best.kept.all()
    slot = [2, 2 + (1 - om) * F]
    floor = tier_interval_floor(best.every, slot, flush=[0, F], exposed=[0, om * F])
    assert best.interval_s >= floor * (1 - 1e-14)
    free = best_pattern(job._replace(flush=0))
    assert best.goodput < free.goodput
    table = pattern_goodputs(job, [[1, n] for n in range(1, 65)])
    assert table.goodput.max() == best.goodput
    floors = tier_interval_floor([[1, n] for n in range(1, 65)], slot, flush=[0, F], exposed=[0, om * F])
    binds = table.interval_s == floors
    assert 10 < binds.sum() < 50
    assert (np.diff(binds.astype(int)) <= 0).all()  # up to some ratio, not beyond
    one = best_pattern(saves([5 + 0.05 * 400], [1e-4], [600], exposed=[380], flush=[400]), step_time_s=None)
    W = asynchronous_interval(5, 400, 0.95, 1e4)
    assert one.interval_s == pytest.approx(float(W), rel=1e-13)
    assert one.goodput == pytest.approx(float(exact_goodput(W, 5, 1e4, restart=600, flush=400, speed=0.95)), rel=1e-13)


def test_a_dropped_level():
    """Its causes take the save and the recovery of the next kept level: the same as if it had never been there."""
    dear = best_pattern(saves([300, 60], [1e-6, 1e-4], [60, 600]))
    np.testing.assert_array_equal(dear.kept, [False, True])
    np.testing.assert_array_equal(dear.every, [np.nan, 1])
    single = best_pattern(saves([60], [1.01e-4], [600]))
    for found in (dear.goodput, dear.single_goodput, single.single_goodput):
        assert found == pytest.approx(float(single.goodput), rel=1e-14)
    assert dear.interval_s == pytest.approx(float(exact_interval(60, 1 / 1.01e-4)), rel=1e-13)
    middle = best_pattern(saves([5, 500, 60], [1e-4, 1e-7, 1e-5], [60, 300, 600]))
    np.testing.assert_array_equal(middle.kept, [True, False, True])
    pair = best_pattern(saves([5, 60], [1e-4, 1.01e-5], [60, 600]))
    assert middle.goodput == pytest.approx(float(pair.goodput), rel=1e-14)


def test_a_level_with_none_below_may_stall_longer():
    """A level that only drains needs the copy-out itself where no level below is kept."""
    job = saves([10, 0.5], [1e-7, 1e-4], [600, 600])
    np.testing.assert_array_equal(best_pattern(job).kept, [False, True])
    alone = best_pattern(job._replace(alone_stall=[10, 300]))
    assert alone.kept.all()
    assert alone.single_goodput == pytest.approx(
        float(best_pattern(saves([300], [1.001e-4], [600])).goodput), rel=1e-14
    )


def test_neighbours():
    """The table of neighbours holds the best pattern, and is nan for what is no pattern."""
    job = saves([5, 60, 400], [1.25e-4, 2.5e-5, 1e-6], [60, 600, 900])
    best = best_pattern(job)
    _, n2, n3 = best.every
    rows = [best.every, [1, n2 + 1, n3 / n2 * (n2 + 1)], [1, np.nan, 8], [np.nan, 1, 8], [1, 8, np.nan], [1, 4, 6]]
    table = pattern_goodputs(job, rows)
    assert table.goodput[0] == best.goodput
    assert table.interval_s[0] == best.interval_s
    assert (table.goodput[1:4] < best.goodput).all()
    np.testing.assert_array_equal(np.isnan(table.goodput), [False, False, False, False, True, True])
    fixed = pattern_goodputs(job, rows, step_time_s=100)
    np.testing.assert_array_equal(fixed.steps[:4], np.rint(fixed.interval_s[:4] / 100))
    assert (fixed.goodput[:4] <= table.goodput[:4]).all()


def test_first_order_is_the_limit_of_rare_failures():
    """For rare failures the best pattern has the overhead and the intervals of the first order, whole ratios apart."""
    stall, rate, restart = [5, 60], np.multiply(1e-4, [1.25e-4, 2.5e-5]), [60, 600]
    exact, first_order = best_pattern(saves(stall, rate, restart)), tiers_first_order(stall, rate, restart)
    assert 1 / exact.goodput - 1 == pytest.approx(float(first_order.overhead), rel=2e-3)
    np.testing.assert_allclose(exact.interval_s * exact.every, first_order.intervals_s, rtol=0.05)


def test_many_jobs_in_one_call():
    """Leading axes hold several jobs."""
    scale = np.array([[0.1, 1.0, 10.0]])[..., np.newaxis]
    best = best_pattern(saves([5, 60], scale * [1.25e-4, 2.5e-5], [60, 600]))
    assert best.every.shape == best.kept.shape == (1, 3, 2)
    one = best_pattern(saves([5, 60], [1.25e-4, 2.5e-5], [60, 600]))
    np.testing.assert_array_equal(best.every[0, 1], one.every)
    for name in ("interval_s", "goodput", "single_interval_s", "single_goodput"):
        assert getattr(best, name).shape == (1, 3)
        assert getattr(best, name)[0, 1] == getattr(one, name)


def test_limits_and_invalid():
    """Jobs that never fail, saves that cost nothing, and input outside the domain beside valid neighbours."""
    idle = best_pattern(saves([5, 60], [0, 0], [60, 600]))
    np.testing.assert_array_equal(idle.kept, [False, True])
    assert idle.goodput == 1
    assert idle.interval_s == np.inf
    free = best_pattern(saves([0, 0], [1e-4, 1e-5], [60, 600], Strike.SAFE))
    assert free.interval_s == 0
    assert free.goodput == pytest.approx(1 / (1 + 60e-4 + 600e-5), rel=1e-12)
    found = best_pattern(saves([5, 60], [[1e-4, 1e-5], [-1e-4, 1e-5], [np.nan, 1e-5]], [60, 600]))
    np.testing.assert_array_equal(np.isnan(found.goodput), [False, True, True])
    np.testing.assert_array_equal(found.kept.any(axis=-1), [True, False, False])
    assert np.isnan(found.every[1:]).all()
    for wrong in (-1, np.nan, np.inf):  # of a level that would be dropped
        job = saves([500, 60], [1e-6, 1e-4], [60, 600])
        assert best_pattern(job).goodput > 0
        for bad in (job._replace(stall=[wrong, 60]), job._replace(alone_stall=[wrong, 60])):
            assert np.isnan(best_pattern(bad).goodput)
        for bad in (job._replace(flush=[wrong, 0]), job._replace(exposed=[wrong, 0])):
            assert np.isnan(best_pattern(bad).goodput)
        assert np.isnan(best_pattern(saves([500, 60], [1e-6, 1e-4], [wrong, 600])).goodput)
    no_step = best_pattern(saves([5, 60], [1e-4, 1e-5], [60, 600]), step_time_s=0)
    assert np.isnan(no_step.goodput)
    assert not no_step.kept.any()
    assert np.isnan(
        tier_interval([1, 8], [5, 65], saves([0], [1e-4, 1e-5], [60, 600]).causes, floor=[-1, np.nan])
    ).all()

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from ckptplan.interval.tier_levels import all_subsets, tier_intervals_first_order
from ckptplan.interval.tiers import tier_overhead, tiers_first_order
from ckptplan.interval.young import young_interval

CONVENTIONS = ("additive", "replace")


def pooled(stall, rate):
    """Best ordered intervals by merging neighbours that cross, one at a time; with the members of each group."""
    groups = []
    for k, (c, lam) in enumerate(zip(stall, rate, strict=True)):
        groups.append(([k], c, lam))
        while len(groups) > 1 and groups[-2][1] * groups[-1][2] >= groups[-1][1] * groups[-2][2]:
            (more, c2, lam2), (members, c1, lam1) = groups.pop(), groups.pop()
            groups.append((members + more, c1 + c2, lam1 + lam2))
    return [(members, np.sqrt(2 * c / lam) if lam else np.inf) for members, c, lam in groups]


def plain_overhead(stall, rate, restart, kept, convention):
    """H of given levels at their best ordered intervals, one level after the other."""
    levels = [k for k, keep in enumerate(kept) if keep]
    caught = [sum(rate[low + 1 : high + 1]) for low, high in pairwise([-1, *levels])]
    full = [stall[k] for k in levels]
    added = [c - below for below, c in pairwise([0, *full])] if convention == "replace" else full
    H = 0.0
    for members, W in pooled(added, caught):
        for i in members:
            paid = members[-1] if convention == "replace" else i  # nothing is written to a level as rare as the next
            H += (added[i] / W if added[i] else 0.0) + caught[i] * restart[levels[paid]]
            H += caught[i] * W / 2 if caught[i] else 0.0
    return H


def random_job(rng):
    """One to six levels, mostly the cheaper ones first."""
    levels = rng.integers(1, 7)
    stall = 10.0 ** rng.uniform(-1, 3, levels)
    if rng.random() < 0.7:
        stall.sort()
    # Restarts up to many times the interval, so that levels are kept for their short restart alone, too.
    restart = np.sort(10.0 ** rng.uniform(0, 5, levels))
    return stall, 10.0 ** -rng.uniform(4, 8, levels), restart


@pytest.mark.parametrize(
    ("stall", "rate", "restart", "overhead", "intervals"),
    [
        ([5, 60], [0.000125, 2.5e-05], [60, 600], 0.1126275948, [282.8427125, 2190.89023]),
        ([10, 12, 15], [1e-05, 5e-05, 2e-05], [0, 0, 0], 0.04898979486, [np.nan, np.nan, 612.3724357]),
    ],
)
def test_reference_optima(stall, rate, restart, overhead, intervals):
    """Overhead, kept levels and intervals equal the reference."""
    found = tiers_first_order(stall, rate, restart)
    assert found.overhead == pytest.approx(overhead, rel=1e-9)
    np.testing.assert_array_equal(found.kept, ~np.isnan(intervals))
    np.testing.assert_allclose(found.intervals_s, intervals, rtol=1e-9)


def test_what_a_dropped_tier_would_cost():
    """Keeping all three levels of the second reference costs 1.5 times what keeping one does.

    At three independent intervals, which cross and so belong to no pattern: ordered, they cost 1.55 times as much.
    """
    stall, rate = [10, 12, 15], [1e-05, 5e-05, 2e-05]
    one = tier_overhead(stall, rate, [0, 0, 0], [False, False, True])
    assert np.sqrt(2 * np.multiply(stall, rate)).sum() / one == pytest.approx(1.5, rel=0.005)
    all_three = tier_overhead(stall, rate, [0, 0, 0], [True, True, True])
    assert all_three / one == pytest.approx(plain_overhead(stall, rate, [0, 0, 0], [1, 1, 1], "additive") / one)
    assert all_three / one == pytest.approx(1.55, rel=0.002)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_best_subset_is_that_of_all_subsets(convention):
    """No subset of the levels has less overhead, each evaluated plainly.

    The path alone, without the comparison where its intervals cross, would fail here.
    """
    rng = np.random.default_rng(1)
    crossed = 0
    for _ in range(400):
        stall, rate, restart = random_job(rng)
        found = tiers_first_order(stall, rate, restart, slot_cost=convention)
        subsets = [(*lower, True) for lower in product((False, True), repeat=len(stall) - 1)]
        plain = {kept: plain_overhead(stall, rate, restart, kept, convention) for kept in subsets}
        assert found.overhead == pytest.approx(min(plain.values()), rel=1e-12)
        assert plain[tuple(found.kept.tolist())] == pytest.approx(min(plain.values()), rel=1e-12)
        W = found.intervals_s[found.kept]
        assert (np.diff(W) >= 0).all()
        crossed += bool((np.diff(W) == 0).any())
    assert (crossed > 5) == (convention == "additive")  # with replace, sharing an interval is dropping the lower level


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_many_jobs_in_one_call(convention):
    """Leading axes hold several jobs, and broadcast."""
    rng = np.random.default_rng(2)
    stall, rate = np.sort(10.0 ** rng.uniform(0, 3, (50, 1, 4))), 10.0 ** -rng.uniform(4, 8, (50, 1, 4))
    restart = 10.0 ** rng.uniform(0, 5, (3, 4))
    found = tiers_first_order(stall, rate, restart, slot_cost=convention)
    assert found.overhead.shape == (50, 3)
    for i, j in np.ndindex(50, 3):
        one = tiers_first_order(stall[i, 0], rate[i, 0], restart[j], slot_cost=convention)
        np.testing.assert_array_equal(found.kept[i, j], one.kept)
        np.testing.assert_allclose(found.intervals_s[i, j], one.intervals_s, rtol=1e-14)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_intervals_are_best_under_their_order(convention):
    """Random ordered intervals near the best ones of a subset cost more; reversed ones are none of a pattern."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        stall, rate, restart = random_job(rng)
        restart[:] = restart[0]  # so that which level is restored from does not jump where intervals become equal
        kept = np.append(rng.random(len(stall) - 1) < 0.7, True)
        W = tier_intervals_first_order(stall, rate, kept, slot_cost=convention)
        least = tier_overhead(stall, rate, restart, kept, slot_cost=convention)
        assert least == pytest.approx(plain_overhead(stall, rate, restart, kept, convention), rel=1e-12)
        for scale in (1e-3, 0.1, 1.0):
            near = np.maximum.accumulate(np.where(kept, W * np.exp(scale * rng.normal(size=(20, len(W)))), 0), axis=-1)
            assert (tier_overhead(stall, rate, restart, kept, near, slot_cost=convention) >= least * (1 - 1e-14)).all()
    assert np.isnan(tier_overhead([5, 60], [1e-4, 1e-5], [0, 0], [True, True], [600, 300]))


def test_replace_is_additive_with_the_differences():
    """The stalls of replaced saves, as differences, are the added ones, while the intervals increase."""
    rate, restart = [1e-4, 1e-5, 1e-6], [10, 60, 600]
    added = tiers_first_order([5, 55, 900], rate, restart)
    assert added.kept.all()
    whole = tiers_first_order([5, 60, 960], rate, restart, slot_cost="replace")
    np.testing.assert_allclose(whole.intervals_s, added.intervals_s, rtol=1e-14)
    assert whole.overhead == pytest.approx(float(added.overhead), rel=1e-14)


def test_a_level_with_none_below_may_stall_longer():
    """A drained tier adds no stall to a tier below it, but needs the copy-out itself where none is kept."""
    rate, restart = [1e-7, 1e-4], [600, 600]
    free = tiers_first_order([10, 0.5], rate, restart)
    np.testing.assert_array_equal(free.kept, [False, True])
    alone = tiers_first_order([10, 0.5], rate, restart, alone_stall=[10, 300])
    np.testing.assert_array_equal(alone.kept, [True, True])
    top = tier_overhead([10, 0.5], rate, restart, [False, True], alone_stall=[10, 300])
    assert top == pytest.approx(np.sqrt(2 * 300 * 1.001e-4) + 1.001e-4 * 600, rel=1e-12)
    assert alone.overhead < top


def test_one_level_is_young():
    """One level is Young's interval and overhead."""
    found = tiers_first_order([60], [1e-4], [600])
    assert found.intervals_s[0] == pytest.approx(float(young_interval(60, 1e4)), rel=1e-15)
    assert found.overhead == pytest.approx(np.sqrt(2 * 60e-4) + 0.06, rel=1e-15)


def test_levels_without_failures():
    """A level without failures of its own is dropped; the top one is kept, and never saved to if nothing needs it."""
    found = tiers_first_order([5, 10, 60], [1e-4, 0, 1e-5], [60, 60, 600])
    np.testing.assert_array_equal(found.kept, [True, False, True])
    idle = tiers_first_order([5, 60], [1e-4, 0], [60, 600])
    np.testing.assert_array_equal(idle.kept, [True, True])
    np.testing.assert_allclose(idle.intervals_s, [np.sqrt(1e5), np.inf])
    assert idle.overhead == pytest.approx(np.sqrt(2 * 5e-4) + 60e-4, rel=1e-12)
    assert tiers_first_order([5, 60], [0, 0], [60, 600]).overhead == 0


def test_invalid_is_nan_beside_valid():
    """Input outside the domain is nan, with nothing kept; a convention that does not exist is refused."""
    stall = [[5, 60], [-5, 60], [5, np.nan], [5, 60], [5, 60]]
    rate = [[1e-4, 1e-5], [1e-4, 1e-5], [1e-4, 1e-5], [-1e-4, 1e-5], [np.inf, 1e-5]]
    found = tiers_first_order(stall, rate, [60, 600])
    np.testing.assert_array_equal(np.isnan(found.overhead), [False, True, True, True, True])
    np.testing.assert_array_equal(found.kept.any(axis=-1), [True, False, False, False, False])
    assert np.isnan(found.intervals_s[1:]).all()
    assert np.isnan(tier_overhead([5, 60], [1e-4, 1e-5], [60, 600], [True, False]))
    with pytest.raises(ValueError, match="'replaced'"):
        tiers_first_order([5, 60], [1e-4, 1e-5], [60, 600], slot_cost="replaced")


def test_subsets_keep_the_top():
    """All subsets that keep the top level, each once, fewest levels first."""
    masks = all_subsets(4)
    assert len({tuple(mask) for mask in masks.tolist()}) == len(masks) == 8
    assert masks[:, -1].all()
    assert (np.diff(masks.sum(axis=-1)) >= 0).all()

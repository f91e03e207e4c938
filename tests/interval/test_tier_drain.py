from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import interval_floor
from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.tier_chain import tier_shares
from ckptplan.interval.tier_drain import tier_drain, tier_drain_optimum, tier_interval_floor
from ckptplan.interval.tier_recovery import Causes
from ckptplan.interval.tiers import tiers_first_order

RATE, RESTART = [5e-05, 1.66666666667e-05], [60, 600]


def test_reference_overhead():
    """Two tiers, the second drained in the background after every fourth save, equal the reference."""
    found = tier_drain([300, 1200], [2, 0], RATE, RESTART, flush=[0, 400], speed=[1, 0.95])
    assert found.overhead == pytest.approx(0.06016666667, rel=1e-9)
    assert found.goodput == pytest.approx(0.943247917, rel=1e-9)


def test_without_drains_it_is_the_first_order_of_tiers():
    """Nothing drained: the optimum is that of several tiers."""
    drained = tier_drain_optimum([5, 60], [1.25e-4, 2.5e-5], RESTART)
    plain = tiers_first_order([5, 60], [1.25e-4, 2.5e-5], RESTART)
    np.testing.assert_allclose(drained.intervals_s, plain.intervals_s, rtol=1e-14)
    assert drained.overhead == pytest.approx(float(plain.overhead), rel=1e-14)
    assert not drained.floor_binds.any()


def test_exact_goodput_tends_to_it():
    """The exact chain with the drained work at risk has the same overhead when failures are rare.

    The relative difference goes down with the root of the rate, as for one level.
    """
    differences = []
    for scale in (1e-2, 1e-4):
        rate = np.multiply(scale, RATE)
        best = tier_drain_optimum([2, 0], rate, RESTART, flush=[0, 400], speed=[1, 0.95])
        n = np.rint(best.intervals_s[1] / best.intervals_s[0])
        W = best.intervals_s[0]
        first_order = tier_drain([W, n * W], [2, 0], rate, RESTART, flush=[0, 400], speed=[1, 0.95])
        causes = Causes(rate, [1, 2], recovery_parts(0, RESTART, Strike.DR))
        exact = tier_shares(W, [1, n], [2, 2 + 0.05 * 400], causes, exposed=[0, 0.95 * 400])
        differences.append(float(exact.overhead / first_order.overhead - 1))
    assert 0 < differences[0] < 0.01
    assert differences[0] / differences[1] == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize(("seed", "binds"), [(2, False), (3, False), (5, False), (81, True), (284, True)])
def test_no_nested_intervals_cost_less(seed, binds):
    """Of random ordered intervals above the floors that the optimum sets, none costs less.

    More saves below a drained level also make room for its drain. That they may lower its floor is not weighed.
    """
    rng = np.random.default_rng(seed)
    rate, restart = 10.0 ** -rng.uniform(4, 6, 3), rng.uniform(0, 900, 3)
    stall, flush, om = 10.0 ** rng.uniform(0, 2, 3), 10.0 ** rng.uniform(1, 3.8, 3), rng.uniform(0.8, 1, 3)
    best = tier_drain_optimum(stall, rate, restart, flush=flush, speed=om)
    assert best.floor_binds.any() == binds
    C, at_risk = stall + (1 - om) * flush, om * flush
    below = np.cumsum(C / best.intervals_s) - C / best.intervals_s
    floors = np.where([True, False, False], at_risk, (flush - C) / (1 + below))
    assert (best.intervals_s >= floors * (1 - 1e-12)).all()
    near = best.intervals_s * np.exp(rng.normal(size=(20_000, 3)) * rng.choice([0.3, 0.03], (20_000, 1)))
    near = np.maximum.accumulate(np.maximum(near, floors), axis=-1)
    others = (C / near + rate * (near / 2 + at_risk + restart)).sum(axis=-1)
    assert others.min() >= best.overhead * (1 - 1e-14)
    assert others.min() == pytest.approx(float(best.overhead), rel=1e-3)


def test_a_drain_that_takes_long_sets_the_interval():
    """The second tier is saved to no more often than its drain allows, and never more often than the first."""
    best = tier_drain_optimum([2, 0], RATE, RESTART, flush=[0, 40_000], speed=[1, 0.999])
    np.testing.assert_array_equal(best.floor_binds, [False, True])
    W, W2 = best.intervals_s
    assert pytest.approx(0.999 * 40_000, rel=1e-12) == W2 * (1 + 2 / W)
    closer = [W, W2 * (1 - 1e-6)]
    assert np.isnan(tier_drain(closer, [2, 0], RATE, RESTART, flush=[0, 40_000], speed=[1, 0.999]).overhead)
    first = tier_drain_optimum([2, 1], RATE, RESTART, flush=[50_000, 0])
    np.testing.assert_allclose(first.intervals_s, 50_000)
    np.testing.assert_array_equal(first.floor_binds, [True, False])


def test_floor_of_two_tiers():
    """With two tiers, n (W + d) + (1 - om) F >= F; below, the overhead is nan."""
    n, d, F, om = 4, 2.0, 1400.0, 0.95
    W = float(tier_interval_floor([1, n], [d, d + (1 - om) * F], flush=[0, F], exposed=[0, om * F]))
    assert n * (W + d) + (1 - om) * F == pytest.approx(F, rel=1e-14)
    at, below = [[W * scale, n * W * scale] for scale in (1, 1 - 1e-6)]
    found = tier_drain([at, below], [d, 0], RATE, RESTART, flush=[0, F], speed=[1, om])
    np.testing.assert_array_equal(np.isnan(found.goodput), [False, True])


def test_floor_of_one_level_is_that_of_asynchronous_saves():
    """The lowest level has one buffer: W >= om F."""
    flush, om = np.array([[400.0], [3000.0]]), np.array([[0.95], [1.0]])
    found = tier_interval_floor([1], 5 + (1 - om) * flush, flush=flush, exposed=om * flush)
    np.testing.assert_array_equal(found, interval_floor(flush, om)[:, 0])


def test_floor_laid_out_in_time():
    """At the floor the tightest drain of a long undisturbed run ends as the next one of its level starts."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        every = np.cumprod([1, *rng.integers(2, 5, 2)])
        stall = np.cumsum(rng.uniform(0, 20, 3))
        flush = np.array([0, *rng.uniform(100, 5000, 2)])
        W = float(tier_interval_floor(every, stall, flush=flush, exposed=0.9 * flush))
        slots = np.arange(1, 2 * every[-1] + 1)
        of_slot = (slots[:, np.newaxis] % every == 0).sum(axis=-1) - 1
        after = np.cumsum(W + stall[of_slot])  # end of each stall, where the drain starts
        room = [np.diff(after[of_slot >= level]).min() - flush[level] for level in (1, 2)]
        assert min(room) == pytest.approx(0, abs=1e-9) if W > 0 else min(room) >= 0


def test_invalid_is_nan_beside_valid():
    """Intervals that cross and input outside the domain are nan beside valid neighbours."""
    found = tier_drain([[300, 1200], [1200, 300], [0, 300], [300, np.inf]], [2, 1], RATE, RESTART)
    np.testing.assert_array_equal(np.isnan(found.overhead), [False, True, True, True])
    speeds = [[1, 1], [1, 1.1], [1, -0.1]]
    assert np.isnan(tier_drain([300, 1200], [2, 1], RATE, RESTART, speed=speeds).goodput).tolist() == [
        False,
        True,
        True,
    ]
    rates = [[5e-5, 1e-5], [0, 1e-5], [-5e-5, 1e-5]]
    best = tier_drain_optimum([2, 1], rates, RESTART)
    np.testing.assert_array_equal(np.isnan(best.overhead), [False, True, True])
    np.testing.assert_array_equal(np.isnan(best.intervals_s).all(axis=-1), [False, True, True])

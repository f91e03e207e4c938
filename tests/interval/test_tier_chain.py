from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_shares
from ckptplan.interval.recovery import RecoveryParts, recovery_parts
from ckptplan.interval.tier_chain import tier_goodput, tier_shares
from ckptplan.interval.tier_recovery import Causes, tier_recovery
from tests.interval import tier_markov

X1 = (600, [1, 4], [5, 65], [0.000125, 2.5e-05], [60, 600])
X2 = (300, [1, 3, 12], [2, 22, 202], [0.00025, 5e-05, 1.25e-05], [30, 120, 900])


def by_level(rate, restart, strike):
    """One cause per level, recoveries that depend on the level alone."""
    return Causes(rate, range(1, len(rate) + 1), recovery_parts(0, restart, strike))


def random_case(rng):
    """A pattern of up to 24 slots with general causes, some of which share a level and some levels without any.

    With an MTBF much below 1000 s the goodput is 1e-4 and less, and the equations lose the digits that they are for.
    """
    L, C = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    every = np.cumprod([1, *rng.integers(1, 5, L - 1)])
    mtbf = 10.0 ** rng.uniform(3, 5, C)
    level = rng.integers(1, L + 1, C)
    unstruck, struck = rng.uniform(0, 300, (2, C, L)) * np.array([[1, 0], [0, 1], [1, 1]])[rng.integers(3)].reshape(
        2, 1, 1
    )
    parts = RecoveryParts(unstruck, struck)
    stall = rng.uniform(0, 100, L)
    exposed = rng.uniform(0, 100, L) * (rng.random() < 0.5)
    return rng.uniform(10, 600), every, stall, Causes(1 / mtbf, level, parts), exposed


@pytest.mark.parametrize(
    ("case", "strike", "expected"),
    [
        (X1, Strike.SAFE, 0.8813463537),
        (X1, Strike.DR, 0.8804652366),
        (X2, Strike.DR, 0.8219838671),
    ],
)
def test_reference_goodputs(case, strike, expected):
    """The goodput of nested patterns equals the reference."""
    W, every, stall, rate, restart = case
    assert tier_goodput(W, every, stall, by_level(rate, restart, strike)) == pytest.approx(expected, rel=1e-9)
    assert tier_markov.goodput(*case, struck=strike is Strike.DR) == pytest.approx(expected, rel=1e-9)


def test_against_the_chain_state_by_state():
    """Every share and the resumes by level equal those of the Markov chain solved as linear equations."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        W, every, stall, causes, exposed = random_case(rng)
        plain = tier_markov.visits(W, every, stall, causes.rate, causes.level, *causes.recovery, exposed)
        shares = tier_shares(W, every, stall, causes, exposed=exposed)
        assert shares.useful == pytest.approx(every[-1] * W / plain.wall, rel=1e-10)
        assert tier_goodput(W, every, stall, causes, exposed=exposed) == shares.useful
        assert shares.save == pytest.approx(plain.save / plain.wall, rel=1e-10)
        np.testing.assert_allclose(shares.rework, plain.rework / plain.wall, rtol=1e-10, atol=1e-15)
        np.testing.assert_allclose(shares.restart, plain.restart / plain.wall, rtol=1e-10, atol=1e-15)
        np.testing.assert_allclose(
            shares.rollbacks_per_useful_s, plain.resumes / (every[-1] * W), rtol=1e-10, atol=1e-18
        )


@pytest.mark.parametrize("strike", list(Strike))
def test_one_level_is_the_exact_breakdown(strike):
    """With one level all shares are those of a single save, background flush included, for every strike."""
    rng = np.random.default_rng(2)
    d, M, D, R, F = 10.0 ** rng.uniform(0, 3, (5, 200))
    M, om = M * 30, rng.uniform(0, 1, 200)
    W = om * F + 10.0 ** rng.uniform(0, 4, 200)
    one = exact_shares(W, d, M, downtime=D, restart=R, strike=strike, flush=F, speed=om)
    recovery = recovery_parts(*(t[:, np.newaxis, np.newaxis] for t in (D, R)), strike)
    causes = Causes(1 / M[:, np.newaxis], [1], recovery)
    several = tier_shares(W, [1], (d + (1 - om) * F)[:, np.newaxis], causes, exposed=(om * F)[:, np.newaxis])
    for share, expected in zip(several[:4], one, strict=True):
        np.testing.assert_allclose(share.reshape(-1), expected, rtol=1e-12)
    assert several.overhead == pytest.approx(one.overhead, rel=1e-12)


def _chain_of_40_digits(W, every, slot_stall, rate, restart):
    """H of the pattern from the equations of the chain, recoveries struck, in 40-digit arithmetic."""
    with mp.workdps(40):
        n, L, lam = every[-1], len(every), mp.fsum(map(mp.mpf, rate))
        share = [mp.mpf(r) / lam for r in rate]
        # Y_{m,j} as time and weights of V_{floor(j/n_l) n_l}, by level l, from the top down
        Y = [None] * L
        for m in reversed(range(L)):
            struck = -mp.expm1(-lam * restart[m])
            same = struck * mp.fsum(share[: m + 1])
            time, weight = struck / lam, [mp.mpf(0)] * L
            weight[m] += 1 - struck
            for k in range(m + 1, L):
                time += struck * share[k] * Y[k][0]
                weight = [w + struck * share[k] * up for w, up in zip(weight, Y[k][1], strict=True)]
            Y[m] = (time / (1 - same), [w / (1 - same) for w in weight])
        A, b = mp.eye(n), mp.zeros(n, 1)
        for j in range(n):
            P = mp.mpf(W) + slot_stall[tier_markov.highest(j + 1, every)]
            fails = -mp.expm1(-lam * P)
            b[j] = fails / lam + fails * mp.fsum(share[m] * Y[m][0] for m in range(L))
            if j + 1 < n:
                A[j, j + 1] -= 1 - fails
            for m in range(L):
                for to in range(L):
                    A[j, j // every[to] * every[to]] -= fails * share[m] * Y[m][1][to]
        return mp.lu_solve(A, b)[0] / (n * mp.mpf(W)) - 1


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1.0])
def test_against_arithmetic_of_40_digits(scale):
    """The overhead is right to 1e-12 for rates from 1e-12 per second, where goodput itself differs from 1 by little."""
    every, stall, restart = [1, 3, 12], [2e-3, 22e-3, 202e-3], [30, 120, 900]
    rate = np.multiply(scale, [2.5e-4, 5e-5, 1.25e-5])
    H = _chain_of_40_digits(300, every, stall, rate, restart)
    shares = tier_shares(300, every, stall, by_level(rate, restart, Strike.DR))
    assert float(shares.overhead / H - 1) == pytest.approx(0, abs=1e-12)
    with mp.workdps(40):  # less the saves, which dominate at tiny rates
        stalls = 8 * mp.mpf(stall[0]) + 3 * mp.mpf(stall[1]) + stall[2]
        lost = float(H - stalls / 3600)
    assert float((shares.rework.sum() + shares.restart.sum()) / shares.useful) == pytest.approx(lost, rel=1e-12, abs=0)


def test_shares_sum_to_one():
    """The shares sum to one to rounding, from jobs that rarely fail to such that hardly get anywhere."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        W, every, stall, causes, exposed = random_case(rng)
        rate = np.multiply(causes.rate, 10.0 ** rng.uniform(-12, 2))
        shares = tier_shares(W, every, stall, causes._replace(rate=rate), exposed=exposed)
        total = shares.useful + shares.save + shares.rework.sum() + shares.restart.sum()
        assert total == pytest.approx(1, abs=2e-15)


def test_causes_of_one_level_add_as_rates():
    """Two causes with the same level and recovery are one with the sum of their rates; a cause at rate 0 is none."""
    W, every, stall, (fast, slow), restart = X1
    whole = tier_shares(W, every, stall, by_level([fast, slow], restart, Strike.DR))
    split = Causes([0.3 * fast, slow, 0.7 * fast, 0], [1, 2, 1, 2], recovery_parts(0, restart, Strike.DR))
    parts = tier_shares(W, every, stall, split)
    assert parts.useful == pytest.approx(float(whole.useful), rel=1e-14)
    np.testing.assert_allclose(
        parts.rework, [0.3 * whole.rework[0], whole.rework[1], 0.7 * whole.rework[0], 0], rtol=1e-13
    )
    np.testing.assert_allclose(parts.rollbacks_per_useful_s, whole.rollbacks_per_useful_s, rtol=1e-13)


def test_levels_that_nothing_needs():
    """A level without causes changes nothing but the stalls; a ratio of 1 makes two levels one."""
    W, every, stall, rate, restart = X1
    plain = tier_goodput(W, every, stall, by_level(rate, restart, Strike.DR))
    causes = Causes(rate, [1, 3], recovery_parts(0, [60, np.nan, 600], Strike.DR))
    assert np.isnan(tier_goodput(W, [1, 2, 4], [5, 5, 65], causes))  # read: a recovery of the first cause from level 2
    causes = Causes(rate, [1, 3], recovery_parts(0, [60, 300, 600], Strike.DR))
    assert tier_goodput(W, [1, 2, 4], [5, 5, 65], causes) == pytest.approx(float(plain), rel=1e-14)
    both = tier_goodput(W, [1, 1], [5, 65], by_level(rate, [600, 600], Strike.DR))
    assert both == pytest.approx(float(exact_shares(W, 65, 1 / sum(rate), restart=600).useful), rel=1e-14)


def test_recoveries_below_the_level_of_a_cause_are_not_read():
    """What a recovery from a save that the failure has cleared would take is not asked for."""
    W, every, stall, rate, restart = X1
    table = np.array([[60.0, 600.0], [np.nan, 600.0]])
    found = tier_goodput(W, every, stall, Causes(rate, [1, 2], recovery_parts(0, table, Strike.DR)))
    assert found == tier_goodput(W, every, stall, by_level(rate, restart, Strike.DR))


def test_patterns_intervals_and_jobs_broadcast():
    """Leading axes of the interval, the pattern and the causes broadcast; causes stay on the last axis."""
    stall, rate, restart = X2[2:]
    intervals, patterns = np.array([100.0, 300.0]), np.array([[1, 3, 12], [1, 2, 8], [1, 4, 4]])
    rates = np.multiply.outer([0.5, 1.0, 2.0, 4.0], rate)[:, np.newaxis, np.newaxis]
    shares = tier_shares(
        intervals, patterns[:, np.newaxis], stall, by_level(rates, restart, Strike.DR)._replace(level=[1, 2, 3])
    )
    assert shares.useful.shape == (4, 3, 2)
    assert shares.rework.shape == shares.restart.shape == shares.rollbacks_per_useful_s.shape == (4, 3, 2, 3)
    one = tier_shares(300, [1, 2, 8], stall, by_level(np.multiply(2, rate), restart, Strike.DR))
    for several, single in zip(shares, one, strict=True):
        np.testing.assert_allclose(several[2, 1, 1], single, rtol=1e-14)


def test_limits():
    """An interval of 0 with saves that cost nothing, jobs that never fail, and such that never get anywhere."""
    causes = by_level([1e-4, 1e-5], [60, 600], Strike.SAFE)
    assert tier_goodput(0, [1, 8], [0, 0], causes) == pytest.approx(1 / (1 + 60e-4 + 600e-5), rel=1e-12)
    assert tier_goodput(0, [1, 8], [5, 65], causes) == pytest.approx(0, abs=1e-18)
    idle = tier_shares([600, np.inf], [1, 8], [5, 65], causes._replace(rate=[0, 0]))
    np.testing.assert_allclose(idle.useful, [8 * 600 / (8 * 600 + 7 * 5 + 65), 1], rtol=1e-14)
    np.testing.assert_allclose(np.concatenate([idle.rework, idle.restart]), 0, atol=1e-18)
    stuck = tier_shares([1e9, np.inf], [1, 8], [5, 65], by_level([1e-4, 1e-5], [1e8, 1e9], Strike.DR))
    np.testing.assert_array_equal(stuck.useful, 0)
    np.testing.assert_allclose(stuck.restart.sum(axis=-1) + stuck.rework.sum(axis=-1), 1, rtol=1e-14)


def test_invalid_is_nan_beside_valid():
    """Patterns that do not nest and negative times and rates are nan beside valid neighbours."""
    causes = by_level([1e-4, 1e-5], [60, 600], Strike.DR)
    every = [[1, 8], [2, 8], [1, 7.5], [1, 0], [1, np.nan], [3, 4]]
    assert np.isnan(tier_goodput(600, every, [5, 65], causes)).tolist() == [False] + 5 * [True]
    assert np.isnan(tier_goodput([600, -1, np.nan], [1, 8], [5, 65], causes)).tolist() == [False, True, True]
    assert np.isnan(tier_goodput(600, [1, 8], [[5, 65], [-5, 65]], causes)).tolist() == [False, True]
    rates = causes._replace(rate=[[1e-4, 1e-5], [-1e-4, 1e-5], [np.nan, 1e-5]])
    shares = tier_shares(600, [1, 8], [5, 65], rates)
    for share in shares:
        assert np.isnan(share).reshape(3, -1).all(axis=-1).tolist() == [False, True, True]
    assert np.isnan(tier_goodput(600, [1, 8], [5, 65], causes, exposed=[[0, 60], [0, -60]])).tolist() == [False, True]


@pytest.mark.parametrize("level", [[1], [0, 1], [1, 3], [1.0, 2.0]])
def test_levels_are_whole_numbers_of_the_pattern(level):
    """One whole number from 1 to the number of levels per cause, or the call is refused."""
    with pytest.raises(ValueError, match="one whole number from 1 to 2"):
        tier_recovery(Causes([1e-4, 1e-5], level, recovery_parts(0, [60, 600], Strike.DR)))
    with pytest.raises(ValueError, match="needs level 2, and the pattern ends with level 1"):
        tier_goodput(600, [1], [5], Causes([1e-4, 1e-5], [1, 2], recovery_parts(0, [60, 600], Strike.DR)))

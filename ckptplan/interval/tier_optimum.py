"""The work between saves that is best for a given nested pattern of several tiers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import decay_deficit, expm1_minus
from ckptplan.interval.tier_blocks import Row, row, segments
from ckptplan.interval.tier_chain import LONGEST, NestedPattern, nested_pattern
from ckptplan.interval.tier_recovery import Causes, TierRecovery, tier_recovery

_ROUNDS = 60  # of Newton's method; 3 to 6 from the first-order start, one more for every factor e that this is off
_CLOSE = 1e-13  # relative step at which it ends


class _Slope(NamedTuple):
    """How the failures x of blocks grow with the work w in a segment, by the level of the end (last axis)."""

    excess: Floats  # w x'/x - 1, which is 0 at the optimum
    curvature: Floats  # w^2 x''/x


def tier_interval(
    every: npt.ArrayLike,
    slot_stall: npt.ArrayLike,
    causes: Causes,
    *,
    exposed: npt.ArrayLike = 0.0,
    floor: npt.ArrayLike = 0.0,
) -> Floats:
    """Work between slots that maximises the exact goodput of a nested pattern.

    Parameters
    ----------
    every, slot_stall, causes, exposed
        As for `tier_goodput`.
    floor : array_like
        Least interval, as `tier_interval_floor` finds it. [s]

    Returns
    -------
    ndarray
        W; 0 where saves cost nothing, infinite where nothing fails, nan for input outside its domain. [s]

    Notes
    -----
    The goodput is ``n W/x(W)`` up to a factor that does not depend on W. x is convex, so there is one optimum, where
    ``W x' = x``, and it is below the MTBF. Newton's method in log(W) on ``W x'/x - 1``, which is composed block by
    block from terms without cancellation, so that W is as exact for rare failures as for frequent ones.
    """
    with np.errstate(all="ignore"):
        found = tier_recovery(causes, exposed)
        best = best_interval(nested_pattern(1.0, every, slot_stall, found), found)
        least = np.asarray(floor, dtype=np.float64)
        return np.where(least >= 0.0, np.maximum(best, least), np.nan)


def best_interval(pattern: NestedPattern, found: TierRecovery) -> Floats:
    """Best work between slots of a pattern whose interval is not read. [s]."""
    slots = pattern.slots.sum(axis=-1)
    stalls = np.sum(pattern.slots * pattern.stall, axis=-1)
    lost = sum(found.to_levels(pattern.levels)[..., k] * _slots_of(pattern, k) for k in range(pattern.levels))
    work = np.minimum(1.0, np.sqrt(2.0 * stalls / (slots * lost)))  # first order
    for _ in range(_ROUNDS):
        slope = _slope(pattern._replace(work=work), found)
        rise = slope.curvature - slope.excess * (1.0 + slope.excess)
        step = np.clip(slope.excess / rise, -1.0, 1.0)
        step = np.where(np.isfinite(step), step, np.sign(slope.excess))
        work = np.minimum(1.0, work * np.exp(-step))
        if not np.any(np.abs(step) > _CLOSE):
            break
    best = work / found.rate_per_s
    return np.where(stalls == 0.0, 0.0, np.where(best >= LONGEST, np.inf, best))


def _slots_of(pattern: NestedPattern, level: int) -> Floats:
    """Slots in one block of a level: n_l."""
    return np.asarray(np.prod(pattern.repeats[..., : level + 1], axis=-1))


def _slope(pattern: NestedPattern, found: TierRecovery) -> _Slope:
    """Slope of the failures of a whole pattern."""
    w, length = pattern.work[..., np.newaxis], pattern.length
    attempt = -np.expm1(-length)
    slope = _Slope((expm1_minus(-w) + np.exp(-w) * np.expm1(-pattern.stall)) / attempt, w * w / attempt)
    failures = segments(length)
    for below in range(1, pattern.levels):
        joined = row(failures, found.beyond(below), pattern.repeats[..., below])
        slope, failures = _of_row(joined, slope), joined.failures
    return _Slope(slope.excess[..., 0], slope.curvature[..., 0])


def _of_row(joined: Row, slope: _Slope) -> _Slope:
    """Slope of a row from those of its blocks.

    Each block adds its own excess; in addition all blocks before it are done again more often.
    """
    own, last = (_Slope(*(part[..., where] for part in slope)) for where in (slice(0, 1), slice(1, None)))
    m, before, end = joined.inner, joined.log_before, joined.log_last
    one = _growth(joined.log_inner)
    again = np.where(m > 0.0, (_growth(before) - one) / (1.0 + one), 0.0)
    whole = -np.expm1(-(before + end))
    all_before = np.expm1(-before) * np.expm1(-end) / whole
    excess = joined.inner_part * (own.excess + (1.0 + own.excess) * again)
    excess = excess + joined.last_part * last.excess + (1.0 + last.excess) * all_before
    inner_hit, end_hit = -np.expm1(-joined.log_inner), -np.expm1(-end)
    b, c = (1.0 + own.excess) * inner_hit, (1.0 + last.excess) * end_hit
    curvature = m * own.curvature * inner_hit + last.curvature * end_hit + m * b * ((m - 1.0) * b + 2.0 * c)
    return _Slope(excess, curvature / whole)


def _growth(x: Floats) -> Floats:
    """``x/(1 - exp(-x)) - 1``, which is x/2 for small x."""
    return np.asarray(x - decay_deficit(x))

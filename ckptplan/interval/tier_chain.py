"""Exact goodput and shares of wall time of nested saves to several tiers, under exponential failures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import decay_deficit
from ckptplan.interval.tier_blocks import LARGEST, row, segments
from ckptplan.interval.tier_recovery import Causes, TierRecovery, tier_recovery

_SHORTEST, LONGEST = 1e-20, 1e20  # seconds: intervals of 0 and infinity are limits


class TierShares(NamedTuple):
    """Shares of wall time [1], which sum to one, and where failures go back to."""

    useful: Floats  # (...,)
    save: Floats  # (...,) saves that were kept, or whose work was
    rework: Floats  # (..., C) by the cause that set the level gone back to
    restart: Floats  # (..., C) by the cause whose recovery it was
    rollbacks_per_useful_s: Floats  # (..., L) resumes from a save of each level, per second of useful work [1/s]

    @property
    def goodput(self) -> Floats:
        """Useful work over wall time."""
        return self.useful

    @property
    def overhead(self) -> Floats:
        """Wall time over useful work, minus one; infinite where nothing useful is left."""
        lost = self.save + self.rework.sum(axis=-1) + self.restart.sum(axis=-1)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(lost / self.useful)


class NestedPattern(NamedTuple):
    """A nested pattern in dimensionless numbers."""

    work: Floats  # (...,) W over the MTBF
    slots: Floats  # (..., L) slots whose highest level it is, in one pattern
    repeats: Floats  # (..., L) blocks of the level below in one of each level; 1 for the first
    stall: Floats  # (..., L) of a slot, over the MTBF

    @property
    def levels(self) -> int:
        """How many there are."""
        return int(self.stall.shape[-1])

    @property
    def length(self) -> Floats:
        """Work and stall of a segment over the MTBF, by the level of the slot that ends it."""
        return np.asarray(self.work[..., np.newaxis] + self.stall)


def tier_goodput(
    interval: npt.ArrayLike,
    every: npt.ArrayLike,
    slot_stall: npt.ArrayLike,
    causes: Causes,
    *,
    exposed: npt.ArrayLike = 0.0,
) -> Floats:
    """Useful work over wall time of a nested pattern of saves.

    Parameters
    ----------
    interval : array_like
        Work between two slots, W; a slot is a save of any level. [s]
    every : array_like, shape (..., L)
        Slots from one save of a level or higher to the next, nested whole numbers ``1 = n_1 | n_2 | ...``. [1]
    slot_stall : array_like, shape (..., L)
        Stall of a slot whose highest level it is, slow-down by a drain included. Whether it takes the lower levels
        too (additive) or not (replace) is in these numbers. [s]
    causes, exposed
        As for `tier_recovery`.

    Returns
    -------
    ndarray
        Goodput, between 0 and 1; nan for input outside its domain. [1]

    Notes
    -----
    The Markov chain of Moody et al. 2010 in closed form. With the rate lam of all causes and V_l the probability that
    a failure goes back to a level above l, ``x = exp(lam (W + s)) - 1`` for a segment that ends in a slot of stall s,
    and level by level ``1 + V x' = (1 + V x)^(k - 1) (1 + V x_end)`` for a row of k blocks, of which the last ends in
    a higher slot. Then ``g = n_L W lam/(A x)``, with A and V_l from `tier_recovery`.

    A level gone back to leaves a copy on every level below it: a later failure of a low class then pays the recovery
    from the low level. Under ``replace`` that is optimistic by about ``lam_1 (R_2 - R_1) n_1/n_2``, the failures next
    after a dear save. ``exposed`` is exact for one level, and first order for more.
    """
    with np.errstate(all="ignore"):
        found = tier_recovery(causes, exposed)
        pattern = nested_pattern(interval, every, slot_stall, found)
        return useful_share(pattern, expected_failures(pattern, found), found)


def tier_shares(
    interval: npt.ArrayLike,
    every: npt.ArrayLike,
    slot_stall: npt.ArrayLike,
    causes: Causes,
    *,
    exposed: npt.ArrayLike = 0.0,
) -> TierShares:
    """Exact shares of wall time of a nested pattern of saves.

    Parameters
    ----------
    interval, every, slot_stall, causes, exposed
        As for `tier_goodput`.

    Returns
    -------
    TierShares
        ``save`` counts every slot of the pattern once. Rework is everything between the save gone back to and the
        failure, aborted and rolled back saves included; it belongs to the cause that set the level gone back to, in
        the end the failure in running training or a strike on its recovery that needed a higher level. Work that had
        not been drained is rework too, of the cause that had set the level when it was done again. Restart belongs to
        the cause whose recovery the time was spent in, whatever the level.

    Notes
    -----
    A failure that goes back to level m loses the progress since the last save of level m or higher. Its mean is found
    with the chain: in a row of blocks, that of the block struck, plus the blocks before it. All terms are positive, so
    that the shares keep full relative precision. With one level they are those of `exact_shares`.
    """
    with np.errstate(all="ignore"):
        found = tier_recovery(causes, exposed)
        pattern = nested_pattern(interval, every, slot_stall, found)
        failures, lost = _progress_lost(pattern, found)
        useful = useful_share(pattern, failures, found)
        A = found.factor[..., np.newaxis]
        kept = np.sum(pattern.slots * pattern.stall, axis=-1) / (failures * found.factor)
        resumes = failures / (pattern.slots.sum(axis=-1) * pattern.work) * found.rate_per_s
        return TierShares(
            useful=useful,
            save=np.where(failures >= LARGEST, 0.0, kept),
            rework=(found.goes_back * lost[..., found.level - 1] + found.rerun) / A,
            restart=found.restart / A + 0.0 * useful[..., np.newaxis],
            rollbacks_per_useful_s=found.to_levels(lost.shape[-1]) * resumes[..., np.newaxis],
        )


def nested_pattern(
    interval: npt.ArrayLike, every: npt.ArrayLike, slot_stall: npt.ArrayLike, found: TierRecovery
) -> NestedPattern:
    """A pattern in dimensionless numbers.

    Parameters
    ----------
    interval, every, slot_stall
        As for `tier_goodput`. [s, 1]
    found : TierRecovery
        Its rate makes times dimensionless.

    Returns
    -------
    NestedPattern
        nan where the interval or a stall is negative, or ``every`` is not 1 and multiples, each of the one before.

    Raises
    ------
    ValueError
        If a cause needs a level that the pattern does not have.
    """
    n, s = (np.asarray(value, dtype=np.float64) for value in (every, slot_stall))
    n, s = np.broadcast_arrays(n, s)
    W = np.asarray(interval, dtype=np.float64)
    if found.level.max() > n.shape[-1]:
        raise ValueError(f"a cause needs level {found.level.max()}, and the pattern ends with level {n.shape[-1]}")
    repeats = np.concatenate([n[..., :1], n[..., 1:] / n[..., :-1]], axis=-1)
    valid = np.all((repeats >= 1.0) & (repeats == np.floor(repeats)) & np.isfinite(n), axis=-1) & (n[..., 0] == 1.0)
    valid = valid & np.all(np.isfinite(s) & (s >= 0.0), axis=-1) & (W >= 0.0)
    rate = np.where(valid, found.rate_per_s, np.nan)
    of_level = n[..., -1:] / n  # saves of a level or a higher one
    slots = of_level - np.concatenate([of_level[..., 1:], np.zeros_like(of_level[..., :1])], axis=-1)
    return NestedPattern(
        np.clip(W, _SHORTEST, LONGEST) * rate, slots + 0.0 * rate[..., np.newaxis], repeats, s * rate[..., np.newaxis]
    )


def at_interval(pattern: NestedPattern, interval: Floats, found: TierRecovery) -> NestedPattern:
    """The same pattern at another interval. [s]."""
    return pattern._replace(work=np.clip(interval, _SHORTEST, LONGEST) * found.rate_per_s)


def expected_failures(pattern: NestedPattern, found: TierRecovery) -> Floats:
    """Failures until a whole pattern is done, x of `tier_blocks`. [1]."""
    failures = segments(pattern.length)
    for below in range(1, pattern.levels):
        failures = row(failures, found.beyond(below), pattern.repeats[..., below]).failures
    return failures[..., 0]


def useful_share(pattern: NestedPattern, failures: Floats, found: TierRecovery) -> Floats:
    """Useful work over wall time, for the expected failures of a pattern. [1]."""
    done = pattern.slots.sum(axis=-1) * pattern.work
    return np.where(failures >= LARGEST, 0.0, done / (failures * found.factor))


def _progress_lost(pattern: NestedPattern, found: TierRecovery) -> tuple[Floats, Floats]:
    """Failures of a pattern, and the mean progress since the last save of each level or higher when one strikes."""
    length = pattern.length
    failures, progress = segments(length), decay_deficit(length)  # since the start of the block
    lost = [progress]
    for below in range(1, pattern.levels):
        joined = row(failures, found.beyond(below), pattern.repeats[..., below])
        own, inner, last = length[..., :1], joined.inner_part, joined.last_part
        lost = [inner * since[..., :1] + last * since[..., 1:] for since in lost]
        in_row = inner * joined.blocks_before * own + last * joined.inner * own
        progress = inner * progress[..., :1] + last * progress[..., 1:] + in_row
        failures, length = joined.failures, joined.inner * own + length[..., 1:]
        lost.append(progress)
    return failures[..., 0], np.stack([since[..., 0] for since in lost], axis=-1)

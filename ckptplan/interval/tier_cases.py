"""One job with several tiers, and what patterns over some of its levels yield."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import ceil_to_whole, floor_to_whole
from ckptplan.interval.recovery import RecoveryParts
from ckptplan.interval.tier_chain import NestedPattern, at_interval, expected_failures, nested_pattern, useful_share
from ckptplan.interval.tier_drain import tier_interval_floor
from ckptplan.interval.tier_levels import Bools, SlotCost, alone_stalls, kept_levels
from ckptplan.interval.tier_optimum import best_interval
from ckptplan.interval.tier_recovery import Causes, TierRecovery, tier_recovery


class TieredSaves(NamedTuple):
    """Saves to several tiers and the failures they are for, by level (last axis of length L), the cheapest first."""

    stall: npt.ArrayLike  # (..., L) of a save, as ``slot_cost`` reads it, slow-down by its drain included [s]
    causes: Causes
    slot_cost: SlotCost = "additive"
    alone_stall: npt.ArrayLike | None = None  # (..., L) additive, of a save with no level kept below it [s]
    exposed: npt.ArrayLike = 0.0  # (..., L) work done while a save is drained to the level, om F [s]
    flush: npt.ArrayLike = 0.0  # (..., L) time of that drain, F [s]


class Case(NamedTuple):
    """The kept levels of one job, renumbered from 1."""

    slot_stall: Floats  # of a slot whose highest level it is [s]
    exposed: Floats  # [s]
    flush: Floats  # [s]
    found: TierRecovery
    least_ratio: int  # of neighbouring levels


class PatternYields(NamedTuple):
    """What patterns yield, each at its best interval."""

    interval_s: Floats  # [s]
    steps: Floats  # nan without a step time [1]
    goodput: Floats  # [1]


def in_full(saves: TieredSaves) -> TieredSaves:
    """The same with every array in its full shape."""
    C, om_F, F = (np.asarray(value, dtype=np.float64) for value in (saves.stall, saves.exposed, saves.flush))
    alone = alone_stalls(C, saves.alone_stall, saves.slot_cost)
    lam = np.asarray(saves.causes.rate, dtype=np.float64)
    parts = tuple(np.asarray(part, dtype=np.float64) for part in saves.causes.recovery)
    lead = np.broadcast_shapes(
        *(value.shape[:-1] for value in (C, om_F, F, alone, lam)), *(part.shape[:-2] for part in parts)
    )
    L, causes = C.shape[-1], lam.shape[-1]
    C, om_F, F, alone = (np.broadcast_to(value, (*lead, L)) for value in (C, om_F, F, alone))
    unstruck, struck = (np.broadcast_to(part, (*lead, causes, L)) for part in parts)
    full = Causes(np.broadcast_to(lam, (*lead, causes)), saves.causes.level, RecoveryParts(unstruck, struck))
    return TieredSaves(C, full, saves.slot_cost, alone, om_F, F)


def one_job(saves: TieredSaves, job: tuple[int, ...]) -> TieredSaves:
    """One job of several, by its place on the leading axes of full arrays."""
    rate, level, recovery = saves.causes
    causes = Causes(np.asarray(rate)[job], level, RecoveryParts(*(part[job] for part in recovery)))
    stall, alone, om_F, F = (np.asarray(v)[job] for v in (saves.stall, saves.alone_stall, saves.exposed, saves.flush))
    return TieredSaves(stall, causes, saves.slot_cost, alone, om_F, F)


def in_domain(job: TieredSaves) -> bool:
    """Whether all numbers of one job are, also those of levels that a pattern drops."""
    times = np.concatenate([np.asarray(v) for v in (job.stall, job.alone_stall, job.exposed, job.flush)])
    rates = tier_recovery(job.causes).rate_per_s
    return bool(np.all(np.isfinite(times) & (times >= 0.0)) and np.isfinite(rates))


def kept_case(job: TieredSaves, kept: Bools) -> Case:
    """The kept levels of one job: causes of a dropped level move to the next kept one, with its recovery."""
    levels = np.flatnonzero(kept)
    added = kept_levels(
        job.stall, np.zeros(kept.shape), kept, slot_cost=job.slot_cost, alone_stall=job.alone_stall
    ).stall
    om_F, F = (np.asarray(value)[levels] for value in (job.exposed, job.flush))
    return Case(
        slot_stall=np.cumsum(added[levels]),
        exposed=om_F,
        flush=F,
        found=tier_recovery(causes_of_levels(job.causes, levels), om_F),
        least_ratio=2 if job.slot_cost == "replace" else 1,
    )


def causes_of_levels(causes: Causes, levels: npt.NDArray[np.intp]) -> Causes:
    """The same causes with some levels, counted from 0: what went back to another one goes back to the next."""
    rate, level, recovery = causes
    moved = np.searchsorted(levels, np.asarray(level) - 1) + 1
    return Causes(rate, moved, RecoveryParts(*(part[..., levels] for part in recovery)))


def yields(case: Case, every: Floats, step_time_s: float | None) -> PatternYields:
    """Best interval of each pattern (K, L), and its goodput there."""
    with np.errstate(all="ignore"):
        pattern = nested_pattern(1.0, every, case.slot_stall, case.found)
        floor = tier_interval_floor(every, case.slot_stall, flush=case.flush, exposed=case.exposed)
        W = np.maximum(best_interval(pattern, case.found), floor)
        if step_time_s is None:
            return PatternYields(W, np.full(W.shape, np.nan), _goodput(case, pattern, W))
        least = np.maximum(1.0, ceil_to_whole(floor / step_time_s))
        below = np.maximum(floor_to_whole(W / step_time_s), least)
        above = np.maximum(ceil_to_whole(W / step_time_s), least)
        worse, better = (_goodput(case, pattern, steps * step_time_s) for steps in (below, above))
        steps = np.where(better > worse, above, below)
        return PatternYields(steps * step_time_s, steps, np.maximum(worse, better))


def _goodput(case: Case, pattern: NestedPattern, W: Floats) -> Floats:
    at = at_interval(pattern, W, case.found)
    return useful_share(at, expected_failures(at, case.found), case.found)

"""Tiers and failures of one case as the formulas of several tiers take them, and the best pattern for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.tiers import TierCost
from ckptplan.interval.recovery import RecoveryParts, recovery_parts
from ckptplan.interval.spectrum import Behaviour
from ckptplan.interval.tier_cases import TieredSaves
from ckptplan.interval.tier_patterns import LARGEST_RATIO, BestPattern, SubsetYield, best_by_subset, best_of_subsets
from ckptplan.interval.tier_recovery import Causes
from ckptplan.plan.case import Case
from ckptplan.plan.spectrum.shares import Spectrum, causes_of

_LARGEST_OF_TWO = 512  # saves of one tier in one of the next, where only two are kept

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class TierJob(NamedTuple):
    """One case with all tiers. A class that a tier survives in part is a cause of two levels."""

    case: Case
    spectrum: Spectrum
    costs: tuple[TierCost, ...]
    saves: TieredSaves  # spikes count as stops: they set how often to save as well
    of_class: tuple[int, ...]  # of each cause
    available: Bools  # tiers with room for a save


class Pattern(NamedTuple):
    """The best pattern of a job, over its kept tiers."""

    best: BestPattern
    kept: npt.NDArray[np.intp]
    every: tuple[int, ...]
    slot_stall_s: tuple[float, ...]
    subsets: tuple[SubsetYield, ...] = ()  # the best pattern of every choice of tiers


def job_of(case: Case, spectrum: Spectrum, costs: tuple[TierCost, ...]) -> TierJob:
    """The tiers of a case under its stops and spikes."""
    kinds = causes_of(case, spectrum).behaviours
    restarts = restarts_s(spectrum, costs)
    rates, levels, unstruck, struck, of_class = [], [], [], [], []
    for index, one in enumerate(spectrum.classes):
        if kinds[index] in (Behaviour.SLOW, Behaviour.NOTICED):
            continue
        there = np.diff([0.0, *(tier.survival[index] for tier in costs)])
        for level in np.flatnonzero(there > 0.0):
            parts = recovery_parts(one.downtime_s, restarts[index], case.strike)
            rates.append(one.rate_per_s(case.mtbf_s) * there[level])
            levels.append(int(level) + 1)
            unstruck.append(parts.unstruck)
            struck.append(parts.struck)
            of_class.append(index)
    causes = Causes(np.array(rates), levels, RecoveryParts(np.array(unstruck), np.array(struck)))
    available = np.array([tier.fits != 0 for tier in costs])
    return TierJob(case, spectrum, costs, _saves(spectrum, costs, causes), tuple(of_class), available)


def _saves(spectrum: Spectrum, costs: tuple[TierCost, ...], causes: Causes) -> TieredSaves:
    """Stalls and drains; a check stands before each save to the last tier, which keeps a history."""
    slow = np.array([(1.0 - tier.speed) * tier.flush_s for tier in costs])
    check = np.zeros(len(costs))
    if spectrum.verification is not None:
        check[-1] = spectrum.verification.time_s
    return TieredSaves(
        stall=np.array([tier.stall_s for tier in costs]) + slow + check,
        causes=causes,
        alone_stall=np.array([tier.alone_stall_s for tier in costs]) + slow + check,
        exposed=np.array([tier.speed * tier.flush_s for tier in costs]),
        flush=np.array([tier.flush_s for tier in costs]),
    )


def slowed_s(kept: Sequence[TierCost]) -> Floats:
    """Work that the drains of a slot take from training, by the highest kept tier; a part of the stall. [s]."""
    return np.cumsum([(1.0 - tier.speed) * tier.flush_s for tier in kept])


def restarts_s(spectrum: Spectrum, costs: tuple[TierCost, ...]) -> Floats:
    """Restart of each class from each tier: that of the class, with the time to load from the tier. [s]."""
    return np.array(
        [
            [(one if tier.load_s is None else one.loading_for(tier.load_s)).restart_s for tier in costs]
            for one in spectrum.classes
        ]
    )


def pattern_of(job: TierJob) -> Pattern:
    """The best pattern over the tiers that have room for a save."""
    subsets = _subsets(job)
    best = best_of_subsets(subsets)
    kept = np.flatnonzero(best.kept)
    slots = np.cumsum(_added(job, best.kept)[kept])
    return Pattern(best, kept, tuple(int(best.every[k]) for k in kept), tuple(float(v) for v in slots), subsets)


def without(made: Pattern, index: int) -> BestPattern:
    """The best pattern that leaves a tier out, as a plan without it would have it."""
    return best_of_subsets(one for one in made.subsets if not one.kept[index])


def _subsets(job: TierJob) -> tuple[SubsetYield, ...]:
    """The best pattern of each choice of tiers with room; ratios above 64 are tried where two tiers are kept."""
    step_s = job.case.step_time_s
    found = best_by_subset(only(job.saves, job.available), step_time_s=step_s)
    return tuple(_in_place(job, _with_larger_ratios(job, one)) for one in found)


def _with_larger_ratios(job: TierJob, one: SubsetYield) -> SubsetYield:
    every = one.every[one.kept]
    if len(every) != 2 or every[1] < LARGEST_RATIO:
        return one
    these = job.available.copy()
    these[job.available] = one.kept
    wider = best_by_subset(only(job.saves, these), step_time_s=job.case.step_time_s, largest_ratio=_LARGEST_OF_TWO)[-1]
    in_every = one.every.copy()
    in_every[one.kept] = wider.every
    return SubsetYield(one.kept, in_every, wider.found)


def _in_place(job: TierJob, one: SubsetYield) -> SubsetYield:
    """The same among all tiers, those without room included."""
    kept, every = np.zeros(job.available.shape, dtype=np.bool_), np.full(job.available.shape, np.nan)
    kept[job.available], every[job.available] = one.kept, one.every
    return SubsetYield(kept, every, one.found)


def only(saves: TieredSaves, these: Bools) -> TieredSaves:
    """The same job with some of its tiers: what went back to another one goes back to the next."""
    rate, level, recovery = saves.causes
    here = np.flatnonzero(these)
    moved = np.searchsorted(here, np.asarray(level) - 1) + 1
    causes = Causes(rate, moved, RecoveryParts(*(part[:, here] for part in recovery)))
    stall, alone, exposed, flush = (
        np.asarray(v)[here] for v in (saves.stall, saves.alone_stall, saves.exposed, saves.flush)
    )
    return TieredSaves(stall, causes, saves.slot_cost, alone, exposed, flush)


def _added(job: TierJob, kept: Bools) -> Floats:
    """Stall that each kept level adds to a slot; the lowest pays for the copy-out. [s]."""
    added = np.where(kept, np.asarray(job.saves.stall, dtype=np.float64), 0.0)
    lowest = int(np.argmax(kept))
    added[lowest] = np.asarray(job.saves.alone_stall)[lowest]
    return np.asarray(added)

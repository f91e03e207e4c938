"""Tiers and failures of one case as the formulas of several tiers take them, and the best pattern for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Scenario
from ckptplan.cost.tiers import TierCost, tier_costs
from ckptplan.errors import InputError
from ckptplan.interval.recovery import RecoveryParts, recovery_parts
from ckptplan.interval.spectrum import Behaviour
from ckptplan.interval.tier_cases import TieredSaves, causes_of_levels, in_full, kept_case
from ckptplan.interval.tier_drain import tier_interval_floor
from ckptplan.interval.tier_patterns import LARGEST_RATIO, BestPattern, SubsetYield, best_by_subset, best_of_subsets
from ckptplan.interval.tier_recovery import Causes
from ckptplan.plan.case import Case
from ckptplan.plan.spectrum.shares import Spectrum, causes_of, spectrum_in

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


def job_of(scenario: Scenario, case: Case) -> TierJob:
    """The tiers of a scenario under the stops and spikes of one of its cases, whichever that is.

    Raises
    ------
    InputError
        All failures of the case are alike, a tier cannot be had at this size, or no save fits into the last one.
    """
    case = case.of_spec
    spectrum = spectrum_in(case)
    costs = tier_costs(scenario, spectrum.classes)
    if costs[-1].fits == 0:
        raise InputError(
            f"no save fits into the last tier, {costs[-1].name}", hint="raise its capacity, or shard the state further"
        )
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
    slow = np.array([tier.slowed_s for tier in costs])
    check = np.zeros(len(costs))
    if spectrum.verification is not None:
        check[-1] = spectrum.verification.time_s
    return TieredSaves(
        stall=np.array([tier.stall_s for tier in costs]) + slow + check,
        causes=causes,
        alone_stall=np.array([tier.alone_stall_s for tier in costs]) + slow + check,
        exposed=np.array([tier.exposed_s for tier in costs]),
        flush=np.array([tier.flush_s for tier in costs]),
    )


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
    return Pattern(best, kept, tuple(int(best.every[k]) for k in kept), slot_stalls_s(job, kept), subsets)


def slot_stalls_s(job: TierJob, kept: npt.NDArray[np.intp]) -> tuple[float, ...]:
    """Stall of a slot by its highest kept tier; the lowest one pays for the copy-out. [s]."""
    mask = np.isin(np.arange(len(job.costs)), kept)
    return tuple(float(v) for v in kept_case(in_full(job.saves), mask).slot_stall)


def floor_s(job: TierJob, made: Pattern) -> float:
    """Least work between two slots: each drain must end before the next to its tier starts. [s]."""
    flush, exposed = (np.asarray(values)[made.kept] for values in (job.saves.flush, job.saves.exposed))
    return float(tier_interval_floor(made.every, made.slot_stall_s, flush=flush, exposed=exposed))


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
    here = np.flatnonzero(these)
    stall, alone, exposed, flush = (
        np.asarray(v)[here] for v in (saves.stall, saves.alone_stall, saves.exposed, saves.flush)
    )
    return TieredSaves(stall, causes_of_levels(saves.causes, here), saves.slot_cost, alone, exposed, flush)

"""Saves to several tiers at many sizes: the best pattern by a search that is fast, and close enough for a curve."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import Scenario
from ckptplan.cost.tiers import tier_costs
from ckptplan.interval.elementary import ceil_to_whole
from ckptplan.interval.tier_cases import in_full, kept_case
from ckptplan.interval.tier_drain import tier_interval_floor
from ckptplan.interval.tier_levels import all_subsets
from ckptplan.interval.tier_patterns import BestPattern, pattern_goodputs
from ckptplan.plan.case import Case
from ckptplan.plan.spectrum.shares import best_interval
from ckptplan.plan.tiers.job import Floats, Pattern, TierJob, job_of
from ckptplan.plan.tiers.tiering import pattern_shares

_MOST_ROWS = 1_500
_LARGEST_RATIO = 512  # saves of one tier in one of the next
_CLOSE = 1.02  # factor between ratios that is looked at last


class TieredYield(NamedTuple):
    """The best pattern at one size. [s, 1]."""

    interval_s: float | None  # between two saves, of any tier; None: nothing useful is done
    interval_steps: int | None
    goodput: float
    waiting_fraction: float  # for a node


def tiers_at(scenario: Scenario, case: Case, *, whole_steps: bool) -> TieredYield:
    """What saves to several tiers yield at the size of a scenario.

    Parameters
    ----------
    scenario : Scenario
        With tiers, at any size.
    case : Case
        One of its cases: failures and recovery are read from it.
    whole_steps : bool
        Whether the interval is a whole number of steps; else it is only not shorter than one.

    Returns
    -------
    TieredYield

    Raises
    ------
    InputError
        If a tier cannot be had at this size.

    Notes
    -----
    As `ckptplan.plan.tiering.tiering_of`, but with the pattern of `pattern_near_best`, which is found without regard to
    whole steps: for many sizes, where a second for each would be too long.
    """
    spectrum = case.spectrum
    if spectrum is None:
        raise ValueError("a case of a scenario with tiers knows its failures by class")
    costs = tier_costs(scenario, spectrum.classes)
    job = job_of(case, spectrum, costs)
    made = pattern_near_best(job)
    kept = np.isin(np.arange(len(costs)), made.kept)
    levels = kept_case(in_full(job.saves), kept)
    floor_s = float(tier_interval_floor(made.every, made.slot_stall_s, flush=levels.flush, exposed=levels.exposed))

    def goodput(interval_s: Floats) -> Floats:
        return pattern_shares(job, made, interval_s).useful

    step_s = case.step_time_s or 0.0
    start_s = best_interval(goodput, float(made.best.interval_s))
    if not np.isfinite(start_s):
        return TieredYield(None, None, 0.0, 0.0)
    best_s, steps = max(start_s, floor_s, step_s), None
    if whole_steps and step_s > 0.0:
        least = max(int(ceil_to_whole(np.asarray(floor_s / step_s))), 1)
        counts = np.maximum(np.array([np.floor(best_s / step_s), np.ceil(best_s / step_s)]), least)
        steps = int(counts[np.argmax(goodput(counts * step_s))])
        best_s = steps * step_s
    found = pattern_shares(job, made, best_s)
    return TieredYield(best_s, steps, float(found.useful), float(found.waiting))


def pattern_near_best(job: TierJob) -> Pattern:
    """A pattern as good as the best one, over the tiers that have room for a save.

    Ratios between the tiers are tried by factors that get smaller (Hooke and Jeeves 1961): of a thousand patterns
    instead of a million. The goodput is flat in the ratios.
    """
    subsets = [kept for kept in all_subsets(len(job.costs)) if not (kept & ~job.available).any()]
    every, found = max((_best_ratios(job, kept) for kept in subsets), key=lambda one: float(one[1].goodput))
    return Pattern(
        best=found,
        kept=np.flatnonzero(found.kept),
        every=tuple(int(n) for n in every),
        slot_stall_s=tuple(float(v) for v in kept_case(in_full(job.saves), found.kept).slot_stall),
    )


def _best_ratios(job: TierJob, kept: np.ndarray) -> tuple[Floats, BestPattern]:
    """The best ratios between some of the tiers: a coarse grid, then ever closer around the best one."""
    count = int(kept.sum()) - 1
    steps = int(np.ceil(np.log2(_LARGEST_RATIO)))
    while (2 * steps + 1) ** count <= _MOST_ROWS and steps < 2 * np.log2(_LARGEST_RATIO):
        steps *= 2
    factor = _LARGEST_RATIO ** (1.0 / steps)
    tried = np.unique(np.rint(factor ** np.arange(steps + 1)))
    ratios, found = _best_of(job, kept, [tried] * count)
    while count and factor > _CLOSE:
        factor = np.sqrt(factor)
        near = [np.unique(np.maximum(np.rint([r / factor, r, r * factor]), 1.0)) for r in ratios]
        ratios, found = _best_of(job, kept, near)
    return np.cumprod(np.insert(ratios, 0, 1.0), dtype=np.float64), found


def _best_of(job: TierJob, kept: np.ndarray, choices: list[Floats]) -> tuple[Floats, BestPattern]:
    every = list(product(*choices))
    ratios = np.array(every, dtype=np.float64).reshape(len(every), len(choices))
    rows = np.full((len(ratios), len(kept)), np.nan)
    rows[:, kept] = np.cumprod(np.insert(ratios, 0, 1.0, axis=-1), axis=-1)
    yields = pattern_goodputs(job.saves, rows)
    best = int(np.nanargmax(np.where(np.isnan(yields.goodput), -1.0, yields.goodput)))
    nan = np.asarray(np.nan)
    found = BestPattern(kept, rows[best], yields.interval_s[best], nan, yields.goodput[best], nan, nan)
    return ratios[best], found

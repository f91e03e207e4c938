"""Saves to several tiers at many sizes: the best pattern by a search that is fast, and close enough for a curve."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import Scenario
from ckptplan.interval.tier_levels import all_subsets
from ckptplan.interval.tier_patterns import BestPattern, pattern_goodputs
from ckptplan.plan.case import Case
from ckptplan.plan.spectrum.shares import best_interval
from ckptplan.plan.tiers.job import Floats, Pattern, TierJob, floor_s, job_of, pattern_of, slot_stalls_s
from ckptplan.plan.tiers.tiering import pattern_shares, steps_of

_MOST_ROWS = 1_500
_LARGEST_RATIO = 512  # saves of one tier in one of the next
_CLOSE = 1.02  # factor between ratios that is looked at last
_WORSE = 1.1  # times the loss of the best subset on the grid


class TieredYield(NamedTuple):
    """The best pattern at one size. [s, 1]."""

    interval_s: float | None  # between two saves, of any tier; None: nothing useful is done
    interval_steps: int | None
    goodput: float
    waiting_fraction: float  # for a node


def tiers_at(scenario: Scenario, case: Case, pattern: Pattern, *, whole_steps: bool) -> TieredYield:
    """What saves to several tiers yield at the size of a scenario.

    Parameters
    ----------
    scenario : Scenario
        With tiers, at any size.
    case : Case
        One of its cases: failures and recovery are read from it.
    pattern : Pattern
        Of this size, or of one next to it.
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
    As `ckptplan.plan.tiers.tiering.tiering_of`, without what that says of each tier.
    """
    job = job_of(scenario, case)
    made = pattern._replace(slot_stall_s=slot_stalls_s(job, pattern.kept))

    def goodput(interval_s: Floats) -> Floats:
        return pattern_shares(job, made, interval_s).useful

    step_s = case.step_time_s or 0.0
    start_s = best_interval(goodput, float(made.best.interval_s))
    if not np.isfinite(start_s):
        return TieredYield(None, None, 0.0, 0.0)
    best_s, steps = max(start_s, floor_s(job, made), step_s), None
    if whole_steps and step_s > 0.0:
        steps = steps_of(job, made, best_s, step_s)
        best_s = steps * step_s
    found = pattern_shares(job, made, best_s)
    return TieredYield(best_s, steps, float(found.useful), float(found.waiting))


def pattern_at(scenario: Scenario, case: Case, *, whole_steps: bool) -> Pattern:
    """The best pattern at one size: with ``whole_steps`` that of ``optimize``, else one that is found fast."""
    job = job_of(scenario, case)
    return pattern_of(job) if whole_steps else pattern_near_best(job)


def pattern_near_best(job: TierJob) -> Pattern:
    """A pattern as good as the best one, over the tiers that have room for a save.

    Ratios between the tiers are tried by factors that get smaller (Hooke and Jeeves 1961): of a thousand patterns
    instead of a million. The goodput is flat in the ratios.
    """
    subsets = [kept for kept in all_subsets(len(job.costs)) if not (kept & ~job.available).any()]
    coarse = [_coarse_ratios(job, kept) for kept in subsets]
    most = max(float(one.found.goodput) for one in coarse)
    # What closer ratios add is far less than the losses: subsets that lose much more than the best stay behind it.
    near = [one for one in coarse if 1.0 - float(one.found.goodput) <= _WORSE * (1.0 - most)]
    every, found = max((_best_ratios(job, one) for one in near), key=lambda one: float(one[1].goodput))
    levels = np.flatnonzero(found.kept)
    return Pattern(found, levels, tuple(int(n) for n in every), slot_stalls_s(job, levels))


class _Coarse(NamedTuple):
    """The best ratios of a grid, between the tiers of one subset, and the factor between its points."""

    kept: np.ndarray
    ratios: Floats
    found: BestPattern
    factor: float


def _coarse_ratios(job: TierJob, kept: np.ndarray) -> _Coarse:
    count = int(kept.sum()) - 1
    steps = int(np.ceil(np.log2(_LARGEST_RATIO)))
    while (2 * steps + 1) ** count <= _MOST_ROWS and steps < 2 * np.log2(_LARGEST_RATIO):
        steps *= 2
    factor = _LARGEST_RATIO ** (1.0 / steps)
    tried = np.unique(np.rint(factor ** np.arange(steps + 1)))
    return _Coarse(kept, *_best_of(job, kept, [tried] * count), factor)


def _best_ratios(job: TierJob, coarse: _Coarse) -> tuple[Floats, BestPattern]:
    """The best ratios between some of the tiers: ever closer around the best ones of the grid."""
    kept, ratios, found, factor = coarse
    while len(ratios) and factor > _CLOSE:
        factor = float(np.sqrt(factor))
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

"""Saves to several tiers with the pattern kept as it is: only the interval between slots is chosen again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ckptplan.plan.tiers.job import Pattern, TierJob, floor_s, job_of, pattern_of, slot_stalls_s
from ckptplan.plan.tiers.tiering import pattern_shares, steps_of

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario
    from ckptplan.plan.case import Case

_SPAN, _POINTS, _ROUNDS = 4.0, 17, 4  # of the search around an interval that was the best before a change


class Kept(NamedTuple):
    """Which tiers are kept, how often each is saved to, and the interval between slots to start from. [1, s]."""

    pattern: Pattern
    interval_s: float


class Found(NamedTuple):
    """Interval between slots, its goodput, and the share of time that is lost, without cancellation. [s, 1]."""

    interval_s: float
    goodput: float
    lost: float


def kept_by(scenario: Scenario, case: Case, interval_s: float) -> Kept:
    """The best pattern of a scenario."""
    return Kept(pattern_of(job_of(scenario, case)), interval_s)


def at_best(scenario: Scenario, case: Case, kept: Kept, *, in_steps: bool) -> Found:
    """The pattern under a changed scenario, at its own best interval, in whole steps if that is wanted and known."""
    job = job_of(scenario, case)
    pattern = kept.pattern
    made = pattern._replace(slot_stall_s=slot_stalls_s(job, pattern.kept))
    best_s = max(_best(job, made, kept.interval_s), floor_s(job, made))
    step_s = case.step_time_s
    if in_steps and step_s is not None:
        best_s = steps_of(job, made, best_s, step_s) * step_s
    shares = pattern_shares(job, made, best_s)
    lost = float(shares.save + shares.rework + shares.restart + shares.slow + shares.waiting)
    return Found(best_s, float(shares.useful), lost)


def _best(job: TierJob, made: Pattern, start_s: float) -> float:
    """Narrowing grids in the logarithm; where the best lies at an end, the next grid goes on from there."""
    centre, span = float(np.log(start_s)), float(np.log(_SPAN))
    for _ in range(_ROUNDS):
        grid = np.linspace(centre - span, centre + span, _POINTS)
        values = pattern_shares(job, made, np.exp(grid)).useful
        if np.isnan(values).all():
            return start_s
        at = int(np.nanargmax(values))
        if 0 < at < _POINTS - 1:
            span *= 2.0 / (_POINTS - 1)
        centre = float(grid[at])
    return float(np.exp(centre))

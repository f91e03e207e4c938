"""Goodput against the interval, and how far one may stray from the best interval at a small loss."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ckptplan.interval.blocks import Floats

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario
    from ckptplan.plan.case import Case
    from ckptplan.plan.record import Plan

WITHIN = 0.001  # of goodput: a tenth of a point
_POINTS = 241  # of a curve
_POINTS_OF_RECORD = 3001  # where every recorded gap makes it jump many times
_AROUND = 10.0  # times the shortest and the longest interval of interest: how far a curve goes
_CELLS = 128  # a round of the search narrows it by that: a call costs more than many intervals in it
_ROUNDS = 4
_SPAN = 100.0  # of the first round, over the best interval
_LONGEST_S = 1e15


class Flat(NamedTuple):
    """Intervals around the best one whose goodput is lower by at most ``within_fraction``, a share. [s, 1].

    ``low_s`` is not below the floor that the flush sets, nor below one step.
    """

    low_s: float
    high_s: float
    within_fraction: float = WITHIN


class Line(NamedTuple):
    """Goodput of one strategy at each interval of a curve; nan where its flush would not have ended. [1]."""

    strategy: str
    goodput: Floats


class GoodputCurve(NamedTuple):
    """Goodput against the interval by each strategy at the planned scale, by the law of the failures. [s, 1]."""

    interval_s: Floats
    lines: tuple[Line, ...]
    best: str  # strategy of the flat region
    flat: Flat | None


def flat_region(
    goodput: Callable[[Floats], Floats],
    at_s: float,
    *,
    best: float,
    least_s: float = 0.0,
    within_fraction: float = WITHIN,
) -> Flat | None:
    """Intervals around a good one whose goodput is at most ``within_fraction`` below the best.

    Parameters
    ----------
    goodput : callable
        Goodput of an array of intervals, by whatever formula. [s -> 1]
    at_s : float
        An interval within the region. [s]
    best : float
        Goodput that the region is held against. [1]
    least_s : float
        Shortest interval there is. [s]
    within_fraction : float
        Loss that is allowed, a share: 0.001 is 0.1 point. [1]

    Returns
    -------
    Flat or None
        None if nothing would be lost by any interval, because so little is to be had at all. [s]

    Notes
    -----
    Each end is bracketed and narrowed 128-fold a round, as in a bisection with 128 parts: to 2e-8 of its value. Where
    the goodput has several peaks (recorded gaps), the region ends at the first part of the first round that is lower.
    """
    wanted = best - within_fraction
    if not (wanted > 0.0 and at_s > 0.0):
        return None

    def holds(log_s: Floats) -> Floats:
        return np.asarray(np.nan_to_num(goodput(np.exp(log_s)), nan=0.0) >= wanted, dtype=np.float64)

    centre = np.log(at_s)
    low_end = max(np.log(least_s) if least_s > 0.0 else -np.inf, centre - np.log(_SPAN))
    inside = np.array([centre, centre])
    outside = np.array([min(low_end, centre), centre + np.log(_SPAN)])
    shares = np.linspace(0.0, 1.0, _CELLS + 1)
    for number in range(_ROUNDS):
        grid = inside[:, None] + (outside - inside)[:, None] * shares
        within = holds(grid)
        within[:, 0] = 1.0  # the part that is known to hold; rounding must not lose it
        first_lower = np.argmin(within, axis=1)
        if number == 0:
            grid, within, first_lower = _farther(holds, grid, within, first_lower, least_s)
        ends = np.where(first_lower == 0, _CELLS, first_lower)
        rows = np.arange(2)
        inside, outside = grid[rows, np.where(first_lower == 0, _CELLS, ends - 1)], grid[rows, ends]
    low_s, high_s = (float(v) for v in np.exp(inside))
    return Flat(min(max(low_s, least_s), at_s), max(high_s, at_s), within_fraction)


def _farther(
    holds: Callable[[Floats], Floats], grid: Floats, within: Floats, first_lower: Floats, least_s: float
) -> tuple[Floats, Floats, Floats]:
    """The first grids, widened until both ends are lower or there are no more intervals."""
    shares = np.linspace(0.0, 1.0, _CELLS + 1)
    bounds = (np.log(least_s) if least_s > 0.0 else -np.log(_LONGEST_S), np.log(_LONGEST_S))
    for row, bound in enumerate(bounds):
        while first_lower[row] == 0 and abs(grid[row, -1] - bound) > 1e-9 * abs(bound):
            start, end = grid[row, -1], grid[row, -1] + 2.0 * (grid[row, -1] - grid[row, 0])
            end = max(end, bound) if row == 0 else min(end, bound)
            grid[row] = start + (end - start) * shares
            within[row] = holds(grid[row])
            within[row, 0] = 1.0
            first_lower[row] = np.argmin(within[row])
    return grid, within, first_lower


def flat_of_plan(scenario: "Scenario", made: "Plan", case: "Case") -> Flat | None:
    """The flat region of what a plan recommends; ``case`` is its best strategy of one tier."""
    goodput, least_s = _of_tiers(scenario, case) if made.tiers_are_best else _of_case(case)
    return flat_region(goodput, _recommended_s(made), best=made.best_goodput, least_s=least_s)


def _recommended_s(made: "Plan") -> float:
    """The interval to type; that between slots where several tiers are best. [s]."""
    if made.tiers is not None and made.tiers_are_best:
        return made.tiers.interval_s
    return made.best.typed_interval_s(made.step_time_s)


def goodput_curve(scenario: "Scenario", made: "Plan", *, points: int | None = None) -> GoodputCurve:
    """Goodput against the interval by each strategy of a plan, its tiers among them.

    Parameters
    ----------
    scenario : Scenario
        The run that was planned.
    made : Plan
        Its plan: the curve goes around its intervals, best and given.
    points : int, optional
        Intervals of the curve, evenly spread in the logarithm; by default enough for the law of the failures. Those
        of the plan, to type and given, are added.

    Returns
    -------
    GoodputCurve
        A curve is that of the strategy with everything else held: for several tiers, with the best pattern.
    """
    from ckptplan.plan.case import cases_of
    from ckptplan.plan.record import TIERS

    cases = {case.save.name: case for case in cases_of(scenario)}
    functions = {name: _of_case(case) for name, case in cases.items()}
    if made.tiers is not None:
        functions[TIERS] = _of_tiers(scenario, cases[made.best.strategy])
    best = TIERS if made.tiers_are_best else made.best.strategy
    goodput, least_s = functions[best]
    flat = made.flat or flat_region(goodput, _recommended_s(made), best=made.best_goodput, least_s=least_s)
    interval_s = _intervals(made, flat, _enough(scenario) if points is None else points)
    lines = tuple(Line(name, _line(*function, interval_s)) for name, function in functions.items())
    return GoodputCurve(interval_s, lines, best, flat)


def _of_case(case: "Case") -> tuple[Callable[[Floats], Floats], float]:
    """Its goodput, and its shortest interval: a flush must have ended, and no save comes before a step has. [s]."""
    least_s = max(case.floor_s, case.step_time_s or 0.0)
    if not case.is_closed:
        return lambda at: np.asarray(case.shares(at).goodput), least_s
    from ckptplan.interval.breakdown import exact_goodput

    return lambda at: exact_goodput(at, case.save.stall_s, case.mtbf_s, **case.process), least_s


def _of_tiers(scenario: "Scenario", case: "Case") -> tuple[Callable[[Floats], Floats], float]:
    from ckptplan.plan.tiers.job import floor_s, job_of, pattern_of
    from ckptplan.plan.tiers.tiering import pattern_shares

    job = job_of(scenario, case)
    made = pattern_of(job)
    return lambda at: np.asarray(pattern_shares(job, made, at).useful), max(floor_s(job, made), case.step_time_s or 0.0)


def _enough(scenario: "Scenario") -> int:
    from ckptplan.cost.scenario import LawName

    return _POINTS_OF_RECORD if scenario.failures.law.name is LawName.RECORDED else _POINTS


def _intervals(made: "Plan", flat: Flat | None, points: int) -> Floats:
    """Evenly spread around the intervals of interest, and these themselves: a curve must not miss what is marked."""
    here = [r for r in made.records if r.gpus == made.gpus and r.interval_s > 0.0]
    typed_s = [r.typed_interval_s(made.step_time_s) for r in here if not r.given]
    marked_s = [*(r.interval_s for r in here), *typed_s, *([] if flat is None else [flat.low_s, flat.high_s])]
    spread_s = np.geomspace(min(marked_s) / _AROUND, max(marked_s) * _AROUND, points)
    return np.unique(np.concatenate([spread_s, marked_s]))


def _line(goodput: Callable[[Floats], Floats], least_s: float, interval_s: Floats) -> Floats:
    return np.where(interval_s >= least_s * (1.0 - 1e-12), goodput(interval_s), np.nan)

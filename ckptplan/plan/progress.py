"""Whether a run gets anywhere at all; if not, why, and what would change that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ckptplan.plan.case import Case
from ckptplan.units import format_time, format_times

# Below this goodput nothing is recommended, compared or ranked: a run takes more than a million times its work, a day
# of it more than 2,700 years, and no one waits for that. Tables and documents hold the exact numbers all the same.
LEAST_GOODPUT = 1e-6
LONGEST_RUN_S = 1e4 * 365 * 86_400.0  # a run that takes longer than 10,000 years does not end
_WANTED = 0.5  # of goodput: what a remedy must reach
_LONGEST_S = 1e15
_HALVINGS = 50


def makes_progress(goodput: float) -> bool:
    """Whether a run of that goodput can be said to get on."""
    return goodput >= LEAST_GOODPUT


def no_progress(cases: Sequence[Case]) -> str:
    """One sentence on a run whose strategies all make none: why that is so, and what would give it half of the time.

    The remedies are found by halving, where closed forms make that quick; else they are named without a number.
    """
    what, lasts_s, mtbf_s = min((_why(case) for case in cases), key=lambda found: found[1] / found[2])
    text = f"no progress is possible: {gets_nowhere(what, lasts_s, mtbf_s)}"
    if not all(case.is_closed for case in cases):
        return f"{text}; raise the MTBF, or shorten the restart, the save and the interval that it needs"
    return f"{text}; {_remedies(cases)}"


def gets_nowhere(what: str, lasts_s: float, mtbf_s: float) -> str:
    """What follows for the run where something that lasts so long must go by without a failure; times in [s]."""
    ratio = lasts_s / mtbf_s
    why = f"{what} of {format_time(lasts_s)} is {format_times(ratio)} the MTBF of {format_time(mtbf_s)}, so that "
    return f"{why if ratio > 1.0 else ''}the run would take more than a million times its work"


def why_stuck(case: Case) -> str:
    """The same of one way of saving, by the longest thing that must go by."""
    return gets_nowhere(*_why(case))


def _why(case: Case) -> tuple[str, float, float]:
    """What must go by without a failure, the longest of it: in words, how long it lasts, and the MTBF. [s]."""
    least_s = max(case.floor_s, case.step_time_s or 0.0)
    least = "the flush" if case.floor_s >= least_s else "one step"
    parts = {
        "the restart": case.restart.total_s,
        "one save": case.effective_stall_s,
        least: least_s,
    }
    what = max(parts, key=lambda part: parts[part])
    return what, parts[what], case.mtbf_s


def _remedies(cases: Sequence[Case]) -> str:
    """The MTBF, and the restart, at which half of the time is useful."""
    wanted = {case.save.name: _least_mtbf_s(case) for case in cases}
    best = min(wanted, key=lambda name: wanted[name])
    by = f" (with {best})" if len(cases) > 1 else ""
    text = f"for {100 * _WANTED:g} % goodput the MTBF must be {format_time(wanted[best])}{by}"
    restart_s = max(_most_restart_s(case) for case in cases)
    if restart_s > 0.0:
        return f"{text}, or the restart {format_time(restart_s)}"
    return f"{text}; no restart is short enough at the MTBF as it is"


def _least_mtbf_s(case: Case) -> float:
    """The MTBF of the job at which it reaches what is wanted, all else as it is. [s]."""

    def falls_short(mtbf_s: float) -> bool:
        return case._replace(mtbf_s=mtbf_s).typed_goodput < _WANTED

    high = case.mtbf_s
    while falls_short(high) and high < _LONGEST_S:
        high *= 4.0
    return _halved(falls_short, 0.25 * high, high)


def _most_restart_s(case: Case) -> float:
    """The longest restart with which it reaches what is wanted; 0 if no restart is short enough. [s]."""

    def is_enough(restart_s: float) -> bool:
        now = case.restart
        share = restart_s / now.total_s
        shorter = now._replace(total_s=restart_s, downtime_s=share * now.downtime_s, restart_s=share * now.restart_s)
        return case._replace(restart=shorter).typed_goodput >= _WANTED

    if case.restart.total_s <= 0.0 or not is_enough(0.0):
        return 0.0
    return _halved(is_enough, 0.0, case.restart.total_s)


def _halved(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where it ceases to hold between two values, at the first of which it does."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high

"""How long some work takes, at an interval of one way of saving."""

from __future__ import annotations

from ckptplan.plan.case import Case
from ckptplan.plan.progress import LONGEST_RUN_S


def wall_time(work_s: float | None, case: Case | None, interval_s: float | None, goodput: float) -> float | None:
    """Expected time of some work: exact by the closed form, else, as without a case, work over goodput. [s].

    None where the work is not known, or never ends.
    """
    if work_s is None or interval_s is None or goodput == 0.0:
        return None
    wall_s = work_s / goodput
    if case is not None and case.is_closed:
        from ckptplan.interval.finite import expected_time

        wall_s = float(expected_time(work_s, interval_s, case.save.stall_s, case.mtbf_s, **case.process))
    return wall_s if wall_s <= LONGEST_RUN_S else None

"""Many closed cases at once: what `Case` says of one, as arrays, to the last digit the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import Shares, exact_shares
from ckptplan.interval.elementary import ceil_to_whole
from ckptplan.interval.first_order import FirstOrder, first_order_shares
from ckptplan.interval.methods import METHODS
from ckptplan.interval.steps import whole_steps
from ckptplan.plan.case import Case


class ClosedCases(NamedTuple):
    """Numbers of cases for which `Case.is_closed` holds, each an array; they broadcast against each other.

    ``step_time_s`` is nan where it is not known. [s, 1]
    """

    mtbf_s: Floats
    downtime_s: Floats
    restart_s: Floats
    stall_s: Floats
    flush_s: Floats
    speed: Floats
    in_flight: Floats
    effective_stall_s: Floats
    floor_s: Floats
    step_time_s: Floats
    strike: Strike

    def optimum(self, method: str) -> Floats:
        """Interval by a method, raised to the floor that the flush sets. [s]."""
        function = METHODS[method].function
        if function is None:
            raise ValueError(f"{method} has no closed form")
        return np.maximum(function(self.effective_stall_s, self.mtbf_s), self.floor_s)

    def steps(self, interval_s: Floats) -> Floats:
        """The better whole number of steps next to an interval, not below the floor; nan where no step is known."""
        with np.errstate(invalid="ignore"):
            least = ceil_to_whole(self.floor_s / self.step_time_s)
            chosen = whole_steps(interval_s, self.step_time_s, self.effective_stall_s, self.mtbf_s)
            return np.maximum(chosen, least)

    def typed(self, interval_s: Floats) -> Floats:
        """The interval of the number to type: whole steps where the step time is known. [s]."""
        steps = self.steps(interval_s)
        return np.where(np.isnan(steps), interval_s, steps * self.step_time_s)

    def shares(self, interval_s: Floats) -> Shares:
        """Exact shares of wall time."""
        return exact_shares(
            interval_s,
            self.stall_s,
            self.mtbf_s,
            downtime=self.downtime_s,
            restart=self.restart_s,
            strike=self.strike,
            flush=self.flush_s,
            speed=self.speed,
            in_flight=self.in_flight,
        )

    def first_order(self, interval_s: Floats) -> FirstOrder:
        """First-order shares of wall time, as the methods of Young and Daly account."""
        return first_order_shares(
            interval_s,
            self.stall_s,
            self.mtbf_s,
            restart=self.downtime_s + self.restart_s,
            flush=self.flush_s,
            speed=self.speed,
        )


def closed_cases(cases: Sequence[Case]) -> ClosedCases:
    """Cases side by side along one axis; all are closed, and their failures strike alike."""
    if not cases or not all(case.is_closed and case.strike is cases[0].strike for case in cases):
        raise ValueError("only closed cases whose failures strike alike go side by side")

    def column(values: Sequence[float]) -> Floats:
        return np.array(values, dtype=np.float64)

    return ClosedCases(
        mtbf_s=column([case.mtbf_s for case in cases]),
        downtime_s=column([case.restart.downtime_s for case in cases]),
        restart_s=column([case.restart.restart_s for case in cases]),
        stall_s=column([case.save.stall_s for case in cases]),
        flush_s=column([case.save.flush_s for case in cases]),
        speed=column([case.speed for case in cases]),
        in_flight=column([case.save.in_flight for case in cases]),
        effective_stall_s=column([case.effective_stall_s for case in cases]),
        floor_s=column([case.floor_s for case in cases]),
        step_time_s=column([float("nan") if case.step_time_s is None else case.step_time_s for case in cases]),
        strike=cases[0].strike,
    )

"""Many closed cases at once: what `Case` says of one, as arrays, to the last digit the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import Shares, exact_shares
from ckptplan.interval.elementary import ceil_to_whole
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.first_order import FirstOrder, first_order_shares
from ckptplan.interval.methods import METHODS
from ckptplan.interval.steps import whole_steps
from ckptplan.plan.case import Case

_WHOLE = 1e-9  # relative distance at which a given interval counts as whole steps


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

    @property
    def process(self) -> dict[str, Any]:
        """What every formula takes beside interval, stall and MTBF."""
        return {
            "downtime": self.downtime_s,
            "restart": self.restart_s,
            "strike": self.strike,
            "flush": self.flush_s,
            "speed": self.speed,
            "in_flight": self.in_flight,
        }

    def optimum(self, method: str) -> Floats:
        """Interval by a method, raised to the floor that the flush sets. [s]."""
        # The one that takes any law gives the exact interval, for failures without a memory.
        function = METHODS[method].function or exact_interval
        ordinary = np.isfinite(self.effective_stall_s) & np.isfinite(self.mtbf_s) & (self.mtbf_s > 0.0)
        # One number that is none would have a whole block worked out by the careful form, with other last digits.
        stall_s = np.where(np.isfinite(self.effective_stall_s), self.effective_stall_s, 1.0)
        mtbf_s = np.where(np.isfinite(self.mtbf_s) & (self.mtbf_s > 0.0), self.mtbf_s, 1.0)
        return np.where(ordinary, np.maximum(function(stall_s, mtbf_s), self.floor_s), np.nan)

    def steps(self, interval_s: Floats) -> Floats:
        """The better whole number of steps next to an interval, not below the floor; nan where no step is known."""
        with np.errstate(invalid="ignore"):
            least = ceil_to_whole(self.floor_s / self.step_time_s)
            chosen = whole_steps(interval_s, self.step_time_s, self.effective_stall_s, self.mtbf_s)
            return np.maximum(chosen, least)

    def steps_if_whole(self, interval_s: Floats) -> Floats:
        """The number of steps of given intervals where it is a whole one (to rounding), else nan."""
        with np.errstate(invalid="ignore"):
            count = np.rint(interval_s / self.step_time_s)
            whole = (count >= 1) & (np.abs(count * self.step_time_s - interval_s) <= _WHOLE * interval_s)
        return np.where(whole, count, np.nan)

    def raised(self, asked_s: Floats) -> Floats:
        """Given intervals, or the least above them at which a flush has ended, in whole steps if known. [s]."""
        return np.where(asked_s >= self.floor_s, asked_s, self.typed(self.floor_s))

    def typed(self, interval_s: Floats, steps: Floats | None = None) -> Floats:
        """The interval of the number to type: whole steps where the step time is known. [s]."""
        steps = self.steps(interval_s) if steps is None else steps
        return np.where(np.isnan(steps), interval_s, steps * self.step_time_s)

    def shares(self, interval_s: Floats) -> Shares:
        """Exact shares of wall time."""
        return exact_shares(interval_s, self.stall_s, self.mtbf_s, **self.process)

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

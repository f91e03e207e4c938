"""One way of saving by one method over a block, as arrays: what `plan.rows` says of one case, worked out when asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.breakdown import Shares
from ckptplan.interval.first_order import FirstOrder
from ckptplan.interval.methods import METHODS
from ckptplan.plan.closed import ClosedCases
from ckptplan.plan.progress import LONGEST_RUN_S
from ckptplan.plan.record import PREFERENCE
from ckptplan.sweep.closed_costs import BlockCosts
from ckptplan.sweep.derived import Derived, Floats
from ckptplan.units import HOUR_S

_NONE, _ZERO = np.array(np.nan), np.zeros(())


class _Best(NamedTuple):
    goodput: Floats
    wall_s: Floats


class ClosedRow(Derived):
    """Measures under their names, as arrays that broadcast over the block; ``asked_s`` is a given interval."""

    def __init__(
        self, costs: BlockCosts, number: int, method: str, *, asked_s: Floats | None, price: float | None
    ) -> None:
        self._costs = costs
        self.cases: ClosedCases = costs.cases[number]
        self.strategy = costs.strategies[number]
        self.is_short = costs.is_short[number]
        self.method = method
        self.asked_s = asked_s
        self.price = price
        self.rivals: Sequence[ClosedRow] = (self,)  # against the best of which a given interval is held

    @property
    def preference(self) -> int:
        """Rank of its method."""
        return PREFERENCE.get(self.method, 0)

    @property
    def is_first_order(self) -> bool:
        """Whether its shares are sums of first-order terms."""
        return METHODS[self.method].accounting == "first order"

    def column(self, name: str) -> Floats:
        """The column of a measure. [its unit]."""
        found: Floats = getattr(self, name)
        return found

    gpus = property(lambda self: self._costs.gpus)
    working_gpus = property(lambda self: self._costs.working_gpus)
    speed_gpus = property(lambda self: self._costs.speed_gpus)
    work_s = property(lambda self: self._costs.work_s)
    size_bytes = property(lambda self: self._costs.size_bytes)
    restart_total_s = property(lambda self: self._costs.restart_total_s)
    mtbf_s = property(lambda self: self.cases.mtbf_s)
    stall_s = property(lambda self: self.cases.stall_s)
    flush_s = property(lambda self: self.cases.flush_s)
    effective_stall_s = property(lambda self: self.cases.effective_stall_s)
    interval_floor_s = property(lambda self: self.cases.floor_s)

    @property
    def asked_interval_s(self) -> Floats:
        """The given interval. [s]."""
        return _NONE if self.asked_s is None else self.asked_s

    @cached_property
    def interval_s(self) -> Floats:
        """Work between two saves. [s]."""
        return self.cases.optimum(self.method) if self.asked_s is None else self.cases.raised(self.asked_s)

    @cached_property
    def interval_steps(self) -> Floats:
        """The same in whole steps. [1]."""
        if np.all(np.isnan(self.cases.step_time_s)):
            return _NONE
        steps = self.cases.steps if self.asked_s is None else self.cases.steps_if_whole
        return steps(self.interval_s)

    @cached_property
    def typed_interval_s(self) -> Floats:
        """The interval of the number to type. [s]."""
        return self.cases.typed(self.interval_s, self.interval_steps)

    @cached_property
    def _exact(self) -> Shares:
        return self.cases.shares(self.interval_s)

    @cached_property
    def _first_order(self) -> FirstOrder:
        return self.cases.first_order(self.interval_s)

    @property
    def _own(self) -> Shares | FirstOrder:
        return self._first_order if self.is_first_order else self._exact

    save_fraction = property(lambda self: self._own.save)
    rework_fraction = property(lambda self: self._own.rework)
    restart_fraction = property(lambda self: self._own.restart)
    slow_fraction = property(lambda _: _ZERO)
    waiting_fraction = property(lambda _: _ZERO)
    overhead = property(lambda self: self._own.overhead)
    goodput = property(lambda self: self._own.goodput)
    goodput_exact = property(lambda self: self._exact.goodput)

    @cached_property
    def goodput_steps(self) -> Floats:
        """Goodput of whole steps; nan where they are not known. [1]."""
        if self.interval_steps.ndim == 0 and np.isnan(self.interval_steps):
            return _NONE
        return self.cases.shares(self.interval_steps * self.cases.step_time_s).goodput

    @cached_property
    def goodput_typed(self) -> Floats:
        """Goodput of the number to type. [1]."""
        exact, steps = self._exact.goodput, self.goodput_steps
        typed: Floats = exact if steps is _NONE else np.where(np.isnan(steps), exact, steps)
        return typed

    @cached_property
    def wall_s(self) -> Floats:
        """Expected wall time of the run; nan where it is not known or never ends. [s]."""
        return self._wall_s(self.typed_interval_s, self.goodput_typed)

    def _wall_s(self, interval_s: Floats, goodput: Floats) -> Floats:
        """As `plan.wall_time` has it."""
        from ckptplan.interval.finite import expected_time

        cases = self.cases
        wall_s = expected_time(self.work_s, interval_s, cases.stall_s, cases.mtbf_s, **cases.process)
        with np.errstate(invalid="ignore"):
            return np.where((wall_s <= LONGEST_RUN_S) & (goodput != 0.0), wall_s, np.nan)

    @cached_property
    def lost_goodput(self) -> Floats:
        """What a given interval loses against the best number to type. [1]."""
        if self.asked_s is None:
            return _NONE
        best = reduce(np.maximum, (row.own_best.goodput for row in self.rivals))
        lost: Floats = np.maximum(best - self._exact.goodput, 0.0)
        return lost

    @property
    def lost_gpu_hours(self) -> Floats:
        """GPU-hours that the same work takes more by it. [GPU h]."""
        if self.asked_s is None:
            return _NONE
        best_s = reduce(np.fmin, (row.own_best.wall_s for row in self.rivals))
        hours: Floats = np.maximum(self.wall_s - best_s, 0.0) * self.gpus / HOUR_S
        return hours

    @cached_property
    def own_best(self) -> _Best:
        """The best number to type of this way of saving, whatever interval is given."""
        best_s = self.cases.typed(self.cases.optimum("exact"))
        goodput = self.cases.shares(best_s).goodput
        return _Best(goodput, self._wall_s(best_s, goodput))

    @property
    def lost_money(self) -> Floats:
        """The same in money. [money]."""
        return self.lost_gpu_hours * self._price

    @property
    def is_known(self) -> npt.NDArray[np.bool_]:
        """Where everything is an ordinary number; elsewhere the plan of the point itself says what is wrong."""
        with np.errstate(invalid="ignore"):
            steps_known = np.isnan(self.cases.step_time_s) | (self.asked_s is not None) | ~np.isnan(self.interval_steps)
            total = self.interval_s + self.cases.stall_s + self.cases.mtbf_s + self._costs.restart_total_s
        found: npt.NDArray[np.bool_] = np.isfinite(total) & steps_known
        return found

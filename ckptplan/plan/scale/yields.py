"""What each way of saving yields at a size with the interval that can be typed: one answer for rows and headlines."""

from __future__ import annotations

from typing import NamedTuple

from ckptplan.errors import InputError
from ckptplan.plan.case import Case
from ckptplan.plan.scale.curve import Curve, number


class Yield(NamedTuple):
    """The interval that can be typed, and what it yields; ``interval_s`` None: nothing useful is done. [s, 1]."""

    case: Case  # of saves to several tiers: the best one of a single tier
    interval_s: float | None
    interval_steps: int | None
    goodput: float
    waiting_fraction: float


class Yields:
    """All ways of saving at any size, each size worked out once.

    Patterns of several tiers are those of ``optimize`` at every size; without ``in_full`` they are found fast, close
    enough for a curve.
    """

    def __init__(self, curve: Curve, *, in_full: bool = True) -> None:
        self.curve = curve
        self._in_full = in_full
        self._alone: dict[int, dict[str, Yield]] = {}
        self._tiers: dict[int, Yield] = {}

    def at(self, strategy: str, gpus: int) -> Yield | None:
        """One way of saving at one size; None if it cannot be had there."""
        if strategy == self.curve.tiers and strategy in self.curve.strategies:
            if gpus not in self._tiers:
                self._tiers[gpus] = self._of_tiers(gpus)
            return self._tiers[gpus]
        return self.alone(gpus).get(strategy)

    def alone(self, gpus: int) -> dict[str, Yield]:
        """Every way of saving to one tier, by name."""
        if gpus not in self._alone:
            cases = self.curve.cases(gpus)
            self._alone[gpus] = {name: _of_case(case) for name, case in cases.items() if name in self.curve.strategies}
        return self._alone[gpus]

    def _of_tiers(self, gpus: int) -> Yield:
        from ckptplan.plan.scale.tiers import tiers_at

        case = max(self.alone(gpus).values(), key=lambda one: one.goodput).case
        pattern = self.curve.pattern(gpus, in_full=self._in_full)
        made = tiers_at(self.curve.at(gpus).scenario, case, pattern, whole_steps=True)
        return Yield(case, made.interval_s, made.interval_steps, number(made.goodput), number(made.waiting_fraction))


def _of_case(case: Case) -> Yield:
    try:
        interval_s = case.typed_interval_s
    except InputError:  # no gap between failures is long enough for a restart and a save
        return Yield(case, None, None, 0.0, 0.0)
    shares = case.shares(interval_s)
    waiting = number(float(getattr(shares, "waiting", 0.0)))
    return Yield(case, interval_s, case.steps_if_whole(interval_s), number(float(shares.goodput)), waiting)

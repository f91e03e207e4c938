"""One strategy at one scale: cost put in, interval and goodput out."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.failures import mtbf_of_job
from ckptplan.cost.restart import RestartCost, restart_cost
from ckptplan.cost.saving import SaveCost, save_cost
from ckptplan.cost.scenario import EXPONENTIAL, Law, LawName, Scenario, Strike
from ckptplan.errors import InputError
from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.interval.breakdown import Shares, exact_shares
from ckptplan.interval.elementary import ceil_to_whole
from ckptplan.interval.methods import METHODS
from ckptplan.interval.steps import whole_steps

if TYPE_CHECKING:
    from ckptplan.plan.account import FailuresOfJob
    from ckptplan.plan.spectrum.shares import CaseShares, Spectrum


class Case(NamedTuple):
    """One strategy at one scale, reduced to the numbers that the interval depends on."""

    gpus: int
    mtbf_s: float
    restart: RestartCost
    save: SaveCost
    strike: Strike
    step_time_s: float | None
    law: Law = EXPONENTIAL
    nodes: int = 1
    host_copy_survives: float = 0.0
    replicas: int = 1  # data-parallel ones
    spectrum: "Spectrum | None" = None  # classes of failures, verification, spares; None: all failures are alike

    @property
    def effective_stall_s(self) -> float:
        """Training time that one save takes, slow-down included."""
        return float(effective_stall(self.save.stall_s, self.save.flush_s, self.speed))

    @property
    def floor_s(self) -> float:
        """Least work between saves: one of the flushes in flight must have ended, and all of them share the storage."""
        save = self.save
        floor = float(interval_floor(save.flush_s, self.speed, in_flight=save.in_flight, stall=save.stall_s))
        if save.in_flight > 1:
            floor = max(floor, save.transfer_s - self.effective_stall_s)
        return floor

    @property
    def speed(self) -> float:
        """Training speed while a flush runs."""
        return self.save.training_speed_while_flushing

    @property
    def of_spec(self) -> "Case":
        """The same with the restart that the spec gives, where that of this case loads from its own tier."""
        if self.spectrum is None or self.spectrum.written is None:
            return self
        from ckptplan.plan.spectrum.assembly import mean_recovery

        spectrum = self.spectrum.of_spec
        return self._replace(spectrum=spectrum, restart=mean_recovery(self.restart, spectrum, self.mtbf_s))

    @property
    def is_exponential(self) -> bool:
        """Whether the failures of the job have no memory."""
        return self.law.name is LawName.EXPONENTIAL

    @property
    def is_closed(self) -> bool:
        """Whether the closed forms of one tier under one class of exponential failures say everything."""
        return self.is_exponential and self.copy_survives == 0.0 and self.spectrum is None

    @property
    def stops_mtbf_s(self) -> float:
        """Mean time between all failures that stop the run, of whatever class. [s]."""
        if self.spectrum is None:
            return self.mtbf_s
        from ckptplan.plan.spectrum.shares import stops_mtbf_s

        return stops_mtbf_s(self, self.spectrum)

    @property
    def method(self) -> str:
        """The method that knows all of the law of the failures."""
        return "exact" if self.is_exponential else "renewal"

    @property
    def copy_survives(self) -> float:
        """Fraction of the failures that a background save need not fear while it flushes."""
        counted = self.save.flush_s > 0.0 and self.save.in_flight == 1 and self.is_exponential
        return self.host_copy_survives if counted else 0.0

    @property
    def failures(self) -> "FailuresOfJob":
        """How its failures come, for what the closed forms do not cover."""
        from ckptplan.plan.account import FailuresOfJob

        return FailuresOfJob(self.law, self.mtbf_s, self.nodes, self.copy_survives)

    @property
    def process(self) -> dict[str, Any]:
        """What every formula takes beside interval, stall and MTBF."""
        return {
            "downtime": self.restart.downtime_s,
            "restart": self.restart.restart_s,
            "strike": self.strike,
            "flush": self.save.flush_s,
            "speed": self.speed,
            "in_flight": self.save.in_flight,
        }

    @property
    def typed_interval_s(self) -> float:
        """The best interval that can be typed: whole steps where the step time is known. [s]."""
        return self._typed_s(self.optimum(self.method))

    @property
    def typed_goodput(self) -> float:
        """What it yields; nan where there is no best interval. [1]."""
        best_s = self.optimum(self.method)
        return best_s if np.isnan(best_s) else self.goodput(self._typed_s(best_s))

    def _typed_s(self, best_s: float) -> float:
        steps = self.steps(best_s, wide=True)
        return best_s if steps is None or self.step_time_s is None else steps * self.step_time_s

    def optimum(self, method: str) -> float:
        """Interval by a method, raised to the floor that the flush sets, in seconds."""
        function = METHODS[method].function
        if self.spectrum is not None:
            return max(self._spectrum_optimum(method), self.floor_s)
        if function is None or (method == "exact" and self.copy_survives > 0.0):
            from ckptplan.plan.account import best_interval

            best_s = best_interval(self.failures, self.save.stall_s, self.process)
            if not best_s >= 0.0:
                raise InputError(
                    f"{self.save.name}: no gap between failures is long enough for a restart and one save that is kept",
                    hint="shorten the restart or the save; compare both with the gaps between failures",
                )
            return max(best_s, self.floor_s)
        return max(float(function(self.effective_stall_s, self.mtbf_s)), self.floor_s)

    def _spectrum_optimum(self, method: str) -> float:
        """Interval by a method under several classes: the first-order ones take all that throws back for failures."""
        from ckptplan.plan.spectrum.shares import best_interval, rework_mtbf_s, verification

        if self.spectrum is None:
            return float("nan")
        mtbf_s = rework_mtbf_s(self, self.spectrum)
        verify_s, checks = verification(self, self.spectrum)
        function = METHODS[method].function or METHODS["exact"].function
        start_s = float(function(self.effective_stall_s + checks * verify_s, mtbf_s)) if function else float("nan")
        if METHODS[method].accounting == "first order" or not np.isfinite(start_s):
            return start_s
        # From the floor up: below it there is no goodput to compare, and a slow flush puts all of a grid there.
        return best_interval(lambda at: self.shares(at).goodput, max(start_s, self.floor_s, self.step_time_s or 1e-3))

    def shares(self, interval_s: npt.ArrayLike) -> "Shares | CaseShares":
        """Shares of wall time at one interval or several, by the law of the failures."""
        if self.is_closed:
            return self.exponential_shares(interval_s)
        if self.spectrum is not None:
            from ckptplan.plan.spectrum.shares import shares_by_class

            return shares_by_class(self, self.spectrum, interval_s)
        from ckptplan.plan.account import shares

        return shares(self.failures, interval_s, self.save.stall_s, self.process)

    def exponential_shares(self, interval_s: npt.ArrayLike) -> Shares:
        """Exact shares if failures were exponential and no host copy survived one."""
        return exact_shares(interval_s, self.save.stall_s, self.mtbf_s, **self.process)

    def goodput(self, interval_s: float) -> float:
        """Goodput of an interval, by the law of the failures."""
        return float(self.shares(interval_s).goodput)

    def goodput_of_steps(self, steps: int | None) -> float | None:
        """Goodput of a whole number of steps, if steps are known."""
        if steps is None or self.step_time_s is None:
            return None
        return self.goodput(steps * self.step_time_s)

    def raised(self, asked_s: float) -> float:
        """A given interval, or the least one above it at which a flush has ended, in whole steps if known. [s]."""
        if asked_s >= self.floor_s:
            return asked_s
        steps = self.steps(self.floor_s)
        return self.floor_s if steps is None or self.step_time_s is None else steps * self.step_time_s

    def steps_if_whole(self, interval_s: float) -> int | None:
        """The number of steps of a given interval, if it is a whole one (to rounding)."""
        if self.step_time_s is None:
            return None
        count = round(interval_s / self.step_time_s)
        whole = count >= 1 and abs(count * self.step_time_s - interval_s) <= 1e-9 * interval_s
        return count if whole else None

    def steps(self, interval_s: float, *, wide: bool = False) -> int | None:
        """Whole steps next to an interval, chosen by goodput, and not below the floor.

        ``wide`` looks further for recorded gaps, whose goodput has many peaks: to recommend, not to round.
        """
        if self.step_time_s is None:
            return None
        least = int(ceil_to_whole(np.asarray(self.floor_s / self.step_time_s)))
        if self.is_closed:
            chosen = whole_steps(interval_s, self.step_time_s, self.effective_stall_s, self.mtbf_s)
            return max(int(chosen), least)
        from ckptplan.plan.account import steps_near

        counts = steps_near(interval_s, self.step_time_s, max(least, 1), wide=wide and bool(self.law.gaps_s))
        return int(counts[np.argmax(self.shares(counts * self.step_time_s).goodput)])


def cases_of(scenario: Scenario) -> list[Case]:
    """Every strategy of a scenario, at its scale; a tier that survives everything is one by itself."""
    restart, wanted = restart_cost(scenario), scenario.strategies
    saves = [save_cost(save, scenario) for save in scenario.saves if wanted is None or save.name in wanted]
    if not scenario.has_spectrum:
        return [_case(scenario, save, restart, None) for save in saves]
    from ckptplan.plan.spectrum.assembly import single_tiers, spectrum_of

    spectrum = spectrum_of(scenario, restart)
    alone = single_tiers(scenario, spectrum)
    chosen = [one for one in alone if wanted is None or one.save.name in wanted]
    pairs = [(save, spectrum) for save in saves]
    pairs += [(one.save, one.spectrum) for one in (chosen if saves or chosen else alone)]
    return [_case(scenario, save, restart, of_save) for save, of_save in pairs]


def _case(scenario: Scenario, save: SaveCost, restart: RestartCost, spectrum: "Spectrum | None") -> Case:
    mtbf_s = float(mtbf_of_job(scenario.failures.mtbf_per_gpu_s, scenario.cluster.gpus))
    if spectrum is not None:
        from ckptplan.plan.spectrum.assembly import mean_recovery

        restart = mean_recovery(restart, spectrum, mtbf_s)
    return Case(
        gpus=scenario.cluster.gpus,
        mtbf_s=mtbf_s,
        restart=restart,
        save=save,
        strike=scenario.failures_strike,
        step_time_s=scenario.training.step_time_s,
        law=scenario.failures.law,
        nodes=scenario.cluster.nodes,
        host_copy_survives=scenario.failures.host_copy_survives,
        replicas=scenario.cluster.layout.data * scenario.cluster.layout.replicas,
        spectrum=spectrum,
    )

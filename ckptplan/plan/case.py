"""One strategy at one scale: cost put in, interval and goodput out."""

from __future__ import annotations

from typing import NamedTuple

from ckptplan.cost.failures import mtbf_of_job
from ckptplan.cost.restart import RestartCost, restart_cost
from ckptplan.cost.saving import SaveCost, save_cost
from ckptplan.cost.scenario import Scenario, Strike
from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.interval.breakdown import Shares, exact_shares
from ckptplan.interval.methods import METHODS
from ckptplan.interval.steps import whole_steps


class Case(NamedTuple):
    """One strategy at one scale, reduced to the numbers that the interval depends on."""

    gpus: int
    mtbf_s: float
    restart: RestartCost
    save: SaveCost
    strike: Strike
    step_time_s: float | None

    @property
    def effective_stall_s(self) -> float:
        """Training time that one save takes, slow-down included."""
        return float(effective_stall(self.save.stall_s, self.save.flush_s, self.speed))

    @property
    def floor_s(self) -> float:
        """Least work between saves: the flush must have ended."""
        return float(interval_floor(self.save.flush_s, self.speed))

    @property
    def speed(self) -> float:
        """Training speed while a flush runs."""
        return self.save.training_speed_while_flushing

    def optimum(self, method: str) -> float:
        """Interval by a method, raised to the floor that the flush sets, in seconds."""
        return max(float(METHODS[method].function(self.effective_stall_s, self.mtbf_s)), self.floor_s)

    def shares(self, interval_s: float) -> Shares:
        """Exact shares of wall time at an interval."""
        return exact_shares(
            interval_s,
            self.save.stall_s,
            self.mtbf_s,
            downtime=self.restart.downtime_s,
            restart=self.restart.restart_s,
            strike=self.strike,
            flush=self.save.flush_s,
            speed=self.speed,
        )

    def goodput(self, interval_s: float) -> float:
        """Exact goodput of an interval."""
        return float(self.shares(interval_s).goodput)

    def goodput_of_steps(self, steps: int | None) -> float | None:
        """Exact goodput of a whole number of steps, if steps are known."""
        if steps is None or self.step_time_s is None:
            return None
        return self.goodput(steps * self.step_time_s)

    def steps(self, interval_s: float) -> int | None:
        """Whole steps next to an interval, chosen by exact goodput."""
        if self.step_time_s is None:
            return None
        chosen = whole_steps(
            interval_s,
            self.step_time_s,
            self.save.stall_s,
            self.mtbf_s,
            flush=self.save.flush_s,
            speed=self.speed,
        )
        return int(chosen)


def cases_of(scenario: Scenario) -> list[Case]:
    """Every strategy of a scenario, at its scale."""
    mtbf_s = float(mtbf_of_job(scenario.failures.mtbf_per_gpu_s, scenario.cluster.gpus))
    restart = restart_cost(scenario)
    return [
        Case(
            gpus=scenario.cluster.gpus,
            mtbf_s=mtbf_s,
            restart=restart,
            save=save_cost(save, scenario),
            strike=scenario.failures_strike,
            step_time_s=scenario.training.step_time_s,
        )
        for save in scenario.saves
    ]

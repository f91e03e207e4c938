"""The pipeline: for each scale and strategy, cost -> interval -> shares -> record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ckptplan.cost.failures import mtbf_of_job
from ckptplan.cost.layout import with_gpus
from ckptplan.cost.restart import RestartCost, restart_cost
from ckptplan.cost.saving import SaveCost, save_cost
from ckptplan.cost.scenario import Scenario, Strike
from ckptplan.cost.size import sizes
from ckptplan.cost.state import bytes_per_parameter
from ckptplan.errors import InputError
from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.interval.breakdown import exact_goodput, exact_shares
from ckptplan.interval.first_order import first_order_shares
from ckptplan.interval.methods import METHODS
from ckptplan.interval.steps import whole_steps
from ckptplan.plan import status
from ckptplan.plan.record import CheckpointFacts, FailureFacts, Plan, Record, recommended

METHOD_NAMES = tuple(METHODS)
_SECONDS_PER_HOUR = 3600.0


class _Case(NamedTuple):
    """One strategy at one scale, reduced to the numbers that the interval depends on."""

    gpus: int
    mtbf_s: float
    restart: RestartCost
    save: SaveCost
    strike: Strike
    step_time_s: float | None

    @property
    def effective_stall_s(self) -> float:
        return float(effective_stall(self.save.stall_s, self.save.flush_s, self.speed))

    @property
    def floor_s(self) -> float:
        return float(interval_floor(self.save.flush_s, self.speed))

    @property
    def speed(self) -> float:
        return self.save.training_speed_while_flushing

    def optimum(self, method: str) -> float:
        """Interval by a method, raised to the floor that the flush sets, in seconds."""
        return max(float(METHODS[method].function(self.effective_stall_s, self.mtbf_s)), self.floor_s)

    def goodput(self, interval_s: float) -> float:
        """Exact goodput of an interval."""
        return float(
            exact_goodput(
                interval_s,
                self.save.stall_s,
                self.mtbf_s,
                downtime=self.restart.downtime_s,
                restart=self.restart.restart_s,
                strike=self.strike,
                flush=self.save.flush_s,
                speed=self.speed,
            )
        )

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


def plan(
    scenario: Scenario,
    *,
    methods: Sequence[str] = METHOD_NAMES,
    intervals_s: Sequence[float] = (),
    steps: Sequence[int] = (),
    gpus: Sequence[int] = (),
    gpu_hour_price: float | None = None,
) -> Plan:
    """Plan the checkpoint interval of a run.

    Parameters
    ----------
    scenario : Scenario
        The run.
    methods : sequence of str
        Which of ``METHOD_NAMES`` to account by.
    intervals_s : sequence of float
        Given intervals to evaluate beside the optimum: work between two saves. [s]
    steps : sequence of int
        Given intervals in optimizer steps; needs ``training.step_time``.
    gpus : sequence of int
        Further scales, the MTBF per GPU held; the scenario's own scale always comes first.
    gpu_hour_price : float, optional
        Price of one GPU for one hour, for what a given interval loses. [money]

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If something needed is neither given nor computable.
    """
    given = (*intervals_s, *_as_intervals(steps, scenario))
    scales = tuple(dict.fromkeys((scenario.cluster.gpus, *gpus)))
    cases: list[_Case] = []
    notes: list[str] = []
    for count in scales:
        scaled, note = _at_scale(scenario, count)
        notes += [note] if note else []
        cases += _cases(scaled)
    money = _Money(scenario.training.duration_s, gpu_hour_price)
    records = tuple(record for case in cases for record in _records(case, methods, given, money))
    here = [case for case in cases if case.gpus == scenario.cluster.gpus]
    optima = [r for r in records if not r.given and r.gpus == scenario.cluster.gpus]
    return Plan(
        name=scenario.name,
        gpus=scenario.cluster.gpus,
        step_time_s=scenario.training.step_time_s,
        duration_s=scenario.training.duration_s,
        checkpoint=_checkpoint_facts(scenario),
        failures=_failure_facts(scenario),
        restart=here[0].restart,
        saves=tuple(case.save for case in here),
        records=records,
        best=max(optima, key=recommended),
        binds=status.binds(scenario, [case.save for case in here]),
        assumptions=status.assumptions(scenario, [case.save for case in here]),
        warnings=status.warnings(scenario, records, [case.save for case in here], notes),
        scales=scales,
    )


class _Money(NamedTuple):
    """Turns lost goodput into GPU-hours over the run, and into money where a price is known."""

    duration_s: float | None
    gpu_hour_price: float | None

    def lost(self, goodput: float | None, gpus: int) -> tuple[float | None, float | None]:
        if goodput is None or self.duration_s is None:
            return None, None
        hours = goodput * gpus * self.duration_s / _SECONDS_PER_HOUR
        return hours, None if self.gpu_hour_price is None else hours * self.gpu_hour_price


def _as_intervals(steps: Sequence[int], scenario: Scenario) -> list[float]:
    if steps and scenario.training.step_time_s is None:
        raise InputError(
            "intervals in steps need the time of one step",
            hint="add training.step_time to the spec, for example training: {step_time: 5 s}",
        )
    return [count * (scenario.training.step_time_s or 0.0) for count in steps]


def _at_scale(scenario: Scenario, gpus: int) -> tuple[Scenario, str | None]:
    if gpus == scenario.cluster.gpus:
        return scenario, None
    cluster, note = with_gpus(scenario.cluster, gpus)
    return replace(scenario, cluster=cluster), note


def _cases(scenario: Scenario) -> list[_Case]:
    mtbf_s = float(mtbf_of_job(scenario.failures.mtbf_per_gpu_s, scenario.cluster.gpus))
    restart = restart_cost(scenario)
    return [
        _Case(
            gpus=scenario.cluster.gpus,
            mtbf_s=mtbf_s,
            restart=restart,
            save=save_cost(save, scenario),
            strike=scenario.failures_strike,
            step_time_s=scenario.training.step_time_s,
        )
        for save in scenario.saves
    ]


def _records(case: _Case, methods: Sequence[str], given: Sequence[float], money: _Money) -> Iterator[Record]:
    for method in methods:
        yield _record(case, method, case.optimum(method))
    best = case.goodput(case.optimum("exact"))
    for interval_s in given:
        raised = max(interval_s, case.floor_s)
        # Young and Daly differ in their interval only; for a given one their first-order account is the same.
        for method in dict.fromkeys("exact" if METHODS[m].accounting == "exact" else "young" for m in methods):
            yield _record(case, method, raised, asked_s=interval_s, best=best, money=money)


def _record(
    case: _Case,
    method: str,
    interval_s: float,
    *,
    asked_s: float | None = None,
    best: float | None = None,
    money: _Money | None = None,
) -> Record:
    save, rework, restart, overhead, goodput = _shares(case, method, interval_s)
    exact = case.goodput(interval_s)
    steps = case.steps(interval_s) if asked_s is None else _steps_if_whole(interval_s, case.step_time_s)
    at_steps = None if steps is None or case.step_time_s is None else case.goodput(steps * case.step_time_s)
    lost = None if best is None else max(best - exact, 0.0)
    hours, spent = money.lost(lost, case.gpus) if money else (None, None)
    row = Record(
        strategy=case.save.name,
        method=method,
        given=asked_s is not None,
        gpus=case.gpus,
        mtbf_s=case.mtbf_s,
        restart_s=case.restart.total_s,
        stall_s=case.save.stall_s,
        flush_s=case.save.flush_s,
        effective_stall_s=case.effective_stall_s,
        interval_floor_s=case.floor_s,
        interval_s=interval_s,
        interval_steps=steps,
        save_fraction=save,
        rework_fraction=rework,
        restart_fraction=restart,
        overhead=overhead,
        goodput=goodput,
        goodput_exact=exact,
        goodput_steps=at_steps,
        lost_goodput=lost,
        lost_gpu_hours=hours,
        lost_money=spent,
        status="",
    )
    return row._replace(status=status.of_record(row, asked_s))


def _shares(case: _Case, method: str, interval_s: float) -> tuple[float, float, float, float, float | None]:
    """Save, rework, restart, overhead and goodput by the accounting of the method."""
    if METHODS[method].accounting == "exact":
        s = exact_shares(
            interval_s,
            case.save.stall_s,
            case.mtbf_s,
            downtime=case.restart.downtime_s,
            restart=case.restart.restart_s,
            strike=case.strike,
            flush=case.save.flush_s,
            speed=case.speed,
        )
        return (float(s.save), float(s.rework), float(s.restart), float(s.overhead), float(s.goodput))
    f = first_order_shares(
        interval_s,
        case.save.stall_s,
        case.mtbf_s,
        restart=case.restart.total_s,
        flush=case.save.flush_s,
        speed=case.speed,
    )
    goodput = float(f.goodput)
    return (
        float(f.save),
        float(f.rework),
        float(f.restart),
        float(f.overhead),
        None if np.isnan(goodput) else goodput,
    )


def _steps_if_whole(interval_s: float, step_time_s: float | None) -> int | None:
    """The number of steps of a given interval, if it is a whole one (to rounding)."""
    if step_time_s is None:
        return None
    count = round(interval_s / step_time_s)
    whole = count >= 1 and abs(count * step_time_s - interval_s) <= 1e-9 * interval_s
    return count if whole else None


def _checkpoint_facts(scenario: Scenario) -> CheckpointFacts:
    size = sizes(scenario.model, scenario.cluster)
    return CheckpointFacts(
        size_bytes=size.total_bytes,
        size_per_gpu_bytes=size.total_bytes / scenario.cluster.gpus,
        size_per_node_bytes=size.total_bytes / scenario.cluster.nodes,
        bytes_per_parameter=bytes_per_parameter(scenario.model),
        ledger=scenario.model.ledger.name,
    )


def _failure_facts(scenario: Scenario) -> FailureFacts:
    per_gpu = scenario.failures.mtbf_per_gpu_s
    return FailureFacts(
        mtbf_s=float(mtbf_of_job(per_gpu, scenario.cluster.gpus)),
        mtbf_per_gpu_s=per_gpu,
        mtbf_per_node_s=per_gpu / scenario.cluster.gpus_per_node,
        source=scenario.failures.source,
        failures_counted=scenario.failures.count,
    )

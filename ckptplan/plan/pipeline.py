"""The pipeline: for each scale and strategy, cost -> interval -> shares -> record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ckptplan.cost.layout import with_gpus
from ckptplan.cost.scenario import Scenario
from ckptplan.cost.size import sizes
from ckptplan.cost.state import bytes_per_parameter
from ckptplan.errors import InputError
from ckptplan.interval.first_order import first_order_shares
from ckptplan.interval.methods import METHODS
from ckptplan.plan import assumptions, status, warnings
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.record import CheckpointFacts, FailureFacts, Plan, Record, recommended

METHOD_NAMES = tuple(METHODS)
_SECONDS_PER_HOUR = 3600.0


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
    cases: list[Case] = []
    notes: list[str] = []
    for count in scales:
        scaled, note = _at_scale(scenario, count)
        notes += [note] if note else []
        cases += cases_of(scaled)
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
        failures=_failure_facts(scenario, here[0].mtbf_s),
        restart=here[0].restart,
        saves=tuple(case.save for case in here),
        records=records,
        best=max(optima, key=recommended),
        binds=assumptions.binds(scenario, here),
        assumptions=assumptions.assumptions(scenario, here, scales),
        warnings=warnings.warnings(scenario, records, cases, notes),
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


def _records(case: Case, methods: Sequence[str], given: Sequence[float], money: _Money) -> Iterator[Record]:
    for method in methods:
        yield _record(case, method, case.optimum(method))
    best = _best_typed(case) if given else None
    for asked_s in dict.fromkeys(given):
        raised = _raised(asked_s, case)
        # Young and Daly differ in their interval only; for a given one their first-order account is the same.
        for method in dict.fromkeys("exact" if METHODS[m].accounting == "exact" else "young" for m in methods):
            yield _record(case, method, raised, asked_s=asked_s, best=best, money=money)


def _best_typed(case: Case) -> float:
    """Goodput of the best number that can be typed: whole steps where the step time is known."""
    interval_s = case.optimum("exact")
    of_steps = case.goodput_of_steps(case.steps(interval_s))
    return case.goodput(interval_s) if of_steps is None else of_steps


def _raised(asked_s: float, case: Case) -> float:
    """A given interval, or the least one above it at which the flush has ended, in whole steps where they are known."""
    if asked_s >= case.floor_s:
        return asked_s
    steps = case.steps(case.floor_s)
    return case.floor_s if steps is None or case.step_time_s is None else steps * case.step_time_s


def _record(
    case: Case,
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
    lost = None if best is None else max(best - exact, 0.0)
    hours, spent = money.lost(lost, case.gpus) if money else (None, None)
    row = Record(
        strategy=case.save.name,
        method=method,
        given=asked_s is not None,
        asked_interval_s=asked_s,
        gpus=case.gpus,
        mtbf_s=case.mtbf_s,
        restart_total_s=case.restart.total_s,
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
        goodput_steps=case.goodput_of_steps(steps),
        lost_goodput=lost,
        lost_gpu_hours=hours,
        lost_money=spent,
        status="",
    )
    return row._replace(status=status.of_record(row))


def _shares(case: Case, method: str, interval_s: float) -> tuple[float, float, float, float, float | None]:
    """Save, rework, restart, overhead and goodput by the accounting of the method."""
    if METHODS[method].accounting == "exact":
        s = case.shares(interval_s)
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


def _failure_facts(scenario: Scenario, mtbf_s: float) -> FailureFacts:
    per_gpu = scenario.failures.mtbf_per_gpu_s
    return FailureFacts(
        mtbf_s=mtbf_s,
        mtbf_per_gpu_s=per_gpu,
        mtbf_per_node_s=per_gpu / scenario.cluster.gpus_per_node,
        source=scenario.failures.source,
        failures_counted=scenario.failures.count,
    )

"""Rules that set the interval while the run goes on, held against the best interval of one that knows its MTBF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ckptplan.cost.scenario import EXPONENTIAL, Scenario
from ckptplan.interval.online import adaptive_cycle_goodput, online_interval
from ckptplan.interval.steps import whole_steps_first_order
from ckptplan.online.rules import checkfreq_steps, overhead_budget_interval
from ckptplan.plan.case import Case, cases_of

_SEEN = (0, 1, 5, 20)
_Row: TypeAlias = tuple[str, int | None, float | None, float]  # rule, failures seen, interval [s], goodput
_ROUNDING = 1e-12
_TOO_LONG = 10.0  # how far a data sheet may be from a cluster


class RuleRecord(NamedTuple):
    """One rule after a number of failures; ``interval_s`` None where it depends on when they came."""

    rule: str
    failures_seen: int | None
    interval_s: float | None
    interval_steps: int | None
    goodput: float
    lost_goodput: float


class AdaptivePlan(NamedTuple):
    """What adaptive rules yield for one strategy; the best interval first."""

    name: str
    strategy: str
    step_time_s: float | None
    stall_s: float
    flush_s: float
    speed: float
    mtbf_s: float
    prior_mtbf_s: float
    prior_shape: float
    budget: float
    records: tuple[RuleRecord, ...]
    left_out: tuple[str, ...]  # keys of the spec that the rules do not know


def adaptive_plan(
    scenario: Scenario,
    *,
    strategy: str | None = None,
    prior_mtbf_s: float | None = None,
    prior_shape: float = 1.0,
    budget: float = 0.05,
) -> AdaptivePlan:
    """What rules that adapt yield for a scenario, exponential failures taken for granted.

    Parameters
    ----------
    scenario : Scenario
        The run; its MTBF is the truth that the rules have to find.
    strategy : str, optional
        Name of a save strategy; by default the one with the best goodput.
    prior_mtbf_s : float, optional
        What the posterior rule believes at the start; by default the MTBF of the scenario. [s]
    prior_shape : float
        Number of failures that this belief is worth. [1]
    budget : float
        Share of time that the budget rules allow for saves. [1]

    Returns
    -------
    AdaptivePlan
    """
    cases = [case for case in cases_of(scenario) if strategy in (None, case.save.name)]
    left_out = _left_out(scenario, cases)
    # The rules know of exponential failures, one save in flight and no surviving copies: all rows are of that.
    cases = [
        one._replace(
            law=EXPONENTIAL,
            host_copy_survives=0.0,
            mtbf_s=one.stops_mtbf_s,
            spectrum=None,
            save=one.save._replace(in_flight=1),
        )
        for one in cases
    ]
    case = max(cases, key=lambda one: one.goodput(one.optimum("exact")))
    prior_s = case.mtbf_s if prior_mtbf_s is None else prior_mtbf_s
    best_s = case.optimum("exact")
    best = case.goodput(best_s)
    rows: list[_Row] = [("exact, the MTBF known", None, best_s, best)]
    rows += _posterior(case, "posterior", prior_s, prior_shape, _SEEN)
    rows += _posterior(case, f"posterior, prior {_TOO_LONG:g} x as long", _TOO_LONG * prior_s, prior_shape, _SEEN[:3])
    rows += _budgets(case, budget)
    return AdaptivePlan(
        name=scenario.name,
        strategy=case.save.name,
        step_time_s=case.step_time_s,
        stall_s=case.save.stall_s,
        flush_s=case.save.flush_s,
        speed=case.speed,
        mtbf_s=case.mtbf_s,
        prior_mtbf_s=prior_s,
        prior_shape=prior_shape,
        budget=budget,
        records=tuple(_record(case, row, best) for row in rows),
        left_out=left_out,
    )


def _left_out(scenario: Scenario, cases: Sequence[Case]) -> tuple[str, ...]:
    """What the spec says and the rules do not know."""
    found = []
    if any(not case.is_exponential for case in cases):
        found.append("failures.law (taken as exponential)")
    if scenario.failures.host_copy_survives > 0.0:
        found.append("failures.host_copy_survives")
    if any(case.save.in_flight > 1 for case in cases):
        found.append("save[].in_flight (taken as 1)")
    if scenario.has_spectrum:
        found.append("failures.classes, storage.tiers, verification and spares (one class, one tier)")
    return tuple(found)


def _posterior(case: Case, name: str, prior_s: float, shape: float, seen: tuple[int, ...]) -> Iterator[_Row]:
    save = case.save
    for failures in seen:
        goodput = adaptive_cycle_goodput(
            save.stall_s,
            case.mtbf_s,
            failures,
            shape,
            shape * prior_s,
            downtime=case.restart.downtime_s,
            restart=case.restart.restart_s,
            strike=case.strike,
            flush=save.flush_s,
            speed=case.speed,
        )
        first = online_interval(save.stall_s, 0, 0.0, shape, shape * prior_s, flush=save.flush_s, speed=case.speed)
        yield name, failures, float(first) if failures == 0 else None, float(goodput)


def _budgets(case: Case, budget: float) -> Iterator[_Row]:
    save = case.save
    scr_s = max(float(overhead_budget_interval(case.effective_stall_s, budget)), case.floor_s)
    yield f"SCR, saves at most {100 * budget:g} %", None, scr_s, case.goodput(scr_s)
    if case.step_time_s is not None:
        persist_s = save.stall_s + save.flush_s
        steps = float(checkfreq_steps(case.step_time_s, case.effective_stall_s, persist_s, budget))
        capped_s = max(steps * case.step_time_s, case.floor_s)
        goodput = case.goodput(capped_s)
        yield f"CheckFreq, saves at most {100 * budget:g} %", None, capped_s, goodput


def _record(case: Case, row: _Row, best: float) -> RuleRecord:
    rule, seen, interval_s, goodput = row
    steps = None if interval_s is None else case.steps(interval_s)
    if seen == 0 and interval_s is not None and case.step_time_s is not None:
        # As the controller rounds: to first order, by the stall and the MTBF that make this interval.
        mtbf_s = interval_s * interval_s / (2.0 * case.effective_stall_s) if case.effective_stall_s > 0.0 else 0.0
        first_order = float(whole_steps_first_order(case.step_time_s, case.effective_stall_s, mtbf_s))
        steps = max(int(first_order), case.steps(case.floor_s) or 1) if first_order > 0.0 else steps
    lost = best - goodput
    return RuleRecord(rule, seen, interval_s, steps, goodput, 0.0 if abs(lost) < _ROUNDING else lost)

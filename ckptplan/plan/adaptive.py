"""Rules that set the interval while the run goes on, held against the best interval of one that knows its MTBF."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from ckptplan.cost.scenario import Scenario
from ckptplan.interval.online import adaptive_cycle_goodput
from ckptplan.online.rules import checkfreq_steps, overhead_budget_interval
from ckptplan.plan.case import Case, cases_of

_SEEN = (0, 1, 5, 20)
_Row: TypeAlias = tuple[str, int | None, float | None, float]  # rule, failures seen, interval [s], goodput
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
    case = max(cases, key=lambda one: one.exponential_shares(one.optimum("exact")).goodput)
    prior_s = case.mtbf_s if prior_mtbf_s is None else prior_mtbf_s
    best_s = case.optimum("exact")
    best = float(case.exponential_shares(best_s).goodput)
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
    )


def _posterior(case: Case, name: str, prior_s: float, shape: float, seen: tuple[int, ...]) -> Iterator[_Row]:
    from ckptplan.interval.online import online_interval

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
    yield f"SCR, saves at most {100 * budget:g} %", None, scr_s, float(case.exponential_shares(scr_s).goodput)
    if case.step_time_s is not None:
        persist_s = save.stall_s + save.flush_s
        steps = float(checkfreq_steps(case.step_time_s, case.effective_stall_s, persist_s, budget))
        capped_s = max(steps * case.step_time_s, case.floor_s)
        goodput = float(case.exponential_shares(capped_s).goodput)
        yield f"CheckFreq, saves at most {100 * budget:g} %", None, capped_s, goodput


def _record(case: Case, row: _Row, best: float) -> RuleRecord:
    rule, seen, interval_s, goodput = row
    steps = None if interval_s is None else case.steps(interval_s)
    return RuleRecord(rule, seen, interval_s, steps, goodput, best - goodput)

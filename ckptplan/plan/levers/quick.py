"""The first lever alone, for the line with which ``optimize`` ends: at the best strategy, and no other is chosen."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.interval.breakdown import exact_shares
from ckptplan.interval.elementary import ceil_to_whole
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.steps import whole_steps
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.levers.catalogue import CATALOGUE, Entry
from ckptplan.plan.levers.change import Change
from ckptplan.plan.levers.lever import Lever
from ckptplan.plan.levers.savings import with_savings
from ckptplan.plan.levers.wording import first_of
from ckptplan.plan.record import TIERS, Plan

if TYPE_CHECKING:
    from ckptplan.plan.levers.pattern import Kept


# A lever that applies, its change, and its cases that are compared: the best strategy, and what the lever adds.
_Tried: TypeAlias = tuple[Entry, Change, list[Case]]
# What one of them yields: strategy, interval, steps, goodput of what is typed, goodput before it is rounded to steps.
_Yield: TypeAlias = tuple[str, float, int | None, float, float]


def first_lever(scenario: Scenario, made: Plan, price: float | None = None) -> Lever | None:
    """The lever to do first (see `first_of`), or None where none applies.

    Parameters
    ----------
    scenario : Scenario
        The run.
    made : Plan
        Its plan, which names the best strategy.
    price : float, optional
        Of one GPU-hour. [money]

    Notes
    -----
    ``ckptplan levers`` looks at all strategies again under each lever, and chooses the tiers again. Both rank the same
    unless a lever makes another strategy the best one by a good deal.
    """
    tried = list(_tried(scenario, made.best.strategy))
    is_closed = all(case.is_closed for _, _, cases in tried for case in cases)
    yields = _closed(tried) if is_closed else _one_by_one(tried, scenario, made)
    pairs = zip(tried, yields, strict=True)
    found = [_lever(one, best, scenario, made, price) for one, best in pairs if best is not None and best[3] > 0.0]
    return first_of(found)


def _tried(scenario: Scenario, best: str) -> Iterator[_Tried]:
    had = {save.name for save in scenario.saves}
    only = replace(scenario, saves=tuple(save for save in scenario.saves if save.name == best))
    for entry in CATALOGUE:
        try:
            change = entry.pull(scenario if entry.adds_a_save else only)
            if isinstance(change, str):
                continue
            new = [save.name for save in change.scenario.saves if save.name not in had]
            yield entry, change, cases_of(replace(change.scenario, strategies=(best, *new)))
        except InputError:
            continue  # no answer under this lever: it is not the first one to pull


def _closed(tried: Sequence[_Tried]) -> Iterator[_Yield]:
    """All cases side by side, as `ckptplan.plan.closed` has them: to load that would take as long as all of this."""
    if not tried:
        return
    cases = [case for _, _, of_lever in tried for case in of_lever]
    M, D, R, d, F, speed, flights, d_eff, floor_s, step_s = np.array([_numbers(case) for case in cases]).T
    best_s = np.maximum(exact_interval(d_eff, M), floor_s)
    with np.errstate(invalid="ignore"):
        steps = np.maximum(whole_steps(best_s, step_s, d_eff, M), ceil_to_whole(floor_s / step_s))
    typed_s = np.where(np.isnan(steps), best_s, steps * step_s)
    recovery = {"downtime": D, "restart": R, "strike": cases[0].strike}
    both = exact_shares(np.array([typed_s, best_s]), d, M, flush=F, speed=speed, in_flight=flights, **recovery)
    typed, before = both.goodput.tolist()
    rows = zip(cases, best_s.tolist(), steps.tolist(), typed, before, strict=True)
    values: Iterator[_Yield] = (
        (case.save.name, at_s, None if isnan(count) else int(count), goodput, unrounded)
        for case, at_s, count, goodput, unrounded in rows
    )
    for _, _, of_lever in tried:
        yield max((next(values) for _ in of_lever), key=lambda found: found[3])


def _numbers(case: Case) -> tuple[float, ...]:
    save, restart = case.save, case.restart
    step_s = float("nan") if case.step_time_s is None else case.step_time_s
    times = (case.mtbf_s, restart.downtime_s, restart.restart_s, save.stall_s, save.flush_s)
    return (*times, case.speed, save.in_flight, case.effective_stall_s, case.floor_s, step_s)


def _one_by_one(tried: Sequence[_Tried], scenario: Scenario, made: Plan) -> Iterator[_Yield | None]:
    kept = _kept(scenario, made)
    for one in tried:
        try:
            yield _best_of(one, kept, len(scenario.storage.tiers))
        except InputError:
            yield None


def _kept(scenario: Scenario, made: Plan) -> "Kept | None":
    """The pattern of the plan, where several tiers are best."""
    if made.tiers is None or not made.tiers_are_best:
        return None
    from ckptplan.plan.levers.pattern import kept_by

    case = next(case for case in cases_of(scenario) if case.save.name == made.best.strategy)
    return kept_by(scenario, case, made.tiers.interval_s)


def _best_of(one: _Tried, kept: "Kept | None", tiers: int) -> _Yield:
    _, change, cases = one
    changed = change.scenario
    if len(changed.storage.tiers) > tiers:
        from ckptplan.plan.tiers.tiering import tiering_of

        found = tiering_of(changed, cases[0])
        if found is not None:
            plan = found.plan
            return TIERS, plan.interval_s, plan.interval_steps, plan.goodput, plan.goodput
    if kept is not None:
        from ckptplan.plan.levers.pattern import at_best

        case = cases[0]
        at = at_best(changed, case, kept, in_steps=True)
        return TIERS, at.interval_s, case.steps_if_whole(at.interval_s), at.goodput, at.goodput
    return max((_alone(case) for case in cases), key=lambda found: found[3])


def _alone(case: Case) -> _Yield:
    best_s = case.optimum(case.method)
    steps, goodput = case.steps(best_s, wide=True), case.goodput(best_s)
    typed = case.goodput_of_steps(steps)
    return case.save.name, best_s, steps, goodput if typed is None else typed, goodput


def _lever(one: _Tried, found: _Yield, scenario: Scenario, made: Plan, price: float | None) -> Lever:
    entry, change, _ = one
    strategy, interval_s, steps, goodput, before_steps = found
    was = made.best_goodput if made.tiers_are_best else made.best.goodput_exact
    lever = Lever(
        key=entry.key,
        title=entry.title,
        change=change.text,
        strategy=strategy,
        interval_s=interval_s,
        interval_steps=steps,
        goodput=goodput,
        notes=change.notes,
        gained_before_steps=before_steps - was,
        in_hand=not entry.goal,
    )
    return with_savings(lever, scenario, made.best_goodput, change.scenario, extra_gpus=change.extra_gpus, price=price)

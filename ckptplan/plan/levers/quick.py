"""The first lever alone, for the line with which ``optimize`` ends: at the best strategy, and no other is chosen."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.levers.catalogue import CATALOGUE, Entry
from ckptplan.plan.levers.change import Change
from ckptplan.plan.levers.lever import Lever
from ckptplan.plan.levers.savings import with_savings
from ckptplan.plan.levers.wording import first_of
from ckptplan.plan.progress import makes_progress
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
    useful = ((one, best) for one, best in pairs if best is not None and makes_progress(best[3]))
    found = [_lever(one, best, scenario, made, price) for one, best in useful]
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
    """All cases side by side."""
    if not tried:
        return
    from ckptplan.plan.closed import closed_cases

    cases = [case for _, _, of_lever in tried for case in of_lever]
    many = closed_cases(cases)
    best_s = many.optimum("exact")
    steps = many.steps(best_s)
    typed_s = many.typed(best_s, steps)
    typed, before = many.shares(np.array([typed_s, best_s])).goodput.tolist()
    rows = zip(cases, typed_s.tolist(), steps.tolist(), typed, before, strict=True)
    values: Iterator[_Yield] = (
        (case.save.name, at_s, None if isnan(count) else int(count), goodput, unrounded)
        for case, at_s, count, goodput, unrounded in rows
    )
    for _, _, of_lever in tried:
        yield max((next(values) for _ in of_lever), key=lambda found: found[3])


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
    if steps is None or case.step_time_s is None or typed is None:
        return case.save.name, best_s, None, goodput, goodput
    return case.save.name, steps * case.step_time_s, steps, typed, goodput


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

"""The first lever alone, for the line with which ``optimize`` ends: at the best strategy, and no other is chosen."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.levers.catalogue import CATALOGUE, Change, Entry
from ckptplan.plan.levers.record import Lever
from ckptplan.plan.levers.savings import worth
from ckptplan.plan.record import TIERS, Plan

if TYPE_CHECKING:
    from ckptplan.plan.levers.pattern import Kept


class _Tried(NamedTuple):
    """A lever that applies, and the cases of it that are compared: the best strategy, and what the lever adds."""

    entry: Entry
    change: Change
    cases: list[Case]


class _Yield(NamedTuple):
    """What one of them yields, typed. [s, 1]."""

    strategy: str
    interval_s: float
    interval_steps: int | None
    goodput: float
    before_steps: float


def first_lever(scenario: Scenario, made: Plan, price: float | None = None) -> Lever | None:
    """The lever that gains most, or None where none applies.

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
    yields = (
        _closed(tried)
        if all(case.is_closed for one in tried for case in one.cases)
        else _one_by_one(tried, scenario, made)
    )
    pairs = zip(tried, yields, strict=True)
    found = [_lever(one, best, scenario, made, price) for one, best in pairs if best is not None and best.goodput > 0.0]
    return max(found, key=lambda lever: lever.worth, default=None)


def _tried(scenario: Scenario, best: str) -> Iterator[_Tried]:
    had = {save.name for save in scenario.saves}
    for entry in CATALOGUE:
        try:
            change = entry.pull(scenario)
            if isinstance(change, str):
                continue
            new = [save.name for save in change.scenario.saves if save.name not in had]
            yield _Tried(entry, change, cases_of(replace(change.scenario, strategies=(best, *new))))
        except InputError:
            continue  # no answer under this lever: it is not the first one to pull


def _closed(tried: Sequence[_Tried]) -> Iterator[_Yield]:
    """All cases as arrays."""
    if not tried:
        return
    from ckptplan.plan.closed import closed_cases

    cases = [case for one in tried for case in one.cases]
    many = closed_cases(cases)
    best_s = many.optimum("exact")
    steps, typed_s = many.steps(best_s), many.typed(best_s)
    columns = (best_s, steps, many.shares(typed_s).goodput, many.shares(best_s).goodput)
    rows = zip(cases, *(column.tolist() for column in columns), strict=True)
    values = iter([_Yield(c.save.name, s, None if isnan(n) else int(n), g, before) for c, s, n, g, before in rows])
    for one in tried:
        yield max((next(values) for _ in one.cases), key=lambda found: found.goodput)


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
    changed = one.change.scenario
    if len(changed.storage.tiers) > tiers:
        from ckptplan.plan.tiers.tiering import tiering_of

        found = tiering_of(changed, one.cases[0])
        if found is not None:
            plan = found.plan
            return _Yield(TIERS, plan.interval_s, plan.interval_steps, plan.goodput, plan.goodput)
    if kept is not None:
        from ckptplan.plan.levers.pattern import at_best

        case = one.cases[0]
        at = at_best(changed, case, kept, in_steps=True)
        return _Yield(TIERS, at.interval_s, case.steps_if_whole(at.interval_s), at.goodput, at.goodput)
    return max((_alone(case) for case in one.cases), key=lambda found: found.goodput)


def _alone(case: Case) -> _Yield:
    best_s = case.optimum(case.method)
    steps, goodput = case.steps(best_s, wide=True), case.goodput(best_s)
    typed = case.goodput_of_steps(steps)
    return _Yield(case.save.name, best_s, steps, goodput if typed is None else typed, goodput)


def _lever(one: _Tried, found: _Yield, scenario: Scenario, made: Plan, price: float | None) -> Lever:
    entry, change, now = one.entry, one.change, made.best_goodput
    value = worth(scenario, now, change.scenario, found.goodput, extra_gpus=change.extra_gpus, price=price)
    was = now if made.tiers_are_best else made.best.goodput_exact
    return Lever(
        key=entry.key,
        title=entry.title,
        change=change.text,
        strategy=found.strategy,
        interval_s=found.interval_s,
        interval_steps=found.interval_steps,
        goodput=found.goodput,
        gained=found.goodput - now,
        gpu_hours_saved=value.gpu_hours,
        money_saved=value.money,
        notes=change.notes,
        worth=value.equal_goodput - now,
        gained_before_steps=found.before_steps - was,
        gpus=change.scenario.cluster.gpus,
        wall_s_saved=value.wall_s,
    )

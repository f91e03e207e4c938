"""The levers of a run: each pulled by itself and ranked, then the best of them together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.errors import InputError
from ckptplan.plan.levers.catalogue import CATALOGUE, Change
from ckptplan.plan.levers.elasticity import elasticities
from ckptplan.plan.levers.outcome import Outcome, outcome_of
from ckptplan.plan.levers.own import Build, Own
from ckptplan.plan.levers.record import Left, Lever, Levers
from ckptplan.plan.levers.savings import with_savings
from ckptplan.plan.levers.together import PAIRED, PAIRED_CLOSED, joint
from ckptplan.plan.levers.wording import first_sentence
from ckptplan.units import format_time

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario

_ROUNDING = 1e-15  # of goodput
_NUMBERS = re.compile(r"[-+]?[\d.,]+(?:e[-+]?\d+)?(?: (?:us|ms|s|min|h|d|years|GPUs|%))?")

_ASSUMED = (
    "each lever is pulled by itself, everything else as the spec has it; the run then saves by its best strategy, at "
    "the best interval for that",
    "goodput is that of the whole steps that would be typed, the better of the two next to the best interval",
    "savings are GPU-hours of the whole work at the goodput of the long run; GPUs that stand by are taken off",
    "together, the changes of your own come first, then rates, then the times that they give; one that no longer "
    "applies adds nothing",
)


class _Under(NamedTuple):
    """A lever before it is ranked: what it is, and what comes of it."""

    key: str
    title: str
    change: Change
    outcome: Outcome
    own: bool


def levers(
    scenario: Scenario, *, own: Sequence[Own] = (), build: Build | None = None, gpu_hour_price: float | None = None
) -> Levers:
    """Every lever of a run, ranked, with elasticities and overlaps.

    Parameters
    ----------
    scenario : Scenario
        The run as it is.
    own : sequence of Own
        Changes of the user's own; needs ``build``.
    build : callable, optional
        The scenario under the own changes of some indices, as the spec would give it with them written in.
    gpu_hour_price : float, optional
        Price of one GPU for one hour. [money]

    Returns
    -------
    Levers

    Raises
    ------
    InputError
        If the run itself, or one under a change of the user's own, has no answer.
    """
    now = outcome_of(scenario)
    left: list[Left] = []
    under = [*_own(own, build), *_of_catalogue(now, left)]
    ranked = sorted((_lever(one, now, gpu_hour_price) for one in under), key=lambda lever: -lever.worth)
    closed = now.case.is_closed
    both = joint(scenario, now.goodput, ranked, own, build, most=PAIRED_CLOSED if closed else PAIRED)
    return Levers(
        name=scenario.name,
        gpus=scenario.cluster.gpus,
        best=now.best,
        strategy=now.strategy,
        interval_s=now.interval_s,
        interval_steps=now.interval_steps,
        goodput=now.goodput,
        step_time_s=scenario.training.step_time_s,
        work_s=scenario.training.work_s,
        gpu_hour_price=gpu_hour_price,
        levers=tuple(ranked),
        left=tuple(left),
        elasticities=elasticities(now),
        overlaps=both.overlaps,
        all_together=both.all_together,
        first=first_sentence(ranked[0] if ranked else None, now.goodput, scenario.training.work_s),
        warnings=tuple(dict.fromkeys((*now.warnings, *_new_warnings(under, now)))),
        together=both.together,
        apart=both.apart,
        paired=both.paired,
        assumptions=_ASSUMED,
    )


def _own(own: Sequence[Own], build: Build | None) -> Iterator[_Under]:
    for index, one in enumerate(own):
        if build is None:
            raise ValueError("changes of the user's own need what builds their scenario")
        try:
            changed = build([index])
            found = outcome_of(changed)
        except InputError as error:
            named = [replace(problem, message=f"{one.title}: {problem.message}") for problem in error.problems]
            raise InputError(named) from error
        yield _Under(one.key, one.title, Change(changed, one.text), found, own=True)


def _of_catalogue(now: Outcome, left: list[Left]) -> Iterator[_Under]:
    """The levers that apply and make a difference; the others are noted with why."""
    for entry in CATALOGUE:
        change = entry.pull(now.scenario)
        if isinstance(change, str):
            left.append(Left(entry.key, entry.title, change))
            continue
        try:
            found = outcome_of(change.scenario)
        except InputError as error:
            left.append(Left(entry.key, entry.title, f"the run would have no answer then: {error}"))
            continue
        if abs(found.before_steps - now.before_steps) <= _ROUNDING and found.goodput == now.goodput:
            why = f"no difference: the best way of saving, {_way(now)}, does not depend on it"
            left.append(Left(entry.key, entry.title, why))
            continue
        yield _Under(entry.key, entry.title, change, found, own=False)


def _way(outcome: Outcome) -> str:
    return outcome.strategy if outcome.tiering is None else "to several tiers"


def _lever(one: _Under, now: Outcome, price: float | None) -> Lever:
    change, found = one.change, one.outcome
    bare = Lever(
        key=one.key,
        title=one.title,
        change=change.text,
        strategy=found.strategy,
        interval_s=found.interval_s,
        interval_steps=found.interval_steps,
        goodput=found.goodput,
        own=one.own,
        gained_before_steps=found.before_steps - now.before_steps,
    )
    lever = with_savings(bare, now.scenario, now.goodput, change.scenario, extra_gpus=change.extra_gpus, price=price)
    of_size = _of_size(now.scenario, change.scenario, lever.wall_s_saved)
    return lever._replace(notes=(*change.notes, *notes_of_rounding(lever), *of_size))


def notes_of_rounding(lever: Lever) -> Iterator[str]:
    """Where whole steps take a gain away: the pattern of tiers, or a jump of recorded gaps, falls between two."""
    if lever.gained < 0.0 <= lever.gained_before_steps:
        yield f"gains {100 * lever.gained_before_steps:.2g} points before whole steps, which take them away"


def _of_size(before: Scenario, after: Scenario, wall_s: float | None) -> Iterator[str]:
    """What a change of the GPUs or of the work is judged by."""
    if before.cluster.gpus != after.cluster.gpus or before.training != after.training:
        saved = "wall time is not known" if wall_s is None else f"the run ends {format_time(abs(wall_s))} "
        saved += "" if wall_s is None else "sooner" if wall_s >= 0.0 else "later"
        yield f"{after.cluster.gpus:,} GPUs: ranked by GPU-hours for the same work, not by goodput; {saved}"


def _new_warnings(under: Sequence[_Under], now: Outcome) -> Iterator[str]:
    """What a lever makes worth a warning: where a formula leaves its regime."""
    known = {_without_numbers(text) for text in now.warnings}
    for one in under:
        for text in one.outcome.warnings:
            if _without_numbers(text) not in known:
                yield f"{one.title}: {text}"


def _without_numbers(text: str) -> str:
    return _NUMBERS.sub("#", text)

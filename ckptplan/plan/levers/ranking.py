"""The levers of a run: each pulled by itself and ranked, then the best of them together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.errors import InputError
from ckptplan.plan.levers.catalogue import CATALOGUE, GOALS
from ckptplan.plan.levers.change import Change
from ckptplan.plan.levers.elasticity import elasticities
from ckptplan.plan.levers.outcome import NothingLeftError, Outcome, outcome_of
from ckptplan.plan.levers.own import Build, Own
from ckptplan.plan.levers.record import Left, Lever, Levers
from ckptplan.plan.levers.savings import with_savings
from ckptplan.plan.levers.together import PAIRED, PAIRED_CLOSED, joint
from ckptplan.plan.levers.wording import first_of, first_sentence, gain
from ckptplan.plan.levers.work import UNTOLD, Told, told_by, with_its_steps, words_of, work_of
from ckptplan.units import format_gpus, format_time

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario

_ROUNDING = 1e-15  # of goodput
_NUMBERS = re.compile(r"[-+]?[\d.,]+(?:e[-+]?\d+)?(?: (?:us|ms|s|min|h|d|years|GPUs|%))?")

_NOWHERE = "no progress would be possible then"
_ASSUMED = (
    "each lever is pulled by itself, everything else as the spec has it; the run then saves by its best strategy, at "
    "the best interval for that",
    "goodput is that of the whole steps that would be typed, the better of the two next to the best interval",
    "savings are GPU-hours of the whole work at the goodput of the long run (optimize counts its end too); GPUs that "
    "stand by are taken off",
    "ranked by worth: the goodput that the run as it is would have to gain to take as few GPU-hours",
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
    told: Told = UNTOLD


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
        If the run itself, or one under a change of the user's own, has no answer; a change under which no progress is
        possible is among those that are left.
    """
    now = outcome_of(scenario)
    left: list[Left] = []
    under = [*_own(now, own, build, left), *_of_catalogue(now, left)]
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
        first=first_sentence(first_of(ranked), now.goodput, scenario.training.work_s),
        warnings=now.warnings,
        together=both.together,
        apart=both.apart,
        paired=both.paired,
        assumptions=_ASSUMED,
    )


def _own(now: Outcome, own: Sequence[Own], build: Build | None, left: list[Left]) -> Iterator[_Under]:
    for index, one in enumerate(own):
        if build is None:
            raise ValueError("changes of the user's own need what builds their scenario")
        try:
            told = told_by([one])
            changed = with_its_steps(now.scenario, build([index]), told)
            found = outcome_of(changed)
        except NothingLeftError:
            left.append(Left(one.key, one.title, _NOWHERE))
            continue
        except InputError as error:
            named = [replace(problem, message=f"{one.title}: {problem.message}") for problem in error.problems]
            raise InputError(named) from error
        yield _Under(one.key, one.title, Change(changed, one.text), found, own=True, told=told)


def _of_catalogue(now: Outcome, left: list[Left]) -> Iterator[_Under]:
    """The levers that apply and make a difference; the others are noted with why."""
    for entry in CATALOGUE:
        change = entry.pull(now.scenario)
        if isinstance(change, str):
            left.append(Left(entry.key, entry.title, change))
            continue
        try:
            found = outcome_of(change.scenario)
        except NothingLeftError:
            left.append(Left(entry.key, entry.title, _NOWHERE))
            continue
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
        in_hand=one.key not in GOALS,
    )
    lever = with_savings(
        bare,
        now.scenario,
        now.goodput,
        change.scenario,
        extra_gpus=change.extra_gpus,
        price=price,
        longer=work_of(now.scenario, change.scenario, one.told).ratio,
    )
    notes = (*change.notes, *_of_cost(lever), *notes_of_rounding(lever, change.scenario.training.step_time_s))
    notes = (*notes, *_of_work(one, now.scenario, lever.wall_s_saved))
    lever = lever._replace(beside=_of_predictor(found, now))
    return lever._replace(
        notes=(*notes, *_told_of_predictor(lever), *new_warnings(found, now, is_halved=one.key == "stall"))
    )


def _of_cost(lever: Lever) -> Iterator[str]:
    """Why a lever that gains stands behind those that gain less, and is not pulled with the others."""
    if lever.gained > 0.0 >= lever.worth:
        yield "it gains points and costs more GPU-hours than it saves: ranked by these, and not pulled with the others"


def notes_of_rounding(lever: Lever, step_s: float | None) -> Iterator[str]:
    """Where whole steps take a gain away: steps are long, or the pattern of tiers, or recorded gaps, fall between."""
    if lever.gained < -_ROUNDING <= lever.gained_before_steps and step_s is not None:
        before, typed = gain(lever.gained_before_steps), gain(lever.gained)
        if before != typed:
            yield f"{before} at the best interval, {typed} in whole steps of {format_time(step_s)}"


def _of_work(one: _Under, before: Scenario, wall_s: float | None) -> Iterator[str]:
    """What a change of the GPUs or of the steps is judged by."""
    after = one.change.scenario
    work = work_of(before, after, one.told)
    if before.cluster.gpus == after.cluster.gpus and work.steps == work.step == 1.0:
        return
    gpus = f"{format_gpus(after.cluster.gpus)}: " if before.cluster.gpus != after.cluster.gpus else ""
    saved = "wall time is not known" if wall_s is None else f"the run ends {format_time(abs(wall_s))} "
    saved += "" if wall_s is None else "sooner" if wall_s >= 0.0 else "later"
    yield f"{gpus}ranked by GPU-hours for the same work, not by goodput: {words_of(before, after, one.told)}; {saved}"


def _of_predictor(found: Outcome, now: Outcome) -> float | None:
    """The goodput that a predictor of the change gains, more than that of the run as it is; to first order."""
    if found.scenario.prediction == now.scenario.prediction:
        return None
    return _of_prediction(found) - _of_prediction(now)


def _of_prediction(outcome: Outcome) -> float:
    if outcome.scenario.prediction is None:
        return 0.0
    from ckptplan.plan.spectrum.guards import prediction_facts

    facts = prediction_facts(outcome.scenario, outcome.case)
    return 0.0 if facts is None else facts.waste_without - facts.waste


def _told_of_predictor(lever: Lever) -> Iterator[str]:
    if lever.beside is not None:
        yield (
            f"acting on its warnings is worth {gain(lever.beside)} to first order, beside the table and not ranked; "
            "optimize with it set says when to trust a warning"
        )


def new_warnings(found: Outcome, now: Outcome, *, is_halved: bool = False) -> Iterator[str]:
    """What a lever makes worth a warning, where a formula leaves its regime; it is none about the run as it is.

    A cause is said once, with how many more ways of saving it holds for. Ways that the run then does not use say
    nothing, unless it saves to several tiers, each of which counts. A stall that the catalogue has halved is shorter
    than the bandwidths allow as a matter of course: the lever names what must be true for it, and the user gave none.
    """
    known = {_without_numbers(text) for text in now.warnings}
    several: dict[str, list[str]] = {}
    of_halving = {f"{found.strategy}: {note}" for note in found.case.save.notes} if is_halved else set()
    unused = [] if found.tiering else [save.name for save in found.scenario.saves if save.name != found.strategy]
    for text in found.warnings:
        if _without_numbers(text) in known or text in of_halving:
            continue
        if not any(text.startswith(f"{name}: ") for name in unused):
            several.setdefault(_without_numbers(text.partition(": ")[2] or text), []).append(text)
    for texts in several.values():
        more = f" (and {len(texts) - 1} more like it)" if len(texts) > 1 else ""
        yield f"mind that then {texts[0]}{more}"


def _without_numbers(text: str) -> str:
    return _NUMBERS.sub("#", text)

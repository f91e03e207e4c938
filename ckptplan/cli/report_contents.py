"""What a report is made of: everything computed, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ckptplan.errors import InputError, Problem

if TYPE_CHECKING:
    from ckptplan.plan import Plan
    from ckptplan.plan.levers.record import Levers
    from ckptplan.render.page.content import Gathered
    from ckptplan.render.page.ground import Input
    from ckptplan.spec.reading import Spec

T = TypeVar("T")


class Asked(NamedTuple):
    """What the options of a report ask for: given intervals in seconds and in steps, other numbers of GPUs."""

    strategies: list[str] | None
    intervals_s: list[float]
    steps: list[int]
    gpus: list[int]
    price: float | None
    seed: int


def gathered(loaded: Spec, asked: Asked, *, drawn: bool) -> Gathered:
    """Everything computed, once."""
    from ckptplan.cli.choices import with_strategies
    from ckptplan.cli.formats import defaults
    from ckptplan.plan import Unsure, plan
    from ckptplan.plan.curve import goodput_curve
    from ckptplan.plan.levers.ranking import levers
    from ckptplan.plan.scale.lines import scale_lines
    from ckptplan.plan.scale.scaling import scaling
    from ckptplan.render.page.content import Gathered
    from ckptplan.render.page.pictures import pictures

    scenario, price = with_strategies(loaded.scenario, asked.strategies), asked.price
    made = plan(
        scenario,
        intervals_s=asked.intervals_s,
        steps=asked.steps,
        gpus=asked.gpus,
        gpu_hour_price=price,
        unsure=Unsure(loaded.spreads, loaded.with_values) if loaded.spreads else None,
        seed=asked.seed,
    )
    sizes, refused = _unless_refused(lambda: scaling(scenario, gpus=asked.gpus, gpu_hour_price=price))
    changes, left_out = _unless_refused(lambda: levers(scenario, gpu_hour_price=price))
    goodputs = goodput_curve(scenario, made)
    by_size = (sizes, scale_lines(scenario, sizes)) if drawn and sizes is not None else None
    return Gathered(
        plan=made,
        scenario=scenario,
        inputs=_inputs(loaded),
        assumed=tuple(defaults(loaded)),
        warnings=tuple(map(_in_a_line, loaded.warnings)),
        scaling=sizes,
        scale_refused=refused,
        levers=changes,
        levers_refused=left_out,
        goodputs=goodputs,
        pictures=pictures(made, goodputs, by_size, changes) if drawn else None,
        documents=_documents(loaded, made, changes),
    )


def _in_a_line(problem: Problem) -> str:
    """A warning without the line of the spec that it shows on a terminal."""
    from dataclasses import replace

    place = None if problem.place is None else replace(problem.place, text=None)
    return "; ".join(line.strip() for line in replace(problem, place=place).render().splitlines())


def _unless_refused(made: Callable[[], T]) -> tuple[T | None, str]:
    """A part of the report, or why there is none: the others are worth having without it."""
    try:
        return made(), ""
    except InputError as error:
        return None, str(error)


def _inputs(loaded: Spec) -> tuple[Input, ...]:
    from ckptplan.render.page.ground import Input

    return tuple(Input(v.key, v.text, _si(v.si, v.unit), v.origin) for v in loaded.values)


def _si(value: object, unit: str) -> str:
    """A quantity in its SI unit; what has no unit stands in the column for people already."""
    return "" if value is None or not unit else f"{value:.10g} {unit}"


def _documents(loaded: Spec, made: Plan, changes: Levers | None) -> tuple[tuple[str, str], ...]:
    """The JSON of the commands that a report stands for."""
    from ckptplan.render.lever_document import lever_document
    from ckptplan.render.plan_document import plan_document
    from ckptplan.render.sheet import to_json

    warnings = [problem.render() for problem in loaded.warnings]
    found = [("optimize", to_json(plan_document(made, loaded.si, warnings)))]
    if changes is not None:
        found.append(("levers", to_json(lever_document(changes, loaded.si))))
    return tuple(found)

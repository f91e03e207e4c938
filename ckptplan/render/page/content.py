"""The report as plain data: every section that the run has something to say in, in the order in which it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ckptplan import __version__
from ckptplan.cost.scenario import Scenario
from ckptplan.errors import printable
from ckptplan.plan.curve import GoodputCurve
from ckptplan.plan.record import Plan
from ckptplan.render.numbers import whole
from ckptplan.render.page import changes, findings, ground
from ckptplan.render.page.blocks import Block, Page, Points, Section

if TYPE_CHECKING:
    from ckptplan.plan.levers.record import Levers
    from ckptplan.plan.scale.scaling import Scaling
    from ckptplan.render.page.pictures import Pictures

_LEVERS, _SCALE, _LEDGER = "What to change", "Other numbers of GPUs", "What a checkpoint holds"


class Gathered(NamedTuple):
    """What a report is made of; None for what was not computed, and what ends in ``refused`` says why."""

    plan: Plan
    scenario: Scenario
    inputs: tuple[ground.Input, ...]
    assumed: tuple[str, ...]  # values that the spec left to defaults and the plan depends on
    warnings: tuple[str, ...]
    scaling: Scaling | None
    scale_refused: str
    levers: Levers | None
    levers_refused: str
    goodputs: GoodputCurve
    pictures: Pictures | None  # None where there are to be none
    documents: tuple[tuple[str, str], ...]


def page(made: Gathered, *, title: str | None = None, date: str | None = None) -> Page:
    """The whole report."""
    plan = made.plan
    name = printable(plan.name)
    gpus = f"{whole(plan.gpus)} GPU{'' if plan.gpus == 1 else 's'}"
    subtitle = f"Checkpoint plan for {gpus}" if title is None else f"Checkpoint plan for {name}, {gpus}"
    sections = tuple(section for section in _sections(made) if section.blocks)
    return Page(printable(title or plan.name), subtitle, sections, made.documents, __version__, date)


def found(made: Gathered) -> tuple[str, ...]:
    """Every warning of what was computed, each once: those of the plan, then those of another part with its name."""
    parts = (
        ("", made.plan.warnings),
        (f"{_LEVERS}: ", () if made.levers is None else made.levers.warnings),
        (f"{_SCALE}: ", () if made.scaling is None else made.scaling.warnings),
        (f"{_LEDGER}: ", ground.warnings(made.scenario)),
    )
    of_part: dict[str, str] = {}
    for part, warnings in parts:
        for text in warnings:
            of_part.setdefault(text, part)
    return tuple(f"{part}{text}" for text, part in of_part.items())


def _sections(made: Gathered) -> Iterator[Section]:
    """What was found first, then what it rests on."""
    plan, pictures = made.plan, made.pictures
    yield _section("answer", "Answer", findings.answer(plan, made.levers))
    yield _section("warnings", "Warnings", _points((*made.warnings, *found(made))))
    yield _section("breakdown", "Where every hour goes", findings.breakdown(plan, pictures))
    yield _section("strategies", "Strategies compared", findings.strategies(plan, made.scenario))
    yield _section("curve", "Goodput against the interval", findings.curve(made.goodputs, pictures))
    yield _section("levers", _LEVERS, changes.levers(made.levers, made.levers_refused, pictures))
    yield _section("tiers", "Tiers of storage", findings.tiers(plan))
    yield _section("classes", "Classes of failures", findings.classes(plan))
    yield _section("run", "To the end of the run", findings.run(plan))
    yield _section("sure", "How sure this is", findings.sure(plan))
    yield _section("scale", _SCALE, findings.scale(plan, made.scaling, made.scale_refused, pictures))
    yield _section("ledger", _LEDGER, ground.ledger(made.scenario))
    yield _section("binds", "What binds", _points(plan.binds))
    yield _section("assumptions", "What is assumed", _points((*plan.assumptions, *made.assumed)))
    yield _section("inputs", "Inputs in force", ground.inputs(made.inputs))
    yield _section("formulas", "Formulas", ground.formulas(plan))


def _section(key: str, title: str, blocks: Iterable[Block]) -> Section:
    return Section(key, title, tuple(blocks))


def _points(texts: Sequence[str]) -> list[Block]:
    return [Points(tuple(map(printable, texts)))] if texts else []

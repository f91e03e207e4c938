"""What a plan rests on: the inputs with their sources, the ledger of the checkpoint, the formulas with theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ckptplan.cost.scenario import Scenario
from ckptplan.cost.size import sizes
from ckptplan.cost.state import bytes_per_parameter
from ckptplan.errors import printable
from ckptplan.interval.methods import METHODS
from ckptplan.plan.record import Plan
from ckptplan.render import size_report
from ckptplan.render.numbers import whole
from ckptplan.render.page.blocks import Block, Formula, Points, Text, table
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_size


class Input(NamedTuple):
    """One value in force: as people read it, in its SI unit, and where it came from."""

    key: str
    text: str
    si: str
    origin: str


_INPUTS = (
    Column("key", "key", printable, right=False),
    Column("text", "value", printable, right=False),
    Column("si", "in SI", printable, right=False),
    Column("origin", "from", printable, right=False),
)


def inputs(values: Sequence[Input]) -> Iterator[Block]:
    """Every value in force: those of the spec open, those left to defaults folded."""
    given = [value for value in values if value.origin != "default"]
    left = [value for value in values if value.origin == "default"]
    for chosen, caption, folded in ((given, "Given", False), (left, "Left to defaults", True)):
        if chosen:
            yield table(Sheet(_INPUTS, tuple(map(tuple, chosen))), f"{caption} ({len(chosen)})", folded=folded)


def _copies(count: int) -> str:
    return f"{whole(count)} {'copy' if count == 1 else 'copies'}"


def ledger(scenario: Scenario) -> Iterator[Block]:
    """Every state of the checkpoint, who holds and writes it, what its loss costs, what is not saved."""
    size, model = sizes(scenario.model, scenario.cluster), scenario.model
    yield Points(
        (
            f"{format_size(size.total_bytes)} for {whole(model.parameters)} parameters, "
            f"{bytes_per_parameter(model):.4g} bytes per parameter",
            f"the busiest GPU holds {format_size(size.held_per_rank_bytes)} of it; {whole(size.distinct_shards)} "
            f"distinct shards, {_copies(size.replicas_of_weights)} of the weights and "
            f"{whole(size.replicas_of_optimizer)} of the optimizer states, each written once",
            f"ledger: {printable(model.ledger.name)} ({printable(model.ledger.source)})",
        )
    )
    states = size_report.state_sheet(scenario)
    yield table(states, "States of a checkpoint")
    yield from _model(scenario)
    costs, tiers = size_report.costs(scenario), size_report.costs_of_tiers(scenario)
    if costs:
        yield table(size_report.save_sheet(scenario, costs), "What a save takes, by strategy")
    if tiers:
        yield table(size_report.tier_sheet(scenario, tiers), "What a save to each tier takes")
    yield table(_losses(states), "What a save without a state costs", folded=True)
    omitted = size_report.size_document(scenario, {})["omits"]
    if omitted:
        yield Text("Not saved:")
        yield Points(tuple(map(printable, omitted)))


def warnings(scenario: Scenario) -> tuple[str, ...]:
    """What is said of the times of saves, as ``ckptplan size`` says it."""
    of_saves = [f"{cost.name}: {note}" for cost in size_report.costs(scenario) for note in cost.notes]
    return (*of_saves, *(note for tier in size_report.costs_of_tiers(scenario) for note in tier.notes))


def _model(scenario: Scenario) -> Iterator[Block]:
    """What a file of the model adds: its tensors by kind, its stages."""
    architecture = scenario.model.architecture
    if architecture is None:
        return
    from ckptplan.render import model_report  # few specs name a file of the model

    yield table(model_report.kind_sheet(architecture), "Tensors of the model")
    if scenario.cluster.layout.pipeline > 1:
        yield table(model_report.stage_sheet(architecture, scenario), "Pipeline stages", folded=True)
    yield Points(tuple(map(printable, model_report.model_facts(scenario))))


def _losses(states: Sheet) -> Sheet:
    shown = {"state": "state", "loss": "what its loss costs", "source": "source"}
    columns = [
        c._replace(title=shown[c.key], show=printable, right=False) if c.key in shown else c._replace(show=None)
        for c in states.columns
    ]
    return Sheet(tuple(columns), states.rows)


def formulas(plan: Plan) -> Iterator[Block]:
    """The methods that made the numbers of this plan, and no other."""
    used = {record.method for record in plan.records}
    for method in METHODS.values():
        if method.name in used:
            yield Formula(
                method.name, method.title, method.equation, method.assumptions, method.validity, method.source
            )

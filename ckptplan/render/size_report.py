"""The report of ``ckptplan size``: the ledger, who holds and writes what, how long a save takes, what a tier holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckptplan import __version__
from ckptplan.cost.saving import SaveCost, save_cost
from ckptplan.cost.scenario import Mode, Scenario, Scope
from ckptplan.cost.size import Sizes, sizes, state_sizes
from ckptplan.cost.state import bytes_per_parameter
from ckptplan.errors import printable
from ckptplan.render.marking import bullets, heading, sentences
from ckptplan.render.numbers import seconds, whole
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Column, Sheet, to_markdown
from ckptplan.units import format_size

if TYPE_CHECKING:
    from ckptplan.cost.tiers import TierCost

_STATES = (
    Column("state", "state", str, right=False),
    Column("kind", show=None),
    Column("scope", show=None),
    Column("bytes_per_parameter", "bytes/parameter", lambda value: f"{value:.4g}" if value >= 1e-3 else "-"),
    Column("size_bytes", "size", format_size),
    Column("loss", show=None),
    Column("source", show=None),
)
_SAVES = (
    Column("strategy", "save", str, right=False),
    Column("mode", "mode", str, right=False),
    Column("stall_s", "stall", seconds),
    Column("flush_s", "flush", seconds),
    Column("written_per_gpu_bytes", "written/GPU", format_size),
    Column("written_per_node_bytes", "written/node", format_size),
    Column("host_memory_per_node_bytes", "host memory/node", format_size),
    Column("binds", "bound by", str, right=False),
)
_TIERS = (
    Column("name", "tier", printable, right=False),
    Column("kind", show=None),
    Column("bytes_per_save", "a save", format_size),
    Column("bytes_per_node", "of a node", format_size),
    Column("stall_s", "stall", seconds),
    Column("alone_stall_s", "stall if alone", seconds),
    Column("flush_s", "drain", seconds),
    Column("load_s", "load", seconds),
    Column("fits", "room for", whole),
)


def state_sheet(scenario: Scenario) -> Sheet:
    """One row per state of the checkpoint."""
    rows = tuple(
        (
            item.state.name,
            str(item.state.kind),
            str(item.state.scope),
            item.bytes_per_parameter,
            item.total_bytes,
            item.state.loss,
            item.state.source,
        )
        for item in state_sizes(scenario.model, scenario.cluster)
    )
    return Sheet(_STATES, rows)


def save_sheet(scenario: Scenario, costs: Sequence[SaveCost]) -> Sheet:
    """One row per strategy: what a save costs, and what its busiest GPU and node write."""
    rows = []
    for save, cost in zip(scenario.saves, costs, strict=True):
        size = sizes(scenario.model, scenario.cluster, spread_replicas=save.spread_replicas)
        written = (size.written_per_rank_bytes, size.written_per_node_bytes)
        if cost.mode is Mode.GATHERED:
            written = (size.total_bytes, size.total_bytes)
        memory = cost.host_memory_per_node_bytes
        rows.append((cost.name, str(cost.mode), cost.stall_s, cost.flush_s, *written, memory, cost.binds))
    return Sheet(_SAVES, tuple(rows))


def tier_sheet(scenario: Scenario, tiers: Sequence[TierCost]) -> Sheet:
    """One row per tier: what a save to it takes there, copies included, in all and of its busiest node."""
    size = _sizes(scenario)
    rows = tuple(
        (
            tier.name,
            str(tier.kind),
            tier.bytes_per_save,
            size.written_per_node_bytes * (tier.bytes_per_save / size.total_bytes),  # as many copies
            tier.stall_s,
            tier.alone_stall_s,
            tier.flush_s,
            tier.load_s,
            tier.fits,
        )
        for tier in tiers
    )
    idle = {key for key in ("load_s", "fits") if all(getattr(tier, key) is None for tier in tiers)}
    return Sheet(tuple(c._replace(show=None) if c.key in idle else c for c in _TIERS), rows)


def size_document(scenario: Scenario, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON document ``ckptplan.size/1``."""
    return {
        "schema": "ckptplan.size/1",
        "ckptplan": __version__,
        "spec": dict(spec),
        "ledger": scenario.model.ledger.name,
        "states": state_sheet(scenario).records(),
        "omits": _omits(scenario),
        "size": {
            **_sizes(scenario)._asdict(),
            "bytes_per_parameter": bytes_per_parameter(scenario.model),
        },
        "saves": save_sheet(scenario, costs(scenario)).records(),
        "tiers": tier_sheet(scenario, costs_of_tiers(scenario)).records(),
        "architecture": None if scenario.model.architecture is None else _model_report().model_document(scenario),
    }


def report(scenario: Scenario, screen: Screen) -> str:
    """Answer, ledger, division among ranks, saves, what a loss costs, what is not saved."""
    ledger = scenario.model.ledger
    parts = [
        screen.paragraph(_answer(scenario)) + "\n",
        screen.table(state_sheet(scenario)),
        screen.lines(_division(scenario)),
        *(screen.table(sheet) for sheet in _model_sheets(scenario)),
        screen.lines(_model_facts(scenario)),
        *(screen.table(sheet) for sheet in _cost_sheets(scenario)),
        screen.bullets("What a save without it costs", _losses(scenario)),
        screen.bullets("What is not saved", _omits(scenario)),
        screen.paragraph(f"Ledger: {ledger.name} ({printable(ledger.source)})", indent="  ", first="") + "\n",
    ]
    return "\n".join(part for part in parts if part)


def markdown(scenario: Scenario) -> str:
    """The same as Markdown."""
    ledger = scenario.model.ledger
    parts = [
        heading(_answer(scenario)),
        to_markdown(state_sheet(scenario)),
        *(to_markdown(sheet) for sheet in _model_sheets(scenario)),
        _markdown_list("Layout", _division(scenario)),
        _markdown_list("Model", _model_facts(scenario)),
        *(f"### What a save takes\n\n{to_markdown(sheet)}" for sheet in _cost_sheets(scenario)),
        _markdown_list("What a save without it costs", _losses(scenario)),
        _markdown_list("What is not saved", _omits(scenario)),
        *sentences([f"Ledger: {ledger.name} ({ledger.source})"]),
    ]
    return "\n".join(part for part in parts if part)


def _markdown_list(title: str, texts: Sequence[str]) -> str:
    return f"{heading(title, 3)}\n{bullets(texts)}" if texts else ""


def _sizes(scenario: Scenario) -> Sizes:
    return sizes(scenario.model, scenario.cluster)


def costs(scenario: Scenario) -> list[SaveCost]:
    """What a save costs by each strategy."""
    return [save_cost(save, scenario) for save in scenario.saves]


def costs_of_tiers(scenario: Scenario) -> tuple[TierCost, ...]:
    """What a save to each tier costs."""
    if not scenario.storage.tiers:
        return ()
    from ckptplan.cost.classes import class_costs, unnamed
    from ckptplan.cost.restart import RestartCost
    from ckptplan.cost.tiers import tier_costs

    # How long a recovery takes has no part in it, and may not be computable.
    restart = RestartCost(0.0, 0.0, 0.0)
    return tier_costs(scenario, class_costs(scenario, restart) or (unnamed(1.0, restart),))


def _cost_sheets(scenario: Scenario) -> list[Sheet]:
    """Saves, tiers, or both: what the spec has of them."""
    saves, tiers = costs(scenario), costs_of_tiers(scenario)
    sheets = [save_sheet(scenario, saves)] if saves else []
    return [*sheets, tier_sheet(scenario, tiers)] if tiers else sheets


def _model_report() -> ModuleType:
    from ckptplan.render import model_report  # few specs name a file of the model

    return model_report


def _model_sheets(scenario: Scenario) -> list[Sheet]:
    architecture = scenario.model.architecture
    if architecture is None:
        return []
    sheets = [_model_report().kind_sheet(architecture)]
    several = scenario.cluster.layout.pipeline > 1
    return [*sheets, _model_report().stage_sheet(architecture, scenario)] if several else sheets


def _model_facts(scenario: Scenario) -> list[str]:
    return [] if scenario.model.architecture is None else _model_report().model_facts(scenario)


def _answer(scenario: Scenario) -> str:
    total = _sizes(scenario).total_bytes
    each = bytes_per_parameter(scenario.model)
    return (
        f"{printable(scenario.name)}: a checkpoint of {whole(scenario.model.parameters)} parameters holds "
        f"{format_size(total)} ({each:.4g} bytes per parameter)"
    )


def _division(scenario: Scenario) -> list[str]:
    size = _sizes(scenario)
    return [
        f"The busiest GPU holds {format_size(size.held_per_rank_bytes)} of it.",
        f"Layout: {_layout(scenario)}; {whole(size.distinct_shards)} distinct shards, copies: "
        f"{whole(size.replicas_of_weights)} of the weights, {whole(size.replicas_of_optimizer)} of the optimizer "
        "states; every shard is written once.",
    ]


def _layout(scenario: Scenario) -> str:
    layout = scenario.cluster.layout
    axes = ("tensor", "pipeline", "context", "expert", "data", "replicas")
    named = [f"{axis} {getattr(layout, axis)}" for axis in axes if getattr(layout, axis) > 1]
    return ", ".join([*named, str(layout.shard)])


def _omits(scenario: Scenario) -> list[str]:
    model = scenario.model
    frozen = model.trainable_fraction < 1 and not model.frozen_weights_saved
    extra = ["frozen weights: read again from the base model at every restart (model.frozen_weights: omitted)"]
    return [*model.ledger.omits, *(extra if frozen else [])]


def _losses(scenario: Scenario) -> list[str]:
    states = scenario.model.ledger.states
    return [f"{printable(s.name)}: {printable(s.loss)}{_small(s.scope)}" for s in states if s.loss]


def _small(scope: Scope) -> str:
    return "" if scope is Scope.PARAMETER else f" (one per {scope})" if scope is not Scope.JOB else ""

"""What ``ckptplan size`` says of a model whose layers are known: counts, kinds of tensors, pipeline stages."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from ckptplan.cost.architecture import Architecture, Experts, TensorKind
from ckptplan.cost.scenario import Scenario
from ckptplan.cost.stage_sizes import StageSize, stage_sizes
from ckptplan.cost.stages import uneven_cuts
from ckptplan.errors import printable
from ckptplan.render.numbers import percent, whole
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_size

_KINDS = (
    Column("kind", "tensors", str, right=False),
    Column("parameters", "parameters", whole),
    Column("share", "share", percent),
    Column("active_parameters", "used by a token", whole),
)
_STAGES = (
    Column("stages", "stage", str, right=False, named=True),
    Column("layers", "layers", str, right=False, named=True),
    Column("parameters_per_rank", "parameters/GPU", whole),
    Column("held_per_rank_bytes", "held/GPU", format_size),
    Column("written_per_rank_bytes", "written/GPU", format_size),
)


def kind_sheet(architecture: Architecture) -> Sheet:
    """One row per kind of tensors, the input table first."""
    rows = []
    for kind in TensorKind:
        count = architecture.of_kind(kind)
        if count:
            rows.append((str(kind), count, count / architecture.total, _active(architecture, kind, count)))
    columns = _KINDS if _chosen(architecture) else _KINDS[:-1]
    return Sheet(columns, tuple(row[: len(columns)] for row in rows))


def stage_sheet(architecture: Architecture, scenario: Scenario) -> Sheet:
    """The pipeline stages for people: neighbours that weigh the same in one row."""
    sizes = enumerate(stage_sizes(scenario.model, architecture, scenario.cluster.layout))
    rows = []
    for _, group in groupby(sizes, key=lambda item: _weight(item[1])):
        alike = list(group)
        (first, size), (last, end) = alike[0], alike[-1]
        layers = _range(size.stage.first_layer, end.stage.first_layer + end.stage.layers - 1)
        each = f" ({size.stage.layers} each)" if len(alike) > 1 else ""
        rows.append((_range(first, last), f"{layers}{each}" if size.stage.layers else "none", *_figures(size)))
    return Sheet(_STAGES, tuple(rows))


def model_facts(scenario: Scenario) -> list[str]:
    """Sentences on the counts, and on what was assumed for them."""
    architecture, layout = scenario.model.architecture, scenario.cluster.layout
    if architecture is None:
        return []
    tied = "the output matrix is the input table, counted once" if architecture.tied_head else ""
    facts = [
        ", ".join(part for part in (f"Model: {printable(architecture.family)}", _layers(architecture), tied) if part)
    ]
    if experts := _chosen(architecture):
        chosen = f"{experts.per_token:,} of {experts.routed:,} experts in {experts.layers:,} layers"
        facts.append(f"A token uses {chosen}: {architecture.active:,} parameters are active.")
    if architecture.extra:
        extra = sum(t.total for t in architecture.extra if not t.buffer)
        facts.append(f"Multi-token prediction, in the files beside the model and not counted: {extra:,} parameters.")
    if architecture.buffers:
        facts.append(f"Buffers, which no optimizer trains, are not counted: {architecture.buffers:,} elements.")
    if architecture.quantization is not None:
        facts.append("Published weights are quantized (quantization_config): counted as they are trained, before that.")
    if scenario.model.trainable_fraction < 1:
        facts.append("The trained part is taken evenly from all layers.")
    cuts = uneven_cuts(
        architecture, layout.tensor, layout.pipeline, expert=layout.expert, layers=layout.layers_per_stage
    )
    facts += [f"{text[:1].upper()}{text[1:]}." for text in cuts]
    if architecture.assumed:
        facts.append(f"Assumed, as the file does not say it: {printable('; '.join(architecture.assumed))}.")
    return [*facts, f"Read from {printable(architecture.source)}."] if architecture.source else facts


def model_document(scenario: Scenario) -> dict[str, Any] | None:
    """The same for scripts; null without an architecture."""
    architecture = scenario.model.architecture
    if architecture is None:
        return None
    experts = architecture.experts
    return {
        "family": architecture.family,
        "source": architecture.source,
        "layers": architecture.layers,
        "parameters": architecture.total,
        "active_parameters": architecture.active,
        "tied_head": architecture.tied_head,
        "buffers": architecture.buffers,
        "extra_parameters": sum(t.total for t in architecture.extra if not t.buffer),
        "experts": None if experts is None else experts._asdict(),
        "assumed": list(architecture.assumed),
        "kinds": kind_sheet(architecture).records(),
        "stages": [
            {
                "first_layer": size.stage.first_layer,
                "layers": size.stage.layers,
                "parameters": size.stage.total_dense + size.stage.total_expert,
                **dict(zip([column.key for column in _STAGES[2:]], _figures(size), strict=True)),
            }
            for size in stage_sizes(scenario.model, architecture, scenario.cluster.layout)
        ],
    }


def _chosen(architecture: Architecture) -> Experts | None:
    """The experts, if a token is known to use some of them."""
    experts = architecture.experts
    return None if experts is None or experts.per_token == experts.routed else experts


def _layers(architecture: Architecture) -> str:
    return f"{architecture.layers:,} layer{'' if architecture.layers == 1 else 's'}"


def _active(architecture: Architecture, kind: TensorKind, count: int) -> int:
    unused = architecture.total - architecture.active
    return count - unused if kind is TensorKind.EXPERT else count


def _weight(size: StageSize) -> tuple[int, float, float]:
    return (size.stage.layers, size.held_per_rank_bytes, round(size.written_per_rank_bytes))


def _figures(size: StageSize) -> tuple[int, float, float]:
    return (
        size.stage.dense_per_rank + size.stage.expert_per_rank,
        size.held_per_rank_bytes,
        size.written_per_rank_bytes,
    )


def _range(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"

"""Where the parameters of a model come from: a number, a configuration file, or the headers of a checkpoint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.spec.named_files import read_named
from ckptplan.spec.record import Record
from ckptplan.spec.schema import MODEL_SOURCES
from ckptplan.units import format_count

if TYPE_CHECKING:
    from ckptplan.cost.architecture import Architecture
    from ckptplan.cost.scenario import Cluster, Layout, Model

_EXPERTS = "model.expert_parameters"
_MOST_SHOWN = 16  # stages of an example
# Width and depth, which every published file has: without one, the count may be that of another model.
_DECIDES = re.compile(
    "hidden_size|n_embd|d_model|num_hidden_layers|n_layers?|num_layers|depth|intermediate_size|"
    "num_experts|num_local_experts|n_routed_experts|moe_num_experts|moe_intermediate_size"
)


class Counts(NamedTuple):
    """Parameters of a model, those of them in routed experts, and its layers where a file tells them."""

    parameters: float
    expert_parameters: float
    architecture: Architecture | None = None


def parameter_counts(record: Record) -> Counts | None:
    """The counts of the one source that is given, or None if a fault was noted."""
    source = _source(record)
    if source in {"config", "checkpoint"}:
        return _from_file(record, source)
    parameters = record.take("model.parameters")
    experts = record.take(_EXPERTS, 0.0)
    fields = record.fields
    if parameters is None:
        return None
    if parameters < 1 and fields.sound("model.parameters"):
        fields.fault("model.parameters", "fewer parameters than one", "write for example parameters: 405e9")
    if experts > parameters:
        fields.fault(
            _EXPERTS,
            "more than model.parameters",
            "expert_parameters are part of parameters: write all parameters there",
        )
    return Counts(parameters, experts)


def matrix_fraction(counts: Counts) -> float | None:
    """The part of the parameters in matrices of the layers, which Muon updates; None where layers are not known."""
    architecture = counts.architecture
    if architecture is None or not architecture.total:
        return None
    matrices = sum(t.total for t in architecture.tensors if t.layers and len(t.shape) > 1 and not t.buffer)
    return matrices / architecture.total


def refuse_what_layers_do_not_fill(record: Record, model: Model, cluster: Cluster) -> None:
    """Note more pipeline stages than layers, and more expert-parallel ranks than experts; warn of uneven cuts."""
    architecture, layout = model.architecture, cluster.layout
    given = "cluster.layout.layers_per_stage"
    if architecture is None:
        if layout.layers_per_stage:
            hint = "write model: {config: ./config.json}, or delete it"
            record.warn(given, "has no effect: the layers of the model are not known", hint)
        return
    together = sum(layout.layers_per_stage)
    if layout.layers_per_stage and together != architecture.layers:
        message = f"{together:,} layers together, but the model has {architecture.layers:,}"
        hint = f"write the layers of every stage, in order: {_example(architecture.layers, layout.pipeline)}"
        record.fields.fault(given, message, hint)
    if layout.pipeline > architecture.layers:
        record.fields.fault(
            "cluster.layout.pipeline",
            f"{layout.pipeline:,} stages, but layers of the model: {architecture.layers:,}",
            f"write pipeline: {architecture.layers} or less",
        )
    routed = 1 if architecture.experts is None else architecture.experts.routed
    if layout.expert > routed:
        has = f"{routed:,} experts in a layer" if architecture.experts else "no experts"
        record.fields.fault(
            "cluster.layout.expert",
            f"{layout.expert:,} expert-parallel ranks, but the model has {has}",
            f"write expert: {routed} or less" if architecture.experts else "delete expert",
        )
    if record.fields.whole("cluster.layout"):
        _warn_of_uneven_cuts(record, architecture, layout)


def _warn_of_uneven_cuts(record: Record, architecture: Architecture, layout: Layout) -> None:
    """Layouts that the sizes follow as well as they can, and that Megatron Core refuses."""
    heads, routed = architecture.heads, 1 if architecture.experts is None else architecture.experts.routed
    for axis, ranks, number, what in (
        ("tensor", layout.tensor, heads, "attention heads"),
        ("expert", layout.expert, routed, "experts"),
    ):
        if number % ranks:
            near = max(size for size in range(1, min(ranks, number) + 1) if number % size == 0)
            message = f"{number:,} {what} do not divide by {ranks:,} ranks, which Megatron Core wants"
            record.warn(f"cluster.layout.{axis}", message, f"write {axis}: {near}, or another divisor of {number:,}")
    if architecture.layers % layout.pipeline and not layout.layers_per_stage:
        message = (
            f"{architecture.layers:,} layers do not divide by {layout.pipeline:,} stages, which Megatron Core wants: "
            "the first stages take one more"
        )
        record.warn("cluster.layout.pipeline", message, f"write {_example(architecture.layers, layout.pipeline)}")


def _example(layers: int, pipeline: int) -> str:
    """An accepted list of the layers of every stage."""
    if pipeline > _MOST_SHOWN or pipeline > layers:
        return "layers_per_stage: [8, 8, ...], one number for each stage"
    even, rest = divmod(layers, pipeline)
    return f"layers_per_stage: [{', '.join(str(even + (stage < rest)) for stage in range(pipeline))}]"


def _assumed(record: Record, path: str, architecture: Architecture) -> str:
    """What the origin of the counts adds; dimensions that make the count are warned of where the file lacks them."""
    if not architecture.assumed:
        return ""
    missing = [note for note in architecture.assumed if _DECIDES.fullmatch(note.partition(" = ")[0].rpartition(".")[2])]
    if missing:
        message = (
            f"the file does not say how large the model is, and the defaults of the family are taken: {missing[0]}"
        )
        message += f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        record.warn(path, message, "write these keys into the file; ckptplan size lists all that is assumed")
    return f", {len(architecture.assumed):,} assumed"


def _source(record: Record) -> str | None:
    """The key that says what the parameters are; None after a fault."""
    fields = record.fields
    if "model" not in fields.groups:
        return None
    entries = fields.groups["model"].entries
    found = [name for name in MODEL_SOURCES if name in entries]
    if not found and fields.sound("model", "model.preset"):
        hint = "write parameters: 405e9, config: ./config.json or checkpoint: ./checkpoint"
        fields.fault("model.parameters", "missing", hint)
    if len(found) > 1:
        names = " and ".join(sorted(found, key=lambda name: (entries[name][0].line or 0, entries[name][0].column or 0)))
        hint = "keep one: the layers of a config are better than a number"
        fields.fault("model", f"{names} are given, but exactly one is wanted", hint, entries[found[-1]][0])
    return found[0] if len(found) == 1 else None


def _from_file(record: Record, source: str) -> Counts | None:
    path = f"model.{source}"
    name = record.take(path)
    read = None if name is None or not record.fields.sound(path) else _read(record, path, name)
    if read is None:
        return None
    architecture, remarks = read
    for message in remarks:
        record.warn(path, message, "give model.config or model.parameters where the file does not speak for the model")
    total, experts = float(architecture.total), float(_in_experts(architecture))
    if total < 1:
        record.fields.fault(path, "the file has no parameters", "is it that of the model?")
        return None
    origin = f"follows from {path}{_assumed(record, path, architecture)}"
    record.note("model.parameters", total, format_count(total), origin)
    if not _agrees(record, experts, path):
        return None
    return Counts(total, experts, architecture)


def _agrees(record: Record, experts: float, path: str) -> bool:
    """Whether what is said of the experts is what the file says, if it is said at all."""
    given = record.fields.given.get(_EXPERTS)
    if given is None:
        record.note(_EXPERTS, experts, format_count(experts), f"follows from {path}")
    elif record.take(_EXPERTS) != experts:
        message = f"{format_count(given.si)}, but by {path} {format_count(experts)} parameters are in routed experts"  # type: ignore[arg-type]
        record.fields.fault(_EXPERTS, message, f"delete it: it follows from {path}")
        return False
    return True


def _in_experts(architecture: Architecture) -> int:
    from ckptplan.cost.architecture import TensorKind

    return architecture.of_kind(TensorKind.EXPERT)


def _read(record: Record, path: str, name: str) -> tuple[Architecture, tuple[str, ...]] | None:
    """The tensors of the model, and remarks on them. What a checkpoint says beyond is kept for the other groups."""
    fields = record.fields
    if path == "model.config":
        architecture = read_named(fields, path, record.files, lambda files: files.config(name))
        return None if architecture is None else (architecture, ())
    record.saved = read_named(fields, path, record.files, lambda files: files.checkpoint(name))
    return None if record.saved is None else record.saved[:2]

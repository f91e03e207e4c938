"""The cluster group: GPUs, nodes and a layout whose product must match."""

from __future__ import annotations

from math import prod

from ckptplan.cost.scenario import Cluster, Layout, Power, Shard
from ckptplan.spec.fields import whole_numbers
from ckptplan.spec.record import Record
from ckptplan.units import format_gpus

_AXES = ("tensor", "pipeline", "context", "data", "replicas")
_MOST_SHOWN = 16  # stages of an example
_FOLLOWS = "follows from cluster.gpus"
_SAVED = "follows from model.checkpoint"


def build_cluster(record: Record) -> Cluster | None:
    """The cluster, or None if a fault was noted."""
    gpus = record.take("cluster.gpus")
    per_node = record.take("cluster.gpus_per_node", 8)
    memory = record.take("cluster.host_memory_per_node")
    if gpus is not None and per_node is not None and per_node > gpus and record.fields.has("cluster.gpus_per_node"):
        record.warn(
            "cluster.gpus_per_node",
            f"a node has {format_gpus(per_node)}, more than the {gpus:,} of the job",
            "are the two exchanged? gpus is the number of the whole job",
        )
    if not record.fields.sound("cluster.gpus", "cluster.layout") or gpus is None:
        return None
    layout = _layout(record, gpus)
    if layout is None or not record.fields.sound("cluster.gpus_per_node", "cluster.host_memory_per_node"):
        return None
    return Cluster(gpus, per_node, layout, memory, _power(record))


def _power(record: Record) -> Power | None:
    if "cluster.power" not in record.fields.groups:
        return None
    from ckptplan.spec.protection import build_power

    return build_power(record)


def _layout(record: Record, gpus: int) -> Layout | None:
    if not record.fields.whole("cluster.layout"):
        return None
    given = {axis: int(found.si) for axis in _AXES if (found := record.fields.given.get(f"cluster.layout.{axis}"))}  # type: ignore[arg-type]
    shard = _given_shard(record)
    saved = {} if "cluster.layout" in record.fields.groups else _saved_axes(record, gpus)
    given |= {axis: size for axis, size in saved.items() if axis in _AXES}
    solved = _solve(record, gpus, dict(given), hsdp=shard is Shard.HSDP)
    if solved is None:
        return None
    expert_given = record.fields.given.get("cluster.layout.expert")
    expert = saved.get("expert", 1) if expert_given is None else int(expert_given.si)  # type: ignore[arg-type]
    if solved["data"] * solved["context"] % expert:
        record.fields.fault(
            "cluster.layout.expert",
            f"expert {expert:,} does not divide data {solved['data']:,} x context {solved['context']:,}",
            "expert-parallel ranks are taken from the data and context axes: write a divisor of their product",
        )
        return None
    layers = _layers_per_stage(record, solved["pipeline"])
    if layers is None:
        return None
    model_parallel = solved["tensor"] > 1 or solved["pipeline"] > 1 or expert > 1
    default = Shard.ZERO1 if model_parallel else Shard.FSDP
    _note(record, solved, expert, default, saved)
    return Layout(**solved, expert=expert, shard=shard or default, layers_per_stage=layers)


def _layers_per_stage(record: Record, pipeline: int) -> tuple[int, ...] | None:
    """Layers of every stage, empty if they follow; None after a fault."""
    path = "cluster.layout.layers_per_stage"
    layers = whole_numbers(record.fields, path)
    if layers and len(layers) != pipeline:
        stages = f"{len(layers):,} stage{'' if len(layers) == 1 else 's'}"
        list_of = ", ".join("8" for _ in range(pipeline)) if pipeline <= _MOST_SHOWN else "8, 8, ..."
        hint = f"write one number for each stage, for example layers_per_stage: [{list_of}]"
        record.fields.fault(path, f"layers of {stages}, but pipeline is {pipeline:,}", hint)
        return None
    if layers:
        text = ", ".join(str(count) for count in layers)
        record.note(path, text, text, record.origin(path))
    return layers


def _given_shard(record: Record) -> Shard | None:
    found = record.fields.given.get("cluster.layout.shard")
    return None if found is None else Shard(str(found.si))


def _solve(record: Record, gpus: int, axes: dict[str, int], *, hsdp: bool) -> dict[str, int] | None:
    """All axes; the one that was left out follows from the number of GPUs."""
    if hsdp and "data" not in axes and "replicas" not in axes:
        hint = "write data: the ranks that share one copy, often those of some nodes; replicas then follow"
        record.fields.fault("cluster.layout", "shard hsdp needs data or replicas", hint)
        return None
    follower = "replicas" if hsdp and "data" in axes and "replicas" not in axes else "data"
    for axis in _AXES:
        if axis != follower:
            axes.setdefault(axis, 1)
    rest = prod(size for axis, size in axes.items() if axis != follower)
    written = " x ".join(f"{axis} {axes[axis]:,}" for axis in _AXES if axes.get(axis, 1) > 1) or "1"
    if follower in axes:
        product = rest * axes[follower]
        if product != gpus:
            message = f"{written} = {format_gpus(product)}, but cluster.gpus is {gpus:,}"
            better = f"write {follower}: {gpus // rest:,}".replace(",", "_")
            better = better if gpus % rest == 0 else _nearest(record, gpus, rest)
            record.fields.fault("cluster.layout", message, f"{better}, or leave {follower} out: it follows")
            return None
    elif gpus % rest:
        message = f"{_undivided(gpus)} by {written} = {rest:,}"
        record.fields.fault("cluster.layout", message, _nearest(record, gpus, rest))
        return None
    axes[follower] = gpus // rest
    return axes


def _undivided(gpus: int) -> str:
    return f"{format_gpus(gpus)} {'does' if gpus == 1 else 'do'} not divide"


def _nearest(record: Record, gpus: int, rest: int) -> str:
    """The sizes next to it; of a spec that has another size, ``scale`` plans any number of GPUs."""
    below = gpus // rest * rest
    sizes = f"{below} or {below + rest}" if below else f"{rest}"
    text = f"write gpus: {sizes} (multiples of {rest}), or other axes"
    overridden = record.origin("cluster.gpus").startswith(("--set", "environment"))
    return f"{text}; without it, ckptplan scale --gpus {gpus} lets some be idle" if overridden else text


def _saved_axes(record: Record, gpus: int) -> dict[str, int]:
    """The model-parallel axes of the checkpoint that the model is taken from, where these GPUs divide by them."""
    axes = {} if record.saved is None else dict(record.saved.axes)
    together = prod(size for axis, size in axes.items() if axis != "expert")
    expert = axes.get("expert", 1)
    if gpus % together == 0 and gpus // together * axes.get("context", 1) % expert == 0:
        return axes
    written = ", ".join(f"{axis} {size:,}" for axis, size in axes.items())
    message = f"the checkpoint was saved with {written}, by which {_undivided(gpus)}: all is planned as sharded"
    record.warn("cluster.gpus", message, "write cluster.layout")
    return {}


def _note(record: Record, solved: dict[str, int], expert: int, shard: Shard, saved: dict[str, int]) -> None:
    for axis in ("tensor", "pipeline", "context", "expert", "data", "replicas"):
        size = expert if axis == "expert" else solved[axis]
        follows = _FOLLOWS if axis == "data" or size > 1 else "default"
        record.take(f"cluster.layout.{axis}", size, origin=_SAVED if axis in saved else follows)
    record.take("cluster.layout.shard", str(shard))

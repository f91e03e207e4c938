"""Where a parameter lies if no rule says so: what the usual trainers do with a tensor of its name and shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Tensor
from ckptplan.checkpoint.reshard.layout import Layout
from ckptplan.checkpoint.reshard.names import Name, Side, Where, read_name
from ckptplan.checkpoint.reshard.placement import PartedShard, Placement, Placements, Replicate, Shard, StridedShard
from ckptplan.checkpoint.reshard.stages import layers_of_stages, rank_of_stage, stage_of_layer
from ckptplan.checkpoint.reshard.wanted import Only
from ckptplan.errors import InputError, Problem


class Model(NamedTuple):
    """What the names and shapes of all parameters together tell."""

    layers_per_stage: tuple[int, ...]  # empty without a pipeline
    experts: int  # of those that have a name of their own
    tied: bool  # no output projection of its own: the last stage holds the embedding too
    gated: frozenset[str]  # linear_fc1 that hold gate and up projection, one after another
    remarks: tuple[str, ...]


def model_of(tensors: Sequence[Tensor], layout: Layout) -> Model:
    """What the parameters tell, and how a pipeline shares out the layers."""
    shapes = {tensor.parameter or tensor.key: tensor.shape for tensor in tensors if tensor.kind is StateKind.MASTER}
    shapes |= {tensor.key: tensor.shape for tensor in tensors if tensor.kind is StateKind.PARAMETER}
    names = {key: read_name(key, len(shape)) for key, shape in shapes.items()}
    numbers = [name.layer for name in names.values() if name.layer is not None]
    per_stage, remarks = _per_stage(max(numbers, default=-1) + 1, layout)
    gated = frozenset(key for key, name in names.items() if name.gated and _holds_two(key, shapes))
    experts = max((name.expert for name in names.values() if name.expert is not None), default=-1) + 1
    return Model(per_stage, experts, not any(name.head for name in names.values()), gated, remarks)


def by_name(key: str, shape: tuple[int, ...], layout: Layout, model: Model) -> tuple[Placements, Only, bool]:
    """Placements of a parameter, the places on the mesh that hold it, and whether its name is known.

    Notes
    -----
    pp: consecutive layers, the embedding in the first stage, last norm and head in the last; stacked layers are cut
    along axis 0. fsdp: axis 0 (of stacked layers: axis 1), of stacked experts that ep cuts already the axis behind
    them. ep: stacked experts along their axis, experts with numbers in the order of the ranks, all else whole. tp: out
    of column-parallel and in of row-parallel matrices, rows of embedding and head, all else whole. Where fsdp meets
    ep or tp on an axis it is strided, as FSDP2 cuts what they left. replicate, cp and what is unknown: whole.
    """
    name = read_name(key, len(shape))
    cuts = {
        axis: tensor_axis
        for axis, rank in enumerate(layout.mesh.names)
        if (tensor_axis := _axis(rank, name, shape, layout)) is not None
    }
    two_parts = key in model.gated and layout.size("tp") > 1
    placements = tuple(_placement(axis, cuts, layout, two_parts) for axis in range(len(layout.mesh.names)))
    sure = layout.size("tp") == 1 or name.side is not Side.UNKNOWN or not shape
    return placements, (*_stage(name, layout, model), *_expert(name, layout, model)), sure


def _axis(rank: str, name: Name, shape: tuple[int, ...], layout: Layout) -> int | None:
    """Axis of a tensor that an axis of the mesh cuts, None where it is whole."""
    first = int(name.stacked_layers)
    stacked = name.experts and name.expert is None and len(shape) > first
    match rank:
        case "pp":
            axis = 0 if name.stacked_layers else None
        case "fsdp":
            axis = min(first + (stacked and layout.size("ep") > 1), len(shape) - 1)
        case "ep":
            axis = first if stacked else None
        case "tp":
            axis = _tensor_parallel(name, first + stacked)
        case _:
            axis = None
    return axis if axis is not None and 0 <= axis < len(shape) else None


def _tensor_parallel(name: Name, first: int) -> int | None:
    if name.side is Side.COLUMN:
        return first
    return first + 1 if name.side is Side.ROW and not name.bias else None


def _placement(axis: int, cuts: dict[int, int], layout: Layout, two_parts: bool) -> Placement:
    if axis not in cuts:
        return Replicate()
    name = layout.mesh.names[axis]
    if name == "fsdp":
        split = math.prod(layout.mesh.shape[later] for later in cuts if later > axis and cuts[later] == cuts[axis])
        return StridedShard(cuts[axis], split) if split > 1 else Shard(cuts[axis])
    return PartedShard(cuts[axis], 2) if name == "tp" and two_parts else Shard(cuts[axis])


def _stage(name: Name, layout: Layout, model: Model) -> Only:
    axis = layout.axis("pp")
    if axis is None or name.stacked_layers or name.where is Where.ANYWHERE:
        return ()
    last = len(model.layers_per_stage) - 1
    if name.layer is not None:
        stages = {stage_of_layer(name.layer, model.layers_per_stage)}
    else:
        stages = {0} if name.where is Where.FIRST else {last}
        stages |= {last} if name.embedding and model.tied else set()
    return ((axis, tuple(sorted({rank_of_stage(stage, layout.mesh.shape[axis]) for stage in stages}))),)


def _expert(name: Name, layout: Layout, model: Model) -> Only:
    axis = layout.axis("ep")
    if axis is None or name.expert is None:
        return ()
    return ((axis, (name.expert // -(-model.experts // layout.mesh.shape[axis]),)),)


def _per_stage(layers: int, layout: Layout) -> tuple[tuple[int, ...], tuple[str, ...]]:
    stages = layout.size("pp")
    given = layout.layers_per_stage
    if given:
        if layers and sum(given) != layers:
            said = f"adds up to {sum(given):,}, and the checkpoint has {layers:,} layers"
            raise InputError(Problem(said, layout.place("layers_per_stage"), key="layers_per_stage"))
        return given, () if layers else ("layers_per_stage is without effect: no tensor has a layer number",)
    if stages == 1 or not layers:
        return (layers,) + (0,) * (stages - 1), ()
    shares = layers_of_stages(layers, stages)
    return shares, (f"layers of the {stages:,} pipeline stages, by default: {', '.join(map(str, shares))}",)


def _holds_two(key: str, shapes: dict[str, tuple[int, ...]]) -> bool:
    """Whether linear_fc1 puts out twice what linear_fc2 takes in: gate and up projection in one."""
    other = shapes.get(key.replace("linear_fc1", "linear_fc2").replace(".bias", ".weight"))
    own = shapes[key]
    rows = own[-1] if key.endswith("bias") else own[-2] if len(own) > 1 else 0
    return other is not None and rows == 2 * other[-1] > 0

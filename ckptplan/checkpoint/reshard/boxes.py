"""The box of a tensor that each rank of a mesh holds, computed for all ranks at once.

Positions along one axis of the tensor are lists of pieces [start, start + length): plain cuts keep one piece, strided
ones collect several. The rules are those of torch's DTensor (``_compute_local_shape_and_global_offset``, torch 2.13).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.manifest import Ints, Mesh
from ckptplan.checkpoint.reshard.placement import PartedShard, Placements, Replicate, Shard, StridedShard
from ckptplan.errors import InputError


class Boxes(NamedTuple):
    """One box for each rank, in elements; an empty one lies at the end of the axis that leaves it nothing."""

    offsets: Ints  # [ranks, axes]
    sizes: Ints  # [ranks, axes]


class Pieces(NamedTuple):
    """Positions along one axis that each rank holds, in its order; pieces of length 0 hold nothing."""

    starts: Ints  # [ranks, pieces]
    lengths: Ints  # [ranks, pieces]


@lru_cache(maxsize=64)
def coordinates(mesh: Mesh) -> Ints:
    """Place of every rank in the mesh, the last axis varying fastest: [ranks, axes of the mesh]."""
    if not mesh.shape:
        return np.zeros((1, 0), dtype=np.int64)
    ranks = np.arange(math.prod(mesh.shape), dtype=np.int64)
    places = np.stack(np.unravel_index(ranks, mesh.shape), axis=1).astype(np.int64)
    places.setflags(write=False)
    return places


def boxes(shape: tuple[int, ...], placements: Placements, mesh: Mesh) -> Boxes:
    """Box of each rank as torch's loader asks for it.

    Parameters
    ----------
    shape : tuple of int
        Of the whole tensor. [elements]
    placements : tuple of Placement
        One for each axis of the mesh.
    mesh : Mesh
        The ranks.

    Returns
    -------
    Boxes
        Offset and size for each rank. Where a rank holds several pieces of an axis (an uneven strided cut), torch takes
        the first position and the number of positions, and so does this: see `unloadable`.
    """
    ranks = math.prod(mesh.shape)
    offsets = np.zeros((ranks, len(shape)), dtype=np.int64)
    sizes = np.tile(np.array(shape, dtype=np.int64), (ranks, 1))
    for axis in cut_axes(shape, placements, mesh):
        held = held_as_placed(shape[axis], placements, mesh, axis)
        sizes[:, axis] = held.lengths.sum(axis=1)
        offsets[:, axis] = np.where(sizes[:, axis] > 0, _first(held), shape[axis])
    return Boxes(offsets, sizes)


def cut_axes(shape: tuple[int, ...], placements: Placements, mesh: Mesh) -> list[int]:
    """Axes of the tensor that are cut; an InputError if the placements do not fit tensor and mesh."""
    if len(placements) != len(mesh.shape):
        raise InputError(f"{len(placements)} placements for a mesh of {len(mesh.shape)} axes")
    axes = {placement.axis for placement in placements if not isinstance(placement, Replicate)}
    beyond = [axis for axis in axes if axis >= len(shape)]
    if beyond:
        raise InputError(
            f"axis {beyond[0]} is cut of a tensor that has {len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
        )
    return sorted(axes)


@lru_cache(maxsize=256)
def held_as_placed(size: int, placements: Placements, mesh: Mesh, axis: int) -> Pieces:
    """Positions along an axis by the placements taken from left to right, as DTensor computes them."""
    places = coordinates(mesh)
    held = _everything(size, len(places))
    for mesh_axis, placement in enumerate(placements):
        if isinstance(placement, Replicate) or placement.axis != axis:
            continue
        held = _cut(held, _parts(placement), mesh.shape[mesh_axis], places[:, mesh_axis])
    for array in held:
        array.setflags(write=False)  # the same arrays for every tensor of this size
    return held


def held_as_sharded(size: int, placements: Placements, mesh: Mesh, axis: int) -> Pieces:
    """Positions along an axis by the cuts that were really made: a strided one after those that it strides over.

    FSDP2 cuts what tensor parallelism left to a rank, so the last axis of the mesh comes first.
    """
    places = coordinates(mesh)
    held = _everything(size, len(places))
    for mesh_axis in order_of_cuts(placements, mesh, axis) or ():
        placement = placements[mesh_axis]
        parts = placement.parts if isinstance(placement, PartedShard) else 1
        held = _cut(held, parts, mesh.shape[mesh_axis], places[:, mesh_axis])
    return held


def order_of_cuts(placements: Placements, mesh: Mesh, axis: int) -> list[int] | None:
    """Axes of the mesh that cut an axis of the tensor, in the order in which they did.

    A strided placement comes after as many of the later axes as its split counts ranks; None if there are none such.
    """
    order: list[int] = []
    for mesh_axis in reversed(range(len(placements))):
        placement = placements[mesh_axis]
        if isinstance(placement, Replicate) or placement.axis != axis:
            continue
        split = placement.split if isinstance(placement, StridedShard) else 1
        behind = 0
        while split > 1 and behind < len(order):
            split, rest = divmod(split, mesh.shape[order[behind]])
            behind += 1
            split = 0 if rest else split
        if split != 1:
            return None
        order.insert(behind, mesh_axis)
    return order


def unloadable(shape: tuple[int, ...], placements: Placements, mesh: Mesh) -> str | None:
    """Why torch could not load a tensor in this layout, or None.

    Notes
    -----
    With strided placements DTensor computes a box from left to right, while the rows were cut from right to left. The
    two agree when the axis divides evenly, and not always otherwise: 9 rows over (fsdp 4, tp 2) leave rank (3, 0) with
    no row and a box of one. The save succeeds, and the load ends with a mismatch of sizes.
    """
    for axis in cut_axes(shape, placements, mesh):
        cuts = [cut for cut in placements if not isinstance(cut, Replicate) and cut.axis == axis]
        if any(isinstance(cut, StridedShard) for cut in cuts) and not any(isinstance(cut, PartedShard) for cut in cuts):
            reason = _differing(shape[axis], placements, mesh, axis)
            if reason is not None:
                return f"axis {axis} of {shape[axis]:,} over ({_named(placements, mesh)}): {reason}"
    return None


def _differing(size: int, placements: Placements, mesh: Mesh, axis: int) -> str | None:
    """How the box that torch computes differs from the rows that a rank holds along one axis."""
    said = held_as_placed(size, placements, mesh, axis)
    number = said.lengths.sum(axis=1)
    if order_of_cuts(placements, mesh, axis) is None:
        last = np.where(said.lengths > 0, said.starts + said.lengths, 0).max(axis=1)
        wrong = (number > 0) & (last - _first(said) != number)
        return f"rank {int(np.argmax(wrong))} would hold rows that do not follow each other" if wrong.any() else None
    real = held_as_sharded(size, placements, mesh, axis)
    real_number = real.lengths.sum(axis=1)
    wrong = (number != real_number) | ((real_number > 0) & (_first(said) != _first(real)))
    if not wrong.any():
        return None
    rank = int(np.argmax(wrong))
    return f"uneven, so that rank {rank} would hold {_rows(real, rank)} and ask for {_rows(said, rank)}"


def _everything(size: int, ranks: int) -> Pieces:
    return Pieces(np.zeros((ranks, 1), dtype=np.int64), np.full((ranks, 1), size, dtype=np.int64))


def _parts(placement: Shard | StridedShard | PartedShard) -> int:
    match placement:
        case StridedShard():
            return placement.split
        case PartedShard():
            return placement.parts
        case _:
            return 1


def _cut(held: Pieces, parts: int, ranks: int, place: Ints) -> Pieces:
    """What is left after a cut into `parts`, and of each the chunk of the rank's place among `ranks`."""
    total = held.lengths.sum(axis=1)
    part = -(-total // parts)
    starts, lengths = [], []
    for number in range(parts):
        begin = np.minimum(number * part, total)
        length = np.minimum(begin + part, total) - begin
        chunk = -(-length // ranks)
        low = np.minimum(place * chunk, length)
        high = np.minimum(low + chunk, length)
        taken = _narrowed(held, begin + low, begin + high)
        starts.append(taken.starts)
        lengths.append(taken.lengths)
    return _packed(Pieces(np.concatenate(starts, axis=1), np.concatenate(lengths, axis=1)))


def _narrowed(held: Pieces, low: Ints, high: Ints) -> Pieces:
    """The positions from `low` to `high` of those that are held."""
    ends = held.lengths.cumsum(axis=1)
    begins = ends - held.lengths
    first = np.clip(low[:, None] - begins, 0, held.lengths)
    last = np.clip(high[:, None] - begins, 0, held.lengths)
    return Pieces(held.starts + first, last - first)


def _packed(held: Pieces) -> Pieces:
    """Empty pieces dropped and pieces that follow each other joined, as far as that makes the arrays narrower."""
    if held.starts.shape[1] == 1:
        return held
    order = np.argsort(held.lengths == 0, axis=1, kind="stable")
    starts = np.take_along_axis(held.starts, order, axis=1)
    lengths = np.take_along_axis(held.lengths, order, axis=1)
    width = max(1, int((lengths > 0).sum(axis=1).max(initial=1)))
    return Pieces(starts[:, :width], lengths[:, :width])


def _first(held: Pieces) -> Ints:
    column = np.argmax(held.lengths > 0, axis=1)
    first: Ints = held.starts[np.arange(len(column)), column]
    return first


def _named(placements: Placements, mesh: Mesh) -> str:
    cuts = [
        f"{name} {size}"
        for name, size, placement in zip(mesh.names, mesh.shape, placements, strict=True)
        if not isinstance(placement, Replicate)
    ]
    return ", ".join(cuts)


def _rows(held: Pieces, rank: int) -> str:
    size = int(held.lengths[rank].sum())
    return f"{size:,} from {int(_first(held)[rank]):,}" if size else "none"

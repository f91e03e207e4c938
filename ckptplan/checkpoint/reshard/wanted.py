"""What the ranks of a layout want of a tensor: each box once, with the ranks that want it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.manifest import Ints, Mesh
from ckptplan.checkpoint.reshard.boxes import Boxes, boxes, coordinates, held_as_sharded
from ckptplan.checkpoint.reshard.placement import PartedShard, Placements

Only = tuple[tuple[int, tuple[int, ...]], ...]  # axis of the mesh, and the places along it that hold the tensor


class Wanted(NamedTuple):
    """Boxes of one tensor by class: the ranks of a class want the same."""

    ranks: Ints  # [ranks that hold a part], ascending
    classes: Ints  # [the same], class of each
    shapes: Ints  # [classes, axes], of the tensor that a rank of the class holds
    box_classes: Ints  # [boxes], ascending
    offsets: Ints  # [boxes, axes], in the whole tensor
    sizes: Ints  # [boxes, axes]
    at: Ints  # [boxes, axes], where the box begins in the tensor that the rank holds

    def class_of(self, rank: int) -> int | None:
        """Class of a rank, None if it holds no part of the tensor."""
        place = int(np.searchsorted(self.ranks, rank))
        return int(self.classes[place]) if place < len(self.ranks) and self.ranks[place] == rank else None


def wanted(shape: tuple[int, ...], placements: Placements, mesh: Mesh, only: Only = ()) -> Wanted:
    """What every rank wants; one box for each, or several where an axis is cut in parts (`PartedShard`)."""
    places = coordinates(mesh)
    holding = np.ones(len(places), dtype=bool)
    for mesh_axis, allowed in only:
        holding &= np.isin(places[:, mesh_axis], allowed)
    ranks = np.flatnonzero(holding)
    parted = [placement.axis for placement in placements if isinstance(placement, PartedShard)]
    if parted:
        return _parted(shape, placements, mesh, ranks, parted[0])
    held = boxes(shape, placements, mesh)
    rows, classes = _distinct(np.concatenate([held.offsets, held.sizes], axis=1)[ranks])
    offsets, sizes = rows[:, : len(shape)], rows[:, len(shape) :]
    number = np.arange(len(rows), dtype=np.int64)
    return Wanted(ranks, classes, sizes, number, offsets, sizes, np.zeros_like(offsets))


def _parted(shape: tuple[int, ...], placements: Placements, mesh: Mesh, ranks: Ints, axis: int) -> Wanted:
    """Several pieces of one axis, kept one after another in the tensor of a rank."""
    plain = boxes(shape, placements, mesh)
    held = held_as_sharded(shape[axis], placements, mesh, axis)
    pieces = held.starts.shape[1]
    described = np.concatenate([plain.offsets, plain.sizes, held.starts, held.lengths], axis=1)
    rows, classes = _distinct(described[ranks])
    axes = len(shape)
    whole = Boxes(rows[:, :axes], rows[:, axes : 2 * axes])
    starts, lengths = rows[:, 2 * axes : 2 * axes + pieces], rows[:, 2 * axes + pieces :]
    offsets, sizes = np.repeat(whole.offsets, pieces, axis=0), np.repeat(whole.sizes, pieces, axis=0)
    at = np.zeros_like(offsets)
    offsets[:, axis], sizes[:, axis] = starts.ravel(), lengths.ravel()
    at[:, axis] = (lengths.cumsum(axis=1) - lengths).ravel()
    number = np.repeat(np.arange(len(rows), dtype=np.int64), pieces)
    return Wanted(ranks, classes, whole.sizes, number, offsets, sizes, at)


def _distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Distinct rows, and for each row which of them it is. Tensors without axes have one row of no numbers."""
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    return distinct, which.reshape(-1).astype(np.int64)

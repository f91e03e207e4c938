"""What the ranks of a layout want of a tensor: each box once, with the ranks that want it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.manifest import Ints, Mesh
from ckptplan.checkpoint.reshard.boxes import boxes, coordinates, held_as_sharded, order_of_cuts
from ckptplan.checkpoint.reshard.placement import PartedShard, Placements, Replicate
from ckptplan.errors import InputError

Only = tuple[tuple[int, tuple[int, ...]], ...]  # axis of the mesh, and the places along it that hold the tensor


class Wanted(NamedTuple):
    """Boxes of one tensor by class: the ranks of a class are copies of each other and want the same."""

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
    """What every rank wants; one box for each, or several where an axis is cut in parts (`PartedShard`).

    Boxes are computed on the axes of the mesh that cut the tensor; along the others the ranks are copies.
    """
    cutting = tuple(axis for axis, placement in enumerate(placements) if not isinstance(placement, Replicate))
    ranks, classes, used = _ranks(mesh, cutting, only)
    part = Mesh(tuple(mesh.shape[axis] for axis in cutting), tuple(mesh.names[axis] for axis in cutting))
    cuts = tuple(placements[axis] for axis in cutting)
    held = boxes(shape, cuts, part)
    offsets, sizes = held.offsets[used], held.sizes[used]
    parted = [placement.axis for placement in cuts if isinstance(placement, PartedShard)]
    if parted:
        if len(set(parted)) > 1 or order_of_cuts(cuts, part, parted[0]) is None:
            raise InputError(f"parts along axis {parted[0]} and {', '.join(map(str, cuts))} together are no layout")
        pieces = held_as_sharded(shape[parted[0]], cuts, part, parted[0])
        return _parted(ranks, classes, (offsets, sizes), (pieces.starts[used], pieces.lengths[used]), parted[0])
    number = np.arange(len(used), dtype=np.int64)
    return Wanted(ranks, classes, sizes, number, offsets, sizes, _nothing(offsets))


@lru_cache(maxsize=256)
def _ranks(mesh: Mesh, cutting: tuple[int, ...], only: Only) -> tuple[Ints, Ints, Ints]:
    """Ranks that hold a part, the class of each, and which places of the cutting axes the classes are."""
    places = coordinates(mesh)
    holding = np.ones(len(places), dtype=bool)
    for axis, allowed in only:
        holding &= np.isin(places[:, axis], allowed)
    ranks = np.flatnonzero(holding)
    place = np.zeros(len(ranks), dtype=np.int64)
    for axis in cutting:
        place = place * mesh.shape[axis] + places[ranks, axis]
    used, classes = np.unique(place, return_inverse=True)
    return ranks, classes.reshape(-1).astype(np.int64), used


def _nothing(like: Ints) -> Ints:
    """Zeros that take no memory."""
    return np.broadcast_to(np.zeros((), dtype=np.int64), like.shape)


def _parted(ranks: Ints, classes: Ints, whole: tuple[Ints, Ints], pieces: tuple[Ints, Ints], axis: int) -> Wanted:
    """Several pieces of one axis, kept one after another in the tensor of a rank."""
    starts, lengths = pieces
    number = starts.shape[1]
    offsets, sizes = (np.repeat(array, number, axis=0) for array in whole)
    at = np.zeros_like(offsets)
    offsets[:, axis], sizes[:, axis] = starts.ravel(), lengths.ravel()
    at[:, axis] = (lengths.cumsum(axis=1) - lengths).ravel()
    box_classes = np.repeat(np.arange(len(starts), dtype=np.int64), number)
    return Wanted(ranks, classes, whole[1], box_classes, offsets, sizes, at)

"""Whether boxes tile a tensor: which leave it, which overlap, and what no box covers. Exact for any set of boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.coverage_search import LARGEST, Box, Ints, Search


class Coverage(NamedTuple):
    """What is wrong with a set of boxes; all empty, zero and True if they tile the tensor."""

    outside: tuple[int, ...]  # rows of boxes that leave the tensor
    overlapping: int  # boxes that share an element with another
    overlaps: tuple[tuple[int, int], ...]  # pairs of rows, the first few
    missing: int  # elements that no box covers
    holes: tuple[Box, ...]  # boxes of missing elements, the first few; flat: of the flattened tensor
    decided: bool  # False: too intricate; `overlapping` and `missing` are then at least what is said

    @property
    def tiles(self) -> bool:
        """Whether every element is covered exactly once, and nothing else is."""
        return self.decided and not (self.outside or self.overlapping or self.missing)


def coverage(shape: Sequence[int], offsets: Ints, sizes: Ints, flat: bool = False) -> Coverage:
    """How boxes cover a tensor. Empty boxes are skipped, and may lie at the end of the tensor.

    What leaves the tensor is cut at its border before holes and overlaps are looked for. ``flat``: boxes are ranges of
    the elements in row-major order.
    """
    extent = np.array([math.prod(shape)] if flat else list(shape), dtype=object)
    if extent.size and max(extent) >= LARGEST:
        return Coverage((), 0, (), 0, (), False)
    limits = extent.astype(np.int64)
    offsets, sizes = offsets.reshape(len(offsets), limits.size), sizes.reshape(len(sizes), limits.size)
    leaves = ((offsets < 0) | (sizes < 0) | (offsets > limits - sizes)).any(axis=1)
    starts, ends = _within(limits, offsets, np.maximum(sizes, 0))
    rows = np.flatnonzero((ends > starts).all(axis=1))
    outside = tuple(np.flatnonzero(leaves).tolist())
    if _is_grid(limits, starts[rows], ends[rows]):
        return Coverage(outside, 0, (), 0, (), True)
    return Coverage(outside, *Search(starts, ends).run(rows, limits))


def _within(limits: Ints, offsets: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """First and last corner of every box, cut at the border of the tensor, without overflow."""
    starts = np.clip(offsets, 0, limits)
    room = limits - starts
    held = np.minimum(sizes, room)  # of a box that starts inside
    before = np.where(offsets < 0, offsets + sizes, 0)  # of one that starts before the tensor
    ends = np.where(offsets < 0, np.clip(before, 0, limits), starts + held)
    return starts, np.maximum(starts, ends)


def _is_grid(limits: Ints, starts: Ints, ends: Ints) -> bool:
    """Whether the boxes are exactly the cells of a grid over the whole tensor: so it is in nearly every checkpoint."""
    if (limits == 0).any():
        return True
    if not len(starts):
        return False
    cell = np.zeros(len(starts), dtype=np.int64)
    cells = 1
    for axis, limit in enumerate(limits.tolist()):
        edges, place = np.unique(starts[:, axis], return_inverse=True)
        if edges[0] != 0 or not np.array_equal(np.append(edges[1:], limit)[place], ends[:, axis]):
            return False
        cell = cell * len(edges) + place.reshape(-1)
        cells *= len(edges)
        if cells > len(starts):
            return False
    return cells == len(starts) and len(np.unique(cell)) == cells

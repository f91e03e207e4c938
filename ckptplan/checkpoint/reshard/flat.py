"""Ranges of a tensor's elements in row-major order, as boxes: ZeRO keeps a tensor as pieces of a flat vector."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.manifest import Ints


class FlatBoxes(NamedTuple):
    """Boxes that together are ranges; several to a range."""

    rows: Ints  # [n], the range that the box is of
    offsets: Ints  # [n, axes]
    sizes: Ints  # [n, axes]


def as_boxes(starts: Ints, lengths: Ints, shape: tuple[int, ...]) -> FlatBoxes:
    """Ranges cut into boxes: along each axis a first row in part, whole rows, and a last row in part.

    At most two boxes for each axis but the last, which has one. Boxes of one range come in row-major order.
    """
    rows = np.flatnonzero((lengths > 0) & (0 not in shape))
    begin, end = starts[rows], (starts + lengths)[rows]
    prefix = np.zeros((len(rows), 0), dtype=np.int64)
    found: list[FlatBoxes] = []
    for axis in range(len(shape)):
        inner = int(np.prod(shape[axis + 1 :], dtype=np.int64)) or 1
        top, bottom = -(-begin // inner), end // inner  # whole rows
        whole = top < bottom
        found.append(_rows(rows[whole], prefix[whole], top[whole], bottom[whole], shape[axis + 1 :]))
        rows, prefix, begin, end = _parts_of_rows(rows, prefix, begin, end, inner)
    if not shape:
        found.append(FlatBoxes(rows, prefix, prefix))
    offsets = np.concatenate([part.offsets for part in found])
    number = np.concatenate([part.rows for part in found])
    sizes = np.concatenate([part.sizes for part in found])
    order = np.lexsort((*offsets.T[::-1], number))
    return FlatBoxes(number[order], offsets[order], sizes[order])


def _rows(rows: Ints, prefix: Ints, top: Ints, bottom: Ints, inner: tuple[int, ...]) -> FlatBoxes:
    """Whole rows from `top` to `bottom` of one axis, within single places of the axes before it."""
    number = len(rows)
    within = np.tile(np.array(inner, dtype=np.int64), (number, 1))
    offsets = np.concatenate([prefix, top[:, None], np.zeros_like(within)], axis=1)
    sizes = np.concatenate([np.ones_like(prefix), (bottom - top)[:, None], within], axis=1)
    return FlatBoxes(rows, offsets, sizes)


def _parts_of_rows(rows: Ints, prefix: Ints, begin: Ints, end: Ints, inner: int) -> tuple[Ints, Ints, Ints, Ints]:
    """What whole rows leave over, as ranges within single rows: at the start, and at the end if in another row."""
    top, bottom = -(-begin // inner), end // inner
    head = begin < np.minimum(top * inner, end)
    tail = (bottom * inner < end) & (bottom >= top)
    row = np.concatenate([(begin // inner)[head], bottom[tail]])
    first = np.concatenate([(begin % inner)[head], np.zeros(int(tail.sum()), dtype=np.int64)])
    last = np.concatenate([(np.minimum(top * inner, end) - begin // inner * inner)[head], (end - bottom * inner)[tail]])
    prefix = np.concatenate([prefix[head], prefix[tail]])
    return np.concatenate([rows[head], rows[tail]]), np.concatenate([prefix, row[:, None]], axis=1), first, last

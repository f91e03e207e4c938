"""Which bytes of a file one read takes: a box of a stored shard as runs of equal length at equal distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.manifest import Ints, Raw
from ckptplan.errors import InputError

MOST_PATTERNS = 1_000_000  # of one read: a plan that needs more is not worth following run by run


class Run(NamedTuple):
    """``times`` runs of ``bytes`` bytes: the first at a place of the file, each next one ``every`` bytes further."""

    at: int
    bytes: int
    every: int  # 0 where there is one run only
    times: int


def runs(raw: Raw, src_offset: Sequence[int], length: Sequence[int]) -> list[Run]:
    """The runs of one box of a stored shard, joined where they touch; their elements come as `order_of` says.

    Parameters
    ----------
    raw : Raw
        Where the shard lies, with its strides: row-major, column-major or any other order. One that is packed has
        places within the unpacked item.
    src_offset, length : sequence of int
        The box within the stored shard. [elements]

    Returns
    -------
    list of Run
        None for an empty box. Elements that the strides repeat (a stride of 0) are read once.

    Raises
    ------
    InputError
        If the box leaves the shard, cuts a byte in two, or takes more than a million patterns.
    """
    _refuse_outside(raw, src_offset, length)
    if not all(length):
        return []
    bits = BITS[raw.dtype]
    first = raw.offset * 8 + bits * sum(o * s for o, s in zip(src_offset, raw.strides, strict=True))
    axes = [(raw.strides[axis] * bits, length[axis]) for axis in reversed(_slowest_first(raw.strides, length))]
    run, axes = _joined(bits, axes)
    every, times, axes = _repeated(axes)
    patterns = math.prod(n for _, n in axes)
    if patterns > MOST_PATTERNS:
        raise InputError(f"one read would take {patterns:,} patterns of runs", hint="read whole items")
    if any(value % 8 for value in (first, run, every, *(step for step, _ in axes))):
        raise InputError(f"a cut between elements of {bits} bits splits a byte", hint="cut along another axis")
    starts = np.array([first // 8], dtype=np.int64)
    for step, count in axes:  # small steps first: the later axis is the outer one
        starts = (np.arange(count, dtype=np.int64)[:, None] * (step // 8) + starts).ravel()
    return [Run(at, run // 8, every // 8, times) for at in starts.tolist()]


def order_of(strides: Sequence[int], length: Sequence[int]) -> tuple[int, ...] | None:
    """In which order the runs of a box give its elements; None if row by row, as numpy and torch lay a tensor out.

    Else the axes of the box from the slowest to the fastest. Axes of one element are left out, and so are those along
    which the strides repeat the same element: it comes once.
    """
    order = _slowest_first(strides, length)
    return None if order == [axis for axis, n in enumerate(length) if n > 1] else tuple(order)


def _slowest_first(strides: Sequence[int], length: Sequence[int]) -> list[int]:
    axes = [axis for axis, n in enumerate(length) if n > 1 and strides[axis] > 0]
    return sorted(axes, key=lambda axis: (-strides[axis], axis))


def _refuse_outside(raw: Raw, src_offset: Sequence[int], length: Sequence[int]) -> None:
    odd = not len(raw.shape) == len(raw.strides) == len(src_offset) == len(length) or min(raw.strides, default=0) < 0
    if odd or any(o < 0 or n < 0 or o + n > whole for o, n, whole in zip(src_offset, length, raw.shape, strict=True)):
        raise InputError(
            f"the box at {tuple(src_offset)} of size {tuple(length)} is not within the stored shard {raw.shape}",
            hint="the stored item is unlike its metadata: ckptplan audit tells which",
        )


def _joined(run: int, axes: list[tuple[int, int]]) -> tuple[int, list[tuple[int, int]]]:
    """The longest run that is of one piece, and the axes that are left."""
    while axes and axes[0][0] == run:
        run *= axes[0][1]
        axes = axes[1:]
    return run, axes


def _repeated(axes: list[tuple[int, int]]) -> tuple[int, int, list[tuple[int, int]]]:
    """The step and number of runs that lie at equal distances, and the axes that are left."""
    if not axes:
        return 0, 1, []
    (every, times), axes = axes[0], axes[1:]
    while axes and axes[0][0] == every * times:
        times *= axes[0][1]
        axes = axes[1:]
    return every, times, axes


def count_row_major(shapes: Ints, lengths: Ints) -> Ints:
    """How many runs each of many boxes takes in shards that are stored row by row.

    Parameters
    ----------
    shapes, lengths : ndarray
        One row for each read: the stored shard, and the box within it. [elements]

    Returns
    -------
    ndarray
        Runs of each; 0 for an empty box.
    """
    if not lengths.shape[1]:
        return np.ones(len(lengths), dtype=np.int64)
    whole = np.ones_like(lengths, dtype=bool)  # all axes after this one are taken in full
    whole[:, :-1] = np.logical_and.accumulate((lengths == shapes)[:, :0:-1], axis=1)[:, ::-1]
    counts = np.where(whole, 1, lengths).prod(axis=1)
    return np.where((lengths == 0).any(axis=1), 0, counts)

"""The elements of a box of a stored shard, read from its file by runs: never much more than the box in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.manifest import Raw

MOST_SPAN = 16 << 20  # bytes that are read in one piece, wanted or between those that are
MOST_WASTE = 4  # times the bytes that are wanted of them


def read_box(
    read: Callable[[int, int], bytes],
    raw: Raw,
    src_offset: Sequence[int],
    length: Sequence[int],
    into: NDArray[Any],
) -> None:
    """Elements of a box into an array of its shape.

    What lies between the elements is read along with them where a piece of the file holds both; a box whose elements
    lie far apart is divided along the axis whose steps are the widest, until each piece is small.

    Parameters
    ----------
    read : callable
        Gives the bytes of the file from a place on, as many as asked for.
    raw : Raw
        Where the shard lies in it; not packed, elements of whole bytes.
    src_offset, length : sequence of int
        The box within the shard. [elements]
    into : ndarray
        Of as many bytes for each element (`as_stored`).
    """
    width = into.itemsize
    todo = [(tuple(src_offset), tuple(length), into)]
    while todo:
        low, size, target = todo.pop()
        if not all(size):
            continue
        first = raw.offset + width * sum(a * s for a, s in zip(low, raw.strides, strict=True))
        span = width * (1 + sum((n - 1) * s for n, s in zip(size, raw.strides, strict=True)))
        elements = math.prod(size)
        if span <= min(MOST_SPAN, MOST_WASTE * elements * width) or elements == 1:
            data = np.frombuffer(read(first, span), dtype=target.dtype)
            steps = tuple(s * width for s in raw.strides)
            target[...] = np.lib.stride_tricks.as_strided(data, size, steps, writeable=False)
            continue
        axis = max((a for a, n in enumerate(size) if n > 1), key=lambda a: raw.strides[a])
        todo += _halves(low, size, target, axis)


def as_stored(dtype: str) -> np.dtype[Any]:
    """Elements as plain bytes of the same number, for types that numpy does not have."""
    width = BITS[dtype] // 8
    return np.dtype(f"u{width}" if width <= 8 else f"V{width}")


def _halves(
    low: tuple[int, ...], size: tuple[int, ...], target: NDArray[Any], axis: int
) -> list[tuple[tuple[int, ...], tuple[int, ...], NDArray[Any]]]:
    """A box in two along one axis, the second half first: the first is taken next."""
    half = size[axis] // 2
    before = (slice(None),) * axis
    first = (low, (*size[:axis], half, *size[axis + 1 :]), target[(*before, slice(0, half))])
    start = (*low[:axis], low[axis] + half, *low[axis + 1 :])
    second = (start, (*size[:axis], size[axis] - half, *size[axis + 1 :]), target[(*before, slice(half, None))])
    return [second, first]


def blocks(shape: Sequence[int], width: int, most_bytes: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Boxes of at most so many bytes, each a piece of the row-major tensor, in order; none if it is empty."""
    if 0 in shape:
        return []
    inner, axis = width * math.prod(shape), 0
    while axis < len(shape) and inner // shape[axis] > most_bytes:
        inner //= shape[axis]
        axis += 1
    if axis == len(shape):
        return [(low, (1,) * axis) for low in np.ndindex(*shape)]
    step = max(1, most_bytes // (inner // shape[axis]))
    rest = tuple(shape[axis + 1 :])
    return [
        ((*outer, start, *(0 for _ in rest)), (*(1 for _ in outer), min(step, shape[axis] - start), *rest))
        for outer in np.ndindex(*shape[:axis])
        for start in range(0, shape[axis], step)
    ]

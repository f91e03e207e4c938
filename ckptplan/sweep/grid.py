"""Points of a grid in order, cut where that costs least, and as blocks: one range of values for each axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

Block: TypeAlias = tuple[range, ...]


def cuts(shape: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Consecutive parts of at most ``most`` points, nearly equal, each of them one block where that is possible.

    Parameters
    ----------
    shape : sequence of int
        Values of each axis; the last one runs fastest. [1]
    most : int
        Points of one part. [1]
    """
    inner, axis = 1, len(shape)
    while axis > 0 and inner * shape[axis - 1] <= most:
        axis -= 1
        inner *= shape[axis]
    if axis == 0:
        yield 0, inner
        return
    length = shape[axis - 1]
    pieces = math.ceil(length / max(most // inner, 1))
    for outer in range(math.prod(shape[: axis - 1])):
        first = outer * length
        for piece in range(pieces):
            yield (first + length * piece // pieces) * inner, (first + length * (piece + 1) // pieces) * inner


def blocks(shape: Sequence[int], start: int, stop: int) -> Iterator[Block]:
    """The points from ``start`` to ``stop`` as blocks, in order."""
    if start >= stop:
        return
    if not shape:
        yield ()
        return
    inner = math.prod(shape[1:])
    (first, offset), (last, rest) = divmod(start, inner), divmod(stop, inner)
    if first == last:
        yield from _behind(shape, first, offset, rest)
        return
    if offset:
        yield from _behind(shape, first, offset, inner)
        first += 1
    if first < last:
        yield (range(first, last), *(range(length) for length in shape[1:]))
    yield from _behind(shape, last, 0, rest)


def _behind(shape: Sequence[int], index: int, start: int, stop: int) -> Iterator[Block]:
    """Blocks with one value of the first axis."""
    for block in blocks(shape[1:], start, stop):
        yield (range(index, index + 1), *block)

"""A tensor in blocks: runs of its row-major elements that are boxes too, so that any layout of shards can fill them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple


class Block(NamedTuple):
    """Elements of the row-major order: single places on the first axes, a range on one, all of the axes after it."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    start: int
    stop: int

    @property
    def elements(self) -> int:
        """Elements of the block."""
        return self.stop - self.start


def blocks(shape: tuple[int, ...], most: int) -> Iterator[Block]:
    """Cut a tensor into blocks of at most so many elements (of at least one), in row-major order.

    Since a block takes single places on the axes before the one that is cut, and all of the axes after it, what it
    shares with a row-major shard is one run of that shard.
    """
    if 0 in shape:
        return
    axis, behind = _cut_axis(shape, most)
    if axis < 0:
        yield Block((), (), 0, 1)
        return
    step = max(1, most // behind)
    start = 0
    for place in _places(shape[:axis]):
        for low in range(0, shape[axis], step):
            high = min(shape[axis], low + step)
            stop = start + (high - low) * behind
            lower = (*place, low, *(0 for _ in shape[axis + 1 :]))
            upper = (*(at + 1 for at in place), high, *shape[axis + 1 :])
            yield Block(lower, upper, start, stop)
            start = stop


def number_of_blocks(shape: tuple[int, ...], most: int) -> int:
    """How many blocks there are, without making them."""
    if 0 in shape:
        return 0
    axis, behind = _cut_axis(shape, most)
    return 1 if axis < 0 else math.prod(shape[:axis]) * -(-shape[axis] // max(1, most // behind))


def _places(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All places of the first axes, one by one: itertools.product would first make lists of them."""
    for number in range(math.prod(shape)):
        place, left = [], number
        for length in reversed(shape):
            left, at = divmod(left, length)
            place.append(at)
        yield tuple(reversed(place))


def _cut_axis(shape: tuple[int, ...], most: int) -> tuple[int, int]:
    """The first axis whose places hold no more than a block each, and the elements of one such place."""
    for axis in range(len(shape)):
        behind = math.prod(shape[axis + 1 :])
        if behind <= most:
            return axis, behind
    return -1, 1

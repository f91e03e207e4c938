"""Texts of columns that repeat over a grid: made once for what they depend on, and laid out over all rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Pattern = tuple[bool, ...]  # along which dimensions something changes


class Piece(NamedTuple):
    """Texts of one or several columns beside each other, one for each row of the grid along ``pattern``."""

    texts: Any  # an array of pyarrow
    pattern: Pattern


class Grid:
    """Rows as a grid: any lengths whose product is the number of rows serve, those of the axes serve best."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.rows = shape, math.prod(shape)
        self.whole: Pattern = (True,) * len(shape)
        self._indices: dict[tuple[Pattern, Pattern], Any] = {}

    def reduced(self, values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Pattern]:
        """The values along the dimensions in which they change, to the last bit, and which these are."""
        bits = values.view(f"i{values.dtype.itemsize}").reshape(self.shape)
        pattern = list(self.whole)
        for number in range(bits.ndim):
            ahead = (slice(None),) * number
            first = bits[(*ahead, slice(0, 1))]
            if np.array_equal(bits[(*ahead, slice(1, 2))], first) and bool((bits == first).all()):
                bits, pattern[number] = first, False
            elif bits.shape[number] == 1:
                pattern[number] = False
        return bits.reshape(-1).view(values.dtype), tuple(pattern)

    def size(self, pattern: Pattern) -> int:
        """Rows of the grid along some dimensions."""
        return math.prod(self._lengths(pattern))

    def joined(self, left: Piece, right: Piece) -> Piece:
        """Both beside each other, with a comma between."""
        import pyarrow.compute as pc

        pattern = either(left.pattern, right.pattern)
        return Piece(pc.binary_join_element_wise(self.over(left, pattern), self.over(right, pattern), ","), pattern)

    def over(self, piece: Piece, pattern: Pattern) -> Any:
        """Its texts along more dimensions."""
        if self._lengths(piece.pattern) == self._lengths(pattern):
            return piece.texts
        key = (piece.pattern, pattern)
        if key not in self._indices:
            self._indices[key] = self._index(*key)
        return piece.texts.take(self._indices[key])

    def _index(self, given: Pattern, wanted: Pattern) -> Any:
        import pyarrow as pa

        places = np.arange(self.size(given), dtype=np.int32).reshape(self._lengths(given))
        return pa.array(np.broadcast_to(places, self._lengths(wanted)).reshape(-1))

    def _lengths(self, pattern: Pattern) -> tuple[int, ...]:
        return tuple(length if changes else 1 for length, changes in zip(self.shape, pattern, strict=True))


def either(left: Pattern, right: Pattern) -> Pattern:
    """The dimensions along which one or the other changes."""
    return tuple(a or b for a, b in zip(left, right, strict=True))


def grid_of(rows: int, axes: Iterable[npt.NDArray[Any]]) -> Grid:
    """The grid of some rows, seen by where their axes change first, from the slowest axis to the fastest."""
    shape, left = [], rows
    for values in axes:
        changes = values != values[:1]
        run = int(np.argmax(changes)) or rows
        if run < left and left % run == 0:
            shape.append(left // run)
            left = run
    return Grid((*shape, left))

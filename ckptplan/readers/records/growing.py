"""Columns of numbers that grow while a file is read, and are whole at its end without being held twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_PIECE = 4_000_000  # elements; the memory of large pieces goes back to the system as soon as they are let go


class GrowingColumn:
    """Numbers of one type, added part by part."""

    def __init__(self, dtype: type) -> None:
        self._dtype = dtype
        self._full: list[NDArray[Any]] = []
        self._last: NDArray[Any] = np.empty(0, dtype)
        self._used = 0

    def add(self, values: NDArray[Any]) -> None:
        """More numbers."""
        while len(values):
            if self._used == len(self._last):
                if self._used:
                    self._full.append(self._last)
                self._last, self._used = np.empty(_PIECE, self._dtype), 0
            taken = min(len(values), len(self._last) - self._used)
            self._last[self._used : self._used + taken] = values[:taken]
            self._used += taken
            values = values[taken:]

    def whole(self) -> NDArray[Any]:
        """All of them, once: the pieces are let go one by one."""
        found: NDArray[Any] = np.empty(sum(map(len, self._full)) + self._used, self._dtype)
        found[len(found) - self._used :] = self._last[: self._used]
        self._last, at = np.empty(0, self._dtype), len(found) - self._used
        while self._full:
            piece = self._full.pop()
            at -= len(piece)
            found[at : at + len(piece)] = piece
        return found

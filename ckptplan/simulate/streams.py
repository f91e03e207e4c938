"""The failures of several runs side by side, drawn one per run and step."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Stream(Protocol):
    """The failures of several runs side by side, one per row."""

    def fill(self, gaps_s: Floats) -> None:
        """Write the next gap of each row. [s]."""

    def keep(self, rows: npt.NDArray[np.intp]) -> None:
        """Go on with these rows only."""


class Draws(Protocol):
    """A law to draw from."""

    def fill(self, rng: np.random.Generator, gaps_s: Floats) -> None:
        """Draw gaps. [s]."""

    def fill_residual(self, rng: np.random.Generator, gaps_s: Floats) -> None:
        """Draw times to the next failure from any moment. [s]."""


class Independent:
    """Gaps drawn from a law, each anew."""

    def __init__(self, source: Draws, rng: np.random.Generator) -> None:
        self._source, self._rng = source, rng

    def fill(self, gaps_s: Floats) -> None:
        """Write the next gap of each row. [s]."""
        self._source.fill(self._rng, gaps_s)

    def keep(self, rows: npt.NDArray[np.intp]) -> None:
        """Nothing to drop: the rows have no memory."""


class Drawn:
    """Gaps of a record, drawn with replacement."""

    def __init__(self, gaps_s: Floats, rng: np.random.Generator) -> None:
        self._gaps_s, self._rng = gaps_s, rng

    def fill(self, gaps_s: Floats) -> None:
        """Write the next gap of each row. [s]."""
        np.take(self._gaps_s, self._rng.integers(self._gaps_s.size, size=gaps_s.size), out=gaps_s)

    def keep(self, rows: npt.NDArray[np.intp]) -> None:
        """Nothing to drop: the rows have no memory."""


class InOrder:
    """Gaps of a record one after another, the same for all rows."""

    def __init__(self, gaps_s: Floats) -> None:
        self._gaps_s, self._next = gaps_s, 0

    def fill(self, gaps_s: Floats) -> None:
        """Write the next gap of each row. [s]."""
        gaps_s.fill(self._gaps_s[self._next])
        self._next = (self._next + 1) % self._gaps_s.size

    def keep(self, rows: npt.NDArray[np.intp]) -> None:
        """Nothing to drop: the rows have no memory."""


class Superposed:
    """The time left to the next failure of every node, one row per run."""

    def __init__(self, each: Draws, nodes: int, rng: np.random.Generator, rows: int, *, are_new: bool) -> None:
        self._each, self._rng = each, rng
        self._left_s = np.empty((rows, nodes))
        draw = each.fill if are_new else each.fill_residual
        draw(rng, self._left_s)

    def fill(self, gaps_s: Floats) -> None:
        """Write the next gap of each row. [s]."""
        rows = np.arange(gaps_s.size)
        failed = self._left_s.argmin(axis=1)
        gaps_s[:] = self._left_s[rows, failed]
        self._left_s -= gaps_s[:, np.newaxis]
        renewed = np.empty(gaps_s.size)
        self._each.fill(self._rng, renewed)
        self._left_s[rows, failed] = renewed

    def keep(self, rows: npt.NDArray[np.intp]) -> None:
        """Go on with these rows only."""
        self._left_s = self._left_s[rows]

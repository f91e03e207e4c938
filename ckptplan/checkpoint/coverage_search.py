"""Holes and overlaps of boxes that are no grid: regions are cut apart, painted, or their boxes compared."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Box = tuple[tuple[int, ...], tuple[int, ...]]  # offsets and sizes, elements
Region = tuple[Ints, Ints, Ints]  # lowest and highest corner, rows of the boxes within

FEW = 5  # overlapping pairs and holes that are named
LARGEST = 1 << 62
_MOST_CELLS = 1 << 23  # of the grids that all edges span: 64 MB
_MOST_PAIRS = 50_000_000  # candidates that are compared: about two seconds
_MOST_ROWS_CUT = 20_000_000  # rows that are sorted while a region is cut into parts
_MOST_PARTS = 2_000  # of one region: beyond, its boxes are compared


class Found(NamedTuple):
    """Holes and overlaps; see `coverage.Coverage`."""

    overlapping: int
    overlaps: tuple[tuple[int, int], ...]
    missing: int
    holes: tuple[Box, ...]
    decided: bool


class Search:
    """One search: regions of the tensor that still have to be judged, with the boxes in each."""

    def __init__(self, starts: Ints, ends: Ints) -> None:
        self.starts, self.ends = starts, ends
        self.overlaps: list[tuple[int, int]] = []
        self.marked: NDArray[np.bool_] = np.zeros(len(starts), dtype=np.bool_)
        self.holes: list[Box] = []
        self.missing = 0
        self.decided = True
        self.pairs_left = _MOST_PAIRS
        self.rows_left = _MOST_ROWS_CUT
        self.cells_left = _MOST_CELLS

    def run(self, rows: Ints, limits: Ints) -> Found:
        """Cut, paint or compare region after region."""
        regions = [(np.zeros_like(limits), limits, rows)]
        while regions:
            low, high, inside = regions.pop()
            if not len(inside):
                self._hole(low, high)
            elif not limits.size:
                self._scalars(inside)
            elif (cells := math.prod(edges := self._edges(low, high, inside))) <= self.cells_left:
                self.cells_left -= cells
                self._paint(low, high, inside)
            elif (parts := self._parts(low, high, inside, edges)) is not None:
                regions += parts
            else:
                self._compare(low, high, inside)
        overlapping = int(self.marked.sum())
        return Found(overlapping, tuple(self.overlaps), self.missing, tuple(self.holes[:FEW]), self.decided)

    def _single(self, low: Ints, high: Ints, rows: Ints) -> None:
        """Regions with one box each, which fills them along all axes or leaves holes beside it."""
        spare = np.flatnonzero(((self.starts[rows] > low) | (self.ends[rows] < high)).any(axis=1))
        for at in spare.tolist():
            bottom, top = low[at], high[at]
            for axis in range(low.shape[1]):
                start, end = self.starts[rows[at], axis], self.ends[rows[at], axis]
                if start > bottom[axis]:
                    self._hole(bottom, _moved(top, axis, start))
                if end < top[axis]:
                    self._hole(_moved(bottom, axis, end), top)
                bottom, top = _moved(bottom, axis, start), _moved(top, axis, end)

    def _hole(self, low: Ints, high: Ints) -> None:
        self.missing += math.prod((high - low).tolist())
        if len(self.holes) < FEW:
            self.holes.append((tuple(low.tolist()), tuple((high - low).tolist())))

    def _scalars(self, rows: Ints) -> None:
        """A tensor of no axes is one element."""
        if len(rows) > 1:
            self.marked[rows] = True
            self._name(int(rows[0]), rows[1:])

    def _name(self, row: int, others: Ints) -> None:
        """Keep the first few pairs."""
        for other in others[: max(0, FEW - len(self.overlaps))].tolist():
            pair = (min(row, other), max(row, other))
            if pair not in self.overlaps:
                self.overlaps.append(pair)

    def _edges(self, low: Ints, high: Ints, rows: Ints) -> list[int]:
        """How many cells the edges of the boxes cut each axis into; more than fit if there are too many to count."""
        if len(rows) > _MOST_CELLS:
            return [_MOST_CELLS + 1]
        self.rows_left -= len(rows) * low.size
        return [len(self._cuts(low, high, rows, axis)) - 1 for axis in range(low.size)]

    def _cuts(self, low: Ints, high: Ints, rows: Ints, axis: int) -> Ints:
        ends = (self.starts[rows, axis], self.ends[rows, axis], low[axis : axis + 1], high[axis : axis + 1])
        return np.unique(np.concatenate(ends))

    def _paint(self, low: Ints, high: Ints, rows: Ints) -> None:
        """Count the boxes over every cell of the grid of all edges, by differences at the corners of the boxes."""
        cuts = [self._cuts(low, high, rows, axis) for axis in range(low.size)]
        first = [np.searchsorted(cut, self.starts[rows, axis]) for axis, cut in enumerate(cuts)]
        last = [np.searchsorted(cut, self.ends[rows, axis]) for axis, cut in enumerate(cuts)]
        shape = tuple(len(cut) for cut in cuts)
        counts = np.zeros(shape, dtype=np.int64)
        for corner in itertools.product((0, 1), repeat=low.size):
            at = tuple(last[axis] if end else first[axis] for axis, end in enumerate(corner))
            np.add.at(counts, at, -1 if sum(corner) % 2 else 1)
        for axis in range(low.size):
            np.cumsum(counts, axis=axis, out=counts)
        counts = counts[tuple(slice(0, -1) for _ in shape)]
        self._painted_holes(counts == 0, cuts)
        if (counts > 1).any():
            self._painted_overlaps(counts > 1, cuts, first, last, rows)

    def _painted_holes(self, bare: NDArray[np.bool_], cuts: list[Ints]) -> None:
        for index in np.argwhere(bare)[:FEW].tolist() if len(self.holes) < FEW else ():
            corner = tuple(int(cut[at]) for cut, at in zip(cuts, index, strict=True))
            size = tuple(int(cut[at + 1] - cut[at]) for cut, at in zip(cuts, index, strict=True))
            self.holes.append((corner, size))
        # Python's integers where the elements of the region are more than 64 bits can count.
        kind = object if math.prod(int(cut[-1] - cut[0]) for cut in cuts) >= LARGEST else np.int64
        weighed: NDArray[Any] = bare.astype(kind)
        for cut in reversed(cuts):
            weighed = weighed @ np.diff(cut).astype(kind)
        self.missing += int(weighed)

    def _painted_overlaps(
        self, double: NDArray[np.bool_], cuts: list[Ints], first: list[Ints], last: list[Ints], rows: Ints
    ) -> None:
        """Mark every box over a cell that another box covers too: sums over boxes by the corners of running sums."""
        sums = np.zeros(tuple(len(cut) for cut in cuts), dtype=np.int64)
        sums[tuple(slice(1, None) for _ in cuts)] = double
        for axis in range(len(cuts)):
            np.cumsum(sums, axis=axis, out=sums)
        within = np.zeros(len(rows), dtype=np.int64)
        for corner in itertools.product((0, 1), repeat=len(cuts)):
            at = tuple(last[axis] if end else first[axis] for axis, end in enumerate(corner))
            within += sums[at] * (-1 if (len(cuts) - sum(corner)) % 2 else 1)
        self.marked[rows[within > 0]] = True
        for index in np.argwhere(double)[:FEW].tolist():
            over = np.ones(len(rows), dtype=np.bool_)
            for axis, at in enumerate(index):
                over &= (first[axis] <= at) & (last[axis] > at)
            found = rows[over]
            self._name(int(found[0]), found[1:])

    def _parts(self, low: Ints, high: Ints, rows: Ints, edges: list[int]) -> list[Region] | None:
        """Cut a region along one axis wherever no box reaches across; None if there is no such cut, or too many."""
        order = sorted(range(low.size), key=lambda axis: -edges[axis] if len(edges) == low.size else axis)
        for axis in order:
            self.rows_left -= len(rows)
            if self.rows_left < 0:
                return None
            inside = rows[np.argsort(self.starts[rows, axis], kind="stable")]
            starts, reach = self.starts[inside, axis], np.maximum.accumulate(self.ends[inside, axis])
            breaks = np.flatnonzero(starts[1:] >= reach[:-1]) + 1
            if not len(breaks) and starts[0] == low[axis] and reach[-1] == high[axis]:
                continue
            bounds = np.concatenate([[0], breaks, [len(inside)]])
            if int((np.diff(bounds) > 1).sum()) > _MOST_PARTS:
                return None
            return self._cut(low, high, axis, (inside, bounds, starts[bounds[:-1]], reach[bounds[1:] - 1]))
        return None

    def _cut(self, low: Ints, high: Ints, axis: int, found: tuple[Ints, Ints, Ints, Ints]) -> list[Region]:
        """The region of each group along an axis; what lies between them, and beside single boxes, is missing."""
        inside, bounds, starts, ends = found
        before = np.concatenate([low[axis : axis + 1], ends])
        after = np.append(starts, high[axis])
        for gap in np.flatnonzero(after > before).tolist():
            self._hole(_moved(low, axis, before[gap]), _moved(high, axis, after[gap]))
        numbers = np.diff(bounds)
        alone = np.flatnonzero(numbers == 1)
        bottoms, tops = np.tile(low, (len(alone), 1)), np.tile(high, (len(alone), 1))
        bottoms[:, axis], tops[:, axis] = starts[alone], ends[alone]
        self._single(bottoms, tops, inside[bounds[alone]])
        return [
            (_moved(low, axis, starts[at]), _moved(high, axis, ends[at]), inside[bounds[at] : bounds[at + 1]])
            for at in np.flatnonzero(numbers > 1).tolist()
        ]

    def _compare(self, low: Ints, high: Ints, rows: Ints) -> None:
        """Compare the boxes of a region that nothing cuts, pair by pair, along the axis with the fewest candidates."""
        axis, candidates = min(
            ((axis, self._candidates(rows, axis)) for axis in range(low.size)), key=lambda found: found[1]
        )
        rows = rows[np.argsort(self.starts[rows, axis], kind="stable")]
        before = int(self.marked[rows].sum())
        if candidates <= self.pairs_left:
            self.pairs_left -= candidates
            self._compare_rows(rows, axis, len(rows))
        else:
            self.decided = False
            self._compare_rows(rows, axis, self._affordable(rows, axis))
        volume = sum(map(math.prod, (self.ends[rows] - self.starts[rows]).tolist()))
        missing = math.prod((high - low).tolist()) - volume
        overlapping = int(self.marked[rows].sum()) > before
        self.decided &= not overlapping  # what is missing is then known from below only
        self.missing += max(0, missing)

    def _candidates(self, rows: Ints, axis: int) -> int:
        starts = np.sort(self.starts[rows, axis])
        return int(np.searchsorted(starts, self.ends[rows, axis]).sum()) - len(rows) * (len(rows) + 1) // 2

    def _affordable(self, rows: Ints, axis: int) -> int:
        """How many of the sorted rows can be compared with what is left of the budget."""
        reach = np.searchsorted(self.starts[rows, axis], self.ends[rows, axis]) - np.arange(1, len(rows) + 1)
        number = int(np.searchsorted(np.cumsum(np.maximum(reach, 1)), self.pairs_left))
        self.pairs_left = 0
        return number

    def _compare_rows(self, rows: Ints, axis: int, number: int) -> None:
        starts, ends = self.starts[rows], self.ends[rows]
        reach = np.searchsorted(starts[:, axis], ends[:, axis])
        for at in np.flatnonzero(reach[:number] > np.arange(1, number + 1)).tolist():
            near = slice(at + 1, int(reach[at]))
            meets = ((starts[near] < ends[at]) & (ends[near] > starts[at])).all(axis=1)
            if meets.any():
                others = rows[near][meets]
                self.marked[rows[at]] = True
                self.marked[others] = True
                self._name(int(rows[at]), others)


def _moved(corner: Ints, axis: int, value: int | np.int64) -> Ints:
    moved = corner.copy()
    moved[axis] = value
    return moved

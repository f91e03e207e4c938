"""Torn lines of a table: joined where a field held a line break, cut at the right places where one held the delimiter.

Fields left of a free column are counted from the left, those right of it from the right. Where several free columns
could hold the delimiter, the columns between them decide by what they may hold: a state, a time, a number.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ckptplan.readers.records.slurm.columns import Header
from ckptplan.readers.records.slurm.states import state_of

MOST_JOINED = 64  # lines of one row
MOST_EXTRA = 2_000  # delimiters in free fields of one row

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}\S*|[0-9]{9,12}|Unknown|None|")
_JOB = re.compile(r"[0-9]+(?:[_+.][0-9A-Za-z_+.\[\],%-]*)?")
_ELAPSED = re.compile(r"(?:[0-9]+-)?(?:[0-9]+:)?[0-9]+:[0-9.]+|UNLIMITED|INVALID|Partition_Limit|")
_NUMBER = re.compile(r"[0-9]*")
_EXIT = re.compile(r"(?:[0-9]+:[0-9]+)?")
_TRES = re.compile(r"(?:[A-Za-z/:_0-9.-]+=[^=,]+(?:,|$))*")

Check = Callable[[str], object]
_CHECKS: Mapping[str, Check] = {
    "jobid": _JOB.fullmatch, "jobidraw": _JOB.fullmatch, "state": state_of,
    "start": _TIME.fullmatch, "end": _TIME.fullmatch, "submit": _TIME.fullmatch, "eligible": _TIME.fullmatch,
    "elapsed": _ELAPSED.fullmatch, "elapsedraw": _NUMBER.fullmatch, "timelimit": _ELAPSED.fullmatch,
    "nnodes": _NUMBER.fullmatch, "allocnodes": _NUMBER.fullmatch, "alloccpus": _NUMBER.fullmatch,
    "ncpus": _NUMBER.fullmatch, "restarts": _NUMBER.fullmatch, "exitcode": _EXIT.fullmatch,
    "derivedexitcode": _EXIT.fullmatch, "alloctres": _TRES.fullmatch, "reqtres": _TRES.fullmatch,
}  # fmt: skip


class TornLine(NamedTuple):
    """A line that has another number of fields than the header; rows count from 0."""

    row: int
    text: str


def joined(
    lines: Iterable[TornLine], delimiter: str, fields: int, fits: Callable[[str], bool]
) -> Iterator[tuple[int, str, int]]:
    """Rows out of neighbouring lines, with place and number of these: a field held a line break where they add up.

    The newest lines that make a row that ``fits`` are joined; a line that no such row takes up stands alone.
    """
    held: deque[TornLine] = deque()
    total = 0
    for line in lines:
        count = line.text.count(delimiter) + 1
        if held and (count > fields or line.row != held[-1].row + 1 or len(held) == MOST_JOINED):
            yield from _single(held)
            held, total = deque(), 0
        if count > fields:
            yield line.row, line.text, 1
            continue
        held.append(line)
        total += count - (len(held) > 1)
        while total > fields:
            first = held.popleft()
            total -= first.text.count(delimiter)
            yield first.row, first.text, 1
        text = " ".join(part.text for part in held)
        if total == fields and len(held) > 1 and fits(text):
            yield held[0].row, text, len(held)
            held, total = deque(), 0
    yield from _single(held)


def _single(held: Iterable[TornLine]) -> Iterator[tuple[int, str, int]]:
    for line in held:
        yield line.row, line.text, 1


class Mender:
    """Cuts rows with more delimiters than columns at the right places."""

    def __init__(self, header: Header, needed: Iterable[int], delimiter: str) -> None:
        self.names, self.free, self.needed = header.names, header.free(), tuple(needed)
        self.delimiter = delimiter
        frees = [place for place, free in enumerate(self.free) if free]
        self.only = frees[0] if len(frees) == 1 else None
        self.checks = [_CHECKS.get(name) for name in header.names]

    def fits(self, text: str) -> bool:
        """Whether a row has a cell of its kind in every column."""
        return self.cells(text.split(self.delimiter)) is not None

    def cells(self, fields: list[str]) -> list[str] | None:
        """The needed cells of a row; None where it cannot be cut in one way only."""
        extra = len(fields) - len(self.names)
        if extra < 0 or extra > MOST_EXTRA:
            return None
        if extra and not any(self.free):
            return None
        if self.only is not None:
            return self._around(fields, extra, self.only)
        starts = self._starts(fields, extra)
        if starts is None:
            return None
        return [self.delimiter.join(fields[column + shift : column + after + 1]) for column, shift, after in starts]

    def _around(self, fields: list[str], extra: int, free: int) -> list[str] | None:
        """The needed cells where one column alone can hold the delimiter: much the same as below, and faster."""
        cells = []
        for column in self.needed:
            if column == free:
                cells.append(self.delimiter.join(fields[column : column + extra + 1]))
                continue
            cell = fields[column if column < free else column + extra]
            check = self.checks[column]
            if check is not None and not check(cell):
                return None
            cells.append(cell)
        return cells

    def _starts(self, fields: list[str], extra: int) -> list[tuple[int, int, int]] | None:
        """For every needed column how many extra fields lie before it, and up to its end.

        Bit e of a mask: e extra fields may lie before a column. Masks from the left and from the right agree in one bit
        where the row can be cut in one way.
        """
        every = (1 << (extra + 1)) - 1
        left = [1]
        for column in range(len(self.names)):
            left.append(self._through(column, left[-1], fields, every, extra))
        right = 1 << extra
        possible = [0] * (len(self.names) + 1)
        possible[-1] = left[-1] & right
        for column in range(len(self.names) - 1, -1, -1):
            right = self._back(column, right, fields, extra) & left[column]
            possible[column] = right
        found = []
        for column in self.needed:
            before, after = possible[column], possible[column + 1]
            if before.bit_count() != 1 or after.bit_count() != 1:
                return None
            found.append((column, before.bit_length() - 1, after.bit_length() - 1))
        return found

    def _through(self, column: int, mask: int, fields: list[str], every: int, extra: int) -> int:
        if self.free[column]:
            return every & ~((mask & -mask) - 1) if mask else 0
        return self._checked(column, mask, fields, extra)

    def _back(self, column: int, mask: int, fields: list[str], extra: int) -> int:
        if self.free[column]:
            return (1 << mask.bit_length()) - 1
        return self._checked(column, mask, fields, extra)

    def _checked(self, column: int, mask: int, fields: list[str], extra: int) -> int:
        """The bits of a mask for which the field holds what the column may hold."""
        check = self.checks[column]
        if check is None:
            return mask
        kept = 0
        for shift in range(extra + 1):
            if mask >> shift & 1 and check(fields[column + shift]):
                kept |= 1 << shift
        return kept

"""Text in columns with a separator: its header, and its cells in chunks of bounded size."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ckptplan.errors import printable
from ckptplan.fit.record import LeftOut
from ckptplan.readers.column_roles import MOST_COLUMNS, ROLES, plain
from ckptplan.readers.files import LONGEST_LINE, Line, TextLines, refused

CHUNK_ROWS = 50_000  # rows that are held as text at one time
_CHUNK_CELLS = 2_000_000
_CHUNK_SIZE = 32_000_000  # characters
LONGEST_CELL = 500  # characters that are kept of a cell
_MOST_LINES = 50  # of one quoted cell
_SEPARATORS = ",;\t|"
_CLOCK = re.compile(r"[0-9]{1,2}:")  # the second part of a stamp, no column of its own
_MOMENT = re.compile(r"[0-9]+(?:\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9:]+)?")
_VALUE = re.compile(r"[-+.]?[0-9]|(?:nan|inf)\b|true$|false$", re.IGNORECASE)


class Delimited:
    """A table in a file; rows are gone through once.

    The first line that is not blank and does not begin with # is the header, unless a cell of it is a number or a time:
    then columns are called "column 1" and so on.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lines = TextLines(path)
        self._source = iter(self._lines)
        self._left: Counter[str] = Counter()
        first = next(self._filled(), None)
        if first is None:
            long = f"; its first line has more than {LONGEST_LINE:,} bytes" if self._lines.too_long else ""
            raise refused(path, f"holds no line of a table{long}", "is this the right file?")
        self.separator = separator_of(first.text)
        self._split_at = None if self.separator == " " else self.separator  # None: at any number of blanks
        if first.text.count(self.separator) >= MOST_COLUMNS:
            count = first.text.count(self.separator) + 1
            raise refused(path, f"{count:,} columns; {MOST_COLUMNS:,} are the most", "is this the right file?")
        cells = self._split(first.text)
        self.has_header = not any(_VALUE.match(cell.strip()) for cell in cells)
        self.names = [c.strip() for c in cells] if self.has_header else [f"column {n + 1}" for n in range(len(cells))]
        self._pending = None if self.has_header else first

    def columns(self, wanted: Sequence[int]) -> Iterator[list[list[str]]]:
        """The cells of some columns, chunk by chunk: one list of texts for each column."""
        most = max(1, min(CHUNK_ROWS, _CHUNK_CELLS // len(self.names)))
        rows: list[list[str]] = []
        size = 0
        for cells, length in self._rows():
            rows.append(cells)
            size += length
            if len(rows) >= most or size > _CHUNK_SIZE:
                yield _picked(rows, wanted)
                rows, size = [], 0
        if rows:
            yield _picked(rows, wanted)

    def first_cells(self) -> list[str]:
        """The cells of the first line where no header stands there."""
        return [] if self._pending is None else [cell.strip() for cell in self._split(self._pending.text)]

    def left_out(self) -> tuple[LeftOut, ...]:
        """Lines that gave no row."""
        return (*self._lines.left_out(), *(LeftOut(reason, rows) for reason, rows in self._left.items()))

    def warnings(self) -> tuple[str, ...]:
        """What was wrong with the text."""
        return self._lines.warnings()

    def _filled(self) -> Iterator[Line]:
        """Lines that hold something; a comment is none before the header, and none after it if it is a whole line."""
        return (line for line in self._source if (text := line.text.strip()) and not text.startswith("#"))

    def _rows(self) -> Iterator[tuple[list[str], int]]:
        """The cells of each row, and how long its text is."""
        wanted = len(self.names)
        for text in self._joined():
            cells = self._split(text) if '"' in text else text.split(self._split_at)
            if len(cells) != wanted:
                while len(cells) > wanted and not cells[-1].strip():
                    cells.pop()
                if len(cells) != wanted:
                    few = len(cells) < wanted
                    self._left[f"rows with {'fewer' if few else 'more'} cells than the header"] += 1
                    continue
            yield cells, len(text)

    def _joined(self) -> Iterator[str]:
        """Rows as text: one line each, or more where a quoted cell holds line breaks."""
        held: list[str] = []
        if self._pending is not None:
            yield self._pending.text
        for _, line in self._source:
            text = line.strip()
            if not text or text[0] == "#":
                continue
            if not held and '"' not in line:
                yield line
                continue
            held.append(line)
            if sum(text.count('"') for text in held) % 2 == 0:
                yield "\n".join(held)
                held = []
            elif len(held) >= _MOST_LINES or sum(map(len, held)) > LONGEST_LINE:
                yield from self._torn(held)
                held = []
        yield from self._torn(held)

    def _torn(self, held: list[str]) -> Iterator[str]:
        """After a quote that never closes: that line is left out, the others are rows."""
        if held:
            self._left["rows with a quote that does not close"] += 1
            for text in held[1:]:
                if text.count('"') % 2:
                    self._left["rows with a quote that does not close"] += 1
                else:
                    yield text

    def _split(self, text: str) -> list[str]:
        if self._split_at is None:
            return text.split()
        try:
            return next(csv.reader([text], delimiter=self.separator), [])
        except csv.Error:  # a cell longer than the csv module takes
            return []

    def shown_names(self) -> str:
        """Some of the names of the columns, for a message."""
        shown = ", ".join(printable(name[:40]) for name in self.names[:20])
        return shown + (f" and {len(self.names) - 20:,} more" if len(self.names) > 20 else "")


def _picked(rows: list[list[str]], wanted: Sequence[int]) -> list[list[str]]:
    columns = list(zip(*rows, strict=True))
    return [
        [cell[:LONGEST_CELL] for cell in columns[at]]
        if max(map(len, columns[at])) > LONGEST_CELL
        else list(columns[at])
        for at in wanted
    ]


def separator_of(text: str) -> str:
    """The separator that a line has most of, quoted cells left aside; blanks between times; a comma if it has none."""
    bare = re.sub(r'"[^"]*"', "", text)
    best = max(_SEPARATORS, key=bare.count)
    words = bare.split(maxsplit=MOST_COLUMNS)
    if best in bare or len(words) < 2 or _CLOCK.match(words[1]):
        return best if best in bare else ","
    known = {name for names in ROLES.values() for name in names}
    return " " if all(_MOMENT.fullmatch(word) or plain(word) in known for word in words[:2]) else ","

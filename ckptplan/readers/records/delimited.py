"""Text in columns with a separator: its header, and its cells in chunks of bounded size."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from ckptplan.errors import printable
from ckptplan.fit.record import LeftOut
from ckptplan.readers.files import LONGEST_LINE, Line, TextLines, open_record, refused
from ckptplan.readers.records.column_roles import MOST_COLUMNS
from ckptplan.readers.records.plain_blocks import BLOCK, FEWER, MORE, parsed, plain_block
from ckptplan.readers.records.separators import few_lines, separator_of

CHUNK_ROWS = 50_000  # rows that are held as text at one time
_CHUNK_CELLS = 2_000_000
_CHUNK_SIZE = 32_000_000  # characters
LONGEST_CELL = 500  # characters that are kept of a cell
_MOST_LINES = 50  # of one quoted cell
_VALUE = re.compile(r"[-+.]?[0-9]|(?:nan|inf)\b|true$|false$", re.IGNORECASE)


class Delimited:
    """A table in a file; rows are gone through once.

    The first line that is not blank and does not begin with # is the header, unless a cell of it is a number or a time:
    then columns are called "column 1" and so on.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lines = TextLines(path)
        self._opened = _opened(path)  # closes the file when nobody reads any more
        self._stream = next(self._opened)
        self._source = self._lines.of(self._stream)
        self._left: Counter[str] = Counter()
        first = next(self._filled(), None)
        if first is None:
            long = f"; its first line has more than {LONGEST_LINE:,} bytes" if self._lines.too_long else ""
            raise refused(path, f"holds no line of a table{long}", "is this the right file?")
        self.separator = separator_of(first.text, self._following())
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
        for cells, length in self._rows(self._rest()):
            rows.append(cells)
            size += length
            if len(rows) >= most or size > _CHUNK_SIZE:
                yield _picked(rows, wanted)
                rows, size = [], 0
        if rows:
            yield _picked(rows, wanted)

    def arrays(self, wanted: Sequence[int]) -> Iterator[list[Any]]:
        """The same as pyarrow arrays of strings, and faster: blocks of plain lines are taken apart as a whole."""
        if self._split_at is not None and self._pending is None:
            while (block := self._block()) is not None:
                plain_lines = plain_block(block, self.separator)
                if plain_lines is None:
                    self._source = self._again(block)
                    break
                yield self._arrays_of(block, plain_lines, wanted)
        for chunk in self.columns(wanted):
            yield [_array(texts) for texts in chunk]

    def _block(self) -> bytes | None:
        """Some lines, whole ones unless one is too long; None at the end."""
        block = self._stream.read(BLOCK)
        if block and not block.endswith(b"\n"):
            block += self._stream.readline(LONGEST_LINE + 1)
        return block or None

    def _again(self, block: bytes) -> Iterator[Line]:
        """The lines of a block that was read, and of the rest."""
        yield from self._lines.of(io.BytesIO(block))
        if not block.endswith(b"\n"):  # in the middle of a line that is too long, or at the end
            self._lines.skip(self._stream)
        yield from self._lines.of(self._stream)

    def _arrays_of(self, block: bytes, plain_lines: bytes, wanted: Sequence[int]) -> list[Any]:
        found = parsed(plain_lines, len(self.names), self.separator, wanted)
        if found is None:
            rows = [cells for cells, _ in self._rows(self._lines.of(io.BytesIO(block)))]
            return [_array(texts) for texts in (_picked(rows, wanted) if rows else [[] for _ in wanted])]
        self._lines.lines += block.count(b"\n")
        self._left.update(found.left)
        return [_short(array) for array in found.columns]

    def line_of(self, at: int, text: str) -> int | None:
        """The first line with a text in some column; quoted cells of several lines are not looked at."""
        for number, line in TextLines(self.path):
            if text in line:
                cells = self._split(line)
                if at < len(cells) and cells[at].strip() == text:
                    return number
        return None

    def _following(self) -> list[str]:
        """Lines behind the first one, as far as they can be seen without reading on."""
        seen = self._stream.peek(BLOCK) if isinstance(self._stream, io.BufferedReader) else b""
        return [line for line in map(str.strip, few_lines(seen)) if line and line[0] != "#"]

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

    def _rest(self) -> Iterator[Line]:
        """The first line, where it is no header, and those that were not read yet."""
        if self._pending is not None:
            yield self._pending
        yield from self._source

    def _rows(self, source: Iterable[Line]) -> Iterator[tuple[list[str], int]]:
        """The cells of each row, and how long its text is."""
        wanted = len(self.names)
        for text in self._joined(source):
            cells = self._split(text) if '"' in text else text.split(self._split_at)
            if len(cells) != wanted:
                while len(cells) > wanted and not cells[-1].strip():
                    cells.pop()
                if len(cells) != wanted:
                    self._left[FEWER if len(cells) < wanted else MORE] += 1
                    continue
            yield cells, len(text)

    def _joined(self, source: Iterable[Line]) -> Iterator[str]:
        """Rows as text: one line each, or more where a quoted cell holds line breaks."""
        held: list[str] = []
        for _, line in source:
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


def _array(texts: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.array(texts, pa.string())


def _short(column: Any) -> Any:
    """Cells of bounded length."""
    import pyarrow.compute as pc

    longest = pc.max(pc.binary_length(column)).as_py() or 0
    return pc.utf8_slice_codeunits(column, 0, LONGEST_CELL) if longest > LONGEST_CELL else column


def _opened(path: str) -> Iterator[BinaryIO]:
    with open_record(path) as stream:
        yield stream

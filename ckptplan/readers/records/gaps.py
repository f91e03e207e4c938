"""Gaps between failures from a small text or CSV file of gaps or of time stamps."""

from __future__ import annotations

import csv
import math
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from ckptplan.errors import InputError, Place, Problem
from ckptplan.units import UnitError, parse_quantity

LARGEST_FILE = 16_000_000  # bytes
MOST_ENTRIES = 1_000_000
MOST_PROBLEMS = 20

_COLUMNS = ("gap_s", "gap", "timestamp", "time")  # "gap" has units, gap_s does not
_HEADERS = "gap_s (seconds), gap (with a unit), time or timestamp (ISO 8601)"
_SHAPE = "one entry a line: 3.2 h, or 2024-07-01T12:00:00Z"
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_LIKE_A_DATE = re.compile(r"[0-9]{4}-[0-9]{2}|[0-9]{8}T|[0-9]{1,4}[./][0-9]{1,2}[./][0-9]{1,4}")
_STAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")


class EntryKind(StrEnum):
    """What the entries of the file are."""

    GAPS = "gaps"
    TIMES = "times"


class RecordedGaps(NamedTuple):
    """Times between failures, in the order of the file; of time stamps, one fewer than entries."""

    gaps_s: tuple[float, ...]
    kind: EntryKind
    entries: int
    span_s: float  # sum of the gaps
    first: datetime | None = None  # time stamps only
    last: datetime | None = None


class _Entry(NamedTuple):
    line: int
    text: str


class _Faults:
    """Problems of one file, counted beyond those that are kept."""

    def __init__(self, file: str) -> None:
        self.file, self.kept, self.count = file, list[Problem](), 0

    def add(self, line: int | None, message: str, hint: str | None = None) -> None:
        self.count += 1
        if len(self.kept) < MOST_PROBLEMS:
            self.kept.append(Problem(message, Place(self.file, line), hint=hint or f"write {_SHAPE}"))

    def stop(self, line: int | None, message: str, hint: str | None = None) -> InputError:
        """The error for a fault that ends the reading."""
        self.add(line, message, hint)
        return self.error()

    def error(self) -> InputError:
        more = self.count - len(self.kept)
        rest = Problem(f"and {more:,} more fault{'' if more == 1 else 's'}", Place(self.file))
        return InputError([*self.kept, rest] if more else self.kept)


def read_gaps(path: str | Path) -> RecordedGaps:
    """Gaps between failures from a file.

    Parameters
    ----------
    path : str or Path
        Text, UTF-8: one gap with its unit a line, or one time stamp (ISO 8601, all with a zone or all without).
        Blank lines and lines after # are skipped. A first line may name the columns; of several, separated by
        comma, semicolon or tab, the first one called gap_s, gap, time or timestamp is read.

    Returns
    -------
    RecordedGaps
        Gaps, all positive. [s]

    Raises
    ------
    InputError
        With every fault of the file and its line, 20 at most.
    """
    faults = _Faults(str(path))
    text = _text(_bytes(Path(path), faults), faults)
    column, entries = _entries(text, faults)
    if len(entries) > MOST_ENTRIES:
        raise faults.stop(entries[MOST_ENTRIES].line, f"more than {MOST_ENTRIES:,} entries")
    if faults.count == 0 and len(entries) < 2:
        found = "no entry" if not entries else "one entry only"
        raise faults.stop(None, f"{found} in the file; two are the least", f"write {_SHAPE}")
    times = column in ("time", "timestamp") or (column is None and bool(entries) and _is_date(entries[0].text))
    return _of_times(entries, faults) if times else _of_gaps(entries, column, faults)


def _bytes(path: Path, faults: _Faults) -> bytes:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            what = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
            raise faults.stop(None, f"is {what}", "name a text file of failures")
        with path.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise faults.stop(None, "no such file", "name a text file of failures") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        said = (error.strerror if isinstance(error, OSError) else None) or "the name cannot be a file"
        raise faults.stop(None, f"cannot be read: {said}") from None
    if len(data) > LARGEST_FILE:
        raise faults.stop(None, f"is larger than {LARGEST_FILE // 1_000_000} MB", "is this the right file?")
    return data


def _text(data: bytes, faults: _Faults) -> str:
    if data.startswith(_OTHER_ENCODINGS):
        raise faults.stop(None, "the text is UTF-16 or UTF-32, not UTF-8", "save the file as UTF-8")
    if b"\0" in data:
        raise faults.stop(data.count(b"\n", 0, data.index(b"\0")) + 1, "a NUL byte: this is no text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise faults.stop(line, f"byte 0x{data[error.start]:02X} is not UTF-8", "save the file as UTF-8") from None


def _entries(text: str, faults: _Faults) -> tuple[str | None, list[_Entry]]:
    """The name of the column, None without a header, and its entries."""
    lines = _lines(text)
    first = next(lines, None)
    if first is None:
        return None, []
    separator = next((c for c in ",;\t" if c in first.text), ",")
    names = [name.strip().strip('"').strip().lower() for name in first.text.split(separator)]
    column = next((name for name in names if name in _COLUMNS), None)
    if column is not None:
        return column, _column(lines, names, column, separator, faults)
    if not re.search("[0-9]", first.text):
        raise faults.stop(first.line, f"no column is one of {', '.join(_COLUMNS)}", f"name it {_HEADERS}")
    return None, [first, *lines]


def _lines(text: str) -> Iterator[_Entry]:
    """Lines that hold something, comments cut off."""
    for number, line in enumerate(re.split("\r\n|\n|\r", text), start=1):
        kept = line.partition("#")[0].strip(" \f\v")
        if kept.strip():
            yield _Entry(number, kept)


def _column(lines: Iterator[_Entry], names: list[str], column: str, separator: str, faults: _Faults) -> list[_Entry]:
    """One column; a quoted field may hold the separator but no line break."""
    index = names.index(column)
    entries = []
    for number, line in lines:
        try:
            row = next(csv.reader([line], delimiter=separator, strict=True))
        except csv.Error as error:
            faults.add(number, f"not a line of CSV: {error}", "close every quote")
            continue
        if len(row) > len(names):
            found = f"{len(row)} fields where the header has {len(names)}"
            faults.add(
                number, found, "write 5_000 for a number of thousands, and quote a text that holds the separator"
            )
        elif index < len(row) and row[index].strip():
            entries.append(_Entry(number, row[index].strip()))
        else:
            faults.add(number, f"column {index + 1} is empty")
    return entries


def _of_gaps(entries: list[_Entry], column: str | None, faults: _Faults) -> RecordedGaps:
    gaps = []
    for number, text in entries:
        try:
            gap = _seconds(text) if column == "gap_s" else parse_quantity(text, "time")
        except UnitError as error:
            hint = error.hint
            if column is None and _is_date(text):
                hint = "the file began with gaps; a file holds gaps or time stamps, not both"
            elif column is None and _PLAIN.fullmatch(text.strip()):
                hint = f"{hint}; or begin the file with the line gap_s, if these are seconds"
            faults.add(number, str(error), hint)
            continue
        if gap == 0.0:
            faults.add(number, "a gap of 0", "two failures at one time are one interruption: delete one")
        gaps.append(gap)
    span = math.fsum(gaps) if all(gap < 1e300 for gap in gaps) else math.inf
    if math.isinf(span):
        faults.add(None, "the gaps add up to more than can be computed with")
    if faults.count:
        raise faults.error()
    return RecordedGaps(tuple(gaps), EntryKind.GAPS, len(entries), span)


def _seconds(text: str) -> float:
    if _PLAIN.fullmatch(text):
        return parse_quantity(float(text), "number")
    try:
        return parse_quantity(text, "number")
    except UnitError as error:
        raise UnitError(
            str(error), "gap_s holds seconds, for example 11135; call the column gap to write units"
        ) from None


def _of_times(entries: list[_Entry], faults: _Faults) -> RecordedGaps:
    gaps: list[float] = []
    before: tuple[int, datetime] | None = None
    first: datetime | None = None
    for number, text in entries:
        at = _stamp(number, text, faults)
        if at is None:
            continue
        first = first or at
        if (at.tzinfo is None) != (first.tzinfo is None):
            has = "no zone" if at.tzinfo is None else "a zone"
            faults.add(number, f"this time has {has}, unlike the first one", "write all with a zone, or all without")
            continue
        if before is not None:
            gap = (at - before[1]).total_seconds()
            if gap == 0.0:
                hint = "two failures at one time are one interruption: delete one line"
                faults.add(number, f"the same time as in line {before[0]}", hint)
            elif gap < 0.0:
                faults.add(number, f"earlier than the time in line {before[0]}", "sort the lines, the oldest first")
            gaps.append(gap)
        before = (number, at)
    if faults.count:
        raise faults.error()
    last = None if before is None else before[1]
    return RecordedGaps(tuple(gaps), EntryKind.TIMES, len(entries), math.fsum(gaps), first, last)


def _stamp(number: int, text: str, faults: _Faults) -> datetime | None:
    """The time, or None and a fault."""
    if _STAMP.fullmatch(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError as error:
            faults.add(number, f"{_shown(text)} is no time: {error}")
            return None
    if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        hint = f"write the time of day too, for example {text}T12:00:00"
    else:
        hint = "write ISO 8601, for example 2024-07-01T12:00:00Z"
    faults.add(number, f"{_shown(text)} is not a time stamp", hint)
    return None


def _is_date(text: str) -> bool:
    return _LIKE_A_DATE.match(text.strip()) is not None


def _shown(text: str) -> str:
    """The text as it can be printed anywhere."""
    text = text if len(text) <= 40 else f"{text[:37]}..."
    return text if text.isascii() and text.isprintable() and text else ascii(text)

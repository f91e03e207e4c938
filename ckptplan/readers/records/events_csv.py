"""Failures as CSV: a time for each, or its start and end, or the gaps between them; columns are named or guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ckptplan.fit.record import FailureRecord
from ckptplan.readers.files import refused
from ckptplan.readers.records.column_roles import Column, has_times, roles_of, said
from ckptplan.readers.records.delimited import Delimited
from ckptplan.readers.records.event_rows import EventRows
from ckptplan.readers.records.moments import EARLIEST_EPOCH_S, UNITS_S, numbers
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.separators import few_lines, separator_of

NAME = "CSV"
_GAP = re.compile(r"[0-9][0-9_.eE+]{0,30} ?(?:ms|s|min|h|d|day|days|hours?|minutes?|seconds?|weeks?)")
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]{5,18}(?:Z|[+-][0-9:]{4,5})?)?")


def looks_like(head: bytes) -> bool:
    """Whether the first line names a column of times, or the first lines are one time or one gap each."""
    names = header_of(head)
    if names:
        return has_times(roles_of(names, {}, ""))
    lines = [line.partition("#")[0].strip() for line in head.decode("utf-8-sig", "replace").splitlines()[:20]]
    lines = [line for line in lines if line]
    return bool(lines) and all(_GAP.fullmatch(line) or _STAMP.fullmatch(line) for line in lines[:-1] or lines)


def bare_numbers(head: bytes) -> bool:
    """Whether the first lines are one number each, which says no more than that."""
    lines = [line.partition("#")[0].strip() for line in few_lines(head)]
    lines = [line for line in lines if line]
    return bool(lines) and not np.isnan(numbers(lines)).any()


def header_of(head: bytes) -> list[str]:
    """The cells of the first line that holds something; empty for a line of values."""
    lines = [line for line in map(str.strip, few_lines(head)) if line and line[0] != "#"]
    text = lines[0] if lines else ""
    if not text or len(text) > 60_000 or text.lstrip().startswith(("{", "[")):
        return []
    cells = [cell.strip().strip('"') for cell in text.split(separator_of(text, lines[1:]))]
    return cells if all(cell and not cell[0].isdigit() for cell in cells if cell) else []


def read(path: str, options: RecordOptions) -> FailureRecord:
    """The failures of a table."""
    return read_table(path, options, NAME)


def read_table(path: str, options: RecordOptions, name: str) -> FailureRecord:
    """The failures of a table, by a name for the report."""
    table = Delimited(path)
    roles = _roles(table, options)
    rows = EventRows(path, name, roles, options)
    for chunk in table.arrays([column.at for column in roles.values()]):
        rows.add(dict(zip(roles, chunk, strict=True)))
    return rows.record(table.left_out(), table.warnings(), [said(roles, options.columns)], table.line_of)


def _roles(table: Delimited, options: RecordOptions) -> Mapping[str, Column]:
    roles = roles_of(table.names, options.columns, table.path)
    if not table.has_header and not roles:
        roles = _roles_without_header(table, options.unit)
    if not has_times(roles):
        raise refused(
            table.path,
            f"no column is known to hold times; there are {table.shown_names()}",
            "name one, for example --column time=NAME, start=NAME, end=NAME or gap=NAME",
        )
    return roles


def _roles_without_header(table: Delimited, unit: str | None) -> dict[str, Column]:
    """One column is gaps or times, as its first value is; of several, the first two are start and end."""
    first = table.first_cells()
    if len(first) == 1:
        return {"time" if _is_time(first[0], unit) else "gap": Column(0, table.names[0])}
    return {"start": Column(0, table.names[0]), "end": Column(1, table.names[1])}


def _is_time(text: str, unit: str | None) -> bool:
    """Whether a value is a time of the calendar, and no gap."""
    return _STAMP.fullmatch(text) is not None or bool(
        numbers([text])[0] * UNITS_S.get(unit or "s", 1.0) >= EARLIEST_EPOCH_S
    )

"""A sheet: named columns and rows of raw values, from which each text format is made."""

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ckptplan.errors import printable
from ckptplan.render.csv_cells import csv_text
from ckptplan.render.marking import within


def plain(value: Any) -> str:
    """A value as people read it when no better format is given."""
    if value is None:
        return "-"
    return str(value)


class Column(NamedTuple):
    """``key`` is the machine name (with its unit), ``title`` and ``show`` are for people; ``show`` None hides it."""

    key: str
    title: str = ""
    show: Callable[[Any], str] | None = plain
    right: bool = True
    named: bool = False  # a text that says little without its title, where rows stand one below the other


class Sheet(NamedTuple):
    """Rows of raw values under columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    emphasis: frozenset[int] = frozenset()  # rows to stress on a terminal

    def records(self) -> list[dict[str, Any]]:
        """One flat mapping per row, under the machine names, ready for JSON."""
        return [{c.key: json_ready(v) for c, v in zip(self.columns, row, strict=True)} for row in self.rows]

    def cells(self) -> tuple[list[Column], list[list[str]]]:
        """The columns that people see, and their cells as text."""
        seen = [(i, c) for i, c in enumerate(self.columns) if c.show is not None]
        rows = [[printable((c.show or plain)(row[i])) for i, c in seen] for row in self.rows]
        return [c for _, c in seen], rows


def json_ready(value: Any) -> Any:
    """Full precision, with null for what is not a finite number."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(k): json_ready(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(v) for v in value]
    return value


def to_json(document: Any) -> str:
    """A JSON document with stable key order, ended by a newline."""
    return json.dumps(json_ready(document), indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def to_csv(sheets: Sequence[Sheet]) -> str:
    """Sheets of equal columns as one CSV with one header (RFC 4180 quoting, line feeds).

    Control characters and line breaks of names are ?, as in tables: each row is one line. An apostrophe stands before
    a text that a spreadsheet would take for a formula. JSON has them as they are.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.key for column in sheets[0].columns])
    for sheet in sheets:
        for record in sheet.records():
            writer.writerow([_csv_cell(value) for value in record.values()])
    return out.getvalue()


def _csv_cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return csv_text(value) if isinstance(value, str) else value


def to_markdown(sheet: Sheet) -> str:
    """A Markdown table, cells as people read them."""
    columns, rows = sheet.cells()
    lines = [markdown_row([column.title for column in columns])]
    lines.append(markdown_row(["---:" if column.right else "---" for column in columns]))
    lines += [markdown_row(row) for row in rows]
    return "\n".join(lines) + "\n"


def markdown_row(cells: Sequence[str]) -> str:
    """One line of a Markdown table, in which every cell stays the text that it is."""
    return f"| {' | '.join(map(within, cells))} |"

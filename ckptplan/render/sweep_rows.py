"""Parts of a sweep as bytes of CSV or JSON: columns become texts as arrays, and rows are joined without a loop.

Values of axes and names are formatted once each and taken by number; that and pyarrow's conversion of numbers let
threads work side by side.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ckptplan.errors import printable
from ckptplan.render.sweep_columns import Shown
from ckptplan.sweep.columns import Column, Columns, Labels, length

_BLOCK = 1 << 16  # rows: a few tens of megabytes of text
_MOST_LOOKED_UP = 1 << 16  # values of an axis that are looked up rather than formatted


class Style(NamedTuple):
    """A format of rows: how a text is written, what stands for none, and what stands around rows."""

    text: Callable[[str], str]
    none: str
    before: str  # before each row; the first row of a part goes without the line feed of the one before it
    after: str


def _csv_text(text: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([printable(text)])
    return out.getvalue()


CSV = Style(_csv_text, "", "\n", "")
JSON = Style(lambda text: json.dumps(text, ensure_ascii=True), "null", ",\n    [", "]")


def csv_header(columns: Sequence[Shown]) -> bytes:
    """The first line."""
    return ",".join(_csv_text(column.header) for column in columns).encode()


def encoded(part: Columns, columns: Sequence[Shown], style: Style) -> Iterator[bytes]:
    """The rows of one part; each begins with what stands before a row."""
    for start in range(0, length(part), _BLOCK):
        yield _block(part, columns, style, slice(start, start + _BLOCK))


def _block(part: Columns, columns: Sequence[Shown], style: Style, rows: slice) -> bytes:
    import pyarrow.compute as pc

    texts = [
        _texts(part[column.name], column, style, rows, style.before if number == 0 else "")
        for number, column in enumerate(columns)
    ]
    if style.after:
        texts[-1] = pc.binary_join_element_wise(texts[-1], style.after, "")
    return _joined(texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, ","))


def _joined(texts: Any) -> bytes:
    """The bytes of all texts one after another."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32, count=len(texts) + 1 + texts.offset)
    data: bytes = texts.buffers()[2][int(offsets[texts.offset]) : int(offsets[-1])].to_pybytes()
    return data


def _texts(column: Column, shown: Shown, style: Style, rows: slice, before: str) -> Any:
    """One column as an array of texts; ``before`` stands before each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, Labels):
        words = pa.array([*(before + style.text(name) for name in column.names), before + style.none], pa.string())
        codes = column.codes[rows]
        return words.take(pa.array(np.where(codes < 0, len(column.names), codes)))
    values = column[rows]
    if shown.axis is not None and 0 < len(shown.axis.values) <= _MOST_LOOKED_UP:
        return _looked_up(values, shown, before)
    texts = pc.cast(_as_numbers(values, shown), pa.string())
    texts = pc.fill_null(texts, style.none) if texts.null_count else texts
    return pc.binary_join_element_wise(before, texts, "") if before else texts


def _looked_up(values: Any, shown: Shown, before: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = np.unique(np.asarray(shown.axis.values if shown.axis else (), dtype=values.dtype))
    words = pc.binary_join_element_wise(before, pc.cast(pa.array(known), pa.string()), "")
    return words.take(pa.array(np.searchsorted(known, values)))


def _as_numbers(values: Any, shown: Shown) -> Any:
    """The numbers as an array in which none stands for what is not finite."""
    import pyarrow as pa

    if values.dtype.kind != "f":
        return pa.array(values)
    unknown = ~np.isfinite(values)
    mask = unknown if unknown.any() else None
    if shown.whole and np.abs(values, where=~unknown, out=np.zeros_like(values)).max(initial=0.0) < 2.0**53:
        return pa.array(np.where(unknown, 0.0, values).astype(np.int64), mask=mask)
    return pa.array(values, mask=mask)

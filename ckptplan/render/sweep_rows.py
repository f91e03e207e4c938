"""Parts of a sweep as bytes of CSV or JSON: columns become texts as arrays, and rows are joined without a loop.

Values of axes and names are formatted once each and taken by number; that and pyarrow's conversion of numbers let
threads work side by side.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ckptplan.errors import printable
from ckptplan.render.sweep_columns import Shown
from ckptplan.sweep.columns import Columns, Labels, length

_BLOCK = 1 << 16  # rows: a few tens of megabytes of text
_MOST_LOOKED_UP = 1 << 16  # values of an axis that are looked up rather than formatted
_SHORTEST, _RUN = 64, 4  # rows among which runs are looked for, and how long runs must be in the mean
_EXACT = 2.0**53  # below, every whole number is one of floating point

Numbers: TypeAlias = npt.NDArray[np.float64] | npt.NDArray[np.int64]


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


def encoded(part: Columns, columns: Sequence[Shown], style: Style) -> Iterator[memoryview]:
    """The rows of one part; each begins with what stands before a row."""
    for start in range(0, length(part), _BLOCK):
        yield _block(part, columns, style, slice(start, start + _BLOCK))


def _block(part: Columns, columns: Sequence[Shown], style: Style, rows: slice) -> memoryview:
    import pyarrow.compute as pc

    made: list[tuple[Numbers, bool, Any]] = []  # columns that often equal each other are made into texts once
    texts: list[Any] = []
    for number, shown in enumerate(columns):
        column, before = part[shown.name], "" if number else style.before
        if isinstance(column, Labels):
            texts.append(_labels(column, style, rows, before))
            continue
        values = column[rows]
        known = None if before else _equal(values, shown.whole, made)
        texts.append(_numbers(values, shown, style, before) if known is None else known)
        if not before:
            made.append((values, shown.whole, texts[-1]))
    if style.after:
        texts[-1] = pc.binary_join_element_wise(texts[-1], style.after, "")
    return _joined(texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, ","))


def _equal(values: Numbers, whole: bool, made: Sequence[tuple[Numbers, bool, Any]]) -> Any:
    """The texts of a column of the same numbers, if there is one."""
    for other, other_whole, texts in made:
        if whole == other_whole and values[-1] == other[-1] and np.array_equal(values, other):
            return texts
    return None


def _joined(texts: Any) -> memoryview:
    """The bytes of all texts one after another."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32, count=len(texts) + 1 + texts.offset)
    return memoryview(texts.buffers()[2])[int(offsets[texts.offset]) : int(offsets[-1])]


def _labels(column: Labels, style: Style, rows: slice, before: str) -> Any:
    """Names as an array of texts; ``before`` stands before each."""
    import pyarrow as pa

    words = pa.array([*(before + style.text(name) for name in column.names), before + style.none], pa.string())
    codes = column.codes[rows]
    return words.take(pa.array(np.where(codes < 0, len(column.names), codes)))


def _numbers(values: Numbers, shown: Shown, style: Style, before: str) -> Any:
    """Numbers as an array of texts; of a run of equal ones, the first is formatted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    changes = values[1:] != values[:-1]
    if len(values) > _SHORTEST and np.count_nonzero(changes) * _RUN < len(values):
        starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
        lengths = np.diff(starts, append=len(values))
        words = _numbers(values[starts], shown, style, before)
        return words.take(pa.array(np.repeat(np.arange(len(starts)), lengths)))
    if shown.axis is not None and len(shown.axis.values) <= min(_MOST_LOOKED_UP, len(values)):
        return _looked_up(values, shown, before)
    texts = pc.cast(_as_numbers(values, shown), pa.string())
    texts = pc.fill_null(texts, style.none) if texts.null_count else texts
    return pc.binary_join_element_wise(before, texts, "") if before else texts


def _looked_up(values: Numbers, shown: Shown, before: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = np.unique(np.asarray(shown.axis.values if shown.axis else (), dtype=values.dtype))
    words = pc.binary_join_element_wise(before, pc.cast(pa.array(known), pa.string()), "")
    return words.take(pa.array(np.searchsorted(known, values)))


def _as_numbers(values: Numbers, shown: Shown) -> Any:
    """The numbers as an array in which none stands for what is not finite."""
    import pyarrow as pa

    if values.dtype.kind != "f":
        return pa.array(values)
    unknown = ~np.isfinite(values)
    mask = unknown if unknown.any() else None
    if shown.whole and np.abs(values, where=~unknown, out=np.zeros_like(values)).max(initial=0.0) < _EXACT:
        return pa.array(np.where(unknown, 0.0, values).astype(np.int64), mask=mask)
    return pa.array(values, mask=mask)

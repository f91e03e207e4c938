"""Parts of a sweep as bytes of CSV or JSON: columns become texts as arrays, and rows are joined without a loop.

What depends on some axes only is formatted once for their values and taken by number; that and pyarrow's conversion of
numbers let threads work side by side.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ckptplan.render.csv_cells import csv_text
from ckptplan.render.sweep_columns import Shown
from ckptplan.render.sweep_grid import Grid, Piece, either, grid_of
from ckptplan.sweep.columns import Column, Columns, Labels, length

_BLOCK = 1 << 17  # rows, more than parts have as a rule: a few tens of megabytes of text
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
    csv.writer(out, lineterminator="").writerow([csv_text(text)])
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

    block = {shown.name: _rows_of(part[shown.name], rows) for shown in columns}
    grid = grid_of(length(block), (block[shown.name] for shown in columns if shown.axis is not None))  # type: ignore[misc]
    pieces = _beside(_pieces(block, columns, style, grid), grid)
    pieces[0] = Piece(pc.binary_join_element_wise(style.before, pieces[0].texts, ""), pieces[0].pattern)
    if style.after:
        pieces[-1] = Piece(pc.binary_join_element_wise(pieces[-1].texts, style.after, ""), pieces[-1].pattern)
    texts = [grid.over(piece, grid.whole) for piece in pieces]
    return _joined(texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, ","))


def _rows_of(column: Column, rows: slice) -> Column:
    return Labels(column.codes[rows], column.names) if isinstance(column, Labels) else column[rows]


def _pieces(block: Columns, columns: Sequence[Shown], style: Style, grid: Grid) -> Iterator[Piece]:
    """The texts of each column, of those that often equal each other made once."""
    made: list[tuple[Numbers, bool, Piece]] = []
    for shown in columns:
        values = block[shown.name]
        if isinstance(values, Labels):
            yield _labels(values, style, grid)
            continue
        piece = _equal(values, shown.whole, made)
        if piece is None:
            reduced, pattern = grid.reduced(values)
            piece = Piece(_numbers(reduced, shown, style), pattern)
            made.append((values, shown.whole, piece))
        yield piece


def _beside(pieces: Iterable[Piece], grid: Grid) -> list[Piece]:
    """Pieces in order, those put together beforehand that together change in a few rows only."""
    found: list[Piece] = []
    for piece in pieces:
        if found and grid.size(either(found[-1].pattern, piece.pattern)) * _RUN < grid.rows:
            found[-1] = grid.joined(found[-1], piece)
        else:
            found.append(piece)
    return found


def _equal(values: Numbers, whole: bool, made: Sequence[tuple[Numbers, bool, Piece]]) -> Piece | None:
    """The texts of a column of the same numbers, if there is one."""
    for other, other_whole, piece in made:
        if whole == other_whole and values[-1] == other[-1] and np.array_equal(values, other):
            return piece
    return None


def _joined(texts: Any) -> memoryview:
    """The bytes of all texts one after another."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32, count=len(texts) + 1 + texts.offset)
    return memoryview(texts.buffers()[2])[int(offsets[texts.offset]) : int(offsets[-1])]


def _labels(column: Labels, style: Style, grid: Grid) -> Piece:
    """Names as texts."""
    import pyarrow as pa

    words = pa.array([*map(style.text, column.names), style.none], pa.string())
    codes, pattern = grid.reduced(column.codes)
    return Piece(words.take(pa.array(np.where(codes < 0, len(column.names), codes))), pattern)


def _numbers(values: Numbers, shown: Shown, style: Style) -> Any:
    """Numbers as an array of texts; of a run of equal ones, the first is formatted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    changes = values[1:] != values[:-1]
    if len(values) > _SHORTEST and np.count_nonzero(changes) * _RUN < len(values):
        starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
        lengths = np.diff(starts, append=len(values))
        words = _numbers(values[starts], shown, style)
        return words.take(pa.array(np.repeat(np.arange(len(starts)), lengths)))
    texts = pc.cast(_as_numbers(values, shown), pa.string())
    return pc.fill_null(texts, style.none) if texts.null_count else texts


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

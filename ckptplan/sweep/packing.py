"""Columns as bytes and back: every float exact, nothing in them that could run."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ckptplan.sweep.columns import Column, Columns, Labels, length

_FLOAT, _WHOLE, _TEXT = "f8", "i8", "text"
_MOST_TITLES = 1 << 20  # bytes of the names and types of all columns
_MOST_COLUMNS = 10_000


class Damaged(ValueError):  # noqa: N818 - becomes an error of the file
    """Bytes that are no columns."""


def packed(columns: Columns) -> bytes:
    """Columns as bytes: the length of their titles, the titles as JSON, then each column, little-endian."""
    titles: list[list[Any]] = []
    pieces: list[bytes] = []
    for name, column in columns.items():
        if isinstance(column, Labels):
            texts = [text.encode("utf-8", "surrogatepass") for text in column.names]
            titles.append([name, _TEXT, len(texts)])
            pieces += [column.codes.astype("<i4").tobytes(), np.array([*map(len, texts)], "<i8").tobytes(), *texts]
        else:
            kind = _FLOAT if column.dtype.kind == "f" else _WHOLE
            titles.append([name, kind, 0])
            pieces.append(column.astype(f"<{kind}").tobytes())
    head = json.dumps([length(columns), titles]).encode()
    return b"".join([len(head).to_bytes(4, "little"), head, *pieces])


def unpacked(payload: bytes) -> dict[str, Column]:
    """The columns of `packed`; `Damaged` where these bytes never came from there."""
    rest = _Rest(payload)
    rows, titles = _titles(rest.take(int.from_bytes(rest.take(4), "little"), _MOST_TITLES))
    columns: dict[str, Column] = {}
    for name, kind, texts in titles:
        columns[name] = _labels(rest, rows, texts) if kind == _TEXT else rest.numbers(rows, f"<{kind}")
    if rest.left or len(columns) != len(titles):
        raise Damaged("there is more than the columns")
    return columns


class _Rest:
    """Bytes from which one piece after another is taken, never more than there are."""

    def __init__(self, payload: bytes) -> None:
        self._view = memoryview(payload)

    @property
    def left(self) -> int:
        return len(self._view)

    def take(self, size: int, most: int | None = None) -> bytes:
        if not 0 <= size <= (self.left if most is None else min(self.left, most)):
            raise Damaged(f"{size:,} bytes are announced and {self.left:,} are left")
        piece, self._view = bytes(self._view[:size]), self._view[size:]
        return piece

    def numbers(self, count: int, kind: str) -> npt.NDArray[Any]:
        found = np.frombuffer(self.take(count * np.dtype(kind).itemsize), dtype=kind)
        return found.astype(np.dtype(kind).newbyteorder("="))  # a copy, which may be written to


def _titles(raw: bytes) -> tuple[int, list[tuple[str, str, int]]]:
    try:
        rows, titles = json.loads(raw)
        named = [(name, kind, texts) for name, kind, texts in titles]
    except (ValueError, TypeError, RecursionError):
        raise Damaged("the titles of the columns cannot be read") from None
    whole = all(type(number) is int and number >= 0 for number in (rows, *(texts for *_, texts in named)))
    known = all(isinstance(name, str) and kind in (_FLOAT, _WHOLE, _TEXT) for name, kind, _ in named)
    if not whole or not known or len(named) > _MOST_COLUMNS:
        raise Damaged("the titles of the columns are none")
    return rows, named


def _labels(rest: _Rest, rows: int, count: int) -> Labels:
    codes = rest.numbers(rows, "<i4")
    sizes = rest.numbers(count, "<i8")
    if sizes.size and (int(sizes.min()) < 0 or math.fsum(sizes) > rest.left):
        raise Damaged("texts are announced that are not there")
    if codes.size and (int(codes.min()) < -1 or int(codes.max()) >= count):
        raise Damaged("a row names a text that is not there")
    try:
        return Labels(codes, tuple(rest.take(size).decode("utf-8", "surrogatepass") for size in sizes.tolist()))
    except UnicodeDecodeError:
        raise Damaged("a text is not UTF-8") from None

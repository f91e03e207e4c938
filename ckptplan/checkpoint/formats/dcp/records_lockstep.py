"""Many records of one shape read at once: each opcode is compared in all of them before the next one is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.formats.dcp.records_shapes import (
    FIXED,
    GET1,
    GET4,
    LITERAL,
    LONG1,
    LONGEST,
    MEMOIZE,
    NUMBER,
    RECALL,
    TEXT,
    WIDTHS,
    Shape,
)  # fmt: skip
from ckptplan.checkpoint.manifest import Ints

Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_PIECE = 32  # bytes that are taken at once
BLOCK = 1 << 16  # records that are read at once: what is made on the way stays in the cache

_WIDTHS = np.zeros(256, np.int64)
_BITS = np.zeros(256, np.uint64)
for _code, _width in WIDTHS.items():
    _WIDTHS[_code], _BITS[_code] = _width, 8 * (_width - 1)
_WIDTHS[[GET1, GET4]], _BITS[[GET1, GET4]] = (2, 5), (8, 32)
_SIGNED = ord("J")


class Records(NamedTuple):
    """Records of one shape, those that were looked for and are of it."""

    rows: Ints  # which of the starts
    ends: Ints  # positions
    memos: Ints  # places of the memo that each takes
    # One column for each gap: numbers; for a text that is recalled, and a recalled value, its place in the memo; for a
    # text that is written out a negative number, see `literal`.
    gaps: tuple[Ints, ...]


def literal(codes: Ints) -> tuple[Ints, Ints]:
    """Begins and ends of texts that are written out, of the negative numbers that stand for them."""
    starts = ~codes >> 8
    return starts, starts + (~codes & 255)


def words_of(data: bytes) -> Words:
    """The eight bytes from each position on, as one number."""
    return (
        np.ndarray((max(len(data) - 7, 0),), "<u8", buffer=data, strides=(1,)) if len(data) > 7 else np.empty(0, "<u8")
    )


def read_records(shape: Shape, words: Words, starts: Ints) -> Records:
    """Those of the records that begin at some positions, in ascending order, that are of a shape."""
    found = [_read_block(shape, words, starts[at : at + BLOCK], at) for at in range(0, len(starts), BLOCK)]
    gaps = len(shape.gaps)
    columns = [np.concatenate(column) for column in zip(*found, strict=True)] if found else [_EMPTY] * (3 + gaps)
    return Records(columns[0], columns[1], columns[2], tuple(columns[3:]))


_EMPTY: Ints = np.empty(0, np.int64)


def _read_block(shape: Shape, words: Words, starts: Ints, first: int) -> tuple[Ints, ...]:
    block = _Block(words, starts)
    for part in shape.parts:
        if part.kind == FIXED:
            block.fixed(part.raw)
        else:
            _GAPS[part.kind](block)
        if not block.fits.any():
            return (_EMPTY,) * (3 + len(shape.gaps))
    rows = np.flatnonzero(block.fits)
    memos = block.texts[rows] + shape.memos
    return rows + first, block.at[rows], memos, *(gap[rows] for gap in block.gaps)


class _Block:
    """Where each record is being read, whether it has fitted so far, and what its gaps held."""

    def __init__(self, words: Words, starts: Ints) -> None:
        self.words = words
        self.at = starts.copy()
        self.fits: Flags = np.ones(len(starts), bool)
        self.texts: Ints = np.zeros(len(starts), np.int64)  # that are written out
        self.gaps: list[Ints] = []

    def word(self, further: int | Ints = 0) -> Words:
        """Eight bytes of each record; one that ends too near to the end of the data does not fit."""
        at = self.at + further
        last = len(self.words) - 1
        inside = at <= last
        if not inside.all():
            self.fits &= inside
            at = np.minimum(at, last)
        found: Words = self.words[at]
        return found

    def fixed(self, raw: bytes) -> None:
        """Bytes that all records have: taken together from each record, compared eight at a time."""
        for first in range(0, len(raw), _PIECE):
            piece = raw[first : first + _PIECE]
            number = -(-len(piece) // 8)
            last = len(self.words) - 8 * number + 7
            at = self.at + first
            inside = at <= last
            if not inside.all():
                self.fits &= inside
                at = np.minimum(at, last)
            if last < 0:
                return
            windows = np.ndarray((last + 1,), f"V{8 * number}", buffer=self.words.base, strides=(1,))
            found = windows[at].view("<u8").reshape(-1, number)
            for column in range(number):
                part = piece[8 * column : 8 * column + 8]
                mask = np.uint64((1 << 8 * len(part)) - 1)
                self.fits &= (found[:, column] & mask) == np.uint64(int.from_bytes(part, "little"))
        self.at += len(raw)

    def number(self) -> None:
        """A whole number of any width."""
        word = self.word()
        code = (word & np.uint64(255)).astype(np.intp)
        widths = _WIDTHS[code]
        values = _payload(word, code)
        values -= ((values >> 31) << 32) * (code == _SIGNED)
        long = code == LONG1
        if long.any():
            sizes = ((word >> np.uint64(8)) & np.uint64(255)).astype(np.int64)
            values, widths = np.where(long, _long(word, sizes), values), np.where(long, 2 + sizes, widths)
            self.fits &= ~long | (sizes <= LONGEST)
        self.fits &= (long | (widths > 0)) & (code != GET1) & (code != GET4)
        self._advance(widths, values)

    def recall(self) -> None:
        """A value of the memo."""
        word = self.word()
        code = (word & np.uint64(255)).astype(np.intp)
        self.fits &= (code == GET1) | (code == GET4)
        self._advance(_WIDTHS[code], _payload(word, code))

    def text(self) -> None:
        """A text of the memo, or one that is written out and put there."""
        word = self.word()
        code = (word & np.uint64(255)).astype(np.intp)
        written = code == LITERAL
        self.fits &= written | (code == GET1) | (code == GET4)
        values, widths = _payload(word, code), _WIDTHS[code]
        if written.any():
            sizes = ((word >> np.uint64(8)) & np.uint64(255)).astype(np.int64)
            closing = self.word(np.where(written, sizes + 2, 0)) & np.uint64(255)
            self.fits &= ~written | (closing == MEMOIZE)
            values = np.where(written, ~((self.at + 2) * 256 + sizes), values)
            widths = np.where(written, sizes + 3, widths)
            self.texts += written
        self._advance(widths, values)

    def _advance(self, widths: Ints, values: Ints) -> None:
        self.gaps.append(values)
        self.at += widths * self.fits


_GAPS = {NUMBER: _Block.number, TEXT: _Block.text, RECALL: _Block.recall}


def _payload(word: Words, code: NDArray[np.intp]) -> Ints:
    """The argument of one, two or four bytes behind an opcode."""
    unused = np.uint64(64) - _BITS[code]
    found: Ints = (((word >> np.uint64(8)) << (unused & np.uint64(63))) >> (unused & np.uint64(63))).astype(np.int64)
    return found


def _long(word: Words, sizes: Ints) -> Ints:
    """The argument of LONG1: so many bytes with a sign."""
    unused = (64 - 8 * np.clip(sizes, 1, LONGEST)).astype(np.uint64)
    shifted = ((word >> np.uint64(16)) << unused).astype(np.int64)
    found: Ints = np.where(sizes > 0, shifted >> unused.astype(np.int64), 0)
    return found

"""The shape of a record: its opcodes, with gaps for numbers, texts and recalled values whose widths may differ."""

from __future__ import annotations

from typing import Any, NamedTuple

from ckptplan.checkpoint.pickles.values import Global

FIXED, NUMBER, TEXT, RECALL = range(4)
MEMOIZE, LITERAL, GET1, GET4, LONG1 = 0x94, 0x8C, ord("h"), ord("j"), 0x8A
WIDTHS = {ord("K"): 2, ord("M"): 3, ord("J"): 5}
LONGEST = 6  # bytes of a LONG1 that is read along: numbers up to 140 TB
MOST_PARTS = 400


class Part(NamedTuple):
    """A stretch of fixed bytes, or one gap."""

    kind: int
    raw: bytes = b""


class Axes(NamedTuple):
    """A torch.Size: gaps of its numbers, or the one gap that recalls it."""

    numbers: tuple[int, ...] | None
    recall: int = -1
    memo: int = -1  # its place in the memo from the beginning of the record, without those of texts
    texts: tuple[int, ...] = ()  # gaps of texts before it: each that is written out takes a place of the memo


class Shape(NamedTuple):
    """How records of one kind are written. Gaps are numbered in their order."""

    kind: Global  # CHUNK, or STORAGE for a pair of MetadataIndex and _StorageInfo
    parts: tuple[Part, ...]
    memos: int  # places of the memo that one record takes, without those of texts
    head: bytes  # with which all records of the class begin
    texts: tuple[tuple[int, int], ...]  # gaps of texts, each with the places of the memo before it, without texts
    fields: dict[str, Any]  # by the name of the attribute: Axes, the number of a gap, or None

    @property
    def gaps(self) -> tuple[int, ...]:
        """Kinds of the gaps."""
        return tuple(part.kind for part in self.parts if part.kind != FIXED)

"""Where records of one class may begin, which of them were read in lockstep, and which follow each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.formats.dcp.records_lockstep import Flags, Records, Words, literal, read_records
from ckptplan.checkpoint.formats.dcp.records_shapes import Shape
from ckptplan.checkpoint.manifest import Ints

_BLOCK = 1 << 17  # bytes that are searched at once; a multiple of four


class Chain(NamedTuple):
    """Records one right behind the other: sites ``first`` up to ``last``, and the position behind them."""

    first: int
    last: int
    end: int


class Sites:
    """All places from a position on that look like the beginning of records of one class.

    What stands there counts only where the interpretation arrives at the place anyway: such bytes may occur within a
    text as well.
    """

    def __init__(self, data: bytes, words: Words, head: bytes, position: int) -> None:
        self.data, self.words = data, words
        self.starts: Ints = _heads(words, head, _places(data, head[-4:], position) - (len(head) - 4))
        number = len(self.starts)
        self.ends: Ints = np.zeros(number, np.int64)
        self.memos: Ints = np.zeros(number, np.int64)
        self.shape_of: Ints = np.full(number, -1, np.int64)
        self.row_of: Ints = np.zeros(number, np.int64)  # among the records of its shape
        self.shapes: list[Shape] = []
        self.records: list[Records] = []
        self.before: Ints = np.zeros(number + 1, np.int64)  # places of the memo that all sites before take

    def known(self, start: int) -> bool:
        """Whether the record at a position was read."""
        at = int(np.searchsorted(self.starts, start))
        return at < len(self.starts) and bool(self.starts[at] == start) and bool(self.shape_of[at] >= 0)

    def read(self, shape: Shape, position: int) -> int:
        """Read all records of one more shape that begin at a position or behind it; gives how many there are."""
        open_sites = np.flatnonzero((self.shape_of < 0) & (self.starts >= position))
        records = read_records(shape, self.words, self.starts[open_sites])
        sites = open_sites[records.rows]
        self.ends[sites], self.memos[sites] = records.ends, records.memos
        self.shape_of[sites], self.row_of[sites] = len(self.shapes), np.arange(len(sites))
        self.shapes.append(shape)
        self.records.append(records._replace(rows=sites))
        np.cumsum(self.memos, out=self.before[1:])
        return len(sites)

    def text(self, site: int, place: int) -> str | None:
        """The text that a record puts at a place of the memo, counted from its beginning; None if it is no text."""
        number, row = int(self.shape_of[site]), int(self.row_of[site])
        written = 0
        for gap, memos in self.shapes[number].texts:
            code = self.records[number].gaps[gap][row : row + 1]
            if code[0] < 0 and memos + written == place:
                start, end = literal(code)
                return _decoded(self.data[int(start[0]) : int(end[0])])
            written += bool(code[0] < 0)
        return None

    def chains(self, position: int, ends_of_frames: Ints) -> dict[int, Chain]:
        """All chains from a position on, by where each begins; none begins at the end of a frame or goes across it."""
        read = (self.shape_of >= 0) & (self.starts >= position)
        before = np.searchsorted(ends_of_frames, self.starts, "left")
        until = np.searchsorted(ends_of_frames, self.ends, "left")
        read &= before == until
        at_end = until < len(ends_of_frames)
        at_end[at_end] = ends_of_frames[until[at_end]] == self.ends[at_end]
        goes_on: Flags = np.zeros(len(read), bool)
        goes_on[:-1] = read[:-1] & read[1:] & (self.ends[:-1] == self.starts[1:]) & ~at_end[:-1]
        first = np.flatnonzero(read & ~np.concatenate(([False], goes_on[:-1])))
        last = np.flatnonzero(read & ~goes_on)
        parts = (self.starts[first], first, last + 1, self.ends[last])
        return {at: Chain(*rest) for at, *rest in zip(*(part.tolist() for part in parts), strict=True)}


def _heads(words: Words, head: bytes, starts: Ints) -> Ints:
    """Those of some positions at which a head stands, so that no other ones come between records of a chain."""
    starts = starts[(starts >= 0) & (starts + len(head) <= len(words))]
    for first in range(0, len(head) - 4, 8):
        piece = head[first : first + 8]
        mask, wanted = np.uint64((1 << 8 * len(piece)) - 1), np.uint64(int.from_bytes(piece, "little"))
        starts = starts[(words[starts + first] & mask) == wanted]
    return starts


def _places(data: bytes, four: bytes, position: int) -> Ints:
    """Where four bytes occur, from a position on."""
    wanted = np.uint32(int.from_bytes(four, "little"))
    found = [np.empty(0, np.int64)]
    for first in range(position, len(data) - 3, _BLOCK):
        last = min(first + _BLOCK, len(data) - 3)
        by_shift = []
        for begin in range(first, min(first + 4, last)):
            words = np.frombuffer(data, "<u4", (last - begin + 3) // 4, begin)
            by_shift.append(np.flatnonzero(words == wanted) * 4 + begin)
        block = np.concatenate(by_shift)
        block.sort()
        found.append(block)
    return np.concatenate(found)


def _decoded(raw: bytes) -> str | None:
    try:
        return str(raw, "utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None  # the opcodes are interpreted, and the place of the fault is told

"""Frames of protocol 4 taken out: records then lie in one piece, and opcodes may not go across where a frame ended."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

_FRAME, _PROTOCOL, _STOP = 0x95, 0x80, ord(".")
_HEADER = 9  # bytes of FRAME and its length

# Opcodes that the pickler writes between frames: large texts and bytes, and the few that end a file.
_LARGE = {ord("X"): 4, ord("B"): 4, 0x8D: 8, 0x8E: 8, 0x96: 8}


class Unframed(NamedTuple):
    """A pickle without its frame headers."""

    data: bytes
    ends: tuple[int, ...]  # positions where a frame ended, and the end of the data: an opcode must begin at each
    pieces: tuple[int, ...]  # where each piece between two headers begins in the data ...
    places: tuple[int, ...]  # ... and in the file

    def place(self, position: int) -> int:
        """Where a position of the data is in the file."""
        piece = bisect_right(self.pieces, position) - 1
        return self.places[piece] + position - self.pieces[piece]


def unframed(data: bytes) -> Unframed:
    """Follow frame headers from one to the next; where they do not lead on, the rest is left as it is."""
    view = memoryview(data)
    cuts = _pieces(data)
    pieces, places, at = [], [], 0
    for first, last in cuts:
        pieces.append(at)
        places.append(first)
        at += last - first
    whole = b"".join([view[first:last] for first, last in cuts])
    return Unframed(whole, (*pieces[1:], at), tuple(pieces), tuple(places))


def _pieces(data: bytes) -> list[tuple[int, int]]:
    """Begin and end of what lies between frame headers, in the file."""
    found, at = [(0, 2)], 2
    if data[:1] != bytes((_PROTOCOL,)):
        return [(0, len(data))]
    while data[at : at + 1] == bytes((_FRAME,)) and at + _HEADER <= len(data):
        first = at + _HEADER
        last = first + int.from_bytes(data[at + 1 : first], "little")
        if last > len(data):
            break
        last = _behind_large(data, last)
        found.append((first, last))
        at = last
    if at < len(data):
        found.append((at, len(data)))
    return found


def _behind_large(data: bytes, at: int) -> int:
    """The position behind large texts that stand by themselves between two frames."""
    while at < len(data) and data[at] in _LARGE:
        first = at + 1 + _LARGE[data[at]]
        last = first + int.from_bytes(data[at + 1 : first], "little")
        if last > len(data):
            break
        at = last
    return at

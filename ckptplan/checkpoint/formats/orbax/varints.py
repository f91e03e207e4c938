"""Columns of variable-length integers, the encoding of OCDBT: seven bits per byte, lowest first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LONGEST = 10  # bytes of a number below 2^64
LARGEST = (1 << 63) - 1  # and what larger ones are read as: only marks of nothing are so large


class Malformed(ValueError):  # noqa: N818 - becomes an InputError where the file is known
    """The bytes are not what their format says."""


class Cursor:
    """A place in a decoded body; every read is checked against its end before anything is allocated."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.place = 0

    def take(self, length: int) -> bytes:
        """The next bytes."""
        if length < 0 or length > len(self.body) - self.place:
            raise Malformed("it ends early")
        self.place += length
        return self.body[self.place - length : self.place]

    def byte(self) -> int:
        """One byte."""
        return self.take(1)[0]

    def varint(self) -> int:
        """One number."""
        return int(self.varints(1)[0])

    def count(self) -> int:
        """A number of entries, each of which takes a byte at least."""
        number = self.varint()
        if number > len(self.body) - self.place:
            raise Malformed(f"{number:,} entries in {len(self.body) - self.place:,} bytes")
        return number

    def varints(self, number: int) -> Ints:
        """So many numbers, decoded column-wise."""
        if number == 0:
            return np.zeros(0, np.int64)
        window = np.frombuffer(self.body, np.uint8, offset=self.place)[: LONGEST * number]
        ends = np.flatnonzero(window < 0x80)[:number]
        if len(ends) < number:
            raise Malformed("a number does not end")
        starts = np.concatenate(([0], ends[:-1] + 1))
        lengths = ends - starts + 1
        if int(lengths.max()) > LONGEST:
            raise Malformed("a number is too long")
        values = np.zeros(number, np.uint64)
        for index in range(int(lengths.max())):
            there = lengths > index
            values[there] |= (window[starts[there] + index] & 0x7F).astype(np.uint64) << np.uint64(7 * index)
        self.place += int(ends[-1]) + 1
        return np.minimum(values, LARGEST).astype(np.int64)

    def pieces(self, lengths: Ints) -> list[bytes]:
        """Consecutive pieces of these lengths."""
        if (lengths > len(self.body)).any():  # also keeps the sum from overflowing
            raise Malformed("it ends early")
        whole = self.take(int(lengths.sum()))
        ends = np.cumsum(lengths).tolist()
        return [whole[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]

"""The head of a safetensors file: what it can hold, and where each tensor lies in it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ckptplan.checkpoint.dtypes import BITS, TO_SAFETENSORS, size_bytes
from ckptplan.errors import InputError, Problem, printable

MOST_HEADER_BYTES = 100_000_000  # the reference implementation reads no more
MOST_PROBLEMS = 20
_ALIGNMENT = 8  # of the data in the file: the header is padded with blanks


class Entry(NamedTuple):
    """One tensor of the file."""

    name: str
    dtype: str  # one of dtypes.BITS
    shape: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of its elements. [bytes]."""
        return size_bytes(self.dtype, self.elements)

    @property
    def elements(self) -> int:
        """Number of elements. [1]."""
        return math.prod(self.shape)


def refuse_entries(entries: Sequence[Entry]) -> None:
    """Raise for every tensor that a safetensors file cannot hold."""
    problems: list[Problem] = []
    seen: set[str] = set()
    for entry in entries:
        fault = _fault(entry, seen)
        seen.add(entry.name)
        if fault is not None:
            problems.append(Problem(f"{printable(entry.name)}: {fault[0]}", hint=fault[1]))
    if len(problems) > MOST_PROBLEMS:
        more = len(problems) - MOST_PROBLEMS
        problems[MOST_PROBLEMS:] = [Problem(f"and {more:,} more tensors that a safetensors file cannot hold")]
    if problems:
        raise InputError(problems)


def _fault(entry: Entry, seen: set[str]) -> tuple[str, str | None] | None:
    if entry.name in seen:
        return "two tensors of this name", "names in one file are unique"
    if entry.name == "__metadata__" or any("\ud800" <= c <= "\udfff" for c in entry.name):
        return "a safetensors file cannot have a tensor of this name", "leave it out"
    if entry.dtype not in TO_SAFETENSORS:
        return f"a safetensors file cannot hold {entry.dtype}", "leave it out: give the patterns of the others"
    bits, elements = BITS[entry.dtype], entry.elements
    if any(length < 0 for length in entry.shape) or elements * bits % 8:
        return f"{elements:,} elements of {bits} bits are no whole number of bytes", "leave it out"
    return None


def header_of(entries: Sequence[Entry], metadata: Mapping[str, str]) -> tuple[bytes, dict[str, int]]:
    """The head of the file, and where the bytes of each tensor start after it.

    As the reference implementation lays tensors out: wide elements first, so that all are aligned, then by name.
    """
    places: dict[str, int] = {}
    document: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for entry in sorted(entries, key=lambda entry: (-BITS[entry.dtype], entry.name)):
        places[entry.name], end = at, at + entry.size_bytes
        shape = list(entry.shape)
        document[entry.name] = {"dtype": TO_SAFETENSORS[entry.dtype], "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    text += b" " * (-len(text) % _ALIGNMENT)
    if len(text) > MOST_HEADER_BYTES:
        said = (
            f"the names of {len(entries):,} tensors take {len(text):,} bytes; a safetensors file holds 100 MB of them"
        )
        raise InputError(said, hint="choose fewer tensors, or write several files")
    return len(text).to_bytes(8, "little") + text, places

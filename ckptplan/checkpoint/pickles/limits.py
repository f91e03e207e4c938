"""What a pickle may ask for; honest ones stay far below."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """Bounds of one pickle. Exceeding one is an error that says so."""

    pickle_bytes: int = 1 << 31  # all of it
    opcodes: int = 300_000_000
    depth: int = 1_000  # containers within containers
    containers: int = 40_000_000  # lists, dicts, tuples, sets and objects
    text_bytes: int = 1 << 28  # one string or bytes
    integer_bytes: int = 1_024  # one integer
    key_parts: int = 64  # of a tuple that is a key
    foreign: int = 1_000  # distinct names that are not known


LIMITS = Limits()

"""What is classified: the entries of a whole checkpoint, by name, and the parts that their names are made of."""

from __future__ import annotations

import re
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind

_SHARDED_OBJECT = re.compile(r"/shard_[0-9.]+_[0-9.]+\Z")  # Megatron: <name>/shard_<place>_<grid>
_FILE = re.compile(r"\A[^:]*\.[a-z]+:")  # <file>:<name>


class Entry(NamedTuple):
    """A tensor or an object of a checkpoint, as its metadata names it."""

    key: str
    path: tuple[str | int, ...] = ()  # through the saved containers, where the format tells; () if it does not
    is_tensor: bool = True
    dtype: str | None = None
    shape: tuple[int, ...] = ()
    fp8: bool | None = None  # whether it was found to hold FP8 state by looking into it; None: not looked into


class Named(NamedTuple):
    """What an entry is, and whose."""

    kind: StateKind
    parameter: str | None = None  # key of the parameter that it belongs to; for a parameter its own
    rank: int | None = None  # whose own it is, where the name tells


class Spelling(NamedTuple):
    """A name taken apart at its dots."""

    parts: tuple[str, ...]
    ends: frozenset[int] | None  # where elements of the path end, in parts; None: not known
    scope: str = ""  # the file, where keys name one: names of two files do not mix

    def bounded(self, at: int) -> bool:
        """Whether an element of the path can end in front of this part."""
        return self.ends is None or at == 0 or at in self.ends

    @property
    def flat(self) -> bool:
        """Whether the path begins with a dotted name: its dots may be those of containers or of modules."""
        return len(self.parts) > 1 and self.ends is not None and 1 not in self.ends

    def behind(self, at: int) -> Spelling:
        """The name without its first parts."""
        ends = None if self.ends is None else frozenset(end - at for end in self.ends if end > at)
        return Spelling(self.parts[at:], ends, self.scope)


def spelling(entry: Entry) -> Spelling:
    """The parts of an entry's name, with the ends of path elements where these are known."""
    file = _FILE.match(entry.key)
    scope = file.group() if file else ""
    elements = [str(element) for element in entry.path] or [entry.key[len(scope) :]]
    elements[-1] = _SHARDED_OBJECT.sub("", elements[-1])
    parts: list[str] = []
    ends = set()
    for element in elements:
        parts.extend(element.split("."))
        ends.add(len(parts))
    return Spelling(tuple(parts), frozenset(ends) if entry.path else None, scope)

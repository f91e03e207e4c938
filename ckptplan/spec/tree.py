"""A spec as a tree of nodes, each of which knows where it was written."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ckptplan.errors import Place

Scalar: TypeAlias = str | int | float | bool | None

_LONGEST_LINE = 10_000  # a longer line is not shown with a caret


class Source(NamedTuple):
    """Where text came from: a file with its lines, or a flag, a variable or a preset, which have none."""

    name: str
    lines: Sequence[str] | None = None

    def place(self, line: int, column: int) -> Place:
        """A position, both counted from 1; sources without lines are named only."""
        if self.lines is None:
            return Place(self.name)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return Place(self.name, line, column, text if len(text) <= _LONGEST_LINE else None)

    def origin(self, line: int) -> str:
        """What ``spec show`` prints: ``run.yaml:12``, or the name of the source alone."""
        return self.name if self.lines is None else f"{self.name}:{line}"


@dataclass(slots=True)
class Node:
    """One value. ``size`` counts the nodes below it with every alias expanded, ``height`` its levels."""

    source: Source
    line: int
    column: int
    size: int = 1
    height: int = 0

    @property
    def place(self) -> Place:
        """Where it was written."""
        return self.source.place(self.line, self.column)

    @property
    def origin(self) -> str:
        """Where it came from, in short."""
        return self.source.origin(self.line)


@dataclass(slots=True)
class ScalarNode(Node):
    """A text, number, truth value or null; ``raw`` is the text as it was written."""

    value: Scalar = None
    raw: str = ""


@dataclass(slots=True)
class ListNode(Node):
    """A list."""

    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class MapNode(Node):
    """A mapping; the position of each key is kept beside its value."""

    entries: dict[str, tuple[Place, Node]] = field(default_factory=dict)

    def child(self, key: str) -> Node | None:
        """The value of a key, if it is there."""
        found = self.entries.get(key)
        return None if found is None else found[1]

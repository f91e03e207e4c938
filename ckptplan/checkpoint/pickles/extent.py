"""How deep a value is nested and how many leaves it has when every shared part is counted wherever it occurs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ckptplan.checkpoint.pickles.values import Built


class Extent(NamedTuple):
    """Of one value; of a value that holds itself the depth is that of one round."""

    depth: int
    leaves: int


_LEAF = Extent(0, 1)


def extent(value: Any, deepest: int) -> Extent:
    """Depth and leaves of a value; every container is looked into once, and nothing recurses.

    Once something is found nested deeper than ``deepest`` the rest does not matter.
    """
    found: dict[int, Extent] = {}
    todo: list[tuple[Any, list[Any] | None]] = [(value, None)]
    depth = 0  # containers around the one that is looked at
    while todo and depth <= deepest:
        container, parts = todo.pop()
        if parts is not None:
            depth -= 1
            found[id(container)] = _sum(found.get(id(each), _LEAF) for each in parts)
        elif id(container) not in found and (inner := _parts(container)) is not None:
            depth += 1
            found[id(container)] = _LEAF  # until its own parts are known: one that holds itself ends here
            todo.append((container, inner))
            todo.extend((each, None) for each in inner if not isinstance(each, str | int | float))
    return Extent(depth, 0) if todo else found.get(id(value), _LEAF)


def _sum(parts: Iterable[Extent]) -> Extent:
    depth = leaves = 0
    for part in parts:
        depth, leaves = max(depth, part.depth), leaves + part.leaves
    return Extent(depth + 1, leaves)


def _parts(value: Any) -> list[Any] | None:
    """What a container holds; None for a leaf."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return list(value)
    if isinstance(value, Built):
        return [value.call, *value.args, value.state, *value.items, *value.pairs, *value.pairs.values()]
    return None

"""How deep a value is nested and how many leaves it has when every shared part is counted wherever it occurs."""

from __future__ import annotations

from typing import Any, NamedTuple

from ckptplan.checkpoint.pickles.values import Built


class Extent(NamedTuple):
    """Of one value; of a value that holds itself the depth is that of one round."""

    depth: int
    leaves: int


_LEAF = Extent(0, 1)


def extent(value: Any) -> Extent:
    """Depth and leaves of a value; every container is looked into once, and nothing recurses."""
    found: dict[int, Extent] = {}
    todo: list[tuple[Any, list[Any] | None]] = [(value, None)]
    while todo:
        container, parts = todo.pop()
        if parts is not None:
            inner = [found.get(id(each), _LEAF) for each in parts]
            deepest = max((each.depth for each in inner), default=0)
            found[id(container)] = Extent(1 + deepest, sum(each.leaves for each in inner))
        elif id(container) not in found:
            parts = _parts(container)
            if parts is not None:
                found[id(container)] = _LEAF  # until its own parts are known: one that holds itself ends here
                todo.append((container, parts))
                todo.extend((each, None) for each in parts if not isinstance(each, str | int | float))
    return found.get(id(value), _LEAF)


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

"""Replace calls in a tree of values by what they mean, children first, without recursion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ckptplan.checkpoint.pickles.values import Built, Reference


def resolved(value: Any, built: Callable[[Built], Any], reference: Callable[[Reference], Any]) -> Any:
    """The value with every Built and Reference replaced by what the functions give for it.

    Lists, dicts and stand-ins are changed in place; tuples are made anew. What stands in several places is visited
    once and stays one object. A Reference is replaced only where it is a value by itself, not an argument of a call.

    Parameters
    ----------
    value : object
        What a pickle was read into.
    built : callable
        Gives what a Built means, its arguments resolved already, or the Built itself.
    reference : callable
        The same for a persistent id.
    """
    return _Walk(built, reference).run(value)


class _Walk:
    def __init__(self, built: Callable[[Built], Any], reference: Callable[[Reference], Any]) -> None:
        self._built = built
        self._reference = reference
        self._done: dict[int, Any] = {}
        self._kept: list[Any] = []  # keeps every visited object alive, so that no id is given twice

    def run(self, root: Any) -> Any:
        todo: list[tuple[Any, bool]] = [(root, False)]
        while todo:
            value, ready = todo.pop()
            if ready:
                self._finish(value)
            elif isinstance(value, _CONTAINERS) and id(value) not in self._done:
                self._done[id(value)] = value  # for cycles: whoever meets it again meanwhile gets it as it was
                self._kept.append(value)
                todo.append((value, True))
                todo.extend((child, False) for child in _children(value))
        return self._of(root)

    def _of(self, value: Any) -> Any:
        return self._reference(value) if isinstance(value, Reference) else self._argument(value)

    def _argument(self, value: Any) -> Any:
        return self._done.get(id(value), value) if isinstance(value, _CONTAINERS) else value

    def _finish(self, value: Any) -> None:
        if isinstance(value, dict):
            for key, held in value.items():
                value[key] = self._of(held)
        elif isinstance(value, list):
            value[:] = [self._of(held) for held in value]
        elif isinstance(value, Built):
            self._finish_built(value)
        elif type(value) is tuple:
            # A storage directly in a tuple is an argument more often than a value: calls look for it.
            changed = tuple(self._argument(held) for held in value)
            self._done[id(value)] = changed if any(a is not b for a, b in zip(changed, value, strict=True)) else value

    def _finish_built(self, value: Built) -> None:
        value.args = tuple(self._argument(held) for held in value.args)
        value.state = self._of(value.state)
        value.items = [self._of(held) for held in value.items]
        for key, held in value.pairs.items():
            value.pairs[key] = self._of(held)
        self._done[id(value)] = self._built(value)


_CONTAINERS = (dict, list, tuple, Built)


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, Built):
        return [*value.args, value.state, *value.items, *value.pairs.values()]
    return [] if isinstance(value, Reference) else list(value)

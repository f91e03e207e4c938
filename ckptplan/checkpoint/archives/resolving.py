"""Replace calls in a tree of values by what they mean, children first, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
                todo.extend((child, False) for child in _children(value) if type(child) in _TYPES and _matters(child))
        return self._of(root)

    def _of(self, value: Any) -> Any:
        return self._reference(value) if type(value) is Reference else self._done.get(id(value), value)

    def _finish(self, value: Any) -> None:
        if type(value) is dict:
            for key, held in value.items():
                if type(held) in _TYPES:
                    value[key] = self._of(held)
        elif type(value) is list:
            value[:] = [self._of(held) for held in value]
        elif type(value) is Built:
            self._finish_built(value)
        elif type(value) is tuple:
            self._done[id(value)] = self._arguments(value)

    def _finish_built(self, value: Built) -> None:
        value.args = self._arguments(value.args)
        value.state = self._of(value.state)
        value.items = [self._of(held) for held in value.items]
        for key, held in value.pairs.items():
            value.pairs[key] = self._of(held)
        self._done[id(value)] = self._built(value)

    def _arguments(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        """A tuple with what its parts became; storages stay, since calls look for them."""
        changed = tuple(self._done.get(id(held), held) for held in value)
        return changed if any(a is not b for a, b in zip(changed, value, strict=True)) else value


_CONTAINERS = (dict, list, tuple, Built)
_TYPES = frozenset({*_CONTAINERS, Reference})


def _children(value: Any) -> Iterable[Any]:
    if type(value) is dict:
        return value.values()
    if type(value) is Built:
        return (*value.args, value.state, *value.items, *value.pairs.values())
    return value if type(value) in (list, tuple) else ()


def _matters(value: Any) -> bool:
    """Whether there can be anything to replace in a container: not in the size of a tensor."""
    return type(value) is Built or not _TYPES.isdisjoint(map(type, _children(value)))

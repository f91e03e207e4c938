"""The leaves of a tree of values with their paths: one for each tensor and each object that is stored."""

from __future__ import annotations

from typing import Any

from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.pickles.values import Built, Global, Reference
from ckptplan.errors import InputError, Place, Problem

Path = tuple[str | int, ...]

MOST_VALUES = 600_000
DEEPEST = 200


def leaves(value: Any, where: Place | None = None) -> list[tuple[Path, Any]]:
    """The leaves of a tree in its order, each with the keys and positions that lead to it.

    Dicts are always gone into, lists and tuples only where they hold a tensor or a dict somewhere within, as torch
    flattens state dicts since 2.4; stand-ins for objects where they have attributes, each of them once. Empty dicts
    leave no leaf.

    Parameters
    ----------
    value : object
        What a torch file was read into.
    where : Place, optional
        The file, for the error.

    Returns
    -------
    list of (path, leaf)

    Raises
    ------
    InputError
        For more than 600,000 values, shared parts counted wherever they are met, or a path of more than 200 keys.
    """
    opened = _opened(value)
    found: list[tuple[Path, Any]] = []
    todo: list[tuple[Path, Any]] = [((), value)]
    met = 1
    while todo:
        path, here = todo.pop()
        if id(here) not in opened:
            found.append((path, here))
            continue
        if isinstance(here, Built):
            opened.discard(id(here))  # objects know each other in circles
        parts = _parts(here)
        met += len(parts)
        if met > MOST_VALUES or len(path) >= DEEPEST:
            limit = f"{MOST_VALUES:,} values" if met > MOST_VALUES else f"{DEEPEST} keys to one value"
            raise InputError(Problem(f"a stored object of more than {limit}", where, hint="is this a checkpoint?"))
        todo.extend(((*path, key), held) for key, held in reversed(parts))
    return found


def dotted(path: Path) -> str:
    """A path as a key: its parts with dots between them."""
    return ".".join(map(str, path))


def type_name(value: Any) -> str:
    """The type of a leaf as reports name it."""
    if isinstance(value, Built):
        return str(value.call) if isinstance(value.call, Global) else "object"
    if isinstance(value, Global):
        return "class"
    return "storage" if isinstance(value, Reference) else type(value).__name__


def _opened(root: Any) -> set[int]:
    """Ids of the containers that are gone into; every shared one is looked at once."""
    parents: dict[int, list[int]] = {}
    seen: set[int] = set()
    reached: list[int] = []
    todo = [root]
    while todo:
        here = todo.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        if isinstance(here, dict) or (isinstance(here, Built) and (here.pairs or _attributes(here))):
            reached.append(id(here))
        for _, held in _parts(here):
            if isinstance(held, StoredTensor):
                reached.append(id(here))
            elif isinstance(held, _CONTAINERS):
                parents.setdefault(id(held), []).append(id(here))
                todo.append(held)
    found: set[int] = set()
    while reached:
        one = reached.pop()
        if one not in found:
            found.add(one)
            reached.extend(parents.get(one, ()))
    return found


_CONTAINERS = (dict, list, tuple, Built)


def _parts(value: Any) -> list[tuple[str | int, Any]]:
    """What a container holds, with the key of each."""
    if isinstance(value, dict):
        return [(_key(key), held) for key, held in value.items()]
    if isinstance(value, Built):
        attributes = _attributes(value)
        rest = [] if attributes or value.state is None else [("state", value.state)]
        pairs = [(_key(key), held) for key, held in value.pairs.items()]
        return [*attributes, *rest, *pairs, *enumerate(value.items), *_arguments(value)]
    if isinstance(value, StoredTensor | Global | Reference) or not isinstance(value, list | tuple):
        return []
    return list(enumerate(value))


def _arguments(value: Built) -> list[tuple[str | int, Any]]:
    """Containers among the arguments of a call that was not made."""
    return [(number, held) for number, held in enumerate(value.args) if isinstance(held, _CONTAINERS)]


def _attributes(value: Built) -> list[tuple[str | int, Any]]:
    """Attributes of an object, those in slots included."""
    parts = value.state if isinstance(value.state, tuple) else (value.state,)
    if not all(part is None or isinstance(part, dict) for part in parts):
        return []
    return [(_key(key), held) for part in parts if part for key, held in part.items()]


def _key(key: Any) -> str | int:
    """A key of a dict as a part of a path; keys of other types by their text."""
    return key if type(key) in (str, int) else type_name(key) if isinstance(key, _CONTAINERS) else str(key)

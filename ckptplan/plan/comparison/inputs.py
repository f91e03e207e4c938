"""Which values in force differ between two specs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

_ENTRY = re.compile(r"([^\[]+)\[(\d+)\](.*)", re.DOTALL)
_TITLE = "name"  # what a run is called is no input

Key = tuple[str, int | str, str]  # list, entry of it, rest; or the whole key


class InForce(Protocol):
    """A value in force, as a spec notes it."""

    @property
    def key(self) -> str:
        """Its path in the spec."""

    @property
    def si(self) -> float | int | str | None:
        """In its unit; None if not known, or computed later."""

    @property
    def unit(self) -> str:
        """SI."""

    @property
    def text(self) -> str:
        """For people."""

    @property
    def origin(self) -> str:
        """Where it came from."""


class Side(NamedTuple):
    """One value of one of the specs."""

    key: str
    si: float | int | str | None
    unit: str
    text: str
    origin: str


class Input(NamedTuple):
    """A value that differs; None where a spec has no such key."""

    label: str
    first: Side | None
    second: Side | None


def differing_inputs(first: Sequence[InForce], second: Sequence[InForce]) -> tuple[tuple[Input, ...], int]:
    """The values that differ, in the order of the specs, and the number of those that are equal.

    Entries of a list (``save[0]``) are held against the entry of the same name, and those whose names only one spec has
    against each other in their order.
    """
    labels_a, labels_b = _entries(first, second)
    a, b = _by_key(first, labels_a), _by_key(second, labels_b)
    keys = [key for key in dict.fromkeys((*a, *b)) if key != ("", 0, _TITLE)]
    groups = list(dict.fromkeys(_group(key) for key in keys))
    keys.sort(key=lambda key: groups.index(_group(key)))
    found = [Input(_label(key), a.get(key), b.get(key)) for key in keys]
    unlike = tuple(one for one in found if not _alike(one.first, one.second))
    return unlike, len(found) - len(unlike)


def _alike(first: Side | None, second: Side | None) -> bool:
    if first is None or second is None:
        return False
    return first.si == second.si and first.text == second.text


def _by_key(values: Iterable[InForce], labels: dict[tuple[str, int], int | str]) -> dict[Key, Side]:
    found: dict[Key, Side] = {}
    for value in values:
        match = _ENTRY.fullmatch(value.key)
        key: Key = ("", 0, value.key)
        if match:
            key = (match[1], labels[match[1], int(match[2])], match[3])
        found[key] = Side(value.key, value.si, value.unit, value.text, value.origin)
    return found


def _entries(
    first: Sequence[InForce], second: Sequence[InForce]
) -> tuple[dict[tuple[str, int], int | str], dict[tuple[str, int], int | str]]:
    """What the entries of all lists are called: by their name where both specs have it, else by a number."""
    names_a, names_b = _names(first), _names(second)
    common = {(entry[0], name) for entry, name in names_a.items()} & {(e[0], name) for e, name in names_b.items()}
    return _called(names_a, common), _called(names_b, common)


def _called(names: dict[tuple[str, int], str], common: set[tuple[str, str]]) -> dict[tuple[str, int], int | str]:
    found: dict[tuple[str, int], int | str] = {}
    counts: dict[str, int] = {}
    for (of, index), name in names.items():
        if (of, name) in common:
            found[of, index] = name
            continue
        found[of, index] = counts.get(of, 0)
        counts[of] = counts.get(of, 0) + 1
    return found


def _names(values: Iterable[InForce]) -> dict[tuple[str, int], str]:
    """The name of each entry of each list, an empty one where it has none."""
    found: dict[tuple[str, int], str] = {}
    for value in values:
        match = _ENTRY.fullmatch(value.key)
        if match:
            entry = (match[1], int(match[2]))
            found.setdefault(entry, f"\0{entry[1]}")  # no name is like it: entries without one go by their place
            if match[3] == ".name":
                found[entry] = str(value.si)
    return found


def _label(key: Key) -> str:
    of, entry, rest = key
    if not of:
        return rest
    shown = str(entry) if isinstance(entry, int) else entry.removeprefix("\0")
    return f"{of}[{shown}]{rest}"


def _group(key: Key) -> str:
    """The key without its last word: values of one group stay together."""
    of, entry, rest = key
    return f"{of}[{entry!r}]" if of else rest.rpartition(".")[0]

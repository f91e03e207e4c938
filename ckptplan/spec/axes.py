"""Axes of a sweep: ``KEY=VALUES`` to a key of the spec and its values in SI, by the rules of the key in a spec."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ckptplan.errors import Place, Problem
from ckptplan.spec.assignments import key_and_value, path_of
from ckptplan.spec.axis_ranges import MOST_VALUES, Written, split_list, values_of
from ckptplan.spec.axis_texts import AxisTexts
from ckptplan.spec.fields import value_of
from ckptplan.spec.hints import shown, unknown_key, what
from ckptplan.spec.schema import SPEC, UNIT_OF_FORM, Entry, Group, Key, Many
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode, Source
from ckptplan.sweep.study import GPUS, INTERVAL, Axis
from ckptplan.units import UnitError

MOST_POINTS = 100_000_000
NUMERIC = ("time", "time or auto", "size", "bytes", "rate", "power", "number", "fraction", "integer")

_LONGEST_INTERVAL_S = 1e5 * 365 * 86400  # as of --interval
_INTERVAL = Key("time", "Work between two saves, given instead of the best one.", example="30 min")
_EXAMPLE = "write for example cluster.gpus=1024..131072:log:8"
_SHOWN = 80  # characters of an option in a message


class WrittenAxis(NamedTuple):
    """An axis before any spec is read: the parts of its key, its values, and where it was written."""

    path: tuple[str, ...]
    axis: Axis  # its key is as written
    place: Place
    notes: tuple[str, ...] = ()

    def as_set(self, value: float) -> str:
        """A value as ``--set`` takes it, exact to the last digit."""
        unit = {"bytes": "B", "bytes/s": "B/s"}.get(self.axis.unit, self.axis.unit)
        return f"{self.axis.key}={value!r} {unit}".strip()


def axes_from_flags(texts: Sequence[str], problems: list[Problem]) -> list[WrittenAxis]:
    """``--over KEY=VALUES``, in their order; faults are noted."""
    found = []
    for text in texts:
        place = Place(f"--over {text if len(text) <= _SHOWN else text[: _SHOWN - 3] + '...'}")
        parts = key_and_value(text)
        if parts is None:
            problems.append(Problem("KEY=VALUES is wanted", place, hint=_EXAMPLE))
            continue
        key, path, values = parts
        node = ScalarNode(Source(place.file), 1, 1, value=values, raw=values)
        found.append(_axis(key, path, node, place, problems))
    return [axis for axis in found if axis is not None]


def axes_from_group(node: Node, problems: list[Problem]) -> list[WrittenAxis]:
    """The mapping ``over:`` of a file; faults are noted with their lines."""
    if not isinstance(node, MapNode) or not node.entries:
        message = f"{what(node)} where a group of keys with their values belongs"
        message = "the group is empty" if isinstance(node, MapNode) else message
        hint = "write over: {cluster.gpus: '1024..131072:log:8'}"
        problems.append(Problem(message, node.place, "sweep.over", hint))
        return []
    found = []
    for key, (place, child) in node.entries.items():
        found.append(_axis(key.strip(), path_of(key.strip()), child, place, problems, inside="sweep.over."))
    return [axis for axis in found if axis is not None]


def refuse_repeated(keys: Iterable[tuple[str, Place]], problems: list[Problem]) -> None:
    """One axis for one key."""
    places: dict[str, Place] = {}
    for key, place in keys:
        if key in places:
            problems.append(Problem("the key has two axes", place, key, "write all its values in one list"))
        places.setdefault(key, place)


def refuse_too_many(axes: Sequence[Axis], specs: int, problems: list[Problem]) -> None:
    """A bound on the points of all specs."""
    points = specs * math.prod(len(axis.values) for axis in axes)
    if points > MOST_POINTS:
        sizes = " x ".join(f"{len(axis.values):,}" for axis in axes)
        message = f"{sizes} values{f' in {specs} specs' if specs > 1 else ''} are {points:,} points"
        problems.append(Problem(f"{message}; at most {MOST_POINTS:,} are taken", hint="write shorter lists"))


def _axis(
    key: str, path: tuple[str, ...], node: Node, place: Place, problems: list[Problem], *, inside: str = ""
) -> WrittenAxis | None:
    label = f"{inside}{key if len(key) <= _SHOWN else key[: _SHOWN - 3] + '...'}"
    entry = _INTERVAL if path == (INTERVAL,) else _numeric(path, label, place, problems)
    if entry is None:
        return None
    before = len(problems)
    parts = list(_written(node, entry, path[-1], label, problems))
    if len(problems) > before:
        return None
    written, units, repeated = _distinct(parts)
    if len(written) > MOST_VALUES:
        problems.append(Problem(f"more than {MOST_VALUES:,} values", place, label, "write a shorter list"))
        return None
    texts = AxisTexts(written, units, "plain" if entry.plain else entry.form)
    axis = Axis(_in_brackets(path), tuple(written), texts, UNIT_OF_FORM.get(entry.form, ""))
    return WrittenAxis(path, axis, place, tuple(_repetition(label, parts, repeated, entry.form)))


def _in_brackets(path: tuple[str, ...]) -> str:
    """The key with entries of lists in brackets, by number or by name as written: ``save[blocking].stall``."""
    text = ""
    entry: Entry = SPEC
    for part in path:
        if isinstance(entry, Many):
            text, entry = f"{text}[{part}]", entry.item
        else:
            text = f"{text}.{part}".lstrip(".")
            entry = entry.keys[part] if isinstance(entry, Group) and part in entry.keys else entry
    return text


def _repetition(label: str, parts: Sequence[Written], repeated: int, form: str) -> Iterator[str]:
    """What to say of values that are there already."""
    if repeated:
        given = sum(len(part.values) for part in parts)
        rounded = form == "integer" and any(part.is_range for part in parts)
        values = f"{repeated:,} of {given:,} values {'repeats another' if repeated == 1 else 'repeat others'}"
        yield f"{label}: {values}{' once rounded to whole numbers' if rounded else ''}, and the first alone counts"


def _numeric(path: tuple[str, ...], label: str, place: Place, problems: list[Problem]) -> Key | None:
    """The key, if it is a numeric one of a spec; a fault is noted."""

    def refuse(message: str, hint: str | None) -> None:
        problems.append(Problem(message, place, label, hint))

    group: Group = SPEC
    entry: Entry = SPEC
    for number, part in enumerate(path):
        if isinstance(entry, Many):
            if part in entry.item.keys:
                lists = ".".join(path[:number])
                refuse("which entry of the list is not said", f"write {lists}[0].{part}, or {lists}[NAME].{part}")
                return None
            entry = entry.item
            continue
        if isinstance(entry, Key):
            refuse("names something below a key that has nothing below it", _EXAMPLE)
            return None
        group = entry
        if part == "sweep" and not number:
            refuse("is no key of a run", _EXAMPLE)
            return None
        found = group.keys.get(part)
        if found is None or (part == "preset" and not group.preset):
            refuse("unknown key", _meant(path, part, group))
            return None
        entry = found
    if not path:
        refuse("a key is wanted", _EXAMPLE)
    elif not isinstance(entry, Key):
        refuse("names a group, and an axis needs one key", f"write one of {', '.join(_below('.'.join(path), entry))}")
    elif entry.form not in NUMERIC:
        refuse("is no number, and an axis takes numbers", "give two specs, or one with --set, to compare its values")
    else:
        return entry
    return None


def _meant(path: tuple[str, ...], part: str, group: Group) -> str:
    if len(path) == 1 and part in {"gpus", "N"}:
        return f"did you mean {GPUS}?"
    hint = unknown_key(part, group)
    alone = hint.removeprefix(f"{part} belongs under ")
    return f"write {alone}.{part}" if alone != hint and " or " not in alone else hint


def _below(path: str, entry: Group | Many) -> list[str]:
    group, inside = (entry.item, f"{path}[0]") if isinstance(entry, Many) else (entry, path)
    names = [name for name, key in group.keys.items() if isinstance(key, Key) and key.form in NUMERIC]
    return [f"{inside}.{name}" for name in (names or group.keys) if name != "preset"][:4]


def _written(node: Node, key: Key, name: str, label: str, problems: list[Problem]) -> Iterator[Written]:
    """The values, item by item; each fault is noted at its item."""

    def read(text: str) -> float | int:
        value = value_of(ScalarNode(node.source, node.line, node.column, value=text, raw=text), key, name)
        if isinstance(value, str):
            raise UnitError(f"{value} is no number, and an axis takes numbers", "write a time, for example 2 min")
        if key is _INTERVAL and value > _LONGEST_INTERVAL_S:
            raise UnitError(f"{shown(text)}: more than 100,000 years", "write for example 30 min")
        return value

    if not isinstance(node, ScalarNode | ListNode):
        message = f"{what(node)} where values belong"
        problems.append(Problem(message, node.place, label, "write a list of values, or LOW..HIGH:COUNT"))
        return
    if (isinstance(node, ScalarNode) and not node.raw.strip()) or (isinstance(node, ListNode) and not node.items):
        problems.append(Problem("no values are given", node.place, label, f"write for example {key.example}"))
        return
    for item, text in _items(node, key, label, problems):
        try:
            yield values_of(text, read, whole=key.form == "integer")
        except UnitError as error:
            problems.append(Problem(str(error), item.place, label, error.hint))


def _items(
    node: ScalarNode | ListNode, key: Key, label: str, problems: list[Problem]
) -> Iterator[tuple[ScalarNode, str]]:
    """The items of a list, or of a text with commas."""
    if isinstance(node, ScalarNode):
        try:
            yield from [(node, text) for text in split_list(node.raw)]
        except UnitError as error:
            problems.append(Problem(str(error), node.place, label, error.hint))
        return
    for item in node.items:
        if isinstance(item, ScalarNode) and item.value is not None:
            yield item, item.raw.strip()
        else:
            problems.append(Problem(f"{what(item)} where a value belongs", item.place, label, f"write {key.example}"))


def _distinct(parts: Sequence[Written]) -> tuple[dict[float | int, str | None], list[str], int]:
    """Values in their order, each once and with the unit that it was typed in, all these units, and repetitions."""
    written: dict[float | int, str | None] = {}
    given = 0
    for part in parts:
        given += len(part.values)
        ends = {part.values[0]: part.units[0], part.values[-1]: part.units[1]}
        for value in part.values:
            written.setdefault(value, ends.get(value))
    return written, [unit for part in parts for unit in part.units], given - len(written)

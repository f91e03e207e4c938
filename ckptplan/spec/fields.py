"""A tree held against the schema: every value in SI with its place, and every fault, all in one pass."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from ckptplan.cost.spread import Spread
from ckptplan.errors import Place, Problem
from ckptplan.spec.hints import SHOWN, example_of, nearest, shown, unknown_key, what
from ckptplan.spec.schema import SPEC, STATE, UNIT_OF_FORM, Entry, Form, Group, Key, Many, find
from ckptplan.spec.spreads import is_spread, read_spread
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode
from ckptplan.units import Dimension, UnitError, parse_quantity

MOST_GPUS = 1_000_000_000
LARGEST, SMALLEST = 1e24, 1e-18  # outside, products of three quantities could overflow
LONGEST_TEXT = 200

_ZERO_HINTS = {
    "stall": "a save always blocks for a moment: write the copy-out time, for example 100 ms",
    "training_speed_while_flushing": "write 0.95 or 95 %",
}
_CONFIG_KEYS = frozenset({"model_type", "architectures"})  # at the top of a configuration of Hugging Face
_GROUPS = frozenset(name for name, entry in SPEC.keys.items() if not isinstance(entry, Key))
_ONE_INTEGER = Key("integer", "One of a list.", example="8")
_PER_NODE_DAY_HINT = "failures per node and day, a pure number: 6.5 per 1000 node-days are 6.5e-3"
_NOUNS: dict[Form, str] = {
    "time": "a time",
    "time or auto": "a time or auto",
    "size": "a size",
    "bytes": "a number of bytes",
    "rate": "a rate",
    "number": "a number",
    "fraction": "a fraction",
    "integer": "a whole number",
    "integers": "a list of whole numbers",
    "power": "a power",
    "text": "a text",
    "names": "a name, or a list of names",
    "choice": "a word",
    "state": "a ledger",
    "date": "a date",
    "axes": "a group of keys with their values",
}
_DIMENSIONS: dict[Form, Dimension] = {
    "time": "time",
    "time or auto": "time",
    "size": "size",
    "rate": "rate",
    "power": "power",
    "number": "number",
    "fraction": "fraction",
    "integer": "number",
}


class Given(NamedTuple):
    """A value that some layer gave: in SI, with its node; the mean where it is not known exactly."""

    si: float | int | str | Node
    node: Node
    spread: Spread | None = None


@dataclass(slots=True)
class Fields:
    """Paths such as ``save[0].stall`` to what was given; ``faulty`` are the paths whose value is wrong."""

    file: str
    given: dict[str, Given] = field(default_factory=dict)
    faulty: set[str] = field(default_factory=set)
    groups: dict[str, MapNode] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def fault(self, path: str, message: str, hint: str | None = None, place: Place | None = None) -> None:
        """Note a fault of a path; what depends on it is not judged any further."""
        self.faulty.add(path)
        self.problems.append(Problem(message, place or self.place(path), path or None, hint))

    def place(self, path: str) -> Place:
        """Where a path was written, or the nearest group around it."""
        while path:
            if path in self.places:
                return self.places[path]
            path = path.rpartition("[" if path.endswith("]") else ".")[0]
        return self.places.get("", Place(self.file))

    def has(self, path: str) -> bool:
        """Whether a value was given, right or wrong."""
        return path in self.given or path in self.faulty

    def whole(self, path: str) -> bool:
        """Whether neither this path nor anything around or below it is faulty."""
        return self.sound(path) and not any(bad.startswith((f"{path}.", f"{path}[")) for bad in self.faulty)

    def may_have(self, group: str, *names: str) -> bool:
        """Whether one of these keys was given, or may have been: a fault of the group, or a key unknown, hides it."""
        if not self.sound(group, f"{group}.preset"):
            return True
        unknown = (bad for bad in self.faulty if bad.startswith(f"{group}.") and find(bad) is None)
        return any(self.has(f"{group}.{name}") for name in names) or any(unknown)

    def sound(self, *paths: str) -> bool:
        """Whether none of these, nor a group around them, is faulty."""
        return not any(path == bad or path.startswith((f"{bad}.", f"{bad}[")) for path in paths for bad in self.faulty)


def read_fields(root: Node, file: str) -> Fields:
    """Hold a tree against the schema."""
    fields = Fields(file)
    if not isinstance(root, MapNode):
        fields.fault("", "a spec is a group of keys", "ckptplan spec init prints a spec to start from", root.place)
        return fields
    if _CONFIG_KEYS & root.entries.keys() and not _GROUPS & root.entries.keys():
        message = "this is the config.json of a model, not a spec"
        hint = "ckptplan spec init prints a spec; write model: {config: ./config.json} in it, or the name of this file"
        fields.fault("", message, hint, root.place)
        return fields
    read_group(fields, "", root, SPEC)
    return fields


def read_state(fields: Fields, path: str, node: MapNode) -> None:
    """Hold one item of ``model.state`` against the schema."""
    fields.places[path] = node.place
    read_group(fields, path, node, STATE)


def read_group(fields: Fields, path: str, node: MapNode, group: Group) -> None:
    """Hold one group against the schema."""
    fields.groups[path] = node
    fields.places.setdefault(path, node.place)
    for name, (place, child) in node.entries.items():
        inner = f"{path}.{name}" if path else name
        entry = None if name == "preset" and not group.preset else group.keys.get(name)
        if entry is None:
            shown = name if len(name) <= SHOWN else f"{name[: SHOWN - 3]}..."
            inner = f"{path}.{shown}" if path else shown
            fields.fault(inner, "unknown key", unknown_key(name, group), place)
            continue
        fields.places[inner] = child.place if isinstance(child, ScalarNode) and child.raw else place
        _entry(fields, inner, child, entry)
    for name, entry in group.keys.items():
        inner = f"{path}.{name}" if path else name
        if getattr(entry, "required", False) and name not in node.entries:
            fields.fault(inner, "missing", f"write {example_of(name, entry)}")


def _entry(fields: Fields, path: str, node: Node, entry: Entry) -> None:
    if isinstance(entry, Key):
        _key(fields, path, node, entry)
    elif isinstance(entry, Many):
        _many(fields, path, node, entry)
    elif isinstance(node, MapNode):
        read_group(fields, path, node, entry)
    elif isinstance(node, ScalarNode) and node.value is None:
        # A group whose keys are all commented out.
        read_group(fields, path, MapNode(node.source, node.line, node.column), entry)
    else:
        fields.fault(path, f"{what(node)} where a group of keys belongs", f"write {example_of(_last(path), entry)}")


def _many(fields: Fields, path: str, node: Node, entry: Many) -> None:
    if not isinstance(node, ListNode):
        hint = f"begin each entry with '- ': {example_of(_last(path), entry)}"
        fields.fault(path, f"{what(node)} where a list belongs", hint)
        return
    fields.lengths[path] = len(node.items)
    if not node.items:
        fields.fault(path, "the list is empty", f"write {example_of(_last(path), entry)}")
    for index, item in enumerate(node.items):
        fields.places[f"{path}[{index}]"] = item.place
        _entry(fields, f"{path}[{index}]", item, entry.item)


def _key(fields: Fields, path: str, node: Node, key: Key) -> None:
    hint = f"write {example_of(_last(path), key)}"
    if key.form in {"state", "axes"}:
        if isinstance(node, ScalarNode) and node.value is None:
            fields.fault(path, "the key has no value", f"{hint}, or leave the key out")
        else:
            fields.given[path] = Given(node, node)
    elif key.form == "names":
        _names(fields, path, node, key)
    elif key.form == "integers":
        _integers(fields, path, node, key)
    elif is_spread(node, key):
        _spread(fields, path, node, key)
    elif not isinstance(node, ScalarNode):
        fields.fault(path, f"{what(node)} where {_NOUNS[key.form]} belongs", hint)
    elif node.value is None:
        fields.fault(path, "the key has no value", f"{hint}, or leave the key out")
    else:
        try:
            fields.given[path] = Given(value_of(node, key, _last(path)), node)
        except UnitError as error:
            fields.fault(path, str(error), error.hint)


def _names(fields: Fields, path: str, node: Node, key: Key) -> None:
    """A list of names, or one of them; kept as the node, whose items the builder reads."""
    items = node.items if isinstance(node, ListNode) else [node]
    hint = f"write {example_of(_last(path), key)}"
    for item in items:
        if not isinstance(item, ScalarNode) or item.value is None or not item.raw.strip():
            fields.fault(path, f"{what(item)} where a name belongs", hint, item.place)
            return
    if not items:
        fields.fault(path, "the list is empty", hint)
    else:
        fields.given[path] = Given(node, node)


def _integers(fields: Fields, path: str, node: Node, key: Key) -> None:
    """A list of whole numbers, kept as the node, whose items `whole_numbers` reads."""
    hint = f"write {example_of(_last(path), key)}"
    if not isinstance(node, ListNode) or not node.items:
        empty = isinstance(node, ListNode)
        fields.fault(path, "the list is empty" if empty else f"{what(node)} where {_NOUNS[key.form]} belongs", hint)
        return
    for item in node.items:
        if not isinstance(item, ScalarNode) or item.value is None:
            fields.fault(path, f"{what(item)} where a whole number belongs", hint, item.place)
            return
        try:
            value_of(item, _ONE_INTEGER, _last(path))
        except UnitError as error:
            # An example of one number is none of the list; what number would do is.
            fields.fault(path, str(error), hint if f"{_last(path)}: " in error.hint else error.hint, item.place)
            return
    fields.given[path] = Given(node, node)


def whole_numbers(fields: Fields, path: str) -> tuple[int, ...]:
    """The numbers of a list that was found good; none if it is not given."""
    given = fields.given.get(path)
    items = given.node.items if given is not None and isinstance(given.node, ListNode) else []
    return tuple(int(value_of(item, _ONE_INTEGER, "")) for item in items if isinstance(item, ScalarNode))


def _spread(fields: Fields, path: str, node: Node, key: Key) -> None:
    def read(scalar: ScalarNode) -> float:
        value = value_of(scalar, key, _last(path))
        if isinstance(value, str):
            raise UnitError(f"{value} makes no range", f"write {example_of(_last(path), key)}")
        return value

    try:
        spread = read_spread(node, key, read)
        fields.given[path] = Given(spread.mean, node, spread)
    except UnitError as error:
        fields.fault(path, str(error), error.hint)


def value_of(node: ScalarNode, key: Key, name: str) -> float | int | str:
    """The value of one key in SI.

    Raises
    ------
    UnitError
        If it is none that the key takes.
    """
    if key.form == "text":
        return _text(node)
    if key.form == "choice":
        return _choice(node, key.choices)
    if key.form == "date":
        return _date(node)
    if key.form == "time or auto" and node.value == "auto":
        return "auto"
    written = node.value if node.value is not None else node.raw
    if key.form == "bytes":
        dimension: Dimension = "size" if isinstance(written, str) and written[-1:].isalpha() else "number"
    else:
        dimension = _DIMENSIONS[key.form]
    try:
        number = parse_quantity(written, dimension)
    except UnitError as error:
        if name == "rate_per_node_day":
            raise UnitError(str(error), _PER_NODE_DAY_HINT) from error
        raise UnitError(str(error), _with_name(error.hint, name, key)) from error
    _magnitude(number, key, name, shown(node.raw.strip()))
    return _whole(number) if key.form == "integer" else number


def _with_name(hint: str, name: str, key: Key) -> str:
    """A general example becomes one of this very key."""
    general, found, _ = hint.partition(", for example ")
    if found and key.form == "time or auto":
        return "write auto, or a time with its unit such as 2 min"
    return f"{general}, for example {name}: {key.example}" if found and key.example else hint


def _magnitude(number: float, key: Key, name: str, written: str) -> None:
    if number == 0 and not key.zero:
        raise UnitError("zero makes no sense here", _ZERO_HINTS.get(name, f"write for example {name}: {key.example}"))
    if number and not SMALLEST <= number <= LARGEST:
        unit = {"bytes": " B", "bytes/s": " B/s", "s": " s", "W": " W"}.get(UNIT_OF_FORM.get(key.form, ""), "")
        reason = f"{written} is outside all reason: {SMALLEST:g} to {LARGEST:g}{unit} are accepted"
        raise UnitError(reason, f"write for example {name}: {key.example}")


def _whole(number: float) -> int:
    if number != int(number):
        below, above = math.floor(number), math.ceil(number)
        hint = f"write {below} or {above}" if 0 < below < MOST_GPUS else "write 1 or more"
        raise UnitError(f"{number:.12g} is not a whole number", hint)
    if number > MOST_GPUS:
        raise UnitError(f"{number:.3g} is more than {MOST_GPUS:,}", "is a unit or a digit wrong?")
    return int(number)


def _text(node: ScalarNode) -> str:
    text = node.raw.strip()
    if not text:
        raise UnitError("the text is empty", "write a name")
    if len(text) > LONGEST_TEXT:
        raise UnitError(f"longer than {LONGEST_TEXT} characters", "write a shorter text")
    unseen = next((letter for letter in text if not letter.isprintable()), None)
    if unseen is not None:
        raise UnitError(f"{_kind_of(unseen)} in the text", "write one line, without this character")
    return text


_UNSEEN = {
    "Cc": "a control character",
    "Cf": "an invisible character",
    "Zl": "a line break",
    "Zp": "a line break",
    "Zs": "an unusual blank",
}


def _kind_of(unseen: str) -> str:
    """What a letter is that cannot be printed, with its code point: nobody sees it in the file."""
    import unicodedata  # few specs are at fault in this way

    kind = "a line break" if unseen in "\n\r" else _UNSEEN.get(unicodedata.category(unseen), "an unprintable character")
    return f"{kind} (U+{ord(unseen):04X})"


def _date(node: ScalarNode) -> str:
    """A date, or a date and time, as ISO 8601 writes it."""
    from datetime import datetime

    text = node.raw.strip()
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError as error:
        hint = "write for example 2026-12-01, or 2026-12-01T08:00"
        raise UnitError(f"{shown(text)} is not a date", hint) from error


def _choice(node: ScalarNode, choices: tuple[str, ...]) -> str:
    word = node.raw.strip()
    if word in choices:
        return word
    near = nearest(word, choices)
    valid = ", ".join(choices)
    hint = f"did you mean {near}?" if near else f"write one of {valid}"
    raise UnitError(f"{shown(word)} is not one of {valid}", hint)


def _last(path: str) -> str:
    return path.rpartition(".")[2]

"""What a message about a spec holds besides the fault: the nearest word, an example, the user's own text."""

from __future__ import annotations

from collections.abc import Iterable

from ckptplan.spec.schema import SPEC, Entry, Group, Key, Many
from ckptplan.spec.tree import ListNode, MapNode, Node

SHOWN = 40  # characters of a text of the user's
_MOST_LISTED = 14


def shown(text: str) -> str:
    """A text of the user's as a message can hold it."""
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
    return text if text and text.isprintable() else repr(text)


def nearest(word: str, valid: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The nearest valid word, and only if it is near; two letters are near to anything."""
    if len(word) < 3:
        return None
    from difflib import get_close_matches  # only an error needs it

    plain = {name.lower().replace("-", "_"): name for name in valid}
    near = get_close_matches(word[:100].lower().replace("-", "_").replace(" ", "_"), plain, n=1, cutoff=cutoff)
    return plain[near[0]] if near else None


def unknown_key(name: str, group: Group) -> str:
    """What may have been meant by a key that the group does not have."""
    homes = [home for home in _homes(name, "", SPEC) if home]
    near = nearest(name, (key for key in group.keys if key != "preset" or group.preset), cutoff=0.7)
    if near and not (homes and group is SPEC):  # at the top a name that is a key elsewhere was meant as it stands
        return f"did you mean {near}?"
    if homes:
        return f"{name} belongs under {' or '.join(homes[:2])}"
    keys = [key for key in group.keys if key != "preset" or group.preset]
    if len(keys) <= _MOST_LISTED:
        return f"keys here: {', '.join(keys)}"
    return "ckptplan spec schema describes every key"


def _homes(name: str, path: str, group: Group) -> list[str]:
    found = [path] if name in group.keys and name != "preset" else []
    for key, entry in group.keys.items():
        inner = entry.item if isinstance(entry, Many) else entry
        if isinstance(inner, Group):
            found += _homes(name, f"{path}.{key}" if path else key, inner)
    return found


def example_of(name: str, entry: Entry) -> str:
    """A key with a value that would be accepted."""
    if isinstance(entry, Many):
        return f"{name}: {entry.example}"
    if isinstance(entry, Key):
        return f"{name}: {entry.example or ' or '.join(entry.choices) or 'a text'}"
    keys = [(key, inner) for key, inner in entry.keys.items() if key != "preset"]
    wanted = [pair for pair in keys if getattr(pair[1], "required", False)] or keys[:1]
    return f"{name}: {{{', '.join(example_of(key, inner) for key, inner in wanted)}}}"


def what(node: Node) -> str:
    """What was written where something else belongs."""
    if isinstance(node, MapNode):
        return "a group of keys"
    return "a list" if isinstance(node, ListNode) else f"the value {shown(getattr(node, 'raw', ''))}"

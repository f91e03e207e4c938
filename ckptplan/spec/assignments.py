"""Values that override a spec: ``--set KEY=VALUE`` and ``CKPTPLAN_SPEC__KEY=VALUE``, read as YAML."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ckptplan.errors import InputError, Place, Problem
from ckptplan.spec.document import parse, read_text
from ckptplan.spec.schema import SPEC, Group, Many
from ckptplan.spec.tree import Node, ScalarNode, Source

PREFIX = "CKPTPLAN_SPEC__"

_ALMOST = PREFIX[:-1]  # a variable that begins so, with one underscore, is a slip and not another program's
_SET = re.compile(r"\s*((?:[^=\[\]]|\[[^\]]*\])+?)\s*=(.*)", re.DOTALL)
_PART = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")
_INDEX = re.compile(r"(?<=_)[0-9]+(?=_|$)")


class Assignment(NamedTuple):
    """One overriding value: ``path`` holds keys, and for items of a list an index or a name; ``written`` is the key."""

    path: tuple[str, ...]
    node: Node
    written: str


def from_flags(sets: Sequence[str], problems: list[Problem]) -> list[Assignment]:
    """``--set KEY=VALUE``, in their order."""
    found: list[Assignment] = []
    for text in sets:
        label = label_of(text)
        parts = key_and_value(text)
        if parts is None:
            problems.append(Problem("KEY=VALUE is wanted", Place(label), hint="write for example cluster.gpus=1024"))
            continue
        written, path, value = parts
        _assign(found, path, value, label, problems, written=written)
    return found


def label_of(text: str) -> str:
    """How messages call a flag."""
    return f"--set {text if len(text) <= 80 else text[:77] + '...'}"


def key_and_value(text: str) -> tuple[str, tuple[str, ...], str] | None:
    """The key as written, its path, and the text behind the equals sign; None if it is no ``KEY=VALUE``."""
    match = _SET.fullmatch(text)
    path = path_of(match[1]) if match else ()
    return (match[1], path, match[2]) if match and path else None


def from_environment(environment: Mapping[str, str], problems: list[Problem]) -> list[Assignment]:
    """``CKPTPLAN_SPEC__CLUSTER__GPUS=1024``, in alphabetical order; a name that was meant so is a fault."""
    found: list[Assignment] = []
    for name in sorted(environment):
        if not name.startswith(_ALMOST):
            continue
        label = f"environment {name}"
        path = tuple(part.lower() for part in name.removeprefix(PREFIX).split("__"))
        if not name.startswith(PREFIX) or (path[0] and path[0] not in SPEC.keys):
            meant = _meant(name.removeprefix(_ALMOST))
            if meant or not name.startswith(PREFIX):
                hint = f"write {meant}" if meant else f"write for example {PREFIX}CLUSTER__GPUS for cluster.gpus"
                problems.append(Problem("two underscores before every key are wanted", Place(label), hint=hint))
                continue
        if not all(path):
            hint = f"write for example {PREFIX}CLUSTER__GPUS"
            problems.append(Problem("a key is wanted after the prefix", Place(label), hint=hint))
            continue
        written = re.sub(r"\.([0-9]+)(?=\.|$)", r"[\1]", ".".join(path))
        _assign(found, path, environment[name], label, problems, written=written)
    return found


def _meant(rest: str) -> str | None:
    """The right name of a variable whose underscores are wrong."""
    folded = re.sub("_+", "_", rest.strip("_").lower())
    index = _INDEX.search(folded)
    for path in _paths(SPEC):
        if "_".join(path) == _INDEX.sub("0", folded):
            parts = [index[0] if index and part == "0" else part.upper() for part in path]
            return PREFIX + "__".join(parts)
    return None


def _paths(group: Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, entry in group.keys.items():
        yield (*path, key)
        if isinstance(entry, Group):
            yield from _paths(entry, (*path, key))
        elif isinstance(entry, Many):
            yield from _paths(entry.item, (*path, key, "0"))


def path_of(path: str) -> tuple[str, ...]:
    """The parts of a key such as ``save[1].stall``; none if it is no key."""
    parts, position = [], 0
    while position < len(path):
        found = _PART.match(path, position)
        if found is None:
            return ()
        parts.append((found[1] or found[2] or "").strip())
        position = found.end()
    return tuple(parts) if all(parts) else ()


def _assign(
    found: list[Assignment], path: tuple[str, ...], text: str, label: str, problems: list[Problem], *, written: str
) -> None:
    source = Source(label)
    try:
        clean, _ = read_text(text.encode("utf-8", "surrogateescape"), label)
        node, faults = (ScalarNode(source, 1, 1), []) if not clean.strip() else parse(clean, source)
    except InputError as error:
        for fault in error.problems:
            hint = _quoted(written, text, label) if "not YAML" in fault.message else fault.hint
            problems.append(replace(fault, place=Place(label), key=fault.key or written, hint=hint))
        return
    problems.extend(faults)
    found.append(Assignment(path, node, written))


def _quoted(written: str, text: str, label: str) -> str:
    """What to write for a text that YAML does not take as it stands."""
    if len(text) > 40 or not text.isprintable() or set(text) & set("'\"\\"):
        return "quote a text that holds signs of YAML, and close every bracket"
    value = f'"{text.strip()}"'
    example = f"--set '{written}={value}'" if label.startswith("--set") else value
    return f"quote a text, within the quotes of the shell: {example}"

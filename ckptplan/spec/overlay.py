"""Flags and environment variables over the file: flag > environment > spec > preset > default."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ckptplan.errors import InputError, Place, Problem
from ckptplan.spec.document import parse, read_text
from ckptplan.spec.presets import excluded, expand, find_preset
from ckptplan.spec.schema import FAILURE_SOURCES, RESTART_PHASES, SPEC, Group, Many
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode, Source

PREFIX = "CKPTPLAN_SPEC__"

_SET = re.compile(r"\s*((?:[^=\[\]]|\[[^\]]*\])+?)\s*=(.*)", re.DOTALL)
_PART = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")


class Assignment(NamedTuple):
    """One overriding value: ``path`` holds keys, and for items of a list an index or a name."""

    path: tuple[str, ...]
    node: Node


def from_flags(sets: Sequence[str], problems: list[Problem]) -> list[Assignment]:
    """``--set KEY=VALUE``, in their order."""
    found: list[Assignment] = []
    for text in sets:
        label = f"--set {text if len(text) <= 80 else text[:77] + '...'}"
        match = _SET.fullmatch(text)
        path = _split(match[1]) if match else ()
        if match is None or not path:
            problems.append(Problem("KEY=VALUE is wanted", Place(label), hint="write for example cluster.gpus=1024"))
            continue
        _assign(found, path, match[2], label, problems)
    return found


def from_environment(environment: Mapping[str, str], problems: list[Problem]) -> list[Assignment]:
    """``CKPTPLAN_SPEC__CLUSTER__GPUS=1024``, in alphabetical order."""
    found: list[Assignment] = []
    for name in sorted(environment):
        if name.startswith(PREFIX):
            path = tuple(part.lower() for part in name.removeprefix(PREFIX).split("__"))
            if not all(path):
                hint = f"write for example {PREFIX}CLUSTER__GPUS"
                problems.append(Problem("a key is wanted after the prefix", Place(f"environment {name}"), hint=hint))
                continue
            _assign(found, path, environment[name], f"environment {name}", problems)
    return found


def apply(root: MapNode, assignments: Sequence[Assignment], problems: list[Problem]) -> MapNode:
    """The tree with one layer of assignments on top. The old tree is not changed (aliases share its nodes)."""
    layer = _with_presets(assignments, problems)
    root = _give_way(root, layer)
    for assignment in layer:
        try:
            root = _put_map(root, assignment.path, assignment, "")
        except InputError as error:
            problems.extend(error.problems)
    return root


def expand_presets(root: MapNode, problems: list[Problem]) -> MapNode:
    """Every group of the tree with the values of the preset that it names."""
    entries = dict(root.entries)
    for name, (place, node) in root.entries.items():
        entry = SPEC.keys.get(name)
        if isinstance(entry, Group) and entry.preset and isinstance(node, MapNode):
            entries[name] = (place, expand(name, node, name, problems))
        elif isinstance(entry, Many) and isinstance(node, ListNode):
            items = [
                expand(name, item, f"{name}[{index}]", problems) if isinstance(item, MapNode) else item
                for index, item in enumerate(node.items)
            ]
            entries[name] = (place, replace(node, items=items))
    return replace(root, entries=entries)


def _split(path: str) -> tuple[str, ...]:
    parts, position = [], 0
    while position < len(path):
        found = _PART.match(path, position)
        if found is None:
            return ()
        parts.append((found[1] or found[2] or "").strip())
        position = found.end()
    return tuple(parts) if all(parts) else ()


def _assign(found: list[Assignment], path: tuple[str, ...], text: str, label: str, problems: list[Problem]) -> None:
    source = Source(label)
    try:
        clean, _ = read_text(text.encode("utf-8", "surrogateescape"), label)
        node, faults = (ScalarNode(source, 1, 1), []) if not clean.strip() else parse(clean, source)
    except InputError as error:
        key = ".".join(path)
        problems.extend(replace(fault, place=Place(label), key=fault.key or key) for fault in error.problems)
        return
    problems.extend(faults)
    found.append(Assignment(path, node))


def _with_presets(assignments: Sequence[Assignment], problems: list[Problem]) -> list[Assignment]:
    """A preset that a flag names has the strength of the flag; its values come before the layer's own."""
    values: list[Assignment] = []
    for item in assignments:
        group = item.path[0]
        entry = SPEC.keys.get(group)
        takes_presets = isinstance(entry, Many) or (isinstance(entry, Group) and entry.preset)
        if item.path[-1] != "preset" or not takes_presets or len(item.path) < 2:
            continue
        preset = find_preset(group, item.node, ".".join(item.path))
        if isinstance(preset, Problem):
            problems.append(preset)
            continue
        own = {other.path[-1] for other in assignments if other.path[:-1] == item.path[:-1]}
        for key, (_, node) in preset.values.entries.items():
            if key not in own and not excluded(group, key, own):
                values.append(Assignment((*item.path[:-1], key), node))
    return [*values, *assignments]


def _give_way(root: MapNode, layer: Sequence[Assignment]) -> MapNode:
    """Drop what the layer replaces as a whole: the failure source, a restart total or its phases, followers."""
    for group, names in (("failures", FAILURE_SOURCES), ("restart", ("total", *RESTART_PHASES))):
        set_now = {item.path[1] for item in layer if len(item.path) > 1 and item.path[0] == group} & set(names)
        root = _without(
            root, (group,), {name for name in names if excluded(group, name, set_now) and name not in set_now}
        )
    paths = {item.path for item in layer}
    if ("cluster", "gpus") in paths and not any(path[:2] == ("cluster", "layout") for path in paths):
        root = _without(root, ("cluster", "layout"), {_follower(root)})
    return root


def _follower(root: MapNode) -> str:
    """The axis that follows from another number of GPUs: whole replicas with HSDP, data-parallel ranks else."""
    node: Node | None = root
    for key in ("cluster", "layout"):
        node = node.child(key) if isinstance(node, MapNode) else None
    if not isinstance(node, MapNode):
        return "data"
    shard = node.child("shard")
    hsdp = isinstance(shard, ScalarNode) and shard.raw == "hsdp"
    return "replicas" if hsdp and node.child("data") is not None else "data"


def _without(root: MapNode, path: tuple[str, ...], names: set[str]) -> MapNode:
    if not path:
        return replace(root, entries={key: entry for key, entry in root.entries.items() if key not in names})
    found = root.entries.get(path[0])
    if found is None or not names or not isinstance(found[1], MapNode):
        return root
    return replace(root, entries={**root.entries, path[0]: (found[0], _without(found[1], path[1:], names))})


def _put(node: Node | None, path: tuple[str, ...], item: Assignment, done: str) -> Node:
    if not path:
        return item.node
    if isinstance(node, ListNode):
        return _put_list(node, path, item, done)
    if node is None or (isinstance(node, ScalarNode) and node.value is None):
        node = MapNode(item.node.source, 1, 1)
    if not isinstance(node, MapNode):
        raise InputError(Problem(f"{done} has no keys below it", item.node.place, ".".join(item.path)))
    return _put_map(node, path, item, done)


def _put_map(node: MapNode, path: tuple[str, ...], item: Assignment, done: str) -> MapNode:
    key = path[0]
    old = node.entries.get(key)
    child = _put(None if old is None else old[1], path[1:], item, f"{done}.{key}".lstrip("."))
    place = item.node.place if old is None or len(path) == 1 else old[0]
    return replace(node, entries={**node.entries, key: (place, child)})


def _put_list(node: ListNode, path: tuple[str, ...], item: Assignment, done: str) -> ListNode:
    names = [_name(child) for child in node.items]
    wanted = path[0]
    if re.fullmatch("[0-9]{1,6}", wanted) and int(wanted) < len(names):
        index = int(wanted)
    elif wanted in names:
        index = names.index(wanted)
    else:
        valid = ", ".join(f"{done}[{name}]" for name in names if name) or f"{done}[0]"
        message = f"there is no {done}[{wanted}]; it has {len(names)} entries, counted from 0"
        raise InputError(Problem(message, item.node.place, ".".join(item.path), f"write {valid}"))
    items = list(node.items)
    items[index] = _put(items[index], path[1:], item, f"{done}[{index}]")
    return replace(node, items=items)


def _name(node: Node) -> str:
    for key in ("name", "mode"):
        found = node.child(key) if isinstance(node, MapNode) else None
        if isinstance(found, ScalarNode):
            return found.raw.strip()
    return ""

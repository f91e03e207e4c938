"""Flags and environment variables over the file: flag > environment > spec > preset > default.

A preset takes the strength of the layer that names it. In the file, keys written beside it win. Named by a flag or
a variable, it wins over the layers below: for storage, failures and restart it replaces the whole group, because it
names a whole store, failure history or recovery; for model, cluster and save it replaces what an older preset gave
and the keys that it speaks of itself, and leaves the others (gpus, layout, state). Keys of the same layer beside it
win. ``storage={preset: nfs}`` replaces the group, as every group that is assigned as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from ckptplan.cost.scenario import Mode
from ckptplan.errors import InputError, Place, Problem
from ckptplan.spec.assignments import Assignment
from ckptplan.spec.hints import shown
from ckptplan.spec.presets import excluded, expand, find_preset, is_from_preset, values_by
from ckptplan.spec.schema import (
    FAILURE_SOURCES,
    MODEL_SOURCES,
    RESTART_PHASES,
    SPEC,
    WORK_SOURCES,
    Group,
    Key,
    Many,
    find,
)
from ckptplan.spec.schema_faults import CLASS_PHASES, CLASS_RATES, THEN_KEYS
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode

Entries: TypeAlias = dict[str, tuple[Place, Node]]

LONE_PHASES = "set restart.total, or give all phases: "  # how a hint begins that lists them
_A_LOAD = "2 min"  # an example of the time of a load
_PHASE_PATHS = {(phase,) for phase in RESTART_PHASES}
_REPLACED = ("storage", "failures", "restart")  # groups that a preset names as a whole
_NAME_OF_THE_NAMELESS = {"save": str(Mode.SHARDED), "failures.classes": "crash"}  # the default of mode or kind


def _rivals(*ways: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Of several ways to say the same, each key with the keys of the others."""
    return {key: tuple(name for other in ways if other != way for name in other) for way in ways for key in way}


# By group, what a key of a stronger layer replaces: a share a count, a total the phases.
_RIVALS = {
    "failures.classes": _rivals(*((rate,) for rate in CLASS_RATES)) | _rivals(("total",), CLASS_PHASES),
    "storage.tiers": _rivals(("capacity",), ("capacity_per_node",)),
    "retention": _rivals(("keep",), tuple(THEN_KEYS)),
}


def apply(root: MapNode, assignments: Sequence[Assignment], problems: list[Problem]) -> MapNode:
    """The tree with one layer of assignments on top. The old tree is not changed (aliases share its nodes)."""
    layer = _without_lone_phases(root, assignments, problems)
    root = _give_way(root, layer)
    for assignment in layer:
        try:
            root = _put_map(root, assignment.path, assignment, "")
        except InputError as error:
            problems.extend(error.problems)
    names = {assignment.node.source.name for assignment in layer}
    return _in_every_group(root, lambda group, node, path: _take_preset(group, node, path, names, problems))


def expand_presets(root: MapNode, problems: list[Problem]) -> MapNode:
    """Every group of the file's tree with the values of the preset that it names."""
    return _in_every_group(root, lambda group, node, path: expand(group, node, path, problems))


def _in_every_group(root: MapNode, change: Callable[[str, MapNode, str], MapNode]) -> MapNode:
    """The tree with every group that may name a preset changed; ``change`` takes its kind, itself and its path."""
    entries = dict(root.entries)
    for name, (place, node) in root.entries.items():
        entry = SPEC.keys.get(name)
        if isinstance(entry, Group) and entry.preset and isinstance(node, MapNode):
            entries[name] = (place, change(name, node, name))
        elif isinstance(entry, Many) and isinstance(node, ListNode):
            items = [
                change(name, item, f"{name}[{index}]") if isinstance(item, MapNode) else item
                for index, item in enumerate(node.items)
            ]
            entries[name] = (place, replace(node, items=items))
    return replace(root, entries=entries)


def _take_preset(group: str, node: MapNode, path: str, names: set[str], problems: list[Problem]) -> MapNode:
    """The group under a preset that this layer names; ``names`` are the layer's flags or variables."""
    named = node.child("preset")
    if named is None or not _is_of(named, names):
        return node
    preset = find_preset(group, named, f"{path}.preset")
    if isinstance(preset, Problem):
        problems.append(preset)
        return node
    own = _own_entries(node, names)
    if group in _REPLACED:
        entries = dict(own)
    else:
        entries = {key: entry for key, entry in node.entries.items() if not is_from_preset(entry[1])}
    values = values_by(preset, named.source.name.partition(" ")[0])
    entries = {key: entry for key, entry in entries.items() if key in own or not excluded(group, key, values)}
    for key, (place, value) in values.items():
        if not excluded(group, key, own):
            entries[key] = (place, _over(value, own[key][1])) if key in own else (place, value)
    return replace(node, entries=entries)


def _is_of(node: Node, names: Iterable[str]) -> bool:
    return node.source.lines is None and node.source.name in names


def _own_entries(node: MapNode, names: set[str]) -> Entries:
    """The entries, or parts of entries, that a layer itself gave."""
    own: Entries = {}
    for key, (place, child) in node.entries.items():
        if _is_of(child, names):
            own[key] = (place, child)
        elif isinstance(child, MapNode) and (inner := _own_entries(child, names)):
            own[key] = (place, replace(child, entries=inner))
    return own


def _over(weak: Node, strong: Node) -> Node:
    """One value on top of another; groups keep the keys of both."""
    if not isinstance(weak, MapNode) or not isinstance(strong, MapNode):
        return strong
    return replace(strong, entries={**weak.entries, **strong.entries})


def _without_lone_phases(
    root: MapNode, assignments: Sequence[Assignment], problems: list[Problem]
) -> Sequence[Assignment]:
    """Refuse single phases over a restart total: the phases not given would silently become 0 s."""
    restart = root.child("restart")
    total = restart.child("total") if isinstance(restart, MapNode) else None
    lone = [item for item in assignments if item.path[0] == "restart" and item.path[1:] in _PHASE_PATHS]
    given = {item.path[1]: item.node for item in lone}
    whole = any(item.path[0] == "restart" and item.path[1:] in {(), ("preset",), ("total",)} for item in assignments)
    if total is None or not lone or whole or len(given) == len(RESTART_PHASES):
        return assignments
    giver = "the spec" if total.source.lines is not None else "the environment"
    computed = _reads_are_known(root, assignments)
    value = f"{{{', '.join(_phase(name, given.get(name), computed=computed) for name in RESTART_PHASES)}}}"
    flag = lone[0].node.source.name.startswith("--set")
    example = f"--set 'restart={value}'" if flag else f"CKPTPLAN_SPEC__RESTART='{value}'"
    message = f"{giver} gives restart.total; with {' and '.join(given)} alone, every other phase would be 0 s"
    hint = f"{LONE_PHASES}{example}"
    problems.append(Problem(message, lone[0].node.place, lone[0].written, hint))
    return [item for item in assignments if item not in lone]


def _reads_are_known(root: MapNode, assignments: Sequence[Assignment]) -> bool:
    """Whether a load can be computed for certain: a benchmark or a preset of this layer may or may not say how."""
    storage = root.child("storage")
    known = isinstance(storage, MapNode) and storage.child("read_bandwidth") is not None
    for item in assignments:
        if item.path[0] == "storage":
            known = item.path[1:] == ("read_bandwidth",) or (known and len(item.path) > 1 and item.path[1] != "preset")
    return known


def _phase(name: str, node: Node | None, *, computed: bool) -> str:
    """A phase of the suggestion: as given if that can be a time, else an example; a load of which one can be had."""
    entry = find(f"restart.{name}")
    text = node.raw.strip() if isinstance(node, ScalarNode) else ""
    if text != "auto" and not text[:1].isdigit():
        text = entry.example if isinstance(entry, Key) else ""
    if text == "auto" and not computed:
        text = _A_LOAD
    return f"{name}: {shown(text)}"


def _give_way(root: MapNode, layer: Sequence[Assignment]) -> MapNode:
    """Drop what the layer replaces as a whole: a source of model or failures, a restart total or its phases."""
    work = (*WORK_SOURCES, "tokens_per_step")
    rivals = (
        ("model", (*MODEL_SOURCES, "expert_parameters")),
        ("failures", FAILURE_SOURCES),
        ("restart", ("total", *RESTART_PHASES)),
        ("training", work),
    )
    for group, names in rivals:
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
        raise InputError(Problem(f"{done} has no keys below it", item.node.place, item.written))
    return _put_map(node, path, item, done)


def _put_map(node: MapNode, path: tuple[str, ...], item: Assignment, done: str) -> MapNode:
    key = path[0]
    old = node.entries.get(key)
    child = _put(None if old is None else old[1], path[1:], item, f"{done}.{key}".lstrip("."))
    place = item.node.place if old is None or len(path) == 1 else old[0]
    rivals = _RIVALS.get(re.sub(r"\[[0-9]+\]", "", done), {}).get(key, ()) if len(path) == 1 else ()
    kept = {name: entry for name, entry in node.entries.items() if name not in rivals or _same_layer(entry[1], item)}
    return replace(node, entries={**kept, key: (place, child)})


def _same_layer(node: Node, item: Assignment) -> bool:
    giver, layer = (source.name.partition(" ")[0] for source in (node.source, item.node.source))
    return node.source.lines is None and giver == layer


def _put_list(node: ListNode, path: tuple[str, ...], item: Assignment, done: str) -> ListNode:
    index = index_of(node, path[0], done)
    if index is None:
        names = [_name(child, done) for child in node.items]
        valid = ", ".join(f"{done}[{name}]" for name in names if name) or f"{done}[0]"
        message = f"there is no {done}[{path[0]}]; it has {len(names)} entries, counted from 0"
        raise InputError(Problem(message, item.node.place, item.written, f"write {valid}"))
    items = list(node.items)
    items[index] = _put(items[index], path[1:], item, f"{done}[{index}]")
    return replace(node, items=items)


def index_of(node: ListNode, wanted: str, group: str) -> int | None:
    """Which item of a list is meant by its number or its name; None if there is none."""
    names = [_name(child, group) for child in node.items]
    alike = [index for index, name in enumerate(names) if _folded(name) == _folded(wanted)]
    if re.fullmatch("[0-9]{1,6}", wanted) and int(wanted) < len(names):
        return int(wanted)
    if wanted in names:
        return names.index(wanted)
    return alike[0] if len(alike) == 1 else None


def _folded(name: str) -> str:
    """A name as a variable can hold it: ``local ssd`` is LOCAL_SSD there."""
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def _name(node: Node, group: str) -> str:
    for key in ("name", "mode", "kind"):
        found = node.child(key) if isinstance(node, MapNode) else None
        if isinstance(found, ScalarNode):
            return found.raw.strip()
    return _NAME_OF_THE_NAMELESS.get(group, "")

"""Values that a group can take by name, read from the data file beside this module."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ckptplan.errors import Place, Problem
from ckptplan.spec.document import parse, read_text
from ckptplan.spec.hints import nearest, shown
from ckptplan.spec.schema import FAILURE_SOURCES, MODEL_SOURCES, RESTART_PHASES, WORK_SOURCES
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode, Source

_FILE = Path(__file__).with_name("presets.yaml")
_ORIGIN = "preset "


class Preset(NamedTuple):
    """One preset: its group, name, where its values come from, and the values as a tree."""

    group: str
    name: str
    source: str
    values: MapNode


@cache
def presets() -> dict[str, dict[str, Preset]]:
    """All presets: group -> name -> preset."""
    text, source = read_text(_FILE.read_bytes(), _FILE.name)
    root, _ = parse(text, source)
    found: dict[str, dict[str, Preset]] = {}
    for group, (_, members) in _mapping(root).items():
        found[group] = {name: _preset(group, name, node) for name, (_, node) in _mapping(members).items()}
    return found


def find_preset(group: str, node: Node, path: str) -> Preset | Problem:
    """The preset that a node names; a problem if there is none of that name."""
    word = node.raw.strip() if isinstance(node, ScalarNode) else ""
    members = presets()[group]
    if word in members:
        return members[word]
    near = nearest(word, members)
    hint = f"did you mean {near}?" if near else f"presets for {group}: {', '.join(members)}"
    what = shown(word) if word else "this"
    return Problem(f"there is no preset {what} for {group}", node.place, path, hint)


def expand(group: str, node: MapNode, path: str, problems: list[Problem]) -> MapNode:
    """The group with the values of the preset that it names; keys written beside the name win."""
    named = node.child("preset")
    if named is None:
        return node
    preset = find_preset(group, named, f"{path}.preset")
    if isinstance(preset, Problem):
        problems.append(preset)
        return node
    entries = dict(node.entries)
    for key, entry in preset.values.entries.items():
        if key not in entries and not excluded(group, key, entries):
            entries[key] = entry
    return replace(node, entries=entries)


def values_by(preset: Preset, giver: str) -> dict[str, tuple[Place, Node]]:
    """The values of a preset that a flag or a variable names, which their origin then tells."""
    tree = _renamed(preset.values, Source(f"{_ORIGIN}{preset.name} ({giver})"))
    return dict(tree.entries) if isinstance(tree, MapNode) else {}


def is_from_preset(node: Node) -> bool:
    """Whether a preset gave this value, and no text."""
    return node.source.lines is None and node.source.name.startswith(_ORIGIN)


def excluded(group: str, key: str, stronger: object) -> bool:
    """Whether a weaker value must give way: another source of the model or the failures, a total against phases."""
    names = set(stronger)  # type: ignore[call-overload]
    if group == "model":
        # A file of the model says which parameters are in experts, too.
        rivals = {"config", "checkpoint"} if key == "expert_parameters" else set(MODEL_SOURCES) - {key}
        return key in {*MODEL_SOURCES, "expert_parameters"} and bool(names & rivals)
    if group == "failures":
        return key in FAILURE_SOURCES and bool(names & set(FAILURE_SOURCES) - {key})
    if group == "restart":
        return (key == "total" and bool(names & set(RESTART_PHASES))) or (key in RESTART_PHASES and "total" in names)
    if group == "training":
        of_tokens = key in {"tokens", "tokens_per_step"} and bool(names & {"duration", "steps"})
        return of_tokens or (key in {"duration", "steps"} and bool(names & set(WORK_SOURCES) - {key}))
    return False


def _mapping(node: Node) -> dict[str, tuple[object, Node]]:
    return dict(node.entries) if isinstance(node, MapNode) else {}


def _preset(group: str, name: str, node: Node) -> Preset:
    entries = _mapping(node)
    source, values = entries["source"][1], entries["values"][1]
    said = source.raw if isinstance(source, ScalarNode) else ""
    renamed = _renamed(values, Source(f"{_ORIGIN}{name}"))
    return Preset(group, name, said, renamed if isinstance(renamed, MapNode) else MapNode(values.source, 1, 1))


def _renamed(node: Node, source: Source) -> Node:
    """The same tree, said to come from the preset and not from a line of the data file."""
    if isinstance(node, MapNode):
        place = source.place(node.line, node.column)
        entries = {key: (place, _renamed(child, source)) for key, (_, child) in node.entries.items()}
        return replace(node, source=source, entries=entries)
    if isinstance(node, ListNode):
        return replace(node, source=source, items=[_renamed(child, source) for child in node.items])
    return replace(node, source=source)

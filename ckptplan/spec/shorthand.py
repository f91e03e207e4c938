"""Groups that may be written as one value: ``record: sacct.txt`` for ``record: {file: sacct.txt}``."""

from __future__ import annotations

from dataclasses import replace

from ckptplan.errors import Place
from ckptplan.spec.schema import SPEC, Group
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode


def spelled_out(root: MapNode) -> MapNode:
    """The tree with every such value as a group; the old tree is not changed."""
    return _spelled_out(root, SPEC)


def _spelled_out(node: MapNode, group: Group) -> MapNode:
    entries = dict(node.entries)
    for name, (place, child) in node.entries.items():
        entry = group.keys.get(name)
        if not isinstance(entry, Group):
            continue
        if isinstance(child, MapNode):
            entries[name] = (place, _spelled_out(child, entry))
        elif entry.shorthand and _is_value(child):
            inner: dict[str, tuple[Place, Node]] = {entry.shorthand: (child.place, child)}
            entries[name] = (place, MapNode(child.source, child.line, child.column, 2, 1, inner))
    return replace(node, entries=entries)


def _is_value(node: Node) -> bool:
    return isinstance(node, ListNode) or (isinstance(node, ScalarNode) and node.value is not None)

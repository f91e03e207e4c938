"""A layout file, YAML or JSON: the mesh that a checkpoint will be loaded on, and how tensors lie on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ckptplan.checkpoint.reshard.document import layout_of
from ckptplan.checkpoint.reshard.layout import Layout
from ckptplan.errors import InputError, Place, Problem
from ckptplan.spec.document import Size, parse, read_text
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode

MOST_BYTES = 64 << 20  # a file that names every key of a large checkpoint
_HINT = 'such as {mesh: "fsdp=8,tp=4", placements: {"*.wo.weight": ["S(0)", "S(1)"]}}'
_USUAL = ("a layout names patterns of keys", "name patterns of keys, not every key")
_SIZE = Size(MOST_BYTES, 2_000_000, *_USUAL, start=_HINT)


def read_layout(data: bytes, file: str) -> Layout:
    """The layout that a file describes.

    Raises
    ------
    InputError
        With every fault, each with its line.
    """
    text, source = read_text(data, file, _SIZE)
    root, problems = parse(text, source, _SIZE)
    if not isinstance(root, MapNode):
        raise InputError([*problems, Problem("not a mapping of mesh and placements", root.place, hint=_HINT)])
    places: dict[str, Place] = {}
    value = _value(root, "", places)
    try:
        layout = layout_of(value)
    except InputError as error:
        problems += [_placed(problem, places, root.place) for problem in error.problems]
    else:
        if not problems:
            return layout._replace(places=places)
    raise InputError(problems)


def _value(node: Node, path: str, places: dict[str, Place]) -> Any:
    """Dicts, lists, texts and numbers; ``places`` gets the position of each key. The parser has bounded the depth."""
    if isinstance(node, MapNode):
        return dict(_entries(node, path, places))
    if isinstance(node, ListNode):
        return [_value(item, f"{path}[{number}]", places) for number, item in enumerate(node.items)]
    return node.value if isinstance(node, ScalarNode) else None


def _entries(node: MapNode, path: str, places: dict[str, Place]) -> Iterator[tuple[str, Any]]:
    for key, (place, child) in node.entries.items():
        below = f"{path}.{key}" if path else key
        places[below] = place
        yield key, _value(child, below, places)


def _placed(problem: Problem, places: dict[str, Place], otherwise: Place) -> Problem:
    """The same with the position of the key it names, or of the nearest key above it."""
    key = problem.key or ""
    while key and key not in places:
        key = key.rpartition(".")[0]
    return replace(problem, place=places.get(key, otherwise))

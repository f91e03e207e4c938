"""The sweep group of a file: the axes and options that ``ckptplan sweep`` takes from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ckptplan.errors import InputError, Place, Problem
from ckptplan.spec.axes import WrittenAxis, axes_from_group, refuse_repeated, refuse_too_many
from ckptplan.spec.document import parse, read_text
from ckptplan.spec.fields import Fields, read_group
from ckptplan.spec.hints import nearest, shown
from ckptplan.spec.schema_sweep import SWEEP
from ckptplan.spec.tree import ListNode, MapNode, ScalarNode
from ckptplan.units import no_price

if TYPE_CHECKING:
    from ckptplan.spec.reading import Spec

_GROUP = "sweep"
_BESIDE = frozenset({_GROUP, "name"})  # what a file of a study may hold


class Names(NamedTuple):
    """Names as a file lists them, each with its place."""

    names: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()


class Asked(NamedTuple):
    """What a file asks a sweep for; None is not given."""

    axes: tuple[WrittenAxis, ...] = ()
    show: Names | None = None
    each: str | None = None
    strategies: Names | None = None
    methods: Names | None = None
    gpu_hour_price: float | None = None
    runs: int | None = None
    seed: int | None = None
    specs: Names | None = None


def is_study(root: MapNode) -> bool:
    """Whether a file is no spec but asks for a sweep of others."""
    return _GROUP in root.entries and root.entries.keys() <= _BESIDE


def asked_in(data: bytes, file: str) -> tuple[Asked | None, bool]:
    """What a file asks for, None if it has no such group, and whether it is a study of other specs.

    Raises
    ------
    InputError
        If the text is no YAML, or it is a study with faults. Those of a spec are left to its reader.
    """
    root, problems = parse(*read_text(data, file))
    node = root.child(_GROUP) if isinstance(root, MapNode) else None
    if not isinstance(root, MapNode) or node is None:
        return None, False
    fields = Fields(file)
    fields.places[""] = root.place
    if isinstance(node, MapNode):
        read_group(fields, _GROUP, node, SWEEP)
    else:
        hint = "write sweep: {over: {cluster.gpus: [1024, 2048]}}"
        fields.fault(_GROUP, "a group of keys belongs here", hint, node.place)
    alone = is_study(root)
    if alone and not isinstance(node, MapNode):
        raise InputError([*problems, *fields.problems])  # what else is missing follows from that
    asked = take_sweep(fields, alone=alone)
    if alone and (problems or fields.problems):
        raise InputError([*problems, *fields.problems])
    return asked, alone


def take_sweep(fields: Fields, *, alone: bool) -> Asked:
    """The group of fields that were held against the schema; further faults are noted."""
    problems: list[Problem] = []
    over = fields.given.get(f"{_GROUP}.over")
    axes = () if over is None else tuple(axes_from_group(over.node, problems))
    refuse_repeated(((axis.axis.key, axis.place) for axis in axes), problems)
    refuse_too_many([axis.axis for axis in axes], 1, problems)
    specs = _names(fields, "specs")
    if specs is not None and not alone:
        place = fields.place(f"{_GROUP}.specs")
        hint = "delete it here, or put the group into a file of its own"
        problems.append(Problem("a spec sweeps itself, and names no others", place, f"{_GROUP}.specs", hint))
    if alone and specs is None and "sweep.specs" not in fields.faulty:
        hint = "write specs: [llama3-405b, run.yaml]"
        problems.append(Problem("missing in a file without a spec", fields.place(_GROUP), f"{_GROUP}.specs", hint))
    price = _plain(fields, "gpu_hour_price")
    why = None if price is None else no_price(price)
    if why is not None:
        hint = "write the price of one GPU for one hour, for example 2.5"
        key = f"{_GROUP}.gpu_hour_price"
        problems.append(Problem(f"{price:g}: {why}", fields.place(key), key, hint))
    for problem in problems:
        fields.faulty.add(problem.key or _GROUP)
    fields.problems += problems
    return Asked(
        axes,
        _names(fields, "show"),
        _plain(fields, "each"),
        _names(fields, "strategies"),
        _names(fields, "methods"),
        price,
        _plain(fields, "runs"),
        _plain(fields, "seed"),
        specs,
    )


def unknown_names(asked: Asked, strategies: Sequence[str] | None = None) -> Iterator[Problem]:
    """Names of columns, methods and, where ``strategies`` says which there are, strategies, that are not known."""
    from ckptplan.interval.methods import METHODS
    from ckptplan.sweep.titles import columns_of, meant_by

    for name, place in _placed(asked.show):
        if not columns_of(name):
            yield Problem(f"{shown(name)} is no column", place, f"{_GROUP}.show", meant_by(name))
    yield from _unlisted(asked.methods, tuple(METHODS), "methods")
    if strategies is not None:
        yield from _unlisted(asked.strategies, strategies, "strategies")


def unknown_names_in(spec: Spec) -> list[Problem]:
    """Those of the sweep group of a spec that was read; commands that do not sweep need not know them."""
    if spec._fields is None or _GROUP not in spec._fields.groups:
        return []
    from ckptplan.plan.chosen import ways_of_saving

    asked = take_sweep(replace(spec._fields, problems=[], faulty=set()), alone=False)
    return list(unknown_names(asked, ways_of_saving(spec.scenario)))


def _placed(names: Names | None) -> Iterator[tuple[str, Place]]:
    return iter(()) if names is None else zip(names.names, names.places, strict=True)


def _unlisted(names: Names | None, valid: Sequence[str], key: str) -> Iterator[Problem]:
    for name, place in _placed(names):
        if name not in valid:
            near = nearest(name, valid)
            hint = f"did you mean {near}?" if near else f"one of {', '.join(valid)}"
            yield Problem(f"{shown(name)} is not known", place, f"{_GROUP}.{key}", hint)


def _plain(fields: Fields, key: str) -> Any:
    found = fields.given.get(f"{_GROUP}.{key}")
    return None if found is None else found.si


def _names(fields: Fields, key: str) -> Names | None:
    found = fields.given.get(f"{_GROUP}.{key}")
    if found is None:
        return None
    items = found.node.items if isinstance(found.node, ListNode) else [found.node]
    scalars = [item for item in items if isinstance(item, ScalarNode)]
    parts = [(part.strip(), item.place) for item in scalars for part in item.raw.split(",") if part.strip()]
    return Names(tuple(name for name, _ in parts), tuple(place for _, place in parts))

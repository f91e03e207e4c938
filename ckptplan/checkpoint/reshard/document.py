"""A layout from a document: a mesh, and placements for keys or patterns; all faults of it at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ckptplan.checkpoint.manifest import Mesh
from ckptplan.checkpoint.reshard.layout import (
    ALIASES,
    AXES,
    MOST_AXES,
    MOST_RANKS,
    Layout,
    Rule,
    is_pattern,
    parse_layout,
    unknown_axis,
)
from ckptplan.checkpoint.reshard.placement import Placements, Replicate, parse_placement
from ckptplan.errors import InputError, Problem

MOST_PROBLEMS = 20
_KEYS = ("mesh", "names", "layers_per_stage", "placements")
_ENTRY = ("placements", "stages", "shape")
_SHORT = 'a layout such as "fsdp=2,tp=2", or {fsdp: 2, tp: 2}, or a list of sizes with their names under "names"'


def layout_of(document: Mapping[str, Any]) -> Layout:
    """The layout that a document describes.

    ``mesh``: a short text, a mapping of axes to sizes in the order of the mesh, or a list of sizes with ``names``
    beside it. ``layers_per_stage``: a list of numbers. ``placements``: key or pattern -> null (whole on every rank), a
    list with one placement for each axis of the mesh, or a mapping of ``placements``, ``stages`` (of the pipeline that
    hold it) and ``shape`` (that the run expects). The first entry that fits a key counts. Patterns cut parameters and
    their state; steps, buffers and the like are whole on every rank unless an entry names their key.
    """
    faults = _Faults()
    for key in document:
        if key not in _KEYS:
            faults.add(str(key), "is not known here", f"one of {', '.join(_KEYS)}")
    mesh: Mesh | None = faults.tried("mesh", lambda: _mesh(document), None)
    stages = _numbers(document.get("layers_per_stage", ()), "layers_per_stage", faults, 0)
    pipeline = 1 if mesh is None else dict(zip(mesh.names, mesh.shape, strict=True)).get("pp", 0)
    if stages and not pipeline:
        faults.add("layers_per_stage", "says nothing without an axis pp of the mesh", "mesh: {pp: 2, fsdp: 8}")
    elif stages and len(stages) % pipeline:
        faults.add("layers_per_stage", f"has {len(stages)} stages, which pp does not divide")
    entries = document.get("placements", {})
    if not isinstance(entries, Mapping):
        faults.add("placements", "must map keys to placements", '"layers.*.wq.weight": ["S(0)"]')
        entries = {}
    rules = tuple(_rule(str(key), entry, mesh, faults) for key, entry in entries.items())
    shapes = tuple(
        (str(key), _numbers(entry["shape"], f"placements.{key}.shape", faults, 0))
        for key, entry in entries.items()
        if isinstance(entry, Mapping) and "shape" in entry
    )
    for key, _ in shapes:
        if is_pattern(key):
            faults.add(f"placements.{key}.shape", "a shape is of one tensor, and this is a pattern", "name the key")
    if mesh is not None:
        _check_stages(rules, len(stages) or pipeline, faults)
        _check_axes(rules, mesh, faults)
    faults.end()
    mesh = mesh or Mesh((1,), ("fsdp",))  # which is a fault
    return Layout(mesh, rules, stages, shapes, text=_text(mesh))


def _check_stages(rules: tuple[Rule, ...], stages: int, faults: _Faults) -> None:
    """Stages of a rule must be stages of the pipeline."""
    for rule in rules:
        if rule.stages and max(rule.stages) >= stages:
            there = f"the stages are 0 to {stages - 1}" if stages else "the mesh has no axis pp"
            faults.add(f"placements.{rule.pattern}.stages", f"stage {max(rule.stages)}: {there}", "[0]")


def _check_axes(rules: tuple[Rule, ...], mesh: Mesh, faults: _Faults) -> None:
    """An axis with a name of its own cuts only what a rule says."""
    for axis, (name, size) in enumerate(zip(mesh.names, mesh.shape, strict=True)):
        cut = any(rule.placements and not isinstance(rule.placements[axis], Replicate) for rule in rules)
        if size > 1 and name not in AXES and not cut:
            fault = unknown_axis(name)
            faults.add("mesh", f"{fault.message}, and no placement cuts along it", fault.hint)


class _Faults:
    """Faults found so far."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, key: str, message: str, hint: str | None = None) -> None:
        self.found.append(Problem(message, key=key, hint=hint))

    def tried(self, key: str, call: Callable[[], Any], otherwise: Any) -> Any:
        """The result of a call, or another one with its faults noted under a key."""
        try:
            return call()
        except InputError as error:
            self.found += [_under(key, problem) for problem in error.problems]
            return otherwise

    def end(self) -> None:
        if not self.found:
            return
        more = len(self.found) - MOST_PROBLEMS
        last = [Problem(f"and {more:,} more faults")] if more > 0 else []
        raise InputError([*self.found[:MOST_PROBLEMS], *last])


def _under(key: str, problem: Problem) -> Problem:
    return Problem(problem.message, key=key, hint=problem.hint)


def _mesh(document: Mapping[str, Any]) -> Mesh:
    written, names = document.get("mesh"), document.get("names")
    if isinstance(written, str | int) and not isinstance(written, bool) and names is None:
        return parse_layout(str(written)).mesh
    if isinstance(written, Mapping) and names is None:
        written, names = list(written.values()), list(written)
    if not isinstance(written, list | tuple) or not isinstance(names, list | tuple) or not written:
        raise InputError("no mesh", hint=_SHORT)
    if len(written) != len(names) or len(written) > MOST_AXES:
        raise InputError(f"a mesh of {len(written)} axes with {len(names)} names; at most {MOST_AXES}", hint=_SHORT)
    if not all(isinstance(name, str) for name in names):
        raise InputError("names of axes are texts", hint=_SHORT)
    known = tuple(ALIASES.get(str(name), str(name)) for name in names)
    if len(set(known)) < len(known):
        raise InputError(f"two axes are the same: {', '.join(known)}")
    if not all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in written):
        raise InputError(f"sizes of a mesh are numbers of ranks, not {str(written)[:60]}", hint=_SHORT)
    if math.prod(written) > MOST_RANKS:
        raise InputError(f"a mesh of {math.prod(written):,} ranks; at most {MOST_RANKS:,}")
    return Mesh(tuple(written), known)


def _rule(key: str, entry: Any, mesh: Mesh | None, faults: _Faults) -> Rule:
    at = f"placements.{key}"
    if not isinstance(entry, Mapping):
        return Rule(key, _placements(entry, mesh, at, faults))
    for name in entry:
        if name not in _ENTRY:
            faults.add(f"{at}.{name}", "is not known here", f"one of {', '.join(_ENTRY)}")
    placements = _placements(entry["placements"], mesh, at, faults) if "placements" in entry else None
    stages = entry.get("stages")
    return Rule(key, placements, None if stages is None else _numbers(stages, f"{at}.stages", faults, 0))


def _placements(entry: Any, mesh: Mesh | None, at: str, faults: _Faults) -> Placements:
    axes = 0 if mesh is None else len(mesh.shape)
    whole: Placements = (Replicate(),) * axes
    if entry is None:
        return whole
    if not isinstance(entry, list | tuple) or (mesh is not None and len(entry) != axes):
        names = "" if mesh is None else f" ({', '.join(mesh.names)})"
        faults.add(at, f"needs one placement for each axis of the mesh{names}", '"S(0)" or "R"')
        return whole
    return tuple(faults.tried(at, partial(parse_placement, str(text)), Replicate()) for text in entry)


def _numbers(entry: Any, at: str, faults: _Faults, least: int) -> tuple[int, ...]:
    numbers = [entry] if isinstance(entry, int) else entry
    if not isinstance(numbers, list | tuple) or any(
        not isinstance(number, int) or isinstance(number, bool) or not least <= number < 1 << 62 for number in numbers
    ):
        faults.add(at, f"must be whole numbers from {least} on, not {str(entry)[:60]}", "[8, 8]")
        return ()
    return tuple(numbers)


def _text(mesh: Mesh) -> str:
    return ",".join(f"{name}={size}" for name, size in zip(mesh.names, mesh.shape, strict=True))

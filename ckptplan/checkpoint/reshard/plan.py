"""Which parts of which stored shards every rank of a new layout reads, and what that costs."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from ckptplan.checkpoint.manifest import Flaw, Format, Manifest, Tensor
from ckptplan.checkpoint.reshard.boxes import unloadable
from ckptplan.checkpoint.reshard.layout import Layout, is_pattern
from ckptplan.checkpoint.reshard.overlaps import Overlaps, fault_of_shards, hole, overlaps, stored_boxes
from ckptplan.checkpoint.reshard.placement import Placements
from ckptplan.checkpoint.reshard.placing import Placed, place
from ckptplan.checkpoint.reshard.totals import Totals, totals_of
from ckptplan.checkpoint.reshard.wanted import Wanted, wanted
from ckptplan.errors import InputError, Problem

MOST_PROBLEMS = 20
MOST_ELEMENTS = 1 << 50  # of a tensor: bits of all tensors together stay within 64-bit numbers


class Part(NamedTuple):
    """The plan of one tensor. Tensors of the same shape, cuts and stored boxes share `want` and `reads`."""

    tensor: Tensor
    placements: Placements
    want: Wanted
    reads: Overlaps

    def shape_of(self, rank: int) -> tuple[int, ...] | None:
        """Shape of what a rank holds, None if it holds no part."""
        number = self.want.class_of(rank)
        return None if number is None else tuple(self.want.shapes[number].tolist())

    def reads_of(self, rank: int) -> Overlaps:
        """The reads of one rank, in the order of torch's planner."""
        number = self.want.class_of(rank)
        return self.reads.of_class(-1 if number is None else number)


class Plan(NamedTuple):
    """The reads of all ranks."""

    manifest: Manifest
    layout: Layout
    parts: tuple[Part, ...]  # in the order of the manifest
    totals: Totals
    left_out: tuple[str, ...]  # tensors of single ranks of the old run: see what cannot be carried over
    remarks: tuple[str, ...]


def plan(manifest: Manifest, layout: Layout) -> Plan:
    """The reads of every rank of a layout.

    Raises
    ------
    InputError
        A key of the layout that is not there, another shape than expected, a layout that torch could not load, a hole,
        an overlap or a shard outside its tensor: all of them, up to 20.
    """
    _refuse(manifest)
    _raise(_unfit(manifest, layout))
    placing = place(manifest, layout)
    shared: dict[object, _Found | _Fault] = {}
    copied: list[str] = []
    parts: list[Part] = []
    faults: list[tuple[Placed, _Fault]] = []
    for placed in placing.placed:
        key = geometry(placed)
        if key not in shared:
            shared[key] = _planned(placed, layout)
        found = shared[key]
        if isinstance(found, _Fault):
            faults.append((placed, found))
        else:
            parts.append(Part(placed.tensor, placed.placements, found.want, found.reads))
            copied += [placed.tensor.key] * found.copies
    _raise(_told(faults, layout))
    totals = totals_of(layout.ranks, len(manifest.files), [(part.tensor, part.want, part.reads) for part in parts])
    return Plan(manifest, layout, tuple(parts), totals, placing.left_out, (*placing.remarks, *_copies(copied)))


def geometry(placed: Placed) -> object:
    """All that the reads of a tensor depend on: tensors that are equal in this are planned once."""
    shards = placed.tensor.shards
    there = (shards.files >= 0).tobytes()
    arrays = (shards.offsets.tobytes(), shards.sizes.tobytes(), there, shards.flat)
    return (placed.tensor.shape, placed.placements, placed.only, arrays)


class _Found(NamedTuple):
    """What tensors of one geometry share."""

    want: Wanted
    reads: Overlaps
    copies: bool


class _Fault(NamedTuple):
    """Why there is no plan of a tensor."""

    message: str
    of_layout: bool = False  # else of what is stored


def _planned(placed: Placed, layout: Layout) -> _Found | _Fault:
    tensor, placements = placed.tensor, placed.placements
    shape, shards = tensor.shape, tensor.shards
    if max(tensor.elements, *shape, 0) >= MOST_ELEMENTS:
        return _Fault(f"a tensor of shape {shape} is beyond all measure")
    try:
        reason = unloadable(shape, placements, layout.mesh)
        if reason is not None:
            return _Fault(f"torch would not load this: {reason}", of_layout=True)
        want = wanted(shape, placements, layout.mesh, placed.only)
    except InputError as error:
        return _Fault(error.problems[0].message, of_layout=True)
    try:
        stored = stored_boxes(shape, shards)
        reason = fault_of_shards(shape, shards, stored)
        if reason is not None:
            return _Fault(reason)
        reads = overlaps(shape, shards, stored, want)
    except InputError as error:
        return _Fault(error.problems[0].message)
    reason = hole(shards, want, reads)
    return _Found(want, reads, stored.copies) if reason is None else _Fault(reason)


def _told(faults: Sequence[tuple[Placed, _Fault]], layout: Layout) -> list[Problem]:
    """One problem for each tensor, but one for all that a rule of the layout misplaces in the same way."""
    problems: list[Problem] = []
    misplaced: dict[tuple[str, str], list[Placed]] = {}
    for placed, fault in faults:
        if fault.of_layout and placed.rule is not None:
            misplaced.setdefault((placed.rule, fault.message), []).append(placed)
        else:
            problems.append(Problem(fault.message, key=placed.tensor.key))
    for (rule, message), some in misplaced.items():
        first = some[0]
        many = f"{len(some):,} tensors, such as {first.tensor.key}" if len(some) > 1 else first.tensor.key
        key = f"placements.{rule}"
        hint = f"of shape {list(first.tensor.shape)}, placed as {', '.join(map(str, first.placements))}"
        problems.append(Problem(f"{message}: {many}", layout.place(key), key=rule, hint=hint))
    return problems


def _refuse(manifest: Manifest) -> None:
    """Nothing is planned from a checkpoint whose format does not say where the elements belong."""
    reasons = [fault.message for fault in manifest.faults if fault.flaw is Flaw.NOT_RESHARDABLE]
    if manifest.format is Format.FSDP1_FLAT and not reasons:
        reasons = ["flat parameters of FSDP1 do not say which elements belong to which parameter: load them on as many "
                   "ranks as saved them"]  # fmt: skip
    _raise([Problem(reason) for reason in reasons])
    if not manifest.tensors:
        nothing = Problem(f"{manifest.root}: no tensors to plan for", hint="ckptplan audit says more")
        _raise([nothing, *(Problem(fault.message, key=fault.file) for fault in manifest.faults)])


def _copies(keys: Sequence[str]) -> tuple[str, ...]:
    if not keys:
        return ()
    more = "" if len(keys) == 1 else f" and {len(keys) - 1:,} other tensors"
    return (f"{keys[0]}{more}: stored in equal copies, of which the first is read",)


def _unfit(manifest: Manifest, layout: Layout) -> list[Problem]:
    """Keys that the layout names and the checkpoint does not have, and shapes that differ."""
    shapes = {tensor.key: tensor.shape for tensor in manifest.tensors}
    problems = [
        _missing(rule.pattern, shapes, layout)
        for rule in layout.rules
        if not is_pattern(rule.pattern) and rule.pattern not in shapes
    ]
    named = {rule.pattern for rule in layout.rules}
    for key, shape in layout.shapes:
        if key not in shapes and key in named:
            continue  # said already
        if key not in shapes:
            problems.append(_missing(key, shapes, layout))
        elif shapes[key] != shape:
            said = f"is {list(shapes[key])} in the checkpoint and {list(shape)} in the layout"
            problems.append(Problem(said, layout.place(f"placements.{key}.shape"), key=key))
    return problems


def _missing(key: str, shapes: dict[str, tuple[int, ...]], layout: Layout) -> Problem:
    near = difflib.get_close_matches(key, shapes, n=1) if len(shapes) <= 10_000 else []
    hint = f"the nearest is {near[0]}" if near else None
    return Problem("the checkpoint has no tensor of this key", layout.place(f"placements.{key}"), key=key, hint=hint)


def _raise(problems: Sequence[Problem]) -> None:
    if not problems:
        return
    more = len(problems) - MOST_PROBLEMS
    last = [Problem(f"and {more:,} more of the kind")] if more > 0 else []
    raise InputError([*problems[:MOST_PROBLEMS], *last])

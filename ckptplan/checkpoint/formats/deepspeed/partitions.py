"""The optimizer's states, parameter by parameter, from the partitions of all ranks of one model-parallel rank."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.formats.deepspeed.collecting import Collected
from ckptplan.checkpoint.formats.deepspeed.names import other_rank
from ckptplan.checkpoint.formats.deepspeed.parts import MASTER, Fragment, OptimizerPart, Shape
from ckptplan.checkpoint.formats.deepspeed.placing import (
    NOWHERE,
    Cut,
    Misplaced,
    Pieces,
    check_disjoint,
    cut_pieces,
    fragment_pieces,
    in_order,
)
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import UNKNOWN, Fault, Flaw, Ints, Shards, Tensor
from ckptplan.checkpoint.naming.optimizer import kind_of_slot

_SHOWN = 20


class Partitions(NamedTuple):
    """All partitions of one model-parallel rank."""

    parts: dict[int, OptimizerPart]  # by data-parallel rank
    ranks: int
    shapes: list[dict[str, Shape]]  # of the parameters, group by group
    label: str  # that keys begin with

    @property
    def first(self) -> OptimizerPart:
        """The part of the lowest rank that is there."""
        return self.parts[min(self.parts)]

    @property
    def slots(self) -> list[str]:
        """Names of the states that every element has, the master first."""
        names = {slot for part in self.parts.values() for group in part.groups for slot in group.states}
        return [MASTER, *sorted(names - {MASTER})]


def add_partitions(found: Collected, partitions: Partitions) -> list[Fault]:
    """Every state of every parameter as a tensor; what is wrong is told."""
    faults = _missing(found, partitions)
    odd = [rank for rank, part in partitions.parts.items() if len(part.groups) != len(partitions.first.groups)]
    for rank in odd:
        name = partitions.parts[rank].file.name
        faults.append(Fault(Flaw.CORRUPT, "another number of groups than in the other files", name))
        del partitions.parts[rank]
    placed = _cut(partitions, faults) if partitions.first.stage == 3 else _sliced(partitions, faults)
    slots = {slot: _Places(found, partitions, slot) for slot in partitions.slots}
    for name, (shape, pieces) in placed.items():
        for slot, places in slots.items():
            key = f"{partitions.label}{slot}:{name}"
            kind = StateKind.MASTER if slot == MASTER else kind_of_slot(slot) or StateKind.OTHER
            shards = places.shards(pieces)
            found.tensors[key] = Tensor(
                key, kind, places.dtype, shape, shards, (slot, name), f"{partitions.label}{name}"
            )
    return faults


class _Places:
    """Where the vectors of one state begin in the files of the ranks at hand."""

    def __init__(self, found: Collected, partitions: Partitions, slot: str) -> None:
        self.present = np.array(sorted(partitions.parts), np.int64)
        # A row more, the last one, for what no file holds.
        grid = (len(self.present) + 1, len(partitions.first.groups))
        self.begins = np.full(grid, UNKNOWN, np.int64)
        self.files = np.full(grid, NOWHERE, np.int64)
        self.dtype = "float32"
        first = True
        for row, rank in enumerate(self.present.tolist()):
            for index, group in enumerate(partitions.parts[rank].groups):
                stored = group.states.get(slot)
                if stored is None or not (first or stored.dtype == self.dtype):
                    continue
                self.dtype, first = stored.dtype, False
                self.begins[row, index] = stored.data_offset
                self.files[row, index] = found.numbers[stored.file]

    def shards(self, pieces: Pieces) -> Shards:
        """The pieces of one parameter as shards: ranges of its elements."""
        width = BITS[self.dtype] // 8
        rows = np.where(pieces.ranks == NOWHERE, -1, np.searchsorted(self.present, pieces.ranks))
        begins: Ints = self.begins[rows, pieces.groups]
        there = begins != UNKNOWN
        offsets = np.where(there, begins + pieces.starts * width, 0)
        return Shards(
            offsets=pieces.offsets[:, None],
            sizes=pieces.sizes[:, None],
            files=self.files[rows, pieces.groups],
            item_offsets=offsets,
            item_bytes=np.where(there, pieces.sizes * width, 0),
            data_offsets=np.where(there, offsets, UNKNOWN),
            flat=True,
        )


Placed = dict[str, tuple[Shape, Pieces]]


def _sliced(partitions: Partitions, faults: list[Fault]) -> Placed:
    """Parameters of stages 1 and 2."""
    placed: Placed = {}
    for group in range(len(partitions.first.groups)):
        shapes = partitions.shapes[group] if group < len(partitions.shapes) else {}
        lengths = {rank: part.groups[group].elements for rank, part in partitions.parts.items()}
        cut = Cut(lengths, partitions.ranks)
        held = _held(partitions, group, shapes, cut, faults)
        begin = 0
        for name in dict.fromkeys([*shapes, *held]):
            rows = held.get(name, [])
            shape = shapes.get(name, (sum(one.number for _, one in rows),))
            try:
                pieces = fragment_pieces(math.prod(shape), rows, cut, group, begin if name in shapes else None)
            except Misplaced as error:
                faults.append(_misplaced(partitions, name, str(error)))
                pieces = fragment_pieces(math.prod(shape), [], cut, group)
            placed[name] = shape, pieces
            begin += math.prod(shape)
    return placed


def _held(
    partitions: Partitions, group: int, shapes: dict[str, Shape], cut: Cut, faults: list[Fault]
) -> dict[str, list[tuple[int, Fragment]]]:
    """The fragments of every parameter of a group, by rank."""
    held: dict[str, list[tuple[int, Fragment]]] = {}
    ordered: dict[int, dict[str, Fragment]] | None = None
    for rank in sorted(partitions.parts):
        part = partitions.parts[rank]
        fragments = part.groups[group].fragments
        if fragments is None:
            ordered = ordered or in_order(shapes, cut)
            fragments = ordered[rank]
        try:
            check_disjoint(part.groups[group], fragments)
        except Misplaced as error:
            faults.append(Fault(Flaw.CORRUPT, f"group {group}: {error}", part.file.name))
            continue
        for name, one in fragments.items():
            held.setdefault(name, []).append((rank, one))
    return held


def _cut(partitions: Partitions, faults: list[Fault]) -> Placed:
    """Parameters of stage 3: all groups are one after another, in the files as in the list of shapes."""
    shapes = {name: shape for group in partitions.shapes for name, shape in group.items()}
    lengths = [group.elements for group in partitions.first.groups]
    for rank, part in list(partitions.parts.items()):
        if [group.elements for group in part.groups] != lengths:
            message = "partitions of other lengths than those of the other ranks"
            faults.append(Fault(Flaw.CORRUPT, message, part.file.name))
            del partitions.parts[rank]
    present = np.array(sorted(partitions.parts), np.int64)
    placed: Placed = {}
    start = 0
    for name, shape in shapes.items():
        total = math.prod(shape)
        try:
            placed[name] = shape, cut_pieces(total, start, lengths, present, partitions.ranks)
        except Misplaced as error:
            faults.append(_misplaced(partitions, name, str(error)))
            placed[name] = shape, cut_pieces(total, 0, [-(-total // partitions.ranks)], present[:0], partitions.ranks)
        start += -(-total // partitions.ranks)
    if start != sum(lengths) and shapes:
        message = f"partitions of {sum(lengths):,} elements, for parameters that need {start:,}: places are doubtful"
        faults.append(Fault(Flaw.CORRUPT, message, partitions.first.file.name))
    return placed


def _missing(found: Collected, partitions: Partitions) -> list[Fault]:
    """Files of ranks that are not there."""
    absent = sorted(set(range(partitions.ranks)) - set(partitions.parts))
    faults: list[Fault] = []
    for rank in absent[:_SHOWN]:
        name = other_rank(partitions.first.file.name, rank)
        there = name in found.numbers
        said = "cannot be read" if there else "is not there"
        message = f"the optimizer file of rank {rank} {said}: its part of every master and moment is missing"
        faults.append(Fault(Flaw.MISSING_FILE, message, name, hint="is the copy complete?"))
    if len(absent) > _SHOWN:
        message = f"{len(absent) - _SHOWN:,} more of {partitions.ranks:,} optimizer files are missing"
        faults.append(Fault(Flaw.MISSING_FILE, message))
    return faults


def _misplaced(partitions: Partitions, name: str, message: str) -> Fault:
    return Fault(Flaw.CORRUPT, f"{name}: {message}", key=f"{partitions.label}{MASTER}:{name}")

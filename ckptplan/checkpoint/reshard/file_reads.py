"""The reads of a rank as a loader would carry them out: file, stored item, runs of bytes, and where the elements go."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.dtypes import BITS, size_bytes
from ckptplan.checkpoint.manifest import UNKNOWN, Ints, Manifest, Raw, Tensor, row_major
from ckptplan.checkpoint.reshard.no_bytes import NoBytes
from ckptplan.checkpoint.reshard.overlaps import Overlaps
from ckptplan.checkpoint.reshard.plan import Part, Plan
from ckptplan.checkpoint.reshard.runs import Run, count_row_major, order_of, runs
from ckptplan.checkpoint.reshard.stored_items import raw_of

_ASSUMED = (
    "stored shards are not looked into, since they are many or damaged: they are taken to be row-major, and where the "
    "elements of some lie is not known"
)
MOST_LOOKED_INTO = 4_000  # stored items whose own description is read for a summary


class FileRead(NamedTuple):
    """One read: a box of a stored shard, to a box of the tensor that the rank holds."""

    key: str
    file: int  # index of Manifest.files
    item_offset: int  # bytes
    item_bytes: int
    shard: int  # row of the tensor's shards
    src: tuple[int, ...]  # elements, within the stored shard; one number if it is a range of the flattened tensor
    dst: tuple[int, ...]  # elements, within the tensor that the rank holds
    length: tuple[int, ...]  # elements
    bytes: int  # of the elements
    runs: tuple[Run, ...] | None  # None: only the whole item can be read, or where its elements lie is not known
    order: tuple[int, ...] | None = None  # of the elements in the runs, as `order_of` has it; None: row by row


class Lying(NamedTuple):
    """Where the elements of one read lie, and in which order."""

    runs: tuple[Run, ...] | None
    order: tuple[int, ...] | None


class Places:
    """Where the elements of stored shards lie: by their own descriptions, as long as the files are at hand."""

    def __init__(self, manifest: Manifest, *, assume: bool = False) -> None:
        absent = isinstance(manifest.source, NoBytes)
        self._manifest = manifest
        self._assume = assume or absent
        self._found: dict[tuple[str, int], Raw | None] = {}
        self.assumed = self._assume  # row-major order was taken for granted somewhere
        # Why places are not known, or only taken for granted.
        self.unknown = "the data files are not here" if absent else _ASSUMED if self._assume else None
        self.packed = False  # some items can be read only whole

    def of(self, tensor: Tensor, row: int, src: tuple[int, ...], length: tuple[int, ...]) -> Lying:
        """Runs of one read, None where they are not known or the item is packed; then the order is that within it."""
        raw = self._raw(tensor, row)
        if raw is None:
            return Lying(None, None)
        if raw.packed:
            self.packed = True
            return Lying(None, None if tensor.shards.flat else order_of(raw.strides, length))
        if tensor.shards.flat:
            bits = BITS[raw.dtype]
            raw = raw._replace(offset=raw.offset + src[0] * bits // 8, shape=length, strides=row_major(tensor.shape))
            src = (0,) * len(length)
        return Lying(tuple(runs(raw, src, length)), order_of(raw.strides, length))

    def of_all(self, tensor: Tensor, reads: Overlaps) -> list[Lying]:
        """The same of many reads of one tensor."""
        if self._assume and (tensor.shards.data_offsets == UNKNOWN).all():
            return [Lying(None, None)] * len(reads.rows)
        boxes = zip(reads.rows.tolist(), reads.src.tolist(), reads.lengths.tolist(), strict=True)
        return [self.of(tensor, row, tuple(src), tuple(length)) for row, src, length in boxes]

    def _raw(self, tensor: Tensor, row: int) -> Raw | None:
        place = (tensor.key, row)
        if place not in self._found:
            self._found[place] = self._assumed(tensor, row) if self._assume else raw_of(self._manifest, tensor, row)
        return self._found[place]

    def _assumed(self, tensor: Tensor, row: int) -> Raw | None:
        offset = int(tensor.shards.data_offsets[row])
        if offset == UNKNOWN:
            return None
        size = tuple(tensor.shards.sizes[row].tolist())
        return Raw(int(tensor.shards.files[row]), offset, tensor.dtype, size, row_major(size))


def reads_of(plan: Plan, rank: int, places: Places) -> Iterator[FileRead]:
    """All reads of one rank, tensor by tensor in the order of the checkpoint."""
    for part in plan.parts:
        yield from part_reads(part, part.reads_of(rank), places)


def part_reads(part: Part, reads: Overlaps, places: Places) -> Iterator[FileRead]:
    """Reads of one tensor."""
    tensor, shards = part.tensor, part.tensor.shards
    rows = reads.rows
    columns = (rows, shards.files[rows], shards.item_offsets[rows], shards.item_bytes[rows])
    boxes = (reads.src, reads.dst, reads.lengths)
    numbers = (column.tolist() for column in (*columns, *boxes))
    for row, file, item_offset, item_bytes, src, dst, length in zip(*numbers, strict=True):
        place, box = tuple(src), tuple(length)
        size = size_bytes(tensor.dtype, math.prod(box))
        found = places.of(tensor, row, place, box)
        yield FileRead(tensor.key, file, item_offset, item_bytes, row, place, tuple(dst), box, size, *found)


class RunCounts(NamedTuple):
    """Runs of bytes that each rank reads, which is how often it seeks at most."""

    of_ranks: Ints
    exact: bool  # False: every stored shard is taken to be row-major
    packed: bool = False  # some items are compressed: the whole of one counts as one run


def count_runs(plan: Plan, most: int = MOST_LOOKED_INTO) -> RunCounts:
    """Runs of every rank; items are looked into if there are no more than so many, and their files are at hand."""
    shards = sum(part.tensor.shards.number for part in plan.parts)
    places = Places(plan.manifest)
    if shards <= most:
        counts = _added(plan, lambda part: _looked(part, places))
        if not places.assumed:
            return RunCounts(counts, exact=True, packed=places.packed)
    kept: dict[int, Ints] = {}

    def row_by_row(part: Part) -> Ints:
        key = id(part.reads)  # shared by tensors of one geometry
        if key not in kept:
            kept[key] = _by_rows(part)
        return kept[key]

    return RunCounts(_added(plan, row_by_row), exact=False)


def _added(plan: Plan, counted: Callable[[Part], Ints]) -> Ints:
    total = np.zeros(plan.layout.ranks, dtype=np.int64)
    for part in plan.parts:
        total[part.want.ranks] += counted(part)[part.want.classes]
    return total


def _looked(part: Part, places: Places) -> Ints:
    counts = np.zeros(len(part.want.shapes), dtype=np.int64)
    found = part_reads(part, part.reads, places)
    for number, read in zip(part.reads.classes.tolist(), found, strict=True):
        counts[number] += 1 if read.runs is None else sum(run.times for run in read.runs)
    return counts


def _by_rows(part: Part) -> Ints:
    reads, shards = part.reads, part.tensor.shards
    if shards.flat:
        shapes = np.tile(np.array(part.tensor.shape, dtype=np.int64), (len(reads.rows), 1))
    else:
        shapes = shards.sizes[reads.rows]
    counts = np.zeros(len(part.want.shapes), dtype=np.int64)
    np.add.at(counts, reads.classes, count_row_major(shapes, reads.lengths))
    return counts

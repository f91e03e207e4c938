"""What a plan costs each rank: bytes wanted, bytes of whole items, reads, and files opened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.manifest import Ints, Tensor
from ckptplan.checkpoint.reshard.overlaps import Overlaps
from ckptplan.checkpoint.reshard.wanted import Wanted

_BLOCK = 1 << 26  # cells of (class, file) that are looked at together


class Totals(NamedTuple):
    """One number for each rank, and over all ranks the files that anyone opens."""

    wanted_bytes: Ints
    whole_item_bytes: Ints  # of a loader that reads every stored item in full, as torch does
    reads: Ints
    files: Ints  # distinct ones
    distinct_files: int

    @property
    def busiest(self) -> int:
        """The rank that wants the most bytes."""
        return int(np.argmax(self.wanted_bytes))


Planned = tuple[Tensor, Wanted, Overlaps]


def totals_of(ranks: int, files: int, parts: Sequence[Planned]) -> Totals:
    """The cost of each rank. Tensors that share their reads are summed first, and spread over the ranks once."""
    sums = np.zeros((3, ranks), dtype=np.int64)
    opened = np.zeros((ranks, -(-files // 8)), dtype=np.uint8)
    groups: dict[int, list[Planned]] = defaultdict(list)
    for part in parts:
        groups[id(part[2])].append(part)
    for group in groups.values():
        _, want, reads = group[0]
        sums[:, want.ranks] += _sums([tensor for tensor, _, _ in group], want, reads)[:, want.classes]
        _open(opened, files, [tensor for tensor, _, _ in group], want, reads)
    distinct = int(np.unpackbits(np.bitwise_or.reduce(opened, axis=0)).sum()) if ranks else 0
    counts = np.concatenate(
        [
            np.unpackbits(block, axis=1).sum(axis=1, dtype=np.int64)
            for block in np.array_split(opened, 1 + ranks // 4096)
        ]
    )
    return Totals(sums[0], sums[1], sums[2], counts, distinct)


def _sums(tensors: Sequence[Tensor], want: Wanted, reads: Overlaps) -> Ints:
    """Bytes wanted, bytes of whole items and reads of each class, over tensors that share their reads."""
    elements = want.shapes.prod(axis=1, dtype=np.int64)
    classes, rows = items(reads)
    wanted = sum((elements * BITS[tensor.dtype] // 8 for tensor in tensors), np.zeros_like(elements))
    item_bytes = sum((tensor.shards.item_bytes for tensor in tensors), np.zeros_like(tensors[0].shards.item_bytes))
    whole = np.zeros_like(elements)
    np.add.at(whole, classes, item_bytes[rows])
    return np.stack([wanted, whole, np.bincount(classes, minlength=len(elements)) * len(tensors)])


def items(reads: Overlaps) -> tuple[Ints, Ints]:
    """Class and row of each stored item that is read: boxes out of one flat range are one read."""
    if reads.src.shape[1] == reads.lengths.shape[1] != 1:
        return reads.classes, reads.rows
    new = np.ones(len(reads.rows), dtype=bool)
    new[1:] = (reads.rows[1:] != reads.rows[:-1]) | (reads.classes[1:] != reads.classes[:-1])
    return reads.classes[new], reads.rows[new]


def _open(opened: NDArray[np.uint8], files: int, tensors: Sequence[Tensor], want: Wanted, reads: Overlaps) -> None:
    """Mark the files of each rank, one bit for each."""
    columns = list({tensor.shards.files.tobytes(): tensor.shards.files for tensor in tensors}.values())
    step = max(1, _BLOCK // max(1, files))
    for low in range(0, len(want.shapes), step):
        first, last = np.searchsorted(reads.classes, [low, low + step])
        marks = np.zeros((min(step, len(want.shapes) - low), files), dtype=bool)
        for column in columns:
            marks[reads.classes[first:last] - low, column[reads.rows[first:last]]] = True
        inside = (want.classes >= low) & (want.classes < low + step)
        opened[want.ranks[inside]] |= np.packbits(marks, axis=1)[want.classes[inside] - low]

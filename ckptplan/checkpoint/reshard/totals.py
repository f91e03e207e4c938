"""What a plan costs each rank: bytes wanted, bytes of whole items, reads, and files opened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.manifest import Ints, Tensor
from ckptplan.checkpoint.reshard.overlaps import Overlaps
from ckptplan.checkpoint.reshard.wanted import Wanted

_BLOCK = 1 << 26  # cells of (rank, file) that are looked at together

_MOST_PAIRS = 1 << 22  # of (class, file), before equal ones are joined


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


class Group(NamedTuple):
    """Tensors that share their reads."""

    tensors: list[Tensor]
    want: Wanted
    reads: Overlaps


def totals_of(ranks: int, files: int, parts: Iterable[tuple[Tensor, Wanted, Overlaps]]) -> Totals:
    """The cost of each rank. Tensors that share their reads are summed first, and spread over the ranks once."""
    groups: dict[int, Group] = {}
    for tensor, want, reads in parts:
        groups.setdefault(id(reads), Group([], want, reads)).tensors.append(tensor)
    sums = np.zeros((3, ranks), dtype=np.int64)
    for group in groups.values():
        sums[:, group.want.ranks] += _sums(group)[:, group.want.classes]
    opened, distinct = _opened(ranks, files, list(groups.values()))
    return Totals(sums[0], sums[1], sums[2], opened, distinct)


def items(reads: Overlaps) -> tuple[Ints, Ints]:
    """Class and row of each stored item that is read: boxes out of one flat range are one read."""
    if reads.src.shape[1] == reads.lengths.shape[1] != 1:
        return reads.classes, reads.rows
    new = np.ones(len(reads.rows), dtype=bool)
    new[1:] = (reads.rows[1:] != reads.rows[:-1]) | (reads.classes[1:] != reads.classes[:-1])
    return reads.classes[new], reads.rows[new]


def _sums(group: Group) -> Ints:
    """Bytes wanted, bytes of whole items and reads of each class."""
    elements = group.want.shapes.prod(axis=1, dtype=np.int64)
    classes, rows = items(group.reads)
    sums = np.zeros((3, len(elements)), dtype=np.int64)
    item_bytes = np.zeros_like(group.tensors[0].shards.item_bytes)
    for tensor in group.tensors:
        sums[0] += elements * BITS[tensor.dtype] // 8
        item_bytes += tensor.shards.item_bytes
    np.add.at(sums[1], classes, item_bytes[rows])
    np.add.at(sums[2], classes, len(group.tensors))
    return sums


def _opened(ranks: int, files: int, groups: Sequence[Group]) -> tuple[Ints, int]:
    """Distinct files of each rank, and of all. What is read by the same classes of ranks is joined first."""
    pairs: dict[tuple[bytes, bytes], list[Ints]] = defaultdict(list)
    wants: dict[tuple[bytes, bytes], Wanted] = {}
    for group in groups:
        key = (group.want.ranks.tobytes(), group.want.classes.tobytes())
        wants[key] = group.want
        columns = {tensor.shards.files.tobytes(): tensor.shards.files for tensor in group.tensors}
        found = pairs[key]
        found += [group.reads.classes * files + column[group.reads.rows] for column in columns.values()]
        if sum(map(len, found)) > _MOST_PAIRS:
            pairs[key] = [_distinct(found)]
    joined = [(wants[key], _distinct(found)) for key, found in pairs.items()]
    counts, any_rank = np.zeros(ranks, dtype=np.int64), np.zeros(files, dtype=bool)
    step = max(1, _BLOCK // max(1, files))
    for low in range(0, ranks, step):
        opened = np.zeros((min(step, ranks - low), files), dtype=bool)
        for want, of_classes in joined:
            rank, file = _spread(want, of_classes, files, low, low + step)
            opened[rank - low, file] = True
        counts[low : low + step] = opened.sum(axis=1)
        any_rank |= opened.any(axis=0)
    return counts, int(any_rank.sum())


def _distinct(numbers: list[Ints]) -> Ints:
    distinct: Ints = np.unique(np.concatenate(numbers))
    return distinct


def _spread(want: Wanted, pairs: Ints, files: int, low: int, high: int) -> tuple[Ints, Ints]:
    """Rank and file for the ranks from `low` to `high`, from the sorted pairs (class, file) as numbers."""
    first, last = np.searchsorted(want.ranks, [low, high])
    classes = want.classes[first:last]
    begin = np.searchsorted(pairs, classes * files)
    counts = np.searchsorted(pairs, (classes + 1) * files) - begin
    within = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
    return np.repeat(want.ranks[first:last], counts), pairs[np.repeat(begin, counts) + within] % max(1, files)

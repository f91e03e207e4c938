"""Which stored boxes overlap which wanted ones, found by sorting along one axis: no pairs are tried."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.manifest import Ints
from ckptplan.errors import InputError

MOST_CANDIDATES = 1 << 28  # of one tensor: boxes that overlap along every single axis, in no order; some seconds
MOST_PAIRS = 1 << 24  # overlaps of one tensor: 1 GB
_BLOCK = 1 << 22  # candidates that are looked at together


class Pairs(NamedTuple):
    """Overlaps, in the order of the wanted boxes: indices, offsets in the tensor, lengths."""

    wanted: Ints  # [n]
    stored: Ints  # [n]
    offsets: Ints  # [n, axes]
    lengths: Ints  # [n, axes]


def intersect(wanted_offsets: Ints, wanted_sizes: Ints, stored_offsets: Ints, stored_sizes: Ints) -> Pairs:
    """Every overlap of a wanted box with a stored one that holds an element.

    Notes
    -----
    Along one axis the stored boxes are sorted by start; those that can overlap a wanted box are then one range: from
    the first that no earlier box outreaches, to the last that starts before its end. The axis is the one with the
    fewest such candidates, and the other axes are checked for these only. Where the boxes are a regular grid cut along
    one axis there is no candidate in vain.
    """
    some, stored = _filled(wanted_sizes), _filled(stored_sizes)
    axes = wanted_offsets.shape[1]
    if axes == 0:
        return _without_axes(some, stored)
    first, last = wanted_offsets[some], wanted_offsets[some] + wanted_sizes[some]
    begins, ends = stored_offsets[stored], stored_offsets[stored] + stored_sizes[stored]
    sweeps = [_sweep(first[:, axis], last[:, axis], begins[:, axis], ends[:, axis]) for axis in range(axes)]
    order, low, high = min(sweeps, key=lambda sweep: int((sweep[2] - sweep[1]).sum()))
    found: list[tuple[Ints, Ints]] = []
    for block in _blocks(high - low):
        found.append(_checked(np.arange(*block), low, high, order, (first, last, begins, ends)))
        if sum(len(part[0]) for part in found) > MOST_PAIRS:
            raise InputError(f"more than {MOST_PAIRS:,} reads of one tensor: the old cut and the new one cross")
    which, row = (np.concatenate([part[i] for part in found] or [low[:0]]) for i in (0, 1))
    offsets = np.maximum(first[which], begins[row])
    lengths = np.minimum(last[which], ends[row]) - offsets
    return Pairs(some[which], stored[row], offsets, lengths)


def _filled(sizes: Ints) -> Ints:
    return np.flatnonzero((sizes > 0).all(axis=1))


def _without_axes(wanted: Ints, stored: Ints) -> Pairs:
    """A tensor of one element: every stored copy overlaps every wanted one."""
    which = np.repeat(wanted, len(stored))
    nothing = np.zeros((len(which), 0), dtype=np.int64)
    return Pairs(which, np.tile(stored, len(wanted)), nothing, nothing)


def _sweep(first: Ints, last: Ints, begins: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Stored boxes in the order of their starts, and for each wanted one the range of its candidates."""
    order = np.argsort(begins, kind="stable")
    reach = np.maximum.accumulate(ends[order]) if len(order) else ends
    low = np.searchsorted(reach, first, side="right")
    high = np.searchsorted(begins[order], last, side="left")
    return order, low, np.maximum(low, high)


def _blocks(counts: Ints) -> list[tuple[int, int]]:
    """Ranges of wanted boxes with so few candidates that they fit in memory."""
    total = int(counts.sum())
    if total > MOST_CANDIDATES:
        raise InputError(f"the boxes of shards and ranks meet {total:,} times along every axis: too many to try")
    sums = counts.cumsum()
    edges = np.searchsorted(sums, np.arange(_BLOCK, total + _BLOCK, _BLOCK), side="left") + 1
    edges = np.unique(np.concatenate([[0], np.minimum(edges, len(counts))]))
    return [(int(a), int(b)) for a, b in itertools.pairwise(edges)]


def _checked(
    block: Ints, low: Ints, high: Ints, order: Ints, edges: tuple[Ints, Ints, Ints, Ints]
) -> tuple[Ints, Ints]:
    """The candidates of a block of wanted boxes that overlap along all axes."""
    counts = (high - low)[block]
    which = np.repeat(block, counts)
    within = np.arange(len(which)) - np.repeat(counts.cumsum() - counts, counts)
    row = order[np.repeat(low[block], counts) + within]
    first, last, begins, ends = edges
    overlap = ((first[which] < ends[row]) & (begins[row] < last[which])).all(axis=1)
    return which[overlap], row[overlap]

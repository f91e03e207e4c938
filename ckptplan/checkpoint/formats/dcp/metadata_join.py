"""Chunks and storage entries brought together by name and offset, and what does not fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.manifest import Ints


class Joined(NamedTuple):
    """For each chunk the row of its entry (-1: none); and rows that are wrong."""

    entries: Ints  # [chunks]
    unlisted: Ints  # rows of entries that no chunk has
    repeated: Ints  # rows of entries whose key occurred before
    shared: Ints  # chunks whose key another chunk before has


def joined(chunk_keys: Ints, chunk_offsets: Ints, entry_keys: Ints, entry_offsets: Ints) -> Joined:
    """Match chunks with entries of equal name and offset: one sort, no loop over rows."""
    chunks = len(chunk_keys)
    keys, offsets = np.concatenate((chunk_keys, entry_keys)), np.concatenate((chunk_offsets, entry_offsets))
    codes = _codes(keys, offsets)
    wanted, there = codes[:chunks], codes[chunks:]
    order = np.argsort(there, kind="stable")
    ordered = there[order]
    at = np.searchsorted(ordered, wanted, "right") - 1  # of several the last counts, as in a dict
    found = at >= 0
    found[found] = ordered[at[found]] == wanted[found]
    entries = np.full(chunks, -1, np.int64)
    entries[found] = order[at[found]]
    repeated = np.sort(order[1:][ordered[1:] == ordered[:-1]])
    met = np.isin(there, wanted) if len(repeated) else np.zeros(len(there), bool)
    met[entries[found]] = True
    return Joined(entries, np.flatnonzero(~met), repeated, _seen_before(wanted))


def _codes(keys: Ints, offsets: Ints) -> Ints:
    """One number for each distinct row of key and offsets."""
    codes = keys
    for column in offsets.T:
        codes = _combined(codes, column)
    return codes


def _combined(codes: Ints, column: Ints) -> Ints:
    """One number for each distinct pair; ranks take the place of numbers that would not fit in 63 bits."""
    if not len(codes):
        return codes
    low, high = int(column.min()), int(column.max())
    if (int(codes.max()) + 1) * (high - low + 1) >= 1 << 62:
        codes, column = _ranks(codes), _ranks(column)
        low, high = 0, int(column.max())
    combined: Ints = codes * (high - low + 1) + (column - low)
    return combined


def _ranks(values: Ints) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _seen_before(codes: Ints) -> Ints:
    """Places whose number stands at an earlier place too."""
    if len(codes) < 2 or bool((np.diff(codes) > 0).all()):
        return np.empty(0, np.int64)
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    return np.sort(order[1:][ordered[1:] == ordered[:-1]])


def overlapping(files: Ints, starts: Ints, sizes: Ints) -> Ints:
    """Rows whose bytes another row of the same file has too; rows without a file or without bytes do not count.

    Both rows of each pair are given, so that the answer does not depend on the order in which they are listed.
    """
    rows = np.flatnonzero((files >= 0) & (sizes > 0))
    files, starts, sizes = files[rows], starts[rows], sizes[rows]
    if _apart(files, starts, sizes).all():
        return np.empty(0, np.int64)
    order = np.lexsort((sizes, starts, files))
    files, starts, ends = files[order], starts[order], (starts + sizes)[order]
    holders = _farthest_before(files, ends)
    shares = (files[1:] == files[holders]) & (starts[1:] < ends[holders])
    return np.unique(rows[order[np.concatenate((np.flatnonzero(shares) + 1, holders[shares]))]])


def _farthest_before(files: Ints, ends: Ints) -> Ints:
    """For each row but the first, the row before it that reaches farthest; rows are sorted by file."""
    count = len(ends)
    by_end = np.argsort(ends, kind="stable")
    reach = np.empty(count, np.int64)
    reach[by_end] = np.arange(count)
    farthest = np.maximum.accumulate(_ranks(files) * count + reach)[:-1]
    holders: Ints = by_end[farthest % count]
    return holders


def _apart(files: Ints, starts: Ints, sizes: Ints) -> NDArray[np.bool_]:
    """Whether each row but the first lies behind the one before it, or in a file of a higher number."""
    behind = starts[1:] >= starts[:-1] + sizes[:-1]
    apart: NDArray[np.bool_] = (files[1:] > files[:-1]) | ((files[1:] == files[:-1]) & behind)
    return apart

"""Where the elements of every parameter lie in the partitions of the ranks.

Stages 1 and 2: the parameters of a group follow each other in one vector, which is cut into equal partitions; each
file says which part of its partition belongs to which parameter. Stage 3: every parameter is padded and cut into as
many pieces as there are ranks; piece r of all parameters follow each other in the vectors of rank r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.formats.deepspeed.parts import MASTER, Fragment, Group, Shape
from ckptplan.checkpoint.manifest import Ints

NOWHERE = -1


class Pieces(NamedTuple):
    """Pieces of one parameter, in order: arrays with one row for each."""

    offsets: Ints  # first element of the parameter
    sizes: Ints  # elements
    ranks: Ints  # index of the file; NOWHERE: its file is missing
    starts: Ints  # first element in the vector of that file
    groups: Ints  # which vector


class Misplaced(ValueError):  # noqa: N818 - becomes a fault of the parameter
    """A map that contradicts itself."""


def by_fragments(total: int, found: Sequence[tuple[int, Fragment]], lengths: Sequence[int], ranks: int) -> list[int]:
    """The first element of the parameter that each fragment holds.

    Parameters
    ----------
    total : int
        Elements of the parameter.
    found : sequence of (rank, fragment)
        Its fragments in the files at hand, by rank.
    lengths : sequence of int
        Length of the partition of each rank; 0 where the file is missing.
    ranks : int
        Partitions of the group.

    Notes
    -----
    A fragment that begins within its partition begins the parameter; one that ends within it ends the parameter; one
    that fills its partition lies as far from another as the ranks are apart.
    """
    whole = max(lengths)
    begin: int | None = None
    for rank, one in found:
        ends = one.start + one.number
        if one.start > 0 or rank == 0 or (lengths[rank - 1] and (not found or found[0][0] == rank)):
            begin = rank * whole + one.start
        elif ends < lengths[rank] or rank == ranks - 1:
            begin = rank * whole + ends - total
        if begin is not None:
            break
    if begin is None:
        raise Misplaced("its place between the missing ranks is not known")
    offsets = [rank * whole + one.start - begin for rank, one in found]
    end = 0
    for offset, (_, one) in zip(offsets, found, strict=True):
        if offset < end:
            raise Misplaced("fragments overlap")
        end = offset + one.number
    if end > total:
        raise Misplaced(f"fragments reach element {end:,} of {total:,}")
    return offsets


def fragment_pieces(
    total: int, found: Sequence[tuple[int, Fragment]], lengths: Sequence[int], ranks: int, group: int
) -> Pieces:
    """Pieces of one parameter of stages 1 and 2, with what the missing ranks held."""
    offsets = by_fragments(total, found, lengths, ranks) if found else []
    rows: list[tuple[int, int, int, int]] = []
    end = 0
    for offset, (rank, one) in zip(offsets, found, strict=True):
        if offset > end:
            rows.append((end, offset - end, NOWHERE, 0))
        if one.number:
            rows.append((offset, one.number, rank, one.start))
        end = offset + one.number
    if end < total:
        rows.append((end, total - end, NOWHERE, 0))
    table = np.array(rows, np.int64).reshape(-1, 4)
    firsts, sizes, places, starts = (table[:, column].copy() for column in range(4))
    return Pieces(firsts, sizes, places, starts, np.full(len(table), group, np.int64))


def in_order(shapes: dict[str, Shape], lengths: Sequence[int]) -> list[dict[str, Fragment]]:
    """Fragments of a group without a map: its parameters follow each other in order (before DeepSpeed 0.8)."""
    bounds = [0, *np.cumsum(np.array(lengths, np.int64)).tolist()]
    found: list[dict[str, Fragment]] = [{} for _ in lengths]
    begin = 0
    for name, shape in shapes.items():
        end = begin + math.prod(shape)
        for rank in range(len(lengths)):
            first, last = max(begin, bounds[rank]), min(end, bounds[rank + 1])
            if first < last:
                found[rank][name] = Fragment(first - bounds[rank], last - first)
        begin = end
    return found


def check_disjoint(group: Group, fragments: dict[str, Fragment]) -> None:
    """Raise if parameters share elements of a partition, or reach beyond it."""
    end = 0
    for one in sorted(fragments.values()):
        if one.start < end and one.number:
            raise Misplaced("two parameters share elements of the partition")
        end = max(end, one.start + one.number)
    if end > group.states[MASTER].elements:
        raise Misplaced(f"a fragment ends at element {end:,} of a partition of {group.elements:,}")


def cut_pieces(total: int, start: int, lengths: Sequence[int], present: Ints, ranks: int) -> Pieces:
    """Pieces of one parameter of stage 3.

    Parameters
    ----------
    total : int
        Elements of the parameter.
    start : int
        Where its piece begins in the vectors of a rank, laid end to end.
    lengths : sequence of int
        Lengths of these vectors.
    present : ndarray of int
        Ranks whose files are there, ascending. Ranks that are missing in a row make one piece.
    ranks : int
        Ranks in all.
    """
    piece = -(-total // ranks) if total else 0
    bounds = np.array([0, *lengths], np.int64).cumsum()
    rows: list[Pieces] = []
    group = int(np.searchsorted(bounds, start, side="right")) - 1
    done = 0
    while done < piece:  # a piece that goes on in the next vector is two
        if group >= len(lengths):
            raise Misplaced("it lies beyond the end of the partitions")
        part = min(piece - done, int(bounds[group + 1]) - start - done)
        if part > 0:
            firsts = np.minimum(present * piece + done, total)
            sizes = np.clip(total - firsts, 0, part)
            place = np.full(len(present), start + done - int(bounds[group]), np.int64)
            rows.append(Pieces(firsts, sizes, present, place, np.full(len(present), group, np.int64)))
            done += part
        group += 1
    return _with_gaps(rows, total, piece * ranks)


def _with_gaps(rows: list[Pieces], total: int, padded: int) -> Pieces:
    """All pieces by their first element, and one more for every stretch that no file holds."""
    if padded == 0:
        return Pieces(*(np.zeros(0, np.int64) for _ in range(5)))
    columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
    kept = np.lexsort((columns[0],))
    kept = kept[columns[1][kept] > 0]
    offsets, sizes, ranks, starts, groups = (column[kept] for column in columns)
    ends = np.concatenate(([0], offsets + sizes))
    gaps = np.concatenate((offsets, [total])) - ends
    holes = np.flatnonzero(gaps > 0)
    nowhere = np.full(len(holes), NOWHERE, np.int64)
    none = np.zeros(len(holes), np.int64)
    added = (ends[holes], gaps[holes], nowhere, none, none)
    joined = [np.concatenate(pair) for pair in zip((offsets, sizes, ranks, starts, groups), added, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    return Pieces(*(column[order] for column in joined))

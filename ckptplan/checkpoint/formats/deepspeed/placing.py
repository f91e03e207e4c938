"""Where the elements of every parameter lie in the partitions of the ranks.

Stages 1 and 2: the parameters of a group follow each other in one vector, which is cut into equal partitions; each
file says which part of its partition belongs to which parameter. Stage 3: every parameter is padded and cut into as
many pieces as there are ranks; piece r of all parameters follow each other in the vectors of rank r.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.formats.deepspeed.parts import MASTER, Fragment, Group, Shape
from ckptplan.checkpoint.manifest import Ints

NOWHERE = -1

Held = Sequence[tuple[int, Fragment]]  # rank and fragment, by rank


class Cut(NamedTuple):
    """How a group of stages 1 and 2 was cut: into equal partitions, of which some are at hand."""

    lengths: dict[int, int]  # of the partitions at hand, by rank
    ranks: int

    @property
    def whole(self) -> int:
        """Length of a partition; the last one may be saved without its padding."""
        return max(self.lengths.values(), default=0)


class Pieces(NamedTuple):
    """Pieces of one parameter, in order: arrays with one row for each."""

    offsets: Ints  # first element of the parameter
    sizes: Ints  # elements
    ranks: Ints  # index of the file; NOWHERE: its file is missing
    starts: Ints  # first element in the vector of that file
    groups: Ints  # which vector


class Misplaced(ValueError):  # noqa: N818 - becomes a fault of the parameter
    """A map that contradicts itself."""


def by_fragments(total: int, found: Held, cut: Cut, usual: int | None = None) -> list[int]:
    """The first element of the parameter that each fragment holds.

    Parameters
    ----------
    total : int
        Elements of the parameter.
    found : sequence of (rank, fragment)
        Its fragments in the files at hand, by rank.
    cut : Cut
        The partitions of the group.
    usual : int, optional
        Where in the group it begins if parameters follow each other in the order of their list.

    Notes
    -----
    A fragment that begins within its partition begins the parameter; one that ends within it ends the parameter; a
    rank without any bounds it too. One that fills its partition between missing ranks is placed by the usual order,
    which is that of DeepSpeed's own conversion to fp32.
    """
    whole = cut.whole
    told = (_begin(total, rank, fragment, found, cut) for rank, fragment in found)
    begin = next((at for at in told if at is not None), usual)
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


def _begin(total: int, rank: int, one: Fragment, found: Held, cut: Cut) -> int | None:
    """Where in the group the parameter begins, as far as one fragment tells."""
    whole, end = cut.whole, one.start + one.number
    first, last = found[0][0] == rank, found[-1][0] == rank
    if one.start > 0 or rank == 0 or (first and cut.lengths.get(rank - 1)):
        return rank * whole + one.start
    if end < cut.lengths[rank] or rank == cut.ranks - 1 or (last and cut.lengths.get(rank + 1)):
        return rank * whole + end - total
    return None


def fragment_pieces(total: int, found: Held, cut: Cut, group: int, usual: int | None = None) -> Pieces:
    """Pieces of one parameter of stages 1 and 2, with what the missing ranks held."""
    offsets = by_fragments(total, found, cut, usual) if found else []
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


def in_order(shapes: dict[str, Shape], cut: Cut) -> dict[int, dict[str, Fragment]]:
    """Fragments of a group without a map, by rank: its parameters follow each other in order (before DeepSpeed 0.8)."""
    found: dict[int, dict[str, Fragment]] = {rank: {} for rank in cut.lengths}
    present = sorted(found)
    begin = 0
    for name, shape in shapes.items():
        end = begin + math.prod(shape)
        at = bisect.bisect_left(present, begin // cut.whole) if cut.whole else len(present)
        while at < len(present) and present[at] * cut.whole < end:
            rank = present[at]
            own = rank * cut.whole
            first, last = max(begin, own), min(end, own + cut.lengths[rank])
            if first < last:
                found[rank][name] = Fragment(first - own, last - first)
            at += 1
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

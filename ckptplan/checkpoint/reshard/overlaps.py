"""The reads of one tensor: which box of which stored shard goes where, proved to be complete."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.coverage import Coverage, coverage
from ckptplan.checkpoint.manifest import Ints, Shards
from ckptplan.checkpoint.reshard.flat import as_boxes
from ckptplan.checkpoint.reshard.intersect import Pairs, intersect
from ckptplan.checkpoint.reshard.wanted import Wanted


class Overlaps(NamedTuple):
    """One row for each read of a class of ranks: the classes ascending, within a class in the order of torch's planner.

    Without a read of zero elements. Shards that are ranges of the flattened tensor have in `src` one number: where in
    the range the box begins; its elements then lie as in the whole tensor, row-major.
    """

    classes: Ints  # [n]
    rows: Ints  # [n], of the stored shards
    src: Ints  # [n, axes], within the stored shard; [n, 1] if it is flat
    dst: Ints  # [n, axes], within the tensor that the rank holds
    lengths: Ints  # [n, axes]

    def of_class(self, number: int) -> Overlaps:
        """The reads of one class."""
        low, high = np.searchsorted(self.classes, [number, number + 1])
        return Overlaps(*(column[low:high] for column in self))

    @property
    def elements(self) -> Ints:
        """Elements of each read."""
        number: Ints = self.lengths.prod(axis=1, dtype=np.int64)
        return number


class Stored(NamedTuple):
    """The stored boxes of a tensor in its own axes; a flat shard may be several."""

    shard_rows: Ints  # of the shards that are read
    rows: Ints  # of the shard of each box
    offsets: Ints
    sizes: Ints
    cover: Coverage  # of the shards that are read
    copies: bool  # whether equal boxes were left out


def stored_boxes(shape: tuple[int, ...], shards: Shards) -> Stored:
    """Boxes of the shards that can be read: those that lie in a file, and of equal boxes the first.

    Equal boxes are copies, which every rank stored for itself (torch DCP with metadata per rank).
    """
    there = np.flatnonzero(shards.files >= 0)
    rows, cover = there, coverage(shape, shards.offsets[there], shards.sizes[there], shards.flat)
    if cover.overlapping:
        rows = _first_copies(shards, there)
        cover = coverage(shape, shards.offsets[rows], shards.sizes[rows], shards.flat)
    copies = len(rows) < len(there)
    offsets, sizes = shards.offsets[rows], shards.sizes[rows]
    if shards.flat:
        cut = as_boxes(offsets.reshape(-1), sizes.reshape(-1), shape)
        return Stored(rows, rows[cut.rows], cut.offsets, cut.sizes, cover, copies)
    return Stored(rows, rows, offsets, sizes, cover, copies)


def _first_copies(shards: Shards, there: Ints) -> Ints:
    described = np.concatenate(
        [array[there].reshape(len(there), -1) for array in (shards.offsets, shards.sizes)], axis=1
    )
    if described.shape[1] == 0:
        return there[:1]
    return there[np.sort(np.unique(described, axis=0, return_index=True)[1])]


def overlaps(shape: tuple[int, ...], shards: Shards, stored: Stored, want: Wanted) -> Overlaps:
    """Every read of every class of ranks."""
    pairs = intersect(want.offsets, want.sizes, stored.offsets, stored.sizes)
    rows, classes = stored.rows[pairs.stored], want.box_classes[pairs.wanted]
    dst = pairs.offsets - want.offsets[pairs.wanted] + want.at[pairs.wanted]
    if shards.flat:
        src = _place(pairs.offsets, shape)[:, None] - shards.offsets.reshape(-1, 1)[rows]
    else:
        src = pairs.offsets - stored.offsets[pairs.stored]
    order = np.lexsort(_keys(() if shards.flat else shape, pairs, stored))
    return Overlaps(classes[order], rows[order], src[order], dst[order], pairs.lengths[order])


def _keys(shape: tuple[int, ...], pairs: Pairs, stored: Stored) -> tuple[Ints, ...]:
    """Keys of torch's order, the last one first: by box, the end of the shard along the longest axis, and its row."""
    if not shape:
        return (pairs.stored, pairs.wanted)
    longest = int(np.argmax(shape))
    ends = stored.offsets[:, longest] + stored.sizes[:, longest]
    return (pairs.stored, ends[pairs.stored], pairs.wanted)


def _place(offsets: Ints, shape: tuple[int, ...]) -> Ints:
    """Number of the element at an offset, row-major."""
    place = np.zeros(len(offsets), dtype=np.int64)
    for axis, extent in enumerate(shape):
        place = place * extent + offsets[:, axis]
    return place


def fault_of(shape: tuple[int, ...], shards: Shards, stored: Stored, want: Wanted, reads: Overlaps) -> str | None:
    """Why the reads do not give every element of every wanted box exactly once, or None: that is proved.

    The stored boxes lie within the tensor and none overlaps another; then a wanted box is whole if and only if the
    elements that are read of it are as many as it has.
    """
    return fault_of_shards(shape, shards, stored) or hole(shards, want, reads)


def fault_of_shards(shape: tuple[int, ...], shards: Shards, stored: Stored) -> str | None:
    """Why elements could come from two shards or from outside, or None: that no element does is proved."""
    rows, cover = stored.shard_rows, stored.cover
    if cover.outside:
        return f"stored shard {_box(shards, int(rows[cover.outside[0]]))} is not within the tensor of shape {shape}"
    if cover.overlaps:
        first, second = (_box(shards, int(rows[row])) for row in cover.overlaps[0])
        return f"stored shards {first} and {second} overlap, so that some elements would be read twice"
    if cover.overlapping or not cover.decided:
        return "the stored shards are cut in too irregular a way to prove that they cover the tensor once"
    return None


def hole(shards: Shards, want: Wanted, reads: Overlaps) -> str | None:
    """What the first rank that lacks something lacks, or None: every element of every wanted box is read."""
    read = np.zeros(len(want.shapes), dtype=np.int64)
    np.add.at(read, reads.classes, reads.elements)
    needed = want.shapes.prod(axis=1, dtype=np.int64)
    short = np.flatnonzero(read != needed)
    if not len(short):
        return None
    number = int(short[0])
    rank = int(want.ranks[want.classes == number][0])
    box = int(np.searchsorted(want.box_classes, number))
    where = "in no shard" if (shards.files >= 0).all() else "in no file that is there"
    more = f", and {len(short) - 1:,} other boxes are not whole" if len(short) > 1 else ""
    return (
        f"{int(needed[number] - read[number]):,} of the {int(needed[number]):,} elements that rank {rank} wants, "
        f"{span(want.offsets[box], want.sizes[box])}, are stored {where}{more}"
    )


def _box(shards: Shards, row: int) -> str:
    return span(shards.offsets[row], shards.sizes[row])


def span(offset: Ints, size: Ints) -> str:
    """A box as ranges: [0:12, 0:64]."""
    return f"[{', '.join(f'{a}:{a + n}' for a, n in zip(offset.tolist(), size.tolist(), strict=True))}]"

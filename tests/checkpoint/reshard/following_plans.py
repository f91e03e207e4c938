"""Plans carried out on arrays in memory, and checkpoints made of what ranks hold."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Mesh, Tensor
from ckptplan.checkpoint.reshard.boxes import boxes
from ckptplan.checkpoint.reshard.placement import Placements
from ckptplan.checkpoint.reshard.plan import Part
from tests.checkpoint.reshard.from_truth import Shard, shards

Array = NDArray[np.int64]


def numbered(shape: tuple[int, ...]) -> Array:
    """A tensor in which every element is its own number."""
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def cut(array: Array, offset: tuple[int, ...], size: tuple[int, ...]) -> Array:
    """A box of an array."""
    return array[tuple(slice(a, a + n) for a, n in zip(offset, size, strict=True))]


def saved(key: str, shape: tuple[int, ...], placements: Placements, mesh: Mesh) -> Tensor:
    """A tensor as ranks of a layout store it: every box once, the file being that of the first rank that holds it."""
    held = boxes(shape, placements, mesh)
    first: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for rank, (offset, size) in enumerate(zip(held.offsets.tolist(), held.sizes.tolist(), strict=True)):
        first.setdefault((tuple(offset), tuple(size)), rank)
    stored = [Shard(offset, size, rank, 100 + 8 * math.prod(size)) for (offset, size), rank in first.items()]
    return Tensor(key, StateKind.PARAMETER, "int64", shape, shards(len(shape), stored), (key,), key)


def saved_flat(key: str, shape: tuple[int, ...], ends: list[int]) -> Tensor:
    """A tensor as ZeRO stores it: consecutive ranges of its elements, one in each file."""
    edges = [0, *sorted(ends), math.prod(shape)]
    stored = [Shard((a,), (b - a,), n, 8 * (b - a)) for n, (a, b) in enumerate(itertools.pairwise(edges))]
    return Tensor(key, StateKind.MASTER, "int64", shape, shards(len(shape), stored, flat=True), (key,), key)


def stored_arrays(tensor: Tensor, whole: Array) -> list[Array]:
    """What lies in each stored shard."""
    offsets, sizes = tensor.shards.offsets.tolist(), tensor.shards.sizes.tolist()
    if tensor.shards.flat:
        return [whole.reshape(-1)[offset[0] : offset[0] + size[0]] for offset, size in zip(offsets, sizes, strict=True)]
    return [cut(whole, tuple(offset), tuple(size)) for offset, size in zip(offsets, sizes, strict=True)]


def loaded(part: Part, stored: list[Array]) -> tuple[dict[int, Array], int]:
    """What every rank holds after its reads, and how often any element was written more than once or never."""
    result, wrong = {}, 0
    for rank in part.want.ranks.tolist():
        shape = part.shape_of(rank)
        assert shape is not None
        own, times = np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        reads = part.reads_of(rank)
        for row, src, dst, length in zip(reads.rows, reads.src, reads.dst, reads.lengths, strict=True):
            target = tuple(slice(a, a + n) for a, n in zip(dst, length, strict=True))
            own[target] = _read(part, stored[row], src, length)
            times[target] += 1
        wrong += int((times != 1).sum())
        result[rank] = own
    return result, wrong


def _read(part: Part, shard: Array, src: Array, length: Array) -> Array:
    """A box of a stored shard; of a flat one by the strides of the whole tensor."""
    if not part.tensor.shards.flat:
        return cut(shard, tuple(src.tolist()), tuple(length.tolist()))
    shape = part.tensor.shape
    places = np.full(tuple(length), src[0], dtype=np.int64)
    for axis, number in enumerate(length.tolist()):
        step = np.arange(number) * math.prod(shape[axis + 1 :])
        places += step.reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return shard[places]

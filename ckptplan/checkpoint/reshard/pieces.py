"""The bytes of one tensor out of its stored shards, in pieces that are ready to be written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.manifest import Manifest, Raw, Tensor, row_major
from ckptplan.checkpoint.reshard.boxes_of_files import as_stored, blocks, read_box
from ckptplan.checkpoint.reshard.overlaps import Overlaps
from ckptplan.checkpoint.reshard.stored_items import raw_of
from ckptplan.errors import InputError, printable

TURNED_BYTES = 64 << 20  # held of a tensor that is not stored row by row: a block needs a part of each column


class StoredShards:
    """Where the shards of one tensor lie, each looked up once; those that are packed are read whole, one at a time."""

    def __init__(self, manifest: Manifest, folder: CheckpointFolder, tensor: Tensor) -> None:
        self._manifest, self._folder, self._tensor = manifest, folder, tensor
        self._raws: dict[int, Raw] = {}

    def raw(self, row: int) -> Raw:
        """One shard; it must be what the metadata says."""
        if row not in self._raws:
            self._raws[row] = raw_of(self._manifest, self._tensor, row)
        return self._raws[row]

    def name(self, raw: Raw) -> str:
        """The file of a shard."""
        return self._manifest.files[raw.file].name

    def first(self) -> tuple[int, int] | None:
        """File and place of the first element, if it is known."""
        found = next(iter(self._raws.values()), None)
        return None if found is None or found.packed else (found.file, found.offset)

    def box(self, row: int, src: Sequence[int], size: Sequence[int], into: NDArray[Any]) -> None:
        """A box of a shard; of a flat one the place of its first element in the range, and its size in the tensor."""
        raw = self.raw(row)
        if self._tensor.shards.flat:
            width = BITS[raw.dtype] // 8
            strides = row_major(self._tensor.shape)
            raw = raw._replace(offset=raw.offset + src[0] * width, shape=tuple(size), strides=strides)
            src = (0,) * len(size)
        read_box(partial(self._folder.read, self.name(raw)), raw, src, size, into)

    def whole(self, row: int) -> NDArray[np.uint8]:
        """All bytes of a shard, its elements in row-major order."""
        return self._manifest.source.read(self._tensor, row)


def pieces(
    tensor: Tensor, reads: Overlaps, raws: StoredShards, block_bytes: int
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """The bytes of a tensor in pieces with their places in it: in order, or shard by shard if one is packed."""
    rows = [int(row) for row in np.unique(reads.rows)]
    if BITS[tensor.dtype] % 8 or any(raws.raw(row).packed for row in rows):
        yield from _by_shards(tensor, reads, raws)
    else:
        turned = any(raws.raw(row).strides != row_major(raws.raw(row).shape) for row in rows)
        yield from _by_blocks(tensor, reads, raws, max(block_bytes, TURNED_BYTES) if turned else block_bytes)


def _by_blocks(
    tensor: Tensor, reads: Overlaps, raws: StoredShards, block_bytes: int
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    width = BITS[tensor.dtype] // 8
    strides = np.array(row_major(tensor.shape), dtype=np.int64)
    cut = blocks(tensor.shape, width, block_bytes)
    room = np.empty(max((math.prod(size) for _, size in cut), default=0), dtype=as_stored(tensor.dtype))
    for low, size in cut:
        block = room[: math.prod(size)].reshape(size)  # written before the next one is filled
        first = np.maximum(reads.dst, low)
        last = np.minimum(reads.dst + reads.lengths, np.add(low, size))
        for read in np.flatnonzero((first < last).all(axis=1)).tolist():
            moved = first[read] - reads.dst[read]
            if tensor.shards.flat:
                src = [int(reads.src[read, 0] + moved @ strides)]
            else:
                src = (reads.src[read] + moved).tolist()
            lengths = (last[read] - first[read]).tolist()
            place: tuple[Any, ...] = tuple(
                slice(a, a + n) for a, n in zip((first[read] - low).tolist(), lengths, strict=True)
            )
            raws.box(int(reads.rows[read]), src, lengths, block[(*place, ...)])
        yield width * int(np.dot(low, strides)), block.reshape(-1).view(np.uint8)


def _by_shards(tensor: Tensor, reads: Overlaps, raws: StoredShards) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Each stored shard once; its boxes row by row of the tensor, joined where the tensor has them in one piece."""
    bits = BITS[tensor.dtype]
    strides = np.array(row_major(tensor.shape), dtype=np.int64)
    for row in np.unique(reads.rows).tolist():
        data = raws.whole(row)
        own = tuple(tensor.shards.sizes[row].tolist())
        inner = strides if tensor.shards.flat else np.array(row_major(own), dtype=np.int64)
        for read in np.flatnonzero(reads.rows == row).tolist():
            size = reads.lengths[read].tolist()
            whole = tensor.shape if tensor.shards.flat else own
            cut = _contiguous(size, whole, tensor.shape)
            run = math.prod(size[cut:])
            start = int(reads.src[read, 0]) if tensor.shards.flat else int(reads.src[read] @ inner)
            at = int(reads.dst[read] @ strides)
            for outer in np.ndindex(*size[:cut]):
                a = (start + int(np.dot(outer, inner[:cut]))) * bits
                b = (at + int(np.dot(outer, strides[:cut]))) * bits
                if a % 8 or b % 8 or run * bits % 8:
                    raise InputError(f"{printable(tensor.key)}: a cut between elements of {bits} bits splits a byte")
                yield b // 8, data[a // 8 : (a + run * bits) // 8]


def _contiguous(size: Sequence[int], *wholes: Sequence[int]) -> int:
    """The first axis from which on a box is of one piece in all of the tensors it is a box of."""
    axis = max(0, len(size) - 1)
    while axis > 0 and all(size[axis] == whole[axis] for whole in wholes):
        axis -= 1
    return axis

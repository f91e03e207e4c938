"""Chunks of zarr arrays: where each lies, and its elements in row-major order."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax.arrays import Array, Inner, Unlike, chunk_keys
from ckptplan.checkpoint.formats.orbax.compression import ungzip, unzstd
from ckptplan.checkpoint.formats.orbax.stores import Store, Value, value_bytes
from ckptplan.checkpoint.formats.orbax.varints import Malformed
from ckptplan.checkpoint.manifest import UNKNOWN, Ints, Shards

Bytes = NDArray[np.uint8]

_NOT_STORED = (1 << 64) - 1  # offset and length of an inner chunk that holds the fill value only


def chunk_places(array: Array) -> Ints:
    """Places of all chunks in the grid, one row each, row-major. [chunks]."""
    if not array.shape:
        return np.zeros((1, 0), np.int64)
    return np.indices(array.grid, np.int64).reshape(len(array.shape), -1).T


def chunk_shards(array: Array, store: Store, numbers: dict[str, int], described: str) -> tuple[Shards, list[str]]:
    """The chunks as shards, and keys of those that are stored nowhere.

    A chunk that is not stored holds the fill value, which stands in the description of the array: that is its file.
    """
    places = chunk_places(array)
    sizes = np.minimum(np.array(array.chunks, np.int64), np.array(array.shape, np.int64) - places * array.chunks)
    keys = chunk_keys(array, places.tolist())
    nowhere = Value(described, 0, 0)
    values = [store.get(key, nowhere) for key in keys]
    plain = not array.packing and array.inner is None
    offsets = np.array([value.offset for value in values], np.int64)
    known = np.array([plain and value.inline is None and value.length > 0 for value in values], bool)
    shards = Shards(
        offsets=places * np.array(array.chunks, np.int64),
        sizes=sizes.reshape(len(keys), len(array.shape)),
        files=np.array([numbers.get(value.file, -1) for value in values], np.int64),
        item_offsets=offsets,
        item_bytes=np.array([value.length for value in values], np.int64),
        data_offsets=np.where(known, offsets, UNKNOWN),
    )
    return shards, [key for key in keys if key not in store]


def chunk_elements(folder: CheckpointFolder, array: Array, value: Value | None, sizes: tuple[int, ...]) -> Bytes:
    """The elements of one chunk within its array, as row-major bytes."""
    width = BITS[array.dtype] // 8
    if value is None:
        return _filled(array, sizes)
    if array.inner is not None:
        grid = _unsharded(folder, array, array.inner, value)
    else:
        grid = _unpacked(value_bytes(folder, value), array.packing, array.chunks, width, array.fortran)
    cut = grid[tuple(slice(0, size) for size in sizes)]  # chunks at the end of an axis reach beyond it
    return _little_endian(_flat(cut), array) if array.big_endian else _flat(cut)


def _flat(found: Bytes) -> Bytes:
    return np.ascontiguousarray(found).reshape(-1)


def _little_endian(found: Bytes, array: Array) -> Bytes:
    """Bytes of numbers turned round; a complex number is two of them."""
    parts = 2 if array.dtype.startswith("complex") else 1
    return _flat(found.reshape(-1, BITS[array.dtype] // 8 // parts)[:, ::-1])


def _unpacked(data: bytes, packing: str, chunks: tuple[int, ...], width: int, fortran: bool = False) -> Bytes:
    """A chunk as an array of its axes and the bytes of an element."""
    wanted = math.prod(chunks) * width
    if packing == "zstd":
        data = unzstd(data, wanted)
    elif packing == "zlib":
        data = ungzip(data, wanted)
    elif packing == "crc32c":
        data = data[:-4]
    elif packing:
        raise Unlike(f"chunks packed by {packing[:40]} are not read here")
    if len(data) != wanted:
        raise Malformed(f"a chunk of {len(data):,} bytes instead of {wanted:,}")
    found = np.frombuffer(data, np.uint8)
    if fortran:
        return found.reshape(*reversed(chunks), width).transpose(*reversed(range(len(chunks))), len(chunks))
    return found.reshape(*chunks, width)


def _unsharded(folder: CheckpointFolder, array: Array, inner: Inner, value: Value) -> Bytes:
    """A shard of zarr 3 put together from its inner chunks."""
    width = BITS[array.dtype] // 8
    parts = Array(array.chunks, array.dtype, inner.chunks, "", "", "")
    tail = 4 if inner.checksum else 0
    index_bytes = 16 * parts.number + tail
    if index_bytes > value.length:
        raise Malformed(f"an index of {parts.number:,} inner chunks in {value.length:,} bytes")
    start = value.length - index_bytes if inner.at_end else 0
    index = np.frombuffer(value_bytes(folder, value, start, index_bytes - tail), "<u8").reshape(-1, 2)
    whole = _filled(array, array.chunks).reshape(*array.chunks, width)
    for place, (offset, length) in zip(chunk_places(parts).tolist(), index.tolist(), strict=True):
        if (offset, length) == (_NOT_STORED, _NOT_STORED):
            continue
        if offset + length > value.length:
            raise Malformed("an inner chunk beyond the end of its shard")
        data = value_bytes(folder, value, offset, length)
        box = tuple(slice(at * size, (at + 1) * size) for at, size in zip(place, inner.chunks, strict=True))
        whole[box] = _unpacked(data, inner.packing, inner.chunks, width)
    return whole


def _filled(array: Array, sizes: tuple[int, ...]) -> Bytes:
    """Elements that hold the fill value; bytes in the byte order of the array. Only zero is read."""
    parts = array.fill if isinstance(array.fill, list) else [array.fill]  # of a complex number
    if any(part not in (None, 0, False, "0.0") for part in parts):
        raise Unlike(f"the fill value {str(array.fill)[:40]!r} is not read here")
    return np.zeros(math.prod(sizes) * (BITS[array.dtype] // 8), np.uint8)

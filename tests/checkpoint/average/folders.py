"""Checkpoints made for the tests: safetensors files, and manifests of any layout over a file of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import File, Format, Manifest, Object, Raw, Shards, Tensor
from ckptplan.checkpoint.writing.single import SafetensorsWriter

Array = NDArray[Any]
Box = tuple[tuple[int, ...], tuple[int, ...]]


def numpy_type(dtype: str) -> np.dtype[Any]:
    """The type of numpy, or of ml_dtypes where numpy has none."""
    return np.dtype(getattr(ml_dtypes, dtype)) if "bfloat" in dtype or "float8" in dtype else np.dtype(dtype)


def save(path: Path, tensors: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> Manifest:
    """A safetensors file of these arrays, read back as a manifest."""
    entries = [(name, array.dtype.name, array.shape) for name, array in tensors.items()]
    with SafetensorsWriter(path, entries, metadata) as writer:
        for name, array in tensors.items():
            writer.write(name, 0, np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        writer.finish()
    return read_manifest(path)


def load(path: Path) -> dict[str, Array]:
    """The arrays of a safetensors file or folder, by the project's own reader."""
    manifest = read_manifest(path)
    return {
        tensor.key: manifest.source.read(tensor, 0).view(numpy_type(tensor.dtype)).reshape(tensor.shape)
        for tensor in manifest.tensors
    }


class Pieces:
    """A source whose shards lie one behind the other in a file; `strided` and `packed` ones are only read whole."""

    def __init__(self, shards: dict[tuple[str, int], Array], offsets: dict[tuple[str, int], int], how: str) -> None:
        self.shards, self.offsets, self.how = shards, offsets, how
        self.reads = 0

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Where a shard lies."""
        shape = self.shards[tensor.key, row].shape
        strides = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
        if self.how == "strided":
            strides = strides[::-1] if len(shape) > 1 else tuple(2 * stride for stride in strides)
        packed = "zstd" if self.how == "packed" else None
        return Raw(0, self.offsets[tensor.key, row], tensor.dtype, shape, strides, packed)

    def read(self, tensor: Tensor, row: int) -> NDArray[np.uint8]:
        """A whole shard."""
        self.reads += 1
        return np.ascontiguousarray(self.shards[tensor.key, row]).reshape(-1).view(np.uint8)

    def value(self, entry: Object) -> Any:
        """No objects."""
        raise AssertionError(entry)


def sharded(
    folder: Path,
    arrays: Mapping[str, Array],
    cut: Any,
    how: str = "plain",
    kinds: Mapping[str, StateKind] | None = None,
    **fields: Any,
) -> Manifest:
    """A manifest over a file of shards; ``cut`` gives the boxes of an array, or ranges of its elements (flat)."""
    folder.mkdir(parents=True, exist_ok=True)
    held: dict[tuple[str, int], Array] = {}
    offsets: dict[tuple[str, int], int] = {}
    tensors = []
    with (folder / "data.bin").open("wb") as file:
        file.write(b"head")
        for key, array in arrays.items():
            boxes, flat = cut(array)
            for row, (offset, size) in enumerate(boxes):
                source = array.reshape(-1) if flat else array
                held[key, row] = source[tuple(slice(o, o + n) for o, n in zip(offset, size, strict=True))]
                offsets[key, row] = file.tell()
                file.write(np.ascontiguousarray(held[key, row]).tobytes())
            tensors.append(_tensor(key, array, boxes, flat, (kinds or {}).get(key, StateKind.PARAMETER)))
        size = file.tell()
    source = Pieces(held, offsets, how)
    return Manifest(Format.DCP, folder, tuple(tensors), (), (File("data.bin", size),), source, **fields)


def _tensor(key: str, array: Array, boxes: Sequence[Box], flat: bool, kind: StateKind) -> Tensor:
    axes = 1 if flat else array.ndim
    zeros = np.zeros(len(boxes), np.int64)
    sizes = np.array([size for _, size in boxes], np.int64).reshape(len(boxes), axes)
    lengths = sizes.prod(axis=1) * BITS[array.dtype.name] // 8
    places = np.array([offset for offset, _ in boxes], np.int64).reshape(len(boxes), axes)
    shards = Shards(places, sizes, zeros, zeros, lengths, zeros, flat)
    return Tensor(key, kind, array.dtype.name, array.shape, shards, parameter=key)

"""Values of an Orbax checkpoint, chunk by chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax.arrays import Array, Unlike, chunk_keys
from ckptplan.checkpoint.formats.orbax.chunks import chunk_elements
from ckptplan.checkpoint.formats.orbax.documents import read_json
from ckptplan.checkpoint.formats.orbax.stores import Store, Value
from ckptplan.checkpoint.formats.orbax.varints import Malformed
from ckptplan.checkpoint.manifest import File, Object, Raw, Tensor, row_major
from ckptplan.errors import InputError


class OrbaxSource:
    """The files behind the manifest of an Orbax checkpoint."""

    def __init__(
        self,
        folder: CheckpointFolder,
        files: tuple[File, ...],
        arrays: dict[str, tuple[Array, Store]],
        json_objects: dict[str, str],
    ) -> None:
        self._folder = folder
        self._files = files
        self._arrays = arrays
        self._json = json_objects

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Where the elements of a chunk lie, at the strides of the whole chunk."""
        array, value, sizes = self._chunk(tensor, row)
        if value is None:
            file = int(tensor.shards.files[row])
            return Raw(file, 0, array.dtype, sizes, (0,) * len(sizes), packed="fill value")
        packed = array.packing or None
        if array.inner is not None:
            packed = "zarr 3 shard"
        elif array.big_endian:
            packed = "big-endian"
        elif value.inline is not None:
            packed = "OCDBT node" if packed is None else f"{packed} in an OCDBT node"
        offset = 0 if packed else value.offset
        strides = _strides(array.chunks, array.fortran)
        return Raw(int(tensor.shards.files[row]), offset, array.dtype, sizes, strides, packed, value.length)

    def read(self, tensor: Tensor, row: int) -> NDArray[np.uint8]:
        """The elements of a chunk, row-major."""
        array, value, sizes = self._chunk(tensor, row)
        if tensor.shards.files[row] < 0:
            raise self._wrong(tensor, row, "the chunk is stored nowhere")
        try:
            return chunk_elements(self._folder, array, value, sizes)
        except (Malformed, Unlike) as error:
            raise self._wrong(tensor, row, str(error)) from None
        except MemoryError:
            raise self._wrong(tensor, row, "the chunk does not fit into memory") from None

    def value(self, entry: Object) -> Any:
        """An item that is JSON."""
        if entry.key not in self._json:
            raise InputError(f"{entry.key}: only JSON items are read", hint="use Orbax to restore it")
        return read_json(self._folder, self._json[entry.key])

    def _chunk(self, tensor: Tensor, row: int) -> tuple[Array, Value | None, tuple[int, ...]]:
        array, store = self._arrays[tensor.key]
        place = [int(offset) // chunk for offset, chunk in zip(tensor.shards.offsets[row], array.chunks, strict=True)]
        sizes = tuple(int(size) for size in tensor.shards.sizes[row])
        return array, store.get(chunk_keys(array, [place])[0]), sizes

    def _wrong(self, tensor: Tensor, row: int, message: str) -> InputError:
        file = int(tensor.shards.files[row])
        name = self._files[file].name if file >= 0 else ""
        return self._folder.refused(name, f"{tensor.key}: {message}", "is the copy complete?")


def _strides(chunks: tuple[int, ...], fortran: bool) -> tuple[int, ...]:
    """Elements from one place of an axis to the next within a whole chunk."""
    return row_major(chunks[::-1])[::-1] if fortran else row_major(chunks)

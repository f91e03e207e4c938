"""Values of checkpoints whose tensors are whole stored tensors, or ranges of flat vectors of several files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.archives.elements import read_elements
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.dtypes import size_bytes
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.manifest import File, Object, Raw, Tensor
from ckptplan.errors import InputError


class PartitionSource:
    """The files behind the manifest of DeepSpeed or FSDP1."""

    def __init__(
        self,
        folder: CheckpointFolder,
        files: tuple[File, ...],
        whole: dict[str, StoredTensor],
        values: dict[str, Any],
    ) -> None:
        self._folder = folder
        self._files = files
        self._whole = whole  # tensors that are stored as one
        self._values = values

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Where the elements of a piece lie."""
        file = self._file(tensor, row)
        stored = self._whole.get(tensor.key)
        if stored is None:
            number = int(tensor.shards.sizes[row, 0])
            length = size_bytes(tensor.dtype, number)
            return Raw(file, int(tensor.shards.data_offsets[row]), tensor.dtype, (number,), (1,), None, length)
        packed = "deflate" if stored.deflated_bytes else None
        return Raw(file, stored.data_offset, stored.dtype, stored.shape, stored.strides, packed, stored.storage_bytes)

    def read(self, tensor: Tensor, row: int) -> NDArray[np.uint8]:
        """The elements of a piece, row-major."""
        file = self._file(tensor, row)
        stored = self._whole.get(tensor.key)
        if stored is not None:
            return read_elements(self._folder, stored)
        length = size_bytes(tensor.dtype, int(tensor.shards.sizes[row, 0]))
        data = self._folder.read(self._files[file].name, int(tensor.shards.data_offsets[row]), length)
        return np.frombuffer(data, np.uint8)

    def value(self, entry: Object) -> Any:
        """An object; a number that is stored as a tensor without axes is read."""
        if entry.key not in self._values:
            raise InputError(f"{entry.key}: no such object in the checkpoint")
        value = self._values[entry.key]
        if not isinstance(value, StoredTensor):
            return value
        return read_elements(self._folder, value).view(value.dtype)[0].item()

    def _file(self, tensor: Tensor, row: int) -> int:
        file = int(tensor.shards.files[row])
        if file < 0:
            message = f"{tensor.key}: the file that holds this part is not there"
            raise InputError(message, hint="is the copy complete?")
        return file

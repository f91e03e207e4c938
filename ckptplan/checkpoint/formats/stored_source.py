"""Values of checkpoints whose tensors each lie in one file as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.archives.elements import read_elements
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.manifest import Object, Raw, Tensor
from ckptplan.errors import InputError


class StoredSource:
    """Reads the tensors and objects of a manifest by their keys."""

    def __init__(
        self,
        folder: CheckpointFolder,
        tensors: Mapping[str, StoredTensor],
        values: Mapping[str, Callable[[], Any]],
        numbers: Mapping[str, int],
    ) -> None:
        self._folder = folder
        self._tensors = tensors
        self._values = values
        self._numbers = numbers  # of the files

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Where the elements of a tensor lie."""
        stored = self._stored(tensor.key, row)
        return Raw(
            file=self._numbers[stored.file],
            offset=stored.data_offset,
            dtype=stored.dtype,
            shape=stored.shape,
            strides=stored.strides,
            packed=None if stored.deflated_bytes is None else "deflate",
            data_bytes=stored.storage_bytes,
        )

    def read(self, tensor: Tensor, row: int) -> NDArray[np.uint8]:
        """The bytes of a tensor in row-major order."""
        stored = self._stored(tensor.key, row)
        if BITS[stored.dtype] % 8:
            return np.frombuffer(self._folder.read(stored.file, stored.data_offset, stored.size_bytes), dtype=np.uint8)
        return read_elements(self._folder, stored)

    def value(self, entry: Object) -> Any:
        """An object as inert values."""
        if entry.key not in self._values:
            raise InputError(f"the checkpoint holds no object {entry.key!a}")
        return self._values[entry.key]()

    def _stored(self, key: str, row: int) -> StoredTensor:
        if key not in self._tensors or row != 0:
            raise InputError(f"the checkpoint holds no shard {row} of a tensor {key!a}")
        return self._tensors[key]

"""Tensors as torch.save describes them: a window with strides on a storage, which is one record of the file."""

from __future__ import annotations

import math
from typing import NamedTuple

from ckptplan.checkpoint.dtypes import BITS, size_bytes

MOST_AXES = 64
MOST = 2**62  # elements or bytes

# Storage classes of torch and the types of their elements; untyped storages count bytes.
OF_STORAGE = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "UntypedStorage": "uint8", "QInt8Storage": "int8",
    "QUInt8Storage": "uint8", "QInt32Storage": "int32", "QUInt4x2Storage": "uint8", "QUInt2x4Storage": "uint8",
}  # fmt: skip
STORAGE_MODULES = frozenset({"torch", "torch.storage", "torch.cuda"})


class StoredTensor(NamedTuple):
    """Where the elements of one tensor lie; nothing of them was read."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # elements
    storage: str  # its key in the file
    storage_offset: int  # elements
    file: str
    data_offset: int  # of the tensor's first element in the file, bytes; in the unpacked record if it is packed
    storage_offset_bytes: int  # of the storage in the file
    storage_bytes: int
    crc: int | None = None  # of the storage; legacy files have none
    deflated_bytes: int | None = None  # of the packed record, where the archive is packed

    @property
    def elements(self) -> int:
        """Elements of the tensor."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of its elements. [bytes]."""
        return size_bytes(self.dtype, self.elements)

    @property
    def span(self) -> int:
        """Elements of the storage from its first element to its last, both included."""
        return span(self.shape, self.strides)

    @property
    def row_major(self) -> bool:
        """Whether its elements follow each other in row-major order."""
        return row_major(self.shape, self.strides)

    @property
    def element_bytes(self) -> int:
        """Bytes of one element. [bytes]."""
        return BITS[self.dtype] // 8


def span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements from the first to the last of a strided tensor."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def row_major(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides are those of a dense tensor in row-major order; axes of one element may have any."""
    if 0 in shape:
        return True
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True

"""The elements of a stored tensor, in row-major order whatever its strides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.archives.zip_records import Record, read_record
from ckptplan.checkpoint.folder import CheckpointFolder

_MOST_REPEATED = 1 << 26  # bytes of a tensor whose strides show one stored element many times
_LARGEST_PACKED = 1 << 32  # bytes of an unpacked record


def read_elements(folder: CheckpointFolder, stored: StoredTensor) -> NDArray[np.uint8]:
    """All elements of a tensor as bytes in row-major order.

    Parameters
    ----------
    folder : CheckpointFolder
        Where its file is.
    stored : StoredTensor
        The tensor; only the part of its storage that it spans is read.

    Returns
    -------
    ndarray of uint8

    Raises
    ------
    InputError
        If the file does not hold them, or strides make a tensor of more than 64 MB out of fewer stored elements.
    """
    size = stored.element_bytes
    if stored.elements > stored.span and stored.size_bytes > _MOST_REPEATED:
        message = f"a tensor of {stored.size_bytes:,} bytes shows {stored.span * size:,} stored bytes repeatedly"
        raise folder.refused(stored.file, message, "save it again with contiguous()")
    held = np.frombuffer(_spanned(folder, stored, stored.span * size), dtype=np.uint8)
    if stored.row_major:
        return held
    strides = (*(stride * size for stride in stored.strides), 1)
    window = np.lib.stride_tricks.as_strided(held, (*stored.shape, size), strides, writeable=False)
    return np.ascontiguousarray(window).reshape(-1)


def _spanned(folder: CheckpointFolder, stored: StoredTensor, length: int) -> bytes:
    """The bytes from the first element to the last."""
    if stored.deflated_bytes is None or not length:
        return folder.read(stored.file, stored.data_offset, length) if length else b""
    record = Record(stored.storage_offset_bytes, stored.storage_bytes, stored.crc or 0, stored.deflated_bytes, True)
    return read_record(folder, stored.file, record, _LARGEST_PACKED)[stored.data_offset : stored.data_offset + length]

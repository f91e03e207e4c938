"""Items that were compressed as a stream: unpacked into memory, up to a bound, and then read like a file."""

from __future__ import annotations

from collections.abc import Iterator

from ckptplan.checkpoint.folder import CheckpointFolder

ZSTD = "stream.zstd/1"
_PIECE = 1 << 20  # bytes
_HINT = "the item is damaged; copy the file again or take an older checkpoint"


class UnpackedItem(CheckpointFolder):
    """One item as a file of the same name that holds nothing else."""

    def __init__(self, folder: CheckpointFolder, name: str, data: bytes) -> None:
        super().__init__(folder.root, only=name)
        self._name = name
        self._data = data

    def sizes(self) -> dict[str, int]:
        """The length of the unpacked item. [bytes]."""
        return {self._name: len(self._data)}

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Exactly these bytes of the unpacked item."""
        if offset < 0 or length < 0 or offset + length > self.size(name):
            message = f"bytes {offset:,} to {offset + length:,} of an unpacked item of {len(self._data):,}"
            raise self.refused(name, message, _HINT)
        return self._data[offset : offset + length]


def unpacked(folder: CheckpointFolder, name: str, offset: int, length: int, most_bytes: int) -> UnpackedItem:
    """An item of zstd, unpacked; an error where it has more than so many bytes."""
    data = bytearray()
    for piece in _pieces(folder, name, offset, length):
        data += piece
        if len(data) > most_bytes:
            message = f"the item at byte {offset:,} unpacks to more than {most_bytes:,} bytes, which is all it may hold"
            raise folder.refused(name, message, _HINT)
    return UnpackedItem(folder, name, bytes(data))


def _pieces(folder: CheckpointFolder, name: str, offset: int, length: int) -> Iterator[bytes]:
    import pyarrow as pa

    packed = folder.read(name, offset, length)
    try:
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            while piece := stream.read(_PIECE):
                yield piece
    except (OSError, pa.ArrowException):
        raise folder.refused(name, f"the item at byte {offset:,} is not what zstd writes", _HINT) from None

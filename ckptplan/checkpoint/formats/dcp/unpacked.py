"""Items that were compressed as a stream: unpacked piece by piece, and read like a file of their own.

Beginning and end stay in memory, where an archive has its directory, its headers and its pickle. What lies between is
unpacked again when it is asked for, so that memory is bounded by what is asked, not by what an item unpacks to.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckptplan.checkpoint.folder import CheckpointFolder

LARGEST = 1 << 36  # bytes of an unpacked item, whatever the metadata says
_KEPT = 4 << 20  # bytes at either end
_PIECE = 1 << 20  # bytes
_HINT = "the item is damaged; copy the file again or take an older checkpoint"


class UnpackedItem(CheckpointFolder):
    """Bytes as a file of this name that is the only one."""

    def __init__(self, root: CheckpointFolder, name: str, data: bytes) -> None:
        super().__init__(root.root, only=name)
        self._name = name
        self._head = data
        self._length = len(data)

    def sizes(self) -> dict[str, int]:
        """The length of the unpacked bytes. [bytes]."""
        return {self._name: self._length}

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Exactly these bytes."""
        if offset < 0 or length < 0 or offset + length > self.size(name):
            message = f"bytes {offset:,} to {offset + length:,} of an unpacked item of {self._length:,}"
            raise self.refused(name, message, _HINT)
        return self._part(offset, length)

    def _part(self, offset: int, length: int) -> bytes:
        return self._head[offset : offset + length]


class StreamedItem(UnpackedItem):
    """An item of zstd: its ends are kept, and its middle is unpacked from the beginning, or from where reading is."""

    def __init__(self, folder: CheckpointFolder, name: str, offset: int, length: int, most_bytes: int) -> None:
        super().__init__(folder, name, b"")
        self._packed = (folder, name, offset, length)
        self._most = min(most_bytes, LARGEST)
        self._pieces: Iterator[bytes] = iter(())
        self._buffer = bytearray()  # unpacked and not yet given
        self._at = 0  # place of the buffer's first byte
        self._measure()

    def _measure(self) -> None:
        """Unpack once, to know the length and to keep both ends."""
        head, tail = bytearray(), bytearray()
        for piece in _pieces(*self._packed):
            self._length += len(piece)
            if self._length > self._most:
                folder, name, offset, _ = self._packed
                message = f"the item at byte {offset:,} unpacks to more than {self._most:,} bytes, all that it may hold"
                raise folder.refused(name, message, _HINT)
            if len(head) < _KEPT:
                head += piece
            tail += piece
            if len(tail) > 2 * _KEPT:
                del tail[:-_KEPT]
        self._head, self._tail = bytes(head), bytes(tail)

    def _part(self, offset: int, length: int) -> bytes:
        if offset + length <= len(self._head):
            return self._head[offset : offset + length]
        kept = self._length - len(self._tail)
        if offset >= kept:
            return self._tail[offset - kept : offset - kept + length]
        return self._from_stream(offset, length)

    def _from_stream(self, offset: int, length: int) -> bytes:
        if offset < self._at:
            self._pieces, self._buffer, self._at = _pieces(*self._packed), bytearray(), 0
        elif not self._at and not self._buffer:
            self._pieces = _pieces(*self._packed)
        while self._at + len(self._buffer) < offset + length:
            skipped = max(0, min(offset - self._at, len(self._buffer)))
            del self._buffer[:skipped]
            self._at += skipped
            piece = next(self._pieces, b"")
            if not piece:
                raise self.refused(self._name, "became shorter while it was read", "is a save still running?")
            self._buffer += piece
        start = offset - self._at
        found = bytes(self._buffer[start : start + length])
        del self._buffer[: start + length]
        self._at = offset + length
        return found


def _pieces(folder: CheckpointFolder, name: str, offset: int, length: int) -> Iterator[bytes]:
    import pyarrow as pa

    source = pa.PythonFile(_Packed(folder, name, offset, length), mode="r")
    try:
        with pa.CompressedInputStream(source, "zstd") as stream:
            while piece := stream.read(_PIECE):
                yield piece
    except (OSError, pa.ArrowException):
        raise folder.refused(name, f"the item at byte {offset:,} is not what zstd writes", _HINT) from None


class _Packed:
    """The bytes of an item in its file, as the stream that pyarrow reads from."""

    closed = False

    def __init__(self, folder: CheckpointFolder, name: str, offset: int, length: int) -> None:
        self._folder = folder
        self._name = name
        self._at = offset
        self._end = offset + length

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most so many."""
        left = self._end - self._at
        count = left if size < 0 else min(size, left)
        found = self._folder.read(self._name, self._at, count)
        self._at += count
        return found

    def close(self) -> None:
        """Nothing is open."""
        self.closed = True

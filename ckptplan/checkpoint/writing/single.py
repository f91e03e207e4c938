"""A safetensors file written tensor by tensor: aside, in full, synced, and only then under its name."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ckptplan.checkpoint.writing.header import Entry, header_of, refuse_entries
from ckptplan.checkpoint.writing.places import beside, in_the_way, refuse_without_room, replaceable, sync_folder, undone
from ckptplan.checkpoint.writing.signals import held
from ckptplan.errors import InputError, printable

_CREATE = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_REOPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_EARLY_BYTES = 1 << 26  # written since the system was last told to begin with storing them


class SafetensorsWriter:
    """Tensors in any order, each byte exactly once; the file appears whole or not at all.

    Used as a context: without ``finish`` nothing is left, whatever happened.

    Parameters
    ----------
    path : path
        The file.
    entries : sequence of Entry (or of tuples: name, dtype, shape)
        All that it will hold.
    metadata : mapping, optional
        Texts by name, for ``__metadata__``.
    inputs : iterable of paths
        Files that must not be replaced, and folders into which nothing must be written.
    overwrite : bool
        Replace a file that is there, at the end and in one step; else it is refused.

    Raises
    ------
    InputError
        If the format cannot hold a tensor, or the file cannot be made there.
    """

    _open = False

    def __init__(
        self,
        path: str | Path,
        entries: Sequence[Entry | tuple[str, str, tuple[int, ...]]],
        metadata: Mapping[str, str] | None = None,
        inputs: Iterable[str | Path] = (),
        *,
        overwrite: bool = False,
    ) -> None:
        listed = [Entry(*entry) for entry in entries]
        refuse_entries(listed)
        self.path = Path(path)
        target = replaceable(self.path, inputs, overwrite=overwrite)
        self._overwrite = overwrite
        header, self._places = header_of(listed, metadata or {})
        self.size_bytes = len(header) + sum(entry.size_bytes for entry in listed)
        refuse_without_room(target.parent, self.size_bytes)
        self._covered = {entry.name: _Covered(entry.size_bytes) for entry in listed}
        self._start, self._target, self._handle = len(header), target, -1
        self._aside = beside(target)
        self._early = _Early()
        self._open = True
        with undone(self.path, self.abort):
            self._begin(header)

    def __enter__(self) -> SafetensorsWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def __del__(self) -> None:
        self.abort()  # interrupted between the end of __init__ and the begin of the context

    def write(self, name: str, start_byte: int, data: Any) -> None:
        """Bytes of one tensor from a place in it on; `data` is bytes or a contiguous array."""
        view = memoryview(data).cast("B")
        self._covered[name].add(start_byte, len(view), name)
        at = self._start + self._places[name] + start_byte
        with undone(self.path, self.abort):
            self._write(view, at)

    def finish(self) -> None:
        """All is written: sync, then give the file its name, then sync the folder."""
        for name, covered in self._covered.items():
            if covered.missing:
                said = f"{covered.missing:,} bytes of {printable(name)} were never written; nothing is left behind"
                self.abort()
                raise InputError(said, hint="the checkpoint does not hold all of it")
        with undone(self.path, self.abort):
            self._commit()
        self._open = False

    def abort(self) -> None:
        """Leave nothing behind, unless it is finished."""
        if self._open:
            with held():
                self._open = False
                self.park()
                with suppress(OSError):
                    self._aside.unlink()

    def park(self) -> None:
        """Close the file until the next write: a writer of many files must not hold them all open."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _begin(self, header: bytes) -> None:
        self._handle = os.open(self._aside, _CREATE, 0o666)
        with suppress(OSError):
            os.fchmod(self._handle, self._target.stat().st_mode & 0o777)
        os.ftruncate(self._handle, self.size_bytes)
        _write_all(self._handle, memoryview(header), 0)

    def _write(self, view: memoryview, at: int) -> None:
        handle = self._stream()
        _write_all(handle, view, at)
        self._early.add(handle, at, len(view))

    def _stream(self) -> int:
        if not self._open:
            raise OSError(9, "the writer is closed")
        if self._handle < 0:
            self._handle = os.open(self._aside, _REOPEN)
        return self._handle

    def _commit(self) -> None:
        os.fsync(self._stream())
        self.park()
        if not self._overwrite and self._target.exists():  # it came while this one was written
            raise in_the_way(self.path)
        self._aside.replace(self._target)
        sync_folder(self._target.parent)


class _Early:
    """Storing begins while the rest is still being made, so that the sync at the end has little to wait for.

    Linux starts to write out a range that it is told is not needed, without waiting for it, and lets go only of pages
    that are stored already. Elsewhere the hint does nothing, and the sync does it all.
    """

    def __init__(self) -> None:
        self._low, self._high, self._bytes = 0, 0, 0

    def add(self, handle: int, start: int, length: int) -> None:
        """Note a range that was written; hint once enough have gathered."""
        self._low = min(self._low, start) if self._bytes else start
        self._high = max(self._high, start + length)
        self._bytes += length
        if self._bytes >= _EARLY_BYTES and hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # a file system may know no hints
                os.posix_fadvise(handle, self._low, self._high - self._low, os.POSIX_FADV_DONTNEED)
            self._high, self._bytes = 0, 0


class _Covered:
    """Which bytes of one tensor are written: disjoint ranges in order."""

    def __init__(self, size: int) -> None:
        self._size, self._starts, self._ends = size, [], []  # type: int, list[int], list[int]
        self.missing = size

    def add(self, start: int, length: int, name: str) -> None:
        """Note a range; one that is written already, or lies outside, is refused."""
        if not length:
            return
        end, place = start + length, bisect_left(self._starts, start)
        before = place > 0 and self._ends[place - 1] > start
        after = place < len(self._starts) and self._starts[place] < end
        if start < 0 or end > self._size or before or after:
            fault = "twice" if before or after else f"outside of its {self._size:,}"
            raise InputError(f"bytes {start:,} to {end:,} of {printable(name)} would be written {fault}")
        self.missing -= length
        left = place > 0 and self._ends[place - 1] == start
        right = place < len(self._starts) and self._starts[place] == end
        if left and right:
            self._ends[place - 1] = self._ends.pop(place)
            del self._starts[place]
        elif left:
            self._ends[place - 1] = end
        elif right:
            self._starts[place] = start
        else:
            self._starts.insert(place, start)
            self._ends.insert(place, end)


def _write_all(handle: int, view: memoryview, at: int) -> None:
    while view:
        written = os.pwrite(handle, view, at)
        view, at = view[written:], at + written

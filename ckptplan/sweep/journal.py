"""The file of ``--resume``: which chunks are finished, and their columns, whatever moment the program was killed at.

The first line is JSON: schema, fingerprint of the study, number of chunks, versions. Then one record per chunk, in the
order in which they were finished: its number, its length, a checksum over both and the columns, and the columns.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import time
from contextlib import AbstractContextManager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from ckptplan.errors import InputError, Place, Problem
from ckptplan.sweep.columns import Column, Columns
from ckptplan.sweep.identity import Identity
from ckptplan.sweep.journal_head import LONGEST_LINE, first_line, strangeness
from ckptplan.sweep.packing import Damaged, packed, unpacked

_RECORD = struct.Struct("<QQ16s")  # number of the chunk, bytes of its columns, checksum
_LARGEST = 1 << 30  # bytes of the columns of one chunk
_SYNC_S = 5.0  # a lost machine costs no more than this


class _Place(NamedTuple):
    start: int
    size: int


class Journal(AbstractContextManager["Journal"]):
    """A journal of one study, opened or begun; no other run can write to it meanwhile.

    Parameters
    ----------
    path : path
        The file; it is begun where there is none.
    identity : Identity
        The study that it must be of.

    Raises
    ------
    InputError
        For a file that is anything else than a journal of this study, which stays untouched; one that another run
        writes to; a file system that fails.
    """

    def __init__(self, path: str | Path, identity: Identity) -> None:
        self.path = Path(path)
        self.cut_bytes = 0  # torn off at the end: what was being written when the program was killed
        self._identity = identity
        self._places: dict[int, _Place] = {}
        self._titles: list[tuple[str, type]] | None = None
        self._synced_s = time.monotonic()
        self._handle = -1
        try:
            self._handle = self._open()
            self._lock()
            self._load()
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            self._close()
            raise self._refused(f"cannot be used: {_reason(error)}", "name another file") from error
        except BaseException:
            self._close()
            raise

    @property
    def finished(self) -> frozenset[int]:
        """Numbers of the chunks that are here."""
        return frozenset(self._places)

    @property
    def is_open(self) -> bool:
        """Whether it takes chunks."""
        return self._handle >= 0

    def read(self, index: int) -> Columns:
        """The columns of a finished chunk."""
        place = self._places[index]
        try:
            columns = unpacked(self._pread(place.start, place.size))
        except (Damaged, OSError) as error:
            raise self._damaged(index, str(error)) from error
        self._check_titles(index, columns)
        return columns

    def append(self, index: int, columns: Columns) -> None:
        """Note a chunk down; should this be interrupted, the next one is written over what came of it."""
        if index in self._places:
            return
        payload = packed(columns)
        if len(payload) > _LARGEST:
            raise self._refused(f"part {index + 1:,} has {len(payload):,} bytes, more than a journal holds", None)
        record = _RECORD.pack(index, len(payload), _checksum(index, len(payload), payload))
        try:
            self._pwrite(record + payload, self._end)
            self._sync(_SYNC_S)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._handle, self._end)
            raise self._refused(
                f"cannot be written: {_reason(error)}", "what it holds already can be resumed"
            ) from error
        self._places[index] = _Place(self._end + _RECORD.size, len(payload))
        self._end += len(record) + len(payload)

    def close(self) -> None:
        """All of it reaches storage, and the file is another run's to take."""
        if self._handle >= 0:
            try:
                self._sync(0.0)
            except OSError as error:
                raise self._refused(f"cannot be written: {_reason(error)}", None) from error
            finally:
                self._close()

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            mode = self.path.stat().st_mode  # before opening: opening a device can act on it
        except FileNotFoundError:
            handle = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            with suppress(OSError):
                _sync_folder(self.path.parent)
            return handle
        self._refuse_other_kinds(mode)
        handle = os.open(self.path, flags)
        try:
            self._refuse_other_kinds(os.fstat(handle).st_mode)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _refuse_other_kinds(self, mode: int) -> None:
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
            raise self._refused(f"is {kind}, not a regular file", "name a file for the finished parts")

    def _lock(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._refused("another run writes to it", "wait for it, or name another file") from None

    def _load(self) -> None:
        """Read what is there; begin where nothing is, or only a part of the first line."""
        size, line = os.fstat(self._handle).st_size, first_line(self._identity)
        found = os.pread(self._handle, LONGEST_LINE, 0)
        if size < len(line) and line.startswith(found):
            self._pwrite(line, 0)
            os.fsync(self._handle)
            self._end = len(line)
            return
        if not found.startswith(line):
            raise self._refused(strangeness(found, self._identity), "name another file: this one is left as it is")
        self._end = self._scan(len(line), size)
        self.cut_bytes = size - self._end
        if self.cut_bytes:
            os.ftruncate(self._handle, self._end)

    def _scan(self, start: int, size: int) -> int:
        """Note whole records down; where the first one begins that is not whole."""
        while start + _RECORD.size <= size:
            index, length, checksum = _RECORD.unpack(self._pread(start, _RECORD.size))
            place = _Place(start + _RECORD.size, length)
            if index >= self._identity.chunks or index in self._places or length > min(_LARGEST, size - place.start):
                break
            if self._summed(index, place) != checksum:
                break
            self._places[index] = place
            start = place.start + length
        return start

    def _summed(self, index: int, place: _Place) -> bytes:
        """The checksum of what is in a place, read piece by piece."""
        sums, piece = _begun(index, place.size), 1 << 20
        for start in range(place.start, place.start + place.size, piece):
            sums.update(self._pread(start, min(piece, place.start + place.size - start)))
        return sums.digest()

    def _pread(self, start: int, size: int) -> bytes:
        pieces, left = [], size
        while left:
            piece = os.pread(self._handle, left, start + size - left)
            if not piece:
                raise OSError(5, "the file was shortened meanwhile")
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def _pwrite(self, data: bytes, start: int) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._handle, view, start)
            view, start = view[written:], start + written

    def _sync(self, after_s: float) -> None:
        if time.monotonic() >= self._synced_s + after_s:
            os.fsync(self._handle)
            self._synced_s = time.monotonic()

    def _close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def _check_titles(self, index: int, columns: dict[str, Column]) -> None:
        titles = [(name, type(column)) for name, column in columns.items()]
        if self._titles is not None and titles != self._titles:
            raise self._damaged(index, "its columns are not those of the other parts")
        self._titles = titles

    def _damaged(self, index: int, said: str) -> InputError:
        return self._refused(f"part {index + 1:,} is damaged: {said}", "name another file to begin anew")

    def _refused(self, message: str, hint: str | None) -> InputError:
        return InputError(Problem(message, Place(str(self.path)), hint=hint))


def _begun(index: int, size: int) -> blake2b:
    return blake2b(_RECORD.pack(index, size, b""), digest_size=16)


def _checksum(index: int, size: int, payload: bytes) -> bytes:
    sums = _begun(index, size)
    sums.update(payload)
    return sums.digest()


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

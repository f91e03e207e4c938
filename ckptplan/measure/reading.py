"""One round of reading back, past the page cache if that can be had."""

import ctypes
import errno
import mmap
import os
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ckptplan.measure.blocks import paged_memory
from ckptplan.measure.crew import Clock, Crew, Member, Report
from ckptplan.measure.folder import OwnFolder
from ckptplan.measure.refusals import refusal
from ckptplan.measure.writing import DIRECT, file_name

_RESIDENT = 0.01  # a smaller share in memory does not show in the rate
_WINDOW_BYTES = 1 << 30
_DROP_ALL = Path("/proc/sys/vm/drop_caches")


class Past(StrEnum):
    """How the page cache was kept out of a reading."""

    DROPPED = "page cache dropped for these files (posix_fadvise), none of them left in it (mincore)"
    DIRECT = "direct I/O"
    INVALIDATED = "page cache dropped for these files by fio (invalidate), not checked"
    DROPPED_ALL = "the page cache of the whole node dropped (/proc/sys/vm/drop_caches)"
    CACHE = "from the page cache: it could be neither dropped nor passed by"


class ReadRound(NamedTuple):
    """What all readers did in one round."""

    size_bytes: int  # by each
    times_s: tuple[float, ...]
    past: Past

    @property
    def bytes_per_s(self) -> float:
        """All bytes over the time of the slowest reader."""
        return self.size_bytes * len(self.times_s) / max(self.times_s)


def read_round(
    folder: OwnFolder,
    size_bytes: int,
    readers: int,
    block_bytes: int,
    *,
    direct: bool,
    drop_all: bool,
    clock: Clock,
    report: Report | None = None,
) -> ReadRound:
    """All files of the last round are read at one time, each by one reader.

    Parameters
    ----------
    folder : OwnFolder
        Where the files are.
    size_bytes, readers, block_bytes : int
        Bytes of each file, files, and bytes of one read. [bytes, 1, bytes]
    direct : bool
        Ask for direct I/O first.
    drop_all : bool
        Drop the page cache of the whole node where nothing else helps; needs root, and slows others down.
    clock, report : callable
        As of ``write_round``.

    Raises
    ------
    InputError
        If storage refuses.
    """
    names = [file_name(number) for number in range(readers)]
    times: list[float] = [0.0] * readers
    try:
        past = _kept_out(folder, names, size_bytes, direct=direct, drop_all=drop_all)
        flags = DIRECT if past is Past.DIRECT else 0

        def work(member: Member) -> None:
            buffer = paged_memory(block_bytes)
            handle = folder.open(names[member.number], flags)
            try:
                started = member.start()
                _read(handle, buffer, size_bytes, member)
                times[member.number] = clock() - started
            finally:
                os.close(handle)

        Crew(readers, size_bytes * readers, clock, report).run(work)
    except OSError as error:
        raise refusal(error, folder.path, "read back") from error
    return ReadRound(size_bytes, tuple(times), past)


def _read(handle: int, buffer: mmap.mmap, size_bytes: int, member: Member) -> None:
    at = 0
    while at < size_bytes:
        count = os.preadv(handle, [buffer], at)
        if count == 0:
            raise OSError(errno.EIO, "the file is shorter than what was written")
        at += count
        member.moved(count)


def _kept_out(folder: OwnFolder, names: list[str], size_bytes: int, *, direct: bool, drop_all: bool) -> Past:
    """The gentlest way that works."""
    if direct and _takes_direct(folder, names[0]):
        return Past.DIRECT
    if _dropped(folder, names, size_bytes):
        return Past.DROPPED
    if _takes_direct(folder, names[0]):
        return Past.DIRECT
    if drop_all:
        with suppress(OSError):
            os.sync()
            _DROP_ALL.write_text("1", encoding="ascii")
            return Past.DROPPED_ALL
    return Past.CACHE


def _takes_direct(folder: OwnFolder, name: str) -> bool:
    """Whether one page of a file can be read past the page cache."""
    if not DIRECT:
        return False
    try:
        handle = folder.open(name, DIRECT)
    except OSError:
        return False
    try:
        os.preadv(handle, [paged_memory(mmap.PAGESIZE)], 0)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(handle)


def _dropped(folder: OwnFolder, names: list[str], size_bytes: int) -> bool:
    """Drop the files from the page cache; whether none of them is left in it, as far as can be told."""
    if not hasattr(os, "posix_fadvise"):
        return False
    shares = []
    for name in names:
        handle = folder.open(name)
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            shares.append(resident_share(handle, size_bytes))
        finally:
            os.close(handle)
    return all(share is not None and share <= _RESIDENT for share in shares)


def resident_share(handle: int, size_bytes: int) -> float | None:
    """Share of the pages of a file that are in the page cache, by ``mincore``; None if that cannot be told."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "mincore") or size_bytes <= 0:
        return None
    resident = pages = 0
    for at in range(0, size_bytes, _WINDOW_BYTES):
        length = min(_WINDOW_BYTES, size_bytes - at)
        try:
            window = mmap.mmap(handle, length, prot=mmap.PROT_READ, offset=at)
        except (OSError, ValueError):
            return None
        view = np.frombuffer(window, dtype=np.uint8)
        marks = np.zeros(-(-length // mmap.PAGESIZE), dtype=np.uint8)
        failed = libc.mincore(
            ctypes.c_void_p(view.ctypes.data), ctypes.c_size_t(length), ctypes.c_void_p(marks.ctypes.data)
        )
        del view
        window.close()
        if failed:
            return None
        resident, pages = resident + int((marks & 1).sum()), pages + marks.size
    return resident / pages

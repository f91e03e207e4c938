"""How fast this node writes what a save writes, and reads it back."""

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from ckptplan.errors import InputError, printable
from ckptplan.measure.blocks import PAGE_BYTES, Blocks, memory_needed
from ckptplan.measure.crew import Clock
from ckptplan.measure.doubts import doubts
from ckptplan.measure.folder import OwnFolder, own_folder
from ckptplan.measure.host import FileSystem, HostMemory, file_system_of, host_memory
from ckptplan.measure.reading import Past, ReadRound, read_round
from ckptplan.measure.repeats import Repeats
from ckptplan.measure.writing import WriteRound, write_round
from ckptplan.units import format_size

LEAST_BYTES = 1 << 20  # by each writer
_WARM_UP_BYTES = 64 << 20  # by each writer
_KEPT_FREE = 0.05  # of the file system, and no more than the next line
_KEPT_FREE_BYTES = 100 * 2**30
_OF_MEMORY = 0.25  # of what is available, for the blocks
_LITTLE = 0.1  # of the bytes: what memory may hold of them without the burst being a rate of memory

Progress = Callable[[str, int, int], object]  # what is done, bytes done, bytes in all


class Setting(NamedTuple):
    """What is to be measured. [bytes, 1]."""

    writers: int
    size_bytes: int  # by each writer
    block_bytes: int
    repeats: int
    direct: bool = False
    read: bool = True
    drop_all: bool = False


class StorageMeasured(NamedTuple):
    """What was measured; rates are in bytes/s, those of a repetition by the slowest writer.

    ``setting`` has the size that was written, which room on the file system may have made smaller. ``burst`` is None
    where the program that wrote does not tell it, ``read`` where nothing was read, ``past`` likewise.
    """

    folder: str
    by: str  # the program that wrote
    setting: Setting
    file_system: FileSystem
    memory: HostMemory
    sustained: Repeats
    burst: Repeats | None
    writers: Repeats  # of each writer by itself, all repetitions
    seconds: Repeats  # of one repetition
    read: Repeats | None
    past: Past | None
    notes: tuple[str, ...]

    @property
    def burst_is_memory(self) -> bool:
        """Whether the page cache may have taken more than a little of the burst; so too where its size is not known."""
        if self.setting.direct and not self.file_system.is_memory:
            return False
        limit = self.memory.dirty_limit_bytes
        return self.file_system.is_memory or limit is None or limit > _LITTLE * self.bytes_of_all

    @property
    def bytes_of_all(self) -> int:
        """What all writers wrote in one repetition. [bytes]."""
        return self.setting.writers * self.setting.size_bytes


def measure_storage(
    directory: str, setting: Setting, *, clock: Clock = time.perf_counter, progress: Progress | None = None
) -> StorageMeasured:
    """Write and read back what a save writes, several times.

    Parameters
    ----------
    directory : str
        A folder on the storage that checkpoints go to. Files are made in a new folder inside, and removed.
    setting : Setting
        Writers, bytes of each, and how.
    clock : callable
        Gives the time. [s]
    progress : callable, optional
        Called with what is being done, bytes done, and bytes in all.

    Returns
    -------
    StorageMeasured

    Raises
    ------
    InputError
        If there is no room, or storage refuses.
    """
    with own_folder(directory) as folder:
        fitted, notes = fitting(directory, setting)
        memory = host_memory()
        _check_memory(fitted, memory)
        blocks = [Blocks(fitted.block_bytes) for _ in range(fitted.writers)]
        _warm_up(folder, fitted, blocks, clock)
        writes, reads = [], []
        for number in range(1, fitted.repeats + 1):
            of = f"{number} of {fitted.repeats}"
            writes.append(
                write_round(
                    folder,
                    fitted.size_bytes,
                    blocks,
                    direct=fitted.direct,
                    clock=clock,
                    report=_reporting(progress, f"write {of}"),
                )
            )
            if fitted.read:
                reads.append(_read(folder, fitted, clock, _reporting(progress, f"read {of}")))
            folder.empty()
    found = _measured(directory, fitted, memory, writes, reads)
    return found._replace(notes=(*doubts(found), *notes))


def fitting(directory: str, setting: Setting) -> tuple[Setting, tuple[str, ...]]:
    """The setting with a size that leaves room on the file system, and a note if that is less than was asked for."""
    try:
        space = os.statvfs(directory)
    except OSError as error:
        from ckptplan.measure.refusals import refusal

        raise refusal(error, directory) from error
    total, free = space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
    room = free - min(_KEPT_FREE * total, _KEPT_FREE_BYTES)
    most = int(room / setting.writers) // PAGE_BYTES * PAGE_BYTES
    asked = max(PAGE_BYTES, -(-setting.size_bytes // PAGE_BYTES) * PAGE_BYTES) if setting.direct else setting.size_bytes
    if asked <= most:
        return setting._replace(size_bytes=asked), ()
    if most < min(LEAST_BYTES, asked):
        raise InputError(
            f"{printable(directory)} has {format_size(free)} free, of which "
            f"{format_size(min(_KEPT_FREE * total, _KEPT_FREE_BYTES))} are left alone: too little to measure with",
            hint="free some space, give fewer --writers, or another folder",
        )
    note = (
        f"each writer wrote {format_size(most)} and not {format_size(asked)}: {format_size(free)} are free, and 5 % of "
        "the file system (100 GiB at most) are left alone"
    )
    return setting._replace(size_bytes=most), (note,)


def _check_memory(setting: Setting, memory: HostMemory) -> None:
    need = setting.writers * memory_needed(setting.block_bytes)
    if memory.available_bytes is not None and need > _OF_MEMORY * memory.available_bytes:
        raise InputError(
            f"{setting.writers:,} writers with blocks of {format_size(setting.block_bytes)} need {format_size(need)} "
            f"of memory, more than a quarter of the {format_size(memory.available_bytes)} that are available",
            hint="give a smaller --block, or fewer --writers",
        )


def _warm_up(folder: OwnFolder, setting: Setting, blocks: list[Blocks], clock: Clock) -> None:
    """A first small round, not counted: connections, threads and the memory of the blocks are there afterwards."""
    write_round(folder, min(setting.size_bytes, _WARM_UP_BYTES), blocks, direct=setting.direct, clock=clock)
    folder.empty()


def _read(folder: OwnFolder, setting: Setting, clock: Clock, report: Callable[[int, int], object] | None) -> ReadRound:
    return read_round(
        folder,
        setting.size_bytes,
        setting.writers,
        setting.block_bytes,
        direct=setting.direct,
        drop_all=setting.drop_all,
        clock=clock,
        report=report,
    )


def _reporting(progress: Progress | None, what: str) -> Callable[[int, int], object] | None:
    return None if progress is None else lambda done, total: progress(what, done, total)


def _measured(
    directory: str,
    setting: Setting,
    memory: HostMemory,
    writes: list[WriteRound],
    reads: list[ReadRound],
) -> StorageMeasured:
    return StorageMeasured(
        folder=directory,
        by="ckptplan",
        setting=setting,
        file_system=file_system_of(directory),
        memory=memory,
        sustained=Repeats(tuple(one.sustained_bytes_per_s for one in writes)),
        burst=Repeats(tuple(one.burst_bytes_per_s for one in writes)),
        writers=Repeats(tuple(setting.size_bytes / time.closed_s for one in writes for time in one.times)),
        seconds=Repeats(tuple(one.seconds for one in writes)),
        read=Repeats(tuple(one.bytes_per_s for one in reads)) if reads else None,
        past=max((one.past for one in reads), key=list(Past).index) if reads else None,
        notes=(),
    )

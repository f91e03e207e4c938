"""How fast this node writes what a save writes, and reads it back."""

import time
from collections.abc import Callable
from typing import NamedTuple

from ckptplan.measure.blocks import Blocks
from ckptplan.measure.crew import Clock
from ckptplan.measure.doubts import doubts
from ckptplan.measure.folder import OwnFolder, own_folder
from ckptplan.measure.host import FileSystem, HostMemory, file_system_of, host_memory
from ckptplan.measure.reading import Past, ReadRound, read_round
from ckptplan.measure.repeats import Repeats
from ckptplan.measure.room import check_blocks, fitting
from ckptplan.measure.setting import Announce, Progress, Setting, told
from ckptplan.measure.writing import WriteRound, write_round

_WARM_UP_BYTES = 64 << 20  # by each writer
_LITTLE = 0.1  # of the bytes: what memory may hold of them without the burst being a rate of memory


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
    directory: str,
    setting: Setting,
    *,
    clock: Clock = time.perf_counter,
    progress: Progress | None = None,
    announce: Announce | None = None,
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
    announce : callable, optional
        Called before the first byte with what is measured instead, if not all fits.

    Returns
    -------
    StorageMeasured

    Raises
    ------
    InputError
        If there is no room, or storage refuses.
    """
    with own_folder(directory) as folder:
        memory = host_memory()
        check_blocks(setting, memory)
        fitted, notes = fitting(directory, setting, memory=memory)
        told(notes, announce)
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

"""One round of writing: every writer its file, from making it to closing it, flushed to storage."""

import errno
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ckptplan.measure.blocks import Blocks
from ckptplan.measure.crew import Clock, Crew, Member, Report
from ckptplan.measure.folder import OwnFolder
from ckptplan.measure.refusals import no_direct, refusal

DIRECT = getattr(os, "O_DIRECT", 0)


class WriterTime(NamedTuple):
    """Times of one writer from the common start: until its last write returned, and until its file was closed. [s]."""

    returned_s: float
    closed_s: float


class WriteRound(NamedTuple):
    """What all writers did in one round."""

    size_bytes: int  # by each
    times: tuple[WriterTime, ...]

    @property
    def sustained_bytes_per_s(self) -> float:
        """All bytes over the time of the slowest writer, flush and closing included."""
        return self.size_bytes * len(self.times) / max(time.closed_s for time in self.times)

    @property
    def burst_bytes_per_s(self) -> float:
        """All bytes over the time until the last write returned: what training sees that does not wait for storage."""
        return self.size_bytes * len(self.times) / max(time.returned_s for time in self.times)

    @property
    def seconds(self) -> float:
        """Time of the slowest writer. [s]."""
        return max(time.closed_s for time in self.times)


def file_name(number: int) -> str:
    """The file of one writer, named as shards are."""
    return f"shard-{number:05d}.bin"


def write_round(
    folder: OwnFolder,
    size_bytes: int,
    blocks: Sequence[Blocks],
    *,
    direct: bool,
    clock: Clock,
    report: Report | None = None,
    source: Callable[[int, int], memoryview] | None = None,
    beside: Callable[[], object] | None = None,
) -> WriteRound:
    """All writers write at one time; their files stay until the folder is emptied.

    Parameters
    ----------
    folder : OwnFolder
        Where the files are made.
    size_bytes : int
        Bytes of each writer. [bytes]
    blocks : sequence of Blocks
        What each writer writes; their number is that of the writers.
    direct : bool
        Past the page cache.
    clock : callable
        Gives the time. [s]
    report : callable, optional
        Called with bytes done and bytes in all.
    source : callable, optional
        Gives the bytes of a writer from an offset on, instead of the blocks.
    beside : callable, optional
        Called again and again by the calling thread while the writers are at work.

    Raises
    ------
    InputError
        If storage refuses.
    """
    if direct and not DIRECT:
        raise no_direct(folder.path)  # this system has none at all
    times: list[WriterTime | None] = [None] * len(blocks)
    flags = DIRECT if direct else 0

    def work(member: Member) -> None:
        started = member.start()
        handle = folder.create(file_name(member.number), flags)
        try:
            _write(handle, size_bytes, blocks[member.number], member, source)
            returned = clock()
            os.fsync(handle)
        finally:
            os.close(handle)
        times[member.number] = WriterTime(returned - started, clock() - started)

    try:
        Crew(len(blocks), size_bytes * len(blocks), clock, report).run(work, beside)
    except OSError as error:
        if direct and error.errno == errno.EINVAL:
            raise no_direct(folder.path) from error
        raise refusal(error, folder.path) from error
    return WriteRound(size_bytes, tuple(time for time in times if time is not None))


def _write(
    handle: int, size_bytes: int, blocks: Blocks, member: Member, source: Callable[[int, int], memoryview] | None
) -> None:
    done = 0
    while done < size_bytes:
        least = min(blocks.block_bytes, size_bytes - done)
        part = (blocks.next() if source is None else source(member.number, done))[:least]
        while part:
            written = os.write(handle, part)
            part = part[written:]
            done += written
            member.moved(written)

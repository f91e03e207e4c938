"""One timed phase of a storage benchmark, and what makes its rate more or less than storage can hold."""

import math
import statistics
from typing import NamedTuple

MEBIBYTE = 1024.0**2
GIBIBYTE = 1024.0**3
WRITE, READ = "write", "read"
# Linux begins to write dirty pages back after 30 s (vm.dirty_expire_centisecs): until then memory may take it all.
LONG_ENOUGH_S = 30.0


class Phase(NamedTuple):
    """What all writers (or readers) of one phase did together.

    ``rates_bytes_per_s`` are those of its repetitions, each the bytes over the time of the slowest writer. None stands
    for what the file does not say. ``stands`` is False where the rate is no rate of storage.
    """

    tool: str
    name: str
    access: str  # "write" or "read"
    rates_bytes_per_s: tuple[float, ...]
    bytes_: float | None = None  # by one repetition
    seconds: float | None = None  # of one repetition
    writers: int | None = None
    nodes: int | None = None
    synced: bool | None = None  # whether the time includes a flush to storage
    direct: bool | None = None  # whether it went past the page cache
    dropped: bool = False  # reads: whether the page cache had been dropped before
    cv: float | None = None  # where the file gives the scatter and not the repetitions
    repeats: int | None = None  # of the repetitions, where the file gives their mean only
    host_memory_per_node_bytes: float | None = None
    is_whole: bool = False  # one node, of which its user says that nothing else writes
    faults: tuple[str, ...] = ()  # why the rate does not stand
    notes: tuple[str, ...] = ()

    @property
    def rate_bytes_per_s(self) -> float:
        """Mean of the repetitions. [bytes/s]."""
        return math.fsum(self.rates_bytes_per_s) / len(self.rates_bytes_per_s) if self.rates_bytes_per_s else math.nan

    @property
    def stands(self) -> bool:
        """Whether this is a rate of storage at all."""
        return not self.faults and 0.0 < self.rate_bytes_per_s < math.inf

    @property
    def spread_cv(self) -> float | None:
        """Standard deviation of the repetitions over their mean. [1]."""
        if self.cv is not None or len(self.rates_bytes_per_s) < 2 or not self.stands:
            return self.cv
        return statistics.stdev(self.rates_bytes_per_s) / self.rate_bytes_per_s

    @property
    def repetitions(self) -> int:
        """How often it was done; a scatter without a count is that of two at least."""
        if len(self.rates_bytes_per_s) > 1:
            return len(self.rates_bytes_per_s)
        return self.repeats or (1 if self.cv is None else 2)

    @property
    def is_upper_bound(self) -> bool:
        """Whether it is a write that nothing shows to have left the page cache, however long it took."""
        return self.access == WRITE and not self.direct and not self.synced and self._fits_memory() is not False

    @property
    def is_sure(self) -> bool:
        """Whether it is known to be a rate of storage, and not of memory."""
        return self.stands and not self.may_be_cache and not self.is_upper_bound

    @property
    def may_be_cache(self) -> bool:
        """Whether the page cache of the node may have taken, or given, a good part of the bytes."""
        if self.direct or (self.synced if self.access == WRITE else self.dropped):
            return False
        if self.access == WRITE and self.seconds is not None and self.seconds >= LONG_ENOUGH_S:
            return self._fits_memory() is True
        return self._fits_memory() is not False

    @property
    def is_short(self) -> bool:
        """Whether buffers of the storage itself may have taken all of it."""
        return self.seconds is not None and self.seconds < LONG_ENOUGH_S

    def _fits_memory(self) -> bool | None:
        """Whether what one node moved fits its memory; None if that is not known."""
        if self.host_memory_per_node_bytes is None or self.bytes_ is None:
            return None
        return self.bytes_ / (self.nodes or 1) < self.host_memory_per_node_bytes


def flags(phase: Phase) -> tuple[str, ...]:
    """What to know before the rate is believed, the worst first."""
    said = list(phase.faults)
    if not phase.faults and (phase.may_be_cache or phase.is_upper_bound):
        said.append(_cached(phase))
    elif not phase.faults and phase.is_short:
        doing, where = ("writing", "end in buffers") if phase.access == WRITE else ("reading", "come from caches")
        said.append(
            f"too short: {_seconds(phase)} of {doing} may {where} of the storage itself; {phase.access} for "
            f"{LONG_ENOUGH_S:g} s or longer"
        )
    return (*said, *phase.notes)


def _cached(phase: Phase) -> str:
    if phase.access == READ:
        return "without direct I/O the page cache may have given what was written before: not used as a read rate"
    how = "whether it was flushed is not said" if phase.synced is None else "neither flushed nor direct"
    time = "" if phase.seconds is None else f" of {_seconds(phase)}"
    length = "is too short to have left" if phase.is_short else "may be in"
    return (
        f"the write{time} {length} the page cache of the node ({how}): its rate is an upper bound; repeat it with "
        "fsync at the end (IOR: -e, fio: --end_fsync=1)"
    )


def _seconds(phase: Phase) -> str:
    return f"{phase.seconds:.3g} s"

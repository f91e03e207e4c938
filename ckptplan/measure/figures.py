"""The bandwidths that results of storage benchmarks give, file by file and together."""

from collections.abc import Sequence
from typing import NamedTuple

from ckptplan.errors import printable
from ckptplan.measure.combining import Bandwidths, combined
from ckptplan.measure.phases import READ, WRITE, Phase, flags


class Imported(NamedTuple):
    """One file: its phases in their order, and what was wrong with the file as a whole."""

    file: str
    phases: tuple[Phase, ...]
    notes: tuple[str, ...] = ()


class StorageFigures(NamedTuple):
    """Bandwidths that files of benchmarks give, [bytes/s]; None where they do not say.

    The aggregate ones are set only where several nodes took part, or where one was measured as all of the job: else
    those of one node are no rate of storage as a whole.
    ``read_bandwidth_per_node_bytes_per_s`` has no key in a spec. The cv is the scatter of repetitions over their mean.
    A setting is how many wrote (or read) at one time, and on how many nodes. The write bandwidths are upper bounds
    where nothing shows that the writes left the page cache.
    """

    write_bandwidth_per_writer_bytes_per_s: float | None
    write_bandwidth_per_node_bytes_per_s: float | None
    write_bandwidth_bytes_per_s: float | None
    read_bandwidth_per_node_bytes_per_s: float | None
    read_bandwidth_bytes_per_s: float | None
    write_cv: float | None
    read_cv: float | None
    write_setting: tuple[int | None, int | None]
    read_setting: tuple[int | None, int | None]
    files: tuple[Imported, ...]
    warnings: tuple[str, ...]
    write_is_upper_bound: bool = False


def combine(files: Sequence[Imported]) -> StorageFigures:
    """Bandwidths from all phases of several files."""
    phases = [phase for one in files for phase in one.phases]
    write, read = combined(phases, WRITE), combined(phases, READ)
    warnings = [f"{one.file}: {note}" for one in files for note in one.notes]
    warnings += [
        f"{one.file}: {_named(phase)}: {flag}" for one in files for phase in one.phases for flag in flags(phase)
    ]
    warnings += [note for found in (write, read) if found is not None for note in found.notes]
    return StorageFigures(
        write_bandwidth_per_writer_bytes_per_s=None if write is None else write.per_writer_bytes_per_s,
        write_bandwidth_per_node_bytes_per_s=None if write is None else write.per_node_bytes_per_s,
        write_bandwidth_bytes_per_s=None if write is None else write.aggregate_bytes_per_s,
        read_bandwidth_per_node_bytes_per_s=None if read is None else read.per_node_bytes_per_s,
        read_bandwidth_bytes_per_s=None if read is None else read.aggregate_bytes_per_s,
        write_cv=None if write is None else write.cv,
        read_cv=None if read is None else read.cv,
        write_setting=_setting(write),
        read_setting=_setting(read),
        files=tuple(files),
        warnings=tuple(dict.fromkeys(map(printable, warnings))),
        write_is_upper_bound=write is not None and write.is_upper_bound,
    )


def _setting(found: Bandwidths | None) -> tuple[int | None, int | None]:
    return (None, None) if found is None else (found.writers, found.nodes)


def _named(phase: Phase) -> str:
    return f"{phase.tool} {phase.access} {phase.name}".strip()

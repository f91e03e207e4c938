"""What one job of fio moved, in bytes and seconds, and how that agrees with the rate that fio gives itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ckptplan.errors import printable
from ckptplan.readers.storage.documents import mapping, number, positive

_ROUNDED = 0.05  # rounding of short runs is below this
_AGREES = 0.10  # a larger difference is a damaged file, or values of another unit
_MOST_NAMED = 3
_VERSION_2 = re.compile(r"(?:fio-)?2(?![0-9])")
_NUMBERS = ("io_bytes", "io_kbytes", "bw_bytes", "bw", "runtime")


class Job(NamedTuple):
    """One direction of one entry; nan stands for what is not known."""

    bytes_: float
    seconds: float
    options: dict[str, Any]
    entry: dict[str, Any]
    label: str  # its name, and which entry of the file it is
    unreadable: tuple[str, ...]  # values that are no numbers
    apart: float  # between bytes over run time and the rate of the file, over the larger of the two [1]
    is_timed: bool  # whether the file gives the run time

    @property
    def is_known(self) -> bool:
        """Whether both bytes and time are known."""
        return not (math.isnan(self.bytes_) or math.isnan(self.seconds))


def is_version_2(document: dict[str, Any]) -> bool:
    """Whether the file says so; what it calls io_bytes may then be KiB."""
    return _VERSION_2.match(str(document.get("fio version", ""))[:40]) is not None


def job_of(
    entry: dict[str, Any], access: str, shared: dict[str, Any], *, place: int = 1, is_old: bool = False
) -> Job | None:
    """What an entry wrote, or read; None if nothing.

    Parameters
    ----------
    entry : dict
        Of the jobs of a document.
    access : str
        "write" or "read".
    shared : dict
        Options of all jobs.
    place : int
        Which entry of the file it is.
    is_old : bool
        Whether version 2 wrote it.
    """
    part = mapping(entry.get(access))
    unreadable = tuple(_said(key, part[key]) for key in _NUMBERS if key in part and number(part[key]) is None)
    given, rate, milliseconds = _bytes(part, is_old=is_old), _rate(part), positive(part.get("runtime"))
    if not given and not rate and not unreadable:
        return None
    seconds, apart = math.nan, 0.0
    if given and milliseconds:
        seconds = milliseconds / 1e3
        apart = 0.0 if not rate else _difference(given / seconds, rate, milliseconds)
    elif given and rate:
        seconds = given / rate
    return Job(
        given or math.nan,
        seconds,
        {**shared, **mapping(entry.get("job options"))},
        entry,
        f"{printable(str(entry.get('jobname', '')))[:40]} (entry {place:,})",
        unreadable,
        apart,
        milliseconds is not None,
    )


def _bytes(part: dict[str, Any], *, is_old: bool) -> float | None:
    """Version 2 gives KiB as "io_bytes", until it got "io_kbytes" beside it."""
    given = number(part.get("io_bytes"))
    if given is None:
        kib = number(part.get("io_kbytes"))
        return None if kib is None else 1024.0 * kib
    return 1024.0 * given if is_old and "io_kbytes" not in part and "bw_bytes" not in part else given


def _rate(part: dict[str, Any]) -> float | None:
    """The rate by fio itself, in all versions also as KiB/s."""
    rate = number(part.get("bw_bytes"))
    kib = number(part.get("bw"))
    return rate if rate is not None else None if kib is None else 1024.0 * kib


def _difference(own: float, given: float, milliseconds: float) -> float:
    """How far two rates differ, less what the rounding of the time to milliseconds explains. [1]."""
    return max(0.0, abs(own - given) / max(own, given) - 1.5 / milliseconds)


def _said(key: str, value: Any) -> str:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return f"{key} {printable(str(value)[:40])}"
    return key


def doubtful(jobs: Sequence[Job]) -> Iterator[str]:
    """Why no rate follows from these jobs."""
    unknown = [job for job in jobs if not job.is_known]
    if unknown:
        values = ", ".join(dict.fromkeys(one for job in unknown[:_MOST_NAMED] for one in job.unreadable))
        because = f" ({values}: no such number)" if values else ""
        yield f"neither a run time nor bytes are given by {_named(unknown)}{because}: not used"
    apart = [job for job in jobs if job.apart > _AGREES]
    if apart:
        yield (
            f"bytes over run time and the rate of the file differ by {100 * max(job.apart for job in apart):.0f} % in "
            f"{_named(apart)}: one of them is wrong, not used"
        )


def remarkable(jobs: Sequence[Job]) -> Iterator[str]:
    """What is odd about jobs that give a rate nevertheless."""
    if any(_ROUNDED < job.apart <= _AGREES for job in jobs):
        yield "bytes over run time and the rate of the file differ: bytes over run time is used"
    untimed = [job for job in jobs if job.is_known and not job.is_timed]
    if untimed:
        yield f"no run time of {_named(untimed)}: its bytes over its rate are taken for it"
    odd = [job for job in jobs if job.is_known and job.unreadable]
    if odd:
        values = ", ".join(dict.fromkeys(one for job in odd[:_MOST_NAMED] for one in job.unreadable))
        yield f"{values} of {_named(odd)}: no such number, the others are used"


def _named(jobs: Sequence[Job]) -> str:
    more = len(jobs) - _MOST_NAMED
    return ", ".join(job.label for job in jobs[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")

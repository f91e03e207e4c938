"""fio: JSON of one or many runs, its jobs together or one by one, new units and old ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ckptplan.errors import printable
from ckptplan.measure.phases import READ, WRITE, Phase
from ckptplan.measure.with_fio import FioRates
from ckptplan.readers.storage.documents import count, documents_in, listing, mapping, number, positive

TOOL = "fio"
_ALL_CLIENTS = "All clients"  # the sum of a run on several machines, which would count twice
_APART = 0.05  # rounding of short runs is below this
_SYNCED_ONCE = ("end_fsync", "fsync_on_close", "end_syncfs")
_SYNCED_OFTEN = ("fsync", "fdatasync", "sync")
_NOWHERE = ("null", "cpuio")


class _Job(NamedTuple):
    """One direction of one entry."""

    bytes_: float
    seconds: float
    options: dict[str, Any]
    entry: dict[str, Any]
    apart: bool  # bytes over time and the given rate say different things


def is_fio(document: dict[str, Any]) -> bool:
    """Whether a JSON document is the result of fio."""
    return "fio version" in document or (
        bool(_entries(document)) and any("job options" in e or "groupid" in e for e in _entries(document))
    )


def fio_phases(document: dict[str, Any]) -> Iterator[Phase]:
    """One phase per group of jobs and direction: jobs of one group run at one time, groups one after another."""
    shared = mapping(document.get("global options"))
    groups: dict[float, list[dict[str, Any]]] = {}
    for entry in _entries(document):
        groups.setdefault(number(entry.get("groupid")) or 0.0, []).append(entry)
    for entries in groups.values():
        for access in (WRITE, READ):
            found = [job for entry in entries if (job := _job(entry, access, shared)) is not None]
            if found:
                yield _phase(document, entries, found, access)
        mixed = [entry for entry in entries if "mixed" in entry]
        if mixed:
            yield Phase(
                TOOL,
                _name(mixed),
                WRITE,
                (),
                faults=("reads and writes are reported as one (unified_rw_reporting): no write rate follows",),
            )


def _entries(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = listing(document.get("jobs")) or listing(document.get("client_stats"))
    return [entry for entry in found if isinstance(entry, dict) and entry.get("jobname") != _ALL_CLIENTS]


def _job(entry: dict[str, Any], access: str, shared: dict[str, Any]) -> _Job | None:
    """What an entry wrote, or read; None if nothing."""
    part = mapping(entry.get(access))
    rate = number(part.get("bw_bytes"))
    is_old = rate is None  # fio 2: the rate in KiB/s only, and "io_bytes" in KiB too
    if rate is None:
        kib = number(part.get("bw"))
        rate = None if kib is None else 1024.0 * kib
    given = number(part.get("io_bytes"))
    if given is None and (kib := number(part.get("io_kbytes"))) is not None:
        given = 1024.0 * kib
    elif given is not None and is_old and "io_kbytes" not in part:
        given *= 1024.0
    milliseconds = positive(part.get("runtime"))
    if not given and not rate:
        return None
    options = {**shared, **mapping(entry.get("job options"))}
    if given and milliseconds:
        own = given / milliseconds * 1e3
        return _Job(given, milliseconds / 1e3, options, entry, bool(rate) and _differ(own, rate or own, milliseconds))
    seconds = given / rate if given and rate else math.nan
    return _Job(given or math.nan, seconds, options, entry, True)


def _differ(own: float, given: float, milliseconds: float) -> bool:
    """Whether two rates differ by more than the rounding of the time to milliseconds explains."""
    return abs(own - given) > (_APART + 1.5 / milliseconds) * max(own, given)


def _phase(document: dict[str, Any], entries: list[dict[str, Any]], jobs: list[_Job], access: str) -> Phase:
    """All of the bytes over the time of the slowest job: a save ends with its slowest writer."""
    total, slowest = math.fsum(job.bytes_ for job in jobs), max(job.seconds for job in jobs)
    rates = (total / slowest,) if 0.0 < total < math.inf and slowest > 0.0 else ()
    hosts = {str(job.entry["hostname"]) for job in jobs if "hostname" in job.entry}
    return Phase(
        TOOL,
        _name(entries),
        access,
        rates,
        bytes_=total if math.isfinite(total) else None,
        seconds=slowest if math.isfinite(slowest) else None,
        writers=_writers(jobs),
        nodes=max(1, len(hosts)),
        synced=all(_is_synced(job.options) for job in jobs) if access == WRITE else None,
        direct=all(_is_set(job.options, "direct") or _is_odirect(job.options) for job in jobs),
        dropped=all(_is_dropped(job.options) for job in jobs) if access == READ else False,
        faults=tuple(dict.fromkeys(_faults(document, jobs))),
        notes=tuple(dict.fromkeys(_notes(entries, jobs, access))),
    )


def _name(entries: Sequence[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(printable(str(entry.get("jobname", "")))[:40] for entry in entries))
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _writers(jobs: list[_Job]) -> int:
    """Each entry is one job, unless group reporting made one entry of all jobs of a name."""
    alike: dict[str, list[_Job]] = {}
    for job in jobs:
        alike.setdefault(f"{job.entry.get('hostname')}/{job.entry.get('jobname')}", []).append(job)
    return sum((count(same[0].options.get("numjobs")) or 1) if len(same) == 1 else len(same) for same in alike.values())


def _is_set(options: dict[str, Any], *names: str) -> bool:
    """An option that is on stands as 1, as true, or without any value."""
    return any(name in options and str(options[name]).lower() not in {"0", "false", "none"} for name in names)


def _is_odirect(options: dict[str, Any]) -> bool:
    return str(options.get("buffered", "1")) == "0"


def _is_rewritten(options: dict[str, Any]) -> bool:
    return _is_set(options, "time_based") or (count(options.get("loops")) or 1) > 1


def _is_synced(options: dict[str, Any]) -> bool:
    """Whether all bytes that count were on storage at the end; a flush at the end covers the last pass only."""
    return _is_set(options, *_SYNCED_OFTEN) or (_is_set(options, *_SYNCED_ONCE) and not _is_rewritten(options))


def _is_dropped(options: dict[str, Any]) -> bool:
    """Unless told otherwise, fio drops its files from the page cache before the first pass over them."""
    return str(options.get("invalidate", "1")) != "0" and not _is_rewritten(options)


def _faults(document: dict[str, Any], jobs: list[_Job]) -> Iterator[str]:
    for job in jobs:
        code = number(job.entry.get("error"))
        if code:
            yield f"fio reports error {code:.0f} for {printable(str(job.entry.get('jobname', '')))[:40]}: not used"
        if str(job.options.get("ioengine", "")) in _NOWHERE:
            yield f"ioengine {job.options['ioengine']} writes nothing anywhere: not used"
        if math.isnan(job.seconds) or math.isnan(job.bytes_):
            yield "neither a run time nor bytes are given: not used"
    if number(document.get("error")):
        yield "fio reports an error for the whole run: not used"


def _notes(entries: list[dict[str, Any]], jobs: list[_Job], access: str) -> Iterator[str]:
    if any(job.apart and not math.isnan(job.seconds) for job in jobs):
        yield "bytes over run time and the rate of the file differ: bytes over run time is used"
    other = READ if access == WRITE else WRITE
    if any(positive(mapping(entry.get(other)).get("runtime")) for entry in entries):
        yield f"{other}s ran beside these {access}s: alone they may be faster"
    if access == WRITE and any(_is_rewritten(job.options) for job in jobs):
        yield "the same bytes were written again and again: memory may have taken all but the last pass"
    for job in jobs:
        pattern = str(job.options.get("rw", job.options.get("readwrite", "")))
        if pattern.startswith("rand"):
            yield f"{pattern}: a save writes in sequence"
        if access == WRITE and _is_set(job.options, "zero_buffers"):
            yield "zero_buffers: storage that compresses shows more than a checkpoint gets"


def fio_rates(text: str, access: str) -> FioRates:
    """What one run of ``ckptplan measure storage --with fio`` says: the rates of its only group of jobs."""
    for document in documents_in(text, "fio").documents:
        entries = _entries(document)
        jobs = [job for entry in entries if (job := _job(entry, access, {})) is not None]
        if not jobs:
            continue
        phase = _phase(document, entries, jobs, access)
        if phase.faults or not phase.rates_bytes_per_s:
            return FioRates(0.0, 0.0, (), phase.faults or ("it gives no rate",))
        return FioRates(phase.rate_bytes_per_s, max(job.seconds for job in jobs), tuple(_rates(jobs)))
    said = [line for line in text.splitlines() if line.startswith("fio:")]
    return FioRates(0.0, 0.0, (), (printable(said[0])[:200] if said else "it printed no result",))


def _rates(jobs: list[_Job]) -> Iterator[float]:
    return (job.bytes_ / job.seconds for job in jobs if job.seconds > 0.0)

"""fio: JSON of one or many runs, its jobs together or one by one, new units and old ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ckptplan.errors import printable
from ckptplan.measure.phases import READ, WRITE, Phase
from ckptplan.measure.with_fio import FioRates
from ckptplan.readers.storage.documents import count, documents_in, listing, mapping, number, positive
from ckptplan.readers.storage.fio_jobs import Job, doubtful, is_version_2, job_of, remarkable

TOOL = "fio"
_ALL_CLIENTS = "All clients"  # the sum of a run on several machines, which would count twice
_SYNCED_ONCE = ("end_fsync", "fsync_on_close", "end_syncfs")
_SYNCED_OFTEN = ("fsync", "fdatasync", "sync")
_NOWHERE = ("null", "cpuio")


def is_fio(document: dict[str, Any]) -> bool:
    """Whether a JSON document is the result of fio."""
    return "fio version" in document or (
        bool(_entries(document)) and any("job options" in e or "groupid" in e for e in _entries(document))
    )


def fio_phases(document: dict[str, Any]) -> Iterator[Phase]:
    """One phase per group of jobs and direction: jobs of one group run at one time, groups one after another."""
    shared = mapping(document.get("global options"))
    groups: dict[float, list[tuple[int, dict[str, Any]]]] = {}
    for place, entry in enumerate(_entries(document), start=1):
        groups.setdefault(number(entry.get("groupid")) or 0.0, []).append((place, entry))
    for placed in groups.values():
        entries = [entry for _, entry in placed]
        for access in (WRITE, READ):
            found = _jobs(document, placed, access, shared)
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


def _jobs(
    document: dict[str, Any], placed: Iterable[tuple[int, dict[str, Any]]], access: str, shared: dict[str, Any]
) -> list[Job]:
    is_old = is_version_2(document)
    found = (job_of(entry, access, shared, place=place, is_old=is_old) for place, entry in placed)
    return [job for job in found if job is not None]


def _phase(document: dict[str, Any], entries: list[dict[str, Any]], jobs: list[Job], access: str) -> Phase:
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


def _writers(jobs: list[Job]) -> int:
    """Each entry is one job, unless group reporting made one entry of all jobs of a name."""
    alike: dict[str, list[Job]] = {}
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


def _faults(document: dict[str, Any], jobs: list[Job]) -> Iterator[str]:
    for job in jobs:
        code = number(job.entry.get("error"))
        if code:
            yield f"fio reports error {code:.0f} for {printable(str(job.entry.get('jobname', '')))[:40]}: not used"
        if str(job.options.get("ioengine", "")) in _NOWHERE:
            yield f"ioengine {job.options['ioengine']} writes nothing anywhere: not used"
    if number(document.get("error")):
        yield "fio reports an error for the whole run: not used"
    yield from doubtful(jobs)


def _notes(entries: list[dict[str, Any]], jobs: list[Job], access: str) -> Iterator[str]:
    yield from remarkable(jobs)
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
        jobs = _jobs(document, enumerate(entries, start=1), access, {})
        if not jobs:
            continue
        phase = _phase(document, entries, jobs, access)
        if phase.faults or not phase.rates_bytes_per_s:
            return FioRates(0.0, 0.0, (), phase.faults or ("it gives no rate",))
        return FioRates(phase.rate_bytes_per_s, max(job.seconds for job in jobs), tuple(_rates(jobs)))
    said = [line for line in text.splitlines() if line.startswith("fio:")]
    return FioRates(0.0, 0.0, (), (printable(said[0])[:200] if said else "it printed no result",))


def _rates(jobs: list[Job]) -> Iterator[float]:
    return (job.bytes_ / job.seconds for job in jobs if job.seconds > 0.0)

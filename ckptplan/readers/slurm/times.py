"""Start and end of allocations in UTC, checked against the time that Slurm says elapsed.

Elapsed time does not know zones: where it differs from End less Start by exactly one change of the clock, the stamps
are in another zone, or in an hour that came twice; where it is otherwise shorter, the job was suspended.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.readers.slurm.jobs import Jobs
from ckptplan.readers.slurm.words import counted
from ckptplan.readers.stamps import Clock, Flags, Floats, as_text, is_repeated, is_skipped, to_utc

_CLOSE_S = 1.0  # Slurm rounds each to a second
_CHANGES_S = (3600.0, 1800.0, 7200.0)  # clocks change by one hour, on Lord Howe by half of one


class Timed(NamedTuple):
    """Times in UTC. ``run_s`` is the time that a job ran: elapsed where it is known."""

    start_s: Floats
    end_s: Floats
    run_s: Floats
    report_s: float
    warnings: tuple[str, ...]
    facts: tuple[str, ...]


def timed(jobs: Jobs, lasting: Flags, by: Clock, report_s: float | None) -> Timed:
    """Start and end of every row; running ones end at the report."""
    start, end, decided = _on_clock(jobs, by)
    elapsed = jobs.elapsed_s
    known = np.isfinite(elapsed) & ~lasting
    differs = known & (np.abs(end - start - elapsed) > _CLOSE_S)
    warnings, facts = _judged(end - start - elapsed, differs, by)
    end = np.where(known & np.isnan(end), start + elapsed, end)
    # A job without a start that ran nevertheless: the row was torn out of the database's purge.
    start = np.where(known & np.isnan(start) & ~jobs.never, end - elapsed, start)
    report, told = _report((start, end, elapsed), lasting, report_s, by)
    until = start + elapsed if report_s is None else np.full(len(start), report)
    end = np.where(lasting, np.where(np.isnan(until), report, until), end)
    run = np.where(known, elapsed, end - start)
    if decided:
        facts.append(f"elapsed time decided {counted(decided, 'stamp')} in an hour that came twice")
    skipped = int((is_skipped(jobs.start.seconds, by) & ~jobs.start.zoned).sum())
    if skipped:
        warnings.append(
            f"the start of {counted(skipped)} lies in an hour that clocks of {by.name} skipped: is it the right --tz?"
        )
    return Timed(start, end, run, report, tuple(warnings), tuple(facts + told))


def _on_clock(jobs: Jobs, by: Clock) -> tuple[Floats, Floats, int]:
    """Both times in UTC, and how many lay in an hour that came twice and were taken as the later one."""
    start, end = to_utc(jobs.start, by), to_utc(jobs.end, by)
    twice = [is_repeated(stamps.seconds, by) & ~stamps.zoned for stamps in (jobs.start, jobs.end)]
    rows = np.flatnonzero((twice[0] | twice[1]) & np.isfinite(jobs.elapsed_s) & np.isfinite(end))
    if len(rows) == 0:
        return start, end, 0
    starts = [start[rows], to_utc(jobs.start, by, later=True)[rows]]
    ends = [end[rows], to_utc(jobs.end, by, later=True)[rows]]
    cases = [(s, e) for s in (0, 1) for e in (0, 1)]
    off = np.array([np.abs(ends[e] - starts[s] - jobs.elapsed_s[rows]) for s, e in cases])
    best = off.argmin(axis=0)
    late = np.array(cases)[best]
    start[rows], end[rows] = np.where(late[:, 0], starts[1], starts[0]), np.where(late[:, 1], ends[1], ends[0])
    return start, end, int((late[:, 0] & twice[0][rows]).sum() + (late[:, 1] & twice[1][rows]).sum())


def _judged(off: Floats, differs: Flags, by: Clock) -> tuple[list[str], list[str]]:
    """What differences between stamps and elapsed times say."""
    warnings, facts = [], []
    size = np.abs(off)
    by_change = differs & np.any([np.abs(size - change) <= _CLOSE_S for change in _CHANGES_S], axis=0)
    hours, suspended = int(by_change.sum()), int((differs & ~by_change & (off > 0)).sum())
    longer = int(differs.sum()) - hours - suspended
    if hours:
        warnings.append(
            f"{counted(hours)} differ from their elapsed time by exactly a change of clocks: their stamps are not of "
            f"the zone {by.name}; name theirs with --tz. Elapsed time was kept"
        )
    if suspended:
        facts.append(
            f"in {counted(suspended)} the job ran for less time than from start to end (suspended): elapsed "
            "time was kept"
        )
    if longer:
        warnings.append(f"in {counted(longer)} elapsed time is longer than from start to end: elapsed time was kept")
    return warnings, facts


def _report(
    columns: tuple[Floats, Floats, Floats], lasting: Flags, given: float | None, by: Clock
) -> tuple[float, list[str]]:
    """When the record was printed: as given, or as running jobs show by how long they ran, or its latest time."""
    if given is not None:
        return given, []
    start, end, elapsed = columns
    shown = (start + elapsed)[lasting & np.isfinite(start + elapsed)]
    times = shown if len(shown) else np.concatenate([start[np.isfinite(start)], end[np.isfinite(end) & ~lasting]])
    if len(times) == 0:
        return float("nan"), []
    report = float(times.max())
    if not lasting.any():
        return report, []
    source = "start and elapsed time of running jobs" if len(shown) else "the latest time of the record"
    return report, [f"running jobs are censored at {as_text(report, by)}, by {source}"]

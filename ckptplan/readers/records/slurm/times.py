"""Start and end of allocations in UTC, checked against the time that Slurm says elapsed.

Elapsed time does not know zones: where it differs from End less Start by exactly one change of the clock, the stamps
are in another zone; where it is otherwise shorter, the job was suspended.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.fit.record import Codes
from ckptplan.readers.records.slurm.jobs import Jobs
from ckptplan.readers.records.slurm.options import SlurmOptions
from ckptplan.readers.records.slurm.repeated_hour import read_twice
from ckptplan.readers.records.slurm.words import counted, first_taken
from ckptplan.readers.records.stamps import Clock, Flags, Floats, as_text, clock, is_skipped
from ckptplan.readers.records.windows import Window, asked_window

_CLOSE_S = 1.0  # Slurm rounds each to a second
_CHANGES_S = (3600.0, 1800.0, 7200.0)  # clocks change by one hour, on Lord Howe by half of one


class Which(NamedTuple):
    """What is known of rows before their times."""

    job: Codes
    lasting: Flags  # still running
    among: Flags  # those that count


class Timed(NamedTuple):
    """Times in UTC. ``run_s`` is the time that a job ran: elapsed where it is known."""

    start_s: Floats
    end_s: Floats
    run_s: Floats
    window: Window  # that the user asked for
    warnings: tuple[str, ...]
    facts: tuple[str, ...]


def timed(jobs: Jobs, which: Which, options: SlurmOptions, path: str) -> Timed:
    """Start and end of every row; running ones end at the report."""
    by, lasting, among = clock(options.zone), which.lasting, which.among
    start, end, decided, undecided = read_twice(which.job, (jobs.start, jobs.end), jobs.elapsed_s, by, among)
    elapsed = jobs.elapsed_s
    known = np.isfinite(elapsed) & ~lasting
    differs = known & among & (np.abs(end - start - elapsed) > _CLOSE_S)
    warnings, facts = _judged(end - start - elapsed, differs, by)
    end = np.where(known & np.isnan(end), start + elapsed, end)
    # A job without a start that ran nevertheless: the row was torn out of the database's purge.
    start = np.where(known & np.isnan(start) & ~jobs.never, end - elapsed, start)
    first = float(np.fmin.reduce(start[among], initial=np.nan))
    window = asked_window(options.watched_from, options.watched_until, first, by, path)
    report, told = _report((start, end, elapsed), lasting & among, options.report_s, window, by)
    until = start + elapsed if options.report_s is None else np.full(len(start), report)
    end = np.where(lasting, np.where(np.isnan(until), report, until), end)
    run = np.where(known, elapsed, end - start)
    warnings += _of_clocks(jobs, undecided, by, among)
    if decided:
        facts.append(f"{counted(decided)} in an hour that came twice, decided by elapsed time, or by starts and ends")
    return Timed(start, end, run, window, tuple(warnings), tuple(facts + told))


def _of_clocks(jobs: Jobs, undecided: int, by: Clock, among: Flags) -> list[str]:
    """Where clocks were changed."""
    said = first_taken(undecided)
    skipped = int((is_skipped(jobs.start.seconds, by) & ~jobs.start.zoned & among).sum())
    if skipped:
        said.append(
            f"the start of {counted(skipped)} lies in an hour that clocks of {by.name} skipped: is it the right --tz?"
        )
    return said


def _judged(off: Floats, differs: Flags, by: Clock) -> tuple[list[str], list[str]]:
    """What differences between stamps and elapsed times say."""
    warnings, facts = [], []
    size = np.abs(off)
    by_change = differs & np.any([np.abs(size - change) <= _CLOSE_S for change in _CHANGES_S], axis=0)
    hours, suspended = int(by_change.sum()), int((differs & ~by_change & (off > 0)).sum())
    longer = int(differs.sum()) - hours - suspended
    if hours:
        warnings.append(
            f"in {counted(hours)} elapsed time differs from that between start and end by exactly a change of clocks: "
            f"these stamps are not of the zone {by.name}; name theirs with --tz. Elapsed time was kept"
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
    columns: tuple[Floats, Floats, Floats], lasting: Flags, given: float | None, window: Window, by: Clock
) -> tuple[float, list[str]]:
    """When the record was printed: as given, or as running jobs show by how long they ran, or its latest time.

    A job without an elapsed time runs until watching ended, where that was said.
    """
    if given is not None:
        return given, []
    start, end, elapsed = columns
    shown = (start + elapsed)[lasting & np.isfinite(start + elapsed)]
    times = shown if len(shown) else np.concatenate([start[np.isfinite(start)], end[np.isfinite(end) & ~lasting]])
    asked = np.isfinite(window.until_s) and not len(shown)
    report = window.until_s if asked else float(times.max()) if len(times) else float("nan")
    if not lasting.any() or np.isnan(report):
        return report, []
    source = "start and elapsed time of running jobs" if len(shown) else "the latest time of the record"
    said = f"running jobs are censored at {as_text(report, by)}, by {'--until' if asked else source}"
    return report, [said]

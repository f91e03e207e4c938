"""The log of SCR, the Scalable Checkpoint/Restart library: ``$SCR_PREFIX/.scr/log``, one event a line in local time.

A run starts with START (the library) or RUN_START (the scr_run script). SCR_Finalize writes HALT, so that a run that
ends without one failed: its RUN_END, the next start of the same job, or NODE_FAIL says so.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ckptplan.fit.record import Allocations, FailureRecord, Outcome, Recoveries
from ckptplan.readers.files import TextLines, refused
from ckptplan.readers.records.numbered import Numbered
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.report import NO_ZONE, Report
from ckptplan.readers.records.stamps import clock, is_repeated, parse_stamps, to_utc
from ckptplan.readers.records.windows import asked_window

NAME = "SCR log"
_EVENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}): "
    r"(?:host=[^,]*, )?jobid=([^,]*), (event|xfer)=([^,\s]+)(.*)"
)
_NOTE = re.compile(r'note="([^"]*)"')
_NODES = re.compile(r"\bnodes=([0-9]{1,9})\b")
_DONE = "SCR_FINALIZE_CALLED"
_MOST_EVENTS = 5_000_000


class _Run:
    """One run of one job, as far as the log has gone."""

    def __init__(self, job: int, start: int, by_script: bool) -> None:
        self.job, self.start, self.last, self.end = job, start, start, -1
        self.by_script, self.started, self.halted = by_script, not by_script, ""
        self.failure, self.nodes = "", np.nan


class _Events(NamedTuple):
    runs: list[_Run]
    open: dict[int, _Run]
    jobs: Numbered


class _Log(NamedTuple):
    """All runs, the stamps of all events, and the number of lines."""

    runs: list[_Run]
    stamps: list[str]
    rows: int


def looks_like(head: bytes) -> bool:
    """Whether one of the first lines is an event of SCR."""
    lines = head.decode("utf-8-sig", "replace").splitlines()[:20]
    return any(_EVENT.match(line) for line in lines)


def read(path: str, options: RecordOptions) -> FailureRecord:
    """One stretch of running for each start."""
    lines = TextLines(path)
    events, stamps, rows, odd = _Events([], {}, Numbered()), list[str](), 0, 0
    for line in lines:
        if not line.text.strip():
            continue
        rows += 1
        match = _EVENT.fullmatch(line.text.strip())
        if match is None:
            odd += 1
            continue
        stamps.append(match[1])
        if len(stamps) > _MOST_EVENTS:
            raise refused(path, f"more than {_MOST_EVENTS:,} events", "split the log")
        _take(events, len(stamps) - 1, events.jobs.code(match[2].strip()), match[4], match[5])
    if not events.runs:
        raise refused(path, "no event of the log starts a run", "the log of SCR has lines with event=START")
    report = Report(lines.left_out(), lines.warnings())
    report.leave(odd, "lines that are no event of SCR, or torn ones")
    return _record(path, _Log(events.runs, stamps, rows + lines.too_long), report, options)


def _take(events: _Events, at: int, job: int, name: str, rest: str) -> None:
    """One event: what it says of the run of its job."""
    run = events.open.get(job)
    note = match[1] if (match := _NOTE.search(rest)) else ""
    if name in ("START", "RUN_START"):
        if name == "START" and run is not None and run.by_script and not run.started and run.end < 0:
            run.started = True
        else:
            _close(run, "ended without a HALT")
            run = _Run(job, at, name == "RUN_START")
            events.runs.append(run)
            events.open[job] = run
        if size := _NODES.search(rest):
            run.nodes = float(size[1])
    if run is None:
        return
    if name == "NODE_FAIL" and not run.halted:
        run.failure = f"node failed: {note.partition(': ')[2] or note}" if note else "node failed"
        return  # it is noted when nodes are looked at, after the run
    if run.end >= 0 or name == "NODE_FAIL":
        return
    run.last = at
    if name == "HALT":
        run.halted = note or "HALT"
    elif name == "RUN_END":
        run.end = at
        _close(run, "ended without a HALT")


def _close(run: _Run | None, failure: str) -> None:
    """The run is over: a failure unless it was halted."""
    if run is not None and not run.halted and not run.failure:
        run.failure = failure


def _record(path: str, log: _Log, report: Report, options: RecordOptions) -> FailureRecord:
    runs, stamps, rows = log
    parsed, by = parse_stamps(stamps), clock(options.zone)
    at_s = to_utc(parsed, by)
    if options.zone is None:
        report.warnings.append(NO_ZONE)
    twice = int(is_repeated(parsed.seconds, by).sum())
    report.count(twice, "{} in an hour that came twice when clocks were put back: the first was taken.")
    report.count(
        int((np.diff(at_s) < -1.0).sum()), "{} earlier than the line before: several jobs, or a clock put back."
    )
    start_s = np.array([at_s[run.start] for run in runs])
    end_s = np.array([at_s[run.end if run.end >= 0 else run.last] for run in runs])
    causes = Numbered()
    words = [run.failure or _kept(run) for run in runs]
    outcome = np.array([Outcome.FAILURE if run.failure else Outcome.CENSORED for run in runs], np.int32)
    job = np.array([run.job for run in runs], np.int32)
    cause = causes.codes(words)
    silent = sum(not run.failure and not run.halted for run in runs)
    report.count(silent, "{} at which a run ends without a word: read the scheduler's record too, it says why.")
    report.facts.append("A run that ends without a HALT failed; one that was halted, or finished, did not.")
    kept = np.isfinite(start_s) & np.isfinite(end_s) & (end_s >= start_s)
    report.leave(int((~kept).sum()), "runs that end before they start")
    nodes = np.array([run.nodes for run in runs], np.float64)
    content = Allocations(
        start_s[kept], end_s[kept], outcome[kept], nodes[kept], np.full(int(kept.sum()), np.nan), job[kept],
        cause[kept], causes.names(),
    )  # fmt: skip
    window = asked_window(options.watched_from, options.watched_until, float(np.nanmin(at_s)), by, path)
    found = report.watched(content, window, path)
    waits_s = _relaunches(start_s, end_s, job)[kept][found.kept]
    failed = found.runs.outcome == Outcome.FAILURE
    recoveries = Recoveries("relaunch", found.runs.cause[failed], waits_s[failed]) if failed.any() else None
    content = found.runs
    return report.record(path, NAME, rows, content, calendar=True, zone=options.zone or "UTC", recoveries=recoveries)


def _kept(run: _Run) -> str:
    if not run.halted:
        return "end not in the log"
    return "finished" if run.halted == _DONE else f"halted: {run.halted}"


def _relaunches(start_s: np.ndarray, end_s: np.ndarray, job: np.ndarray) -> np.ndarray:
    """From the end of each run to the next start of its job, nan where none came. [s]."""
    waits = np.full(len(start_s), np.nan)
    before: dict[int, int] = {}
    for run in range(len(start_s)):
        last = before.get(int(job[run]))
        if last is not None:
            waits[last] = max(0.0, start_s[run] - end_s[last])
        before[int(job[run])] = run
    return waits

"""Cycles of NVIDIA's resiliency extension: files cycle_info.JOB.ATTEMPT.CYCLE, one for each start of the ranks.

A cycle that another one follows was ended by a failure; why it ended is not written. Files of one job are read as one
after they were put together: ``cat cycle_info.JOB.*.* > cycles.json``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from ckptplan.fit.record import Allocations, Codes, FailureRecord, Outcome, Recoveries
from ckptplan.readers.files import refused
from ckptplan.readers.records.json_values import JsonObjects, first_object
from ckptplan.readers.records.numbered import Numbered
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.report import Report
from ckptplan.readers.records.stamps import Floats, clock, parse_stamps, to_utc
from ckptplan.readers.records.windows import asked_window

NAME = "restart cycles of the NVIDIA resiliency extension"
_KEYS = {"cycle_number", "cycle_start_time"}
_CAUSES = ("restart in the job", "the job was started again", "end not known")
_MOST_CYCLES = 1_000_000
_TOKEN = re.compile(r"[^,\[\]]+|\[[^\[\]]*\]|,")


class _Cycle(NamedTuple):
    job: str
    attempt: int
    number: int
    writes: int  # how often the file was written
    start: str
    end: str
    nodes: float
    ranks: float


def looks_like(head: bytes) -> bool:
    """Whether the file begins with a cycle."""
    first = first_object(head)
    return first is not None and set(first) >= _KEYS


def read(path: str, options: RecordOptions) -> FailureRecord:
    """One stretch of running for each cycle."""
    objects = JsonObjects(path)
    cycles: dict[tuple[str, int, int], _Cycle] = {}
    odd = again = 0
    for value in objects:
        cycle = _cycle(value)
        if cycle is None:
            odd += 1
            continue
        key = cycle[:3]
        again += key in cycles
        if key not in cycles or cycle.writes >= cycles[key].writes:
            cycles[key] = cycle
        if len(cycles) > _MOST_CYCLES:
            raise refused(path, f"more than {_MOST_CYCLES:,} cycles", "is this the right file?")
    if not cycles:
        raise refused(path, "holds no cycle with job_id, cycle_number and cycle_start_time", "is this the right file?")
    report = Report(objects.left_out(), objects.warnings())
    report.leave(odd, "objects that are no cycle")
    report.leave(again, "cycles written twice: the newest counts")
    rows = objects.rows + sum(one.rows for one in objects.left_out() if one.reason.startswith("lines"))
    return _record(path, sorted(cycles.values()), rows, report, options)


def _cycle(value: dict[str, Any]) -> _Cycle | None:
    try:
        numbers = [int(value.get(key) or 0) for key in ("attempt_index", "cycle_number", "generation")]
    except (TypeError, ValueError, OverflowError):
        return None
    if not set(value) >= _KEYS:
        return None
    nodes, ranks = (members(str(value.get(key) or "")[:10_000_000]) for key in ("active_nodes", "active_ranks"))
    start, end = (str(value.get(key) or "")[:60] for key in ("cycle_start_time", "cycle_end_time"))
    job = str(value.get("job_id") or "")[:120]
    return _Cycle(job, numbers[0], numbers[1], numbers[2], start, end, nodes, ranks)


def members(text: str) -> float:
    """How many a list such as node[001-004,7],login1 or 0-1023 names; nan for none."""
    total, size, named = 0, 0, False
    for piece in _TOKEN.findall(text + ","):
        if piece == ",":
            total += max(size, int(named)) if named else 0
            size, named = 0, False
        elif piece.startswith("["):
            inner = sum(_size(part) for part in piece[1:-1].split(","))
            size, named = inner, named and inner > 0
        elif piece.strip() and not named:
            size, named = _size(piece), True
    return float(total) if text.strip() else np.nan


def _size(part: str) -> int:
    low, _, high = part.strip().partition("-")
    if low.isdigit() and high.isdigit() and len(high) < 10 and len(low) < 10:
        return max(0, int(high) - int(low) + 1)
    return 1 if part.strip() else 0


class _Ends(NamedTuple):
    """How each cycle ended, and the time from there to the next one; nan where a last cycle has no next one."""

    end_s: Floats
    outcome: Codes
    cause: Codes
    waits_s: Floats
    undated: int  # ends taken from the next start


def _ends(cycles: list[_Cycle], start_s: Floats, end_s: Floats, until_s: float | None) -> _Ends:
    outcome, cause = np.zeros(len(cycles), np.int32), np.full(len(cycles), 2, np.int32)
    waits_s, ends_s = np.full(len(cycles), np.nan), end_s.copy()
    for here, (cycle, after) in enumerate(zip(cycles, [*cycles[1:], None], strict=True)):
        if after is None or after.job != cycle.job:
            if until_s is not None and np.isnan(end_s[here]):
                ends_s[here] = until_s
            continue
        outcome[here] = Outcome.FAILURE
        cause[here] = 0 if after.attempt == cycle.attempt else 1
        waits_s[here] = start_s[here + 1] - end_s[here]
        if np.isnan(end_s[here]):
            ends_s[here] = start_s[here + 1]
    undated = int((np.isnan(end_s) & (outcome == Outcome.FAILURE)).sum())
    return _Ends(ends_s, outcome, cause, waits_s, undated)


def _record(path: str, cycles: list[_Cycle], rows: int, report: Report, options: RecordOptions) -> FailureRecord:
    by = clock(options.zone)
    start_s, end_s = (to_utc(parse_stamps(texts), by) for texts in ([c.start for c in cycles], [c.end for c in cycles]))
    first = float(np.nanmin(start_s)) if np.isfinite(start_s).any() else 0.0
    window = asked_window(options.watched_from, options.watched_until, first, by, path)
    ends = _ends(cycles, start_s, end_s, window.until_s if np.isfinite(window.until_s) else None)
    known, dated = np.isfinite(start_s), np.isfinite(ends.end_s)
    report.leave(int((~known).sum()), "cycles without a start that can be read")
    report.leave(int((known & ~dated).sum()), "last cycles without an end: still running, or ended without a word")
    report.leave(int((known & (ends.end_s < start_s)).sum()), "cycles that end before they start")
    kept = known & dated & (ends.end_s >= start_s)
    if not kept.any():
        hint = "put the files of a job together: cat cycle_info.JOB.*.* > cycles.json; or say --until"
        raise refused(path, "no cycle has a start and an end", hint)
    _say(report, len(cycles), ends.undated, _attempts(cycles))
    runs = Allocations(
        start_s=start_s,
        end_s=ends.end_s,
        outcome=ends.outcome,
        nodes=np.array([cycle.nodes for cycle in cycles]),
        gpus=np.array([cycle.ranks for cycle in cycles]),
        job=Numbered().codes([cycle.job for cycle in cycles]),
        cause=ends.cause,
        causes=_CAUSES,
    )
    found = report.watched(runs.only(kept), window, path)
    failed = found.runs.outcome == Outcome.FAILURE
    waits_s = ends.waits_s[kept][found.kept][failed]
    recoveries = Recoveries("restart cycle", found.runs.cause[failed], waits_s) if failed.any() else None
    return report.record(path, NAME, rows, found.runs, calendar=True, recoveries=recoveries)


def _attempts(cycles: list[_Cycle]) -> int:
    found: dict[str, set[int]] = defaultdict(set)
    for cycle in cycles:
        found[cycle.job].add(cycle.attempt)
    return sum(len(attempts) - 1 for attempts in found.values())


def _say(report: Report, cycles: int, undated: int, again: int) -> None:
    report.facts.append("A cycle that another one of its job follows ended by a failure; ranks are counted as GPUs.")
    report.facts.append(
        "How the last cycle of a job ended is not in the files: it counts as running, not as a failure."
    )
    report.count(undated, "{} of cycles without an end: the start of the next cycle is taken, which is too late.")
    if again:
        ends = "1 end of a cycle is that" if again == 1 else f"{again:,} ends of cycles are those"
        report.warnings.append(
            f"{ends} of a whole job that was started again: the scheduler's record says whether it failed or was "
            "preempted; read that too."
        )
    if cycles == 1:
        report.warnings.append(
            "One cycle alone shows no failure: put the files of a job together, "
            "cat cycle_info.JOB.*.* > cycles.json, and read that."
        )

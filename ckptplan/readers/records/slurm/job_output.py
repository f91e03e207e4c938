"""The reader of the lines that Slurm writes into the output of a job whose life it ends."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ckptplan.fit.record import FailureRecord, LeftOut, Outages, Outcome
from ckptplan.readers.files import TextLines, refused
from ckptplan.readers.records.slurm.options import COMMAND, SlurmOptions, slurm_options
from ckptplan.readers.records.slurm.words import counted, first_taken, sentences
from ckptplan.readers.records.stamps import Clock, Floats, clock, is_repeated, parse_stamps, to_utc
from ckptplan.readers.records.windows import OUTSIDE, Window, asked_window

MOST_EVENTS = 1_000_000
_LINE = re.compile(
    r"\*\*\* (JOB|STEP) ([0-9][0-9A-Za-z_+.]{0,60}) ON (\S{1,200}) (?:CANCELLED )?AT ([0-9T:.+-]{16,40})"
    r"(.{0,300}?)\s?\*\*\*"
)
_BYTES = re.compile(rb"\*\*\* (?:JOB|STEP) [0-9][0-9A-Za-z_+.]{0,60} ON \S{1,200} (?:CANCELLED )?AT [0-9]{4}-")
_UNTIMED = re.compile(r"srun: error: Node failure on (\S{1,200})")
_WHY = (
    ("NODE FAIL", Outcome.FAILURE, "node failure"),
    ("PREEMPT", Outcome.PREEMPTED, "preempted"),
    ("TIME LIMIT", Outcome.CENSORED, "ended by a time limit"),
    ("JOB REQUEUE", Outcome.CENSORED, "requeued"),
)


class _Line(NamedTuple):
    job: str
    node: str
    at: str
    outcome: Outcome
    cause: str


def looks_like(head: bytes) -> bool:
    """Whether the output of a job holds one of Slurm's lines about its end."""
    return _BYTES.search(head) is not None


def read(path: str | Path, options: Any = None) -> FailureRecord:
    """Ends of jobs by node failures and preemptions; a job and time count once, however many nodes report them."""
    own = slurm_options(options)
    lines = TextLines(path)
    found: dict[tuple[str, str], _Line] = {}
    left: dict[str, int] = {}
    untimed = 0
    for line in lines:
        untimed += _UNTIMED.search(line.text) is not None
        reason = _take(line.text, found)
        if reason:
            left[reason] = left.get(reason, 0) + 1
        if len(found) > MOST_EVENTS:
            raise refused(path, f"more than {MOST_EVENTS:,} ends of jobs", "name the output of one job")
    if not found and not any(reason.startswith(("ended", "cancelled")) for reason in left):
        hint = f"the output of a job that Slurm ended has lines *** JOB 1 ON node CANCELLED AT ...; or run {COMMAND}"
        raise refused(path, "no line of Slurm about the end of a job", hint)
    return _record(lines, list(found.values()), left, untimed, own)


def _take(text: str, found: dict[tuple[str, str], _Line]) -> str | None:
    """Note the end of a job in a line, or say why the line does not count."""
    match = _LINE.search(text)
    if match is None:
        return "saying nothing of the end of a job"
    if match[1] == "STEP":
        return "of job steps"
    why = match[5].upper()
    outcome, cause = next(((o, c) for word, o, c in _WHY if word in why), (Outcome.CENSORED, "cancelled"))
    if outcome is Outcome.CENSORED:
        return f"{cause}, which is no failure" if cause != "cancelled" else "cancelled by a user or by root"
    key = (match[2], match[4])
    if key in found:
        return "repeating an end from another node"
    found[key] = _Line(match[2], match[3], match[4], outcome, cause)
    return None


def _record(
    lines: TextLines, found: list[_Line], left: dict[str, int], untimed: int, options: SlurmOptions
) -> FailureRecord:
    by = clock(options.zone)
    stamps = parse_stamps([line.at for line in found])
    at = to_utc(stamps, by)
    good = np.isfinite(at)
    _count(left, "with a time that is none", int((~good).sum()))
    window = _window(at[good], options, by, str(lines.path))
    inside = good & (at >= window.from_s) & (at <= window.until_s)
    _count(left, OUTSIDE, int((good & ~inside).sum()))
    good = inside
    kept = [line for line, fine in zip(found, good.tolist(), strict=True) if fine]
    causes = tuple(dict.fromkeys(line.cause for line in kept))
    count = len(kept)
    content = Outages(
        at[good],
        np.full(count, np.nan),
        np.array([line.outcome for line in kept], np.int32),
        np.full(count, -1, np.int32),
        np.array([causes.index(line.cause) for line in kept], np.int32),
        causes,
        1,
        np.array([window.from_s]),
        np.array([window.until_s]),
        ends_at_last=options.report_s is None and options.watched_until is None,
    )
    twice = int((is_repeated(stamps.seconds, by) & ~stamps.zoned & good).sum())
    warnings = [*lines.warnings(), _begins(options), *first_taken(twice, "line")]
    jobs = len({line.job for line in kept if line.outcome is Outcome.FAILURE})
    facts = [f"node failures struck {counted(jobs, 'job')}; each job and time counts once"]
    if untimed > jobs:
        facts.append(
            f"{counted(untimed, 'line')} of srun name a failed node without a time: {untimed - jobs:,} more than jobs "
            "whose end has one"
        )
    zone = None if count and bool(stamps.zoned.all()) else by.name
    reasons = (*lines.left_out(), *(LeftOut(reason, rows) for reason, rows in left.items()))
    return FailureRecord(
        lines.path, "Slurm job output", lines.lines, reasons, content, True, zone, sentences(warnings), sentences(facts)
    )


def _count(left: dict[str, int], reason: str, rows: int) -> None:
    if rows:
        left[reason] = left.get(reason, 0) + rows


def _window(at_s: Floats, options: SlurmOptions, by: Clock, path: str) -> Window:
    """As it was asked for, else from the first end to the last."""
    first, last = (float(at_s.min()), float(at_s.max())) if len(at_s) else (np.nan, np.nan)
    asked = asked_window(options.watched_from, options.watched_until, first, by, path)
    until = last if options.report_s is None else options.report_s
    return Window(
        first if np.isinf(asked.from_s) else asked.from_s, until if np.isinf(asked.until_s) else asked.until_s
    )


def _begins(options: SlurmOptions) -> str:
    """What the output of a job does not say."""
    begin = "" if options.watched_from is not None else ": watching is taken to begin with the first end"
    return (
        f"output of jobs says when they were ended, not how long they ran nor on how many nodes{begin}. "
        f"For rates run {COMMAND}"
    )

"""The reader of the lines that Slurm writes into the output of a job whose life it ends."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ckptplan.fit.record import FailureRecord, LeftOut, Outages, Outcome
from ckptplan.readers.files import TextLines, refused
from ckptplan.readers.slurm.options import COMMAND, SlurmOptions, slurm_options
from ckptplan.readers.slurm.words import counted, sentences
from ckptplan.readers.stamps import clock, parse_stamps, to_utc

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
    ("TIME LIMIT", Outcome.CENSORED, "ended by their time limit"),
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
        return "lines that say nothing of the end of a job"
    if match[1] == "STEP":
        return "lines of job steps"
    why = match[5].upper()
    outcome, cause = next(((o, c) for word, o, c in _WHY if word in why), (Outcome.CENSORED, "cancelled"))
    if outcome is Outcome.CENSORED:
        return f"{cause}, which is no failure" if cause != "cancelled" else "cancelled by a user or by root"
    key = (match[2], match[4])
    if key in found:
        return "lines that repeat an end from another node"
    found[key] = _Line(match[2], match[3], match[4], outcome, cause)
    return None


def _record(
    lines: TextLines, found: list[_Line], left: dict[str, int], untimed: int, options: SlurmOptions
) -> FailureRecord:
    by = clock(options.zone)
    stamps = parse_stamps([line.at for line in found])
    at = to_utc(stamps, by)
    good = np.isfinite(at)
    if int((~good).sum()):
        left["lines with a time that is none"] = int((~good).sum())
    kept = [line for line, fine in zip(found, good.tolist(), strict=True) if fine]
    causes = tuple(dict.fromkeys(line.cause for line in kept))
    count = len(kept)
    window = (float(at[good].min()), float(at[good].max())) if count else (np.nan, np.nan)
    until = window[1] if options.report_s is None else options.report_s
    content = Outages(
        at[good],
        np.full(count, np.nan),
        np.array([line.outcome for line in kept], np.int32),
        np.full(count, -1, np.int32),
        np.array([causes.index(line.cause) for line in kept], np.int32),
        causes,
        1,
        np.array([window[0]]),
        np.array([until]),
        ends_at_last=options.report_s is None,
    )
    warnings = [
        *lines.warnings(),
        "output of jobs says when they were ended, not how long they ran nor on how many nodes: watching is taken to "
        f"begin with the first end. For rates run {COMMAND}",
    ]
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

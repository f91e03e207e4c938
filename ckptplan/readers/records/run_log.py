"""A log book of runs, as people keep one: when each run was started, in words.

Each start but the first is an interruption of the run before: by a failure or on purpose, which the book seldom says.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from ckptplan.fit.record import FailureRecord, Outages, Outcome
from ckptplan.readers.files import TextLines, refused
from ckptplan.readers.records.moments import watched
from ckptplan.readers.records.numbered import Numbered
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.report import Report
from ckptplan.readers.records.stamps import Floats, as_text, clock, parse_stamps, to_utc

NAME = "log book of runs"
_LINE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]+([0-9]{1,2})(?::([0-9]{2}))? ?([ap]m)?"
    r"\s*([A-Z]{1,2}T)?(?:\s*\[[^\]]*\])?:?(?:\s(.*)|$)",
    re.IGNORECASE,
)
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\b")
_RUN = re.compile(r"\brun\b|\b[0-9]+\.[0-9]+\b|\brestart|\brequeue|\brelaunch|\bresum", re.IGNORECASE)
_NOTES = re.compile(r"^\s*notes?\b", re.IGNORECASE)
_WORDS = (("requeue", "requeue"), ("restart", "restart"), ("rerun", "restart"), ("relaunch", "restart"))
_ZONES = {
    **dict.fromkeys(("ET", "EST", "EDT"), "America/New_York"),
    **dict.fromkeys(("CT", "CST", "CDT"), "America/Chicago"),
    **dict.fromkeys(("MT", "MST", "MDT"), "America/Denver"),
    **dict.fromkeys(("PT", "PST", "PDT"), "America/Los_Angeles"),
}
_MOST_LINES = 1_000_000


class _Book(NamedTuple):
    """Starts of runs, what each was called, and the number of lines."""

    at_s: Floats
    words: list[str]
    rows: int


def looks_like(head: bytes) -> bool:
    """Whether most lines begin with a date and a time of day as people say it, and some speak of runs."""
    lines = [line for line in head.decode("utf-8-sig", "replace").splitlines() if line.strip()][:40]
    dated = [match for line in lines if (match := _LINE.match(line)) and (match[4] or match[5])]
    return bool(lines) and 2 * len(dated) > len(lines) and any(_RUN.search(line) for line in lines)


def read(path: str, options: RecordOptions) -> FailureRecord:
    """One event for each line that starts a run."""
    lines = TextLines(path)
    stamps, zones, words = list[str](), list[str](), list[str]()
    left: Counter[str] = Counter()
    rows = 0
    for line in lines:
        if not line.text.strip():
            continue
        rows += 1
        match = _LINE.match(line.text)
        stamp = _stamp(match) if match else ""
        if match is None or not stamp:
            left["lines without a time of day" if _DATED.match(line.text) else "lines without a date"] += 1
        elif not _RUN.search(text := _said(line.text, match)) or _NOTES.match(match[6] or ""):
            left["lines that start no run"] += 1
        else:
            stamps.append(stamp)
            zones.append((match[5] or "").upper())
            words.append(next((label for word, label in _WORDS if word in text.lower()), "run started"))
        if rows > _MOST_LINES:
            raise refused(path, f"more than {_MOST_LINES:,} lines", "is this the right file?")
    if len(stamps) < 2:
        raise refused(path, "fewer than two lines start a run", "a line is written 2021-11-28 6:34pm ET: run 12.33")
    report = Report(lines.left_out(), lines.warnings())
    for reason, count in left.items():
        report.leave(count, reason)
    at_s = _seconds(stamps, zones, report, options)
    return _record(path, _Book(at_s, words, rows + lines.too_long), report, options)


def _said(line: str, match: re.Match[str]) -> str:
    """What a line says after its time; a remark in brackets belongs to it, a pointer to another entry does not."""
    return re.sub(r"\[WARNING[^\]]*\]", "", line[match.end(3 if match[3] else 2) :])


def _stamp(match: re.Match[str]) -> str:
    hour, half = int(match[2]), (match[4] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return ""
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif match[3] is None:
        return ""
    return f"{match[1]}T{hour:02d}:{match[3] or '00'}"


def _seconds(stamps: list[str], zones: list[str], report: Report, options: RecordOptions) -> np.ndarray:
    """Times in UTC: each line by its own zone, a line without one by that of the user or of most lines."""
    usual = Counter(zone for zone in zones if zone in _ZONES).most_common(1)
    other = options.zone or (_ZONES[usual[0][0]] if usual else "UTC")
    parsed = parse_stamps(stamps)
    at_s = np.full(len(stamps), np.nan)
    names = np.array([_ZONES.get(zone, other) for zone in zones])
    for name in dict.fromkeys(names.tolist()):
        own = names == name
        at_s[own] = to_utc(parsed, clock(name))[own]
    without = sum(zone not in _ZONES for zone in zones)
    if without:
        report.facts.append(
            f"{'1 line names' if without == 1 else f'{without:,} lines name'} no zone that is known, read as {other}."
        )
    return at_s


def _record(path: str, book: _Book, report: Report, options: RecordOptions) -> FailureRecord:
    at_s, words, rows = book
    report.leave(int(np.isnan(at_s).sum()), "lines whose time makes no sense")
    report.order(at_s)
    kept = np.isfinite(at_s)
    causes = Numbered()
    cause = causes.codes(words)[kept]
    start_s = at_s[kept]
    by = clock(options.zone)
    first, last = float(start_s.min()), float(start_s.max())
    begin = watched(options.watched_from, "the begin of watching", first, by, path)
    end = watched(options.watched_until, "the end of watching", first, by, path)
    begin, until = first if begin is None else begin, last if end is None else end
    inside = (start_s >= begin) & (start_s <= until)
    report.leave(int((~inside).sum()), "lines outside the time that was watched")
    report.warnings.append(
        "A log book says when runs were started, not why the one before ended: starts on purpose count as failures, "
        "and failures that a script restarted are missing. Take the scheduler's record for a rate."
    )
    report.facts.append(f"Starts from {as_text(first)} to {as_text(last)} UTC; the first one is no interruption.")
    outages = Outages(
        start_s[inside], np.full(int(inside.sum()), np.nan), np.full(int(inside.sum()), Outcome.FAILURE, np.int32),
        np.full(int(inside.sum()), -1, np.int32), cause[inside], causes.names(), 1, np.array([begin]),
        np.array([until]), end is None,
    )  # fmt: skip
    return report.record(path, NAME, rows, outages, calendar=True, zone=options.zone)

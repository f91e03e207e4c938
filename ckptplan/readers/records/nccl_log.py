"""Lines of PyTorch's NCCL watchdog and warnings of NCCL in a job's output: marks that may say why it failed."""

from __future__ import annotations

import re
from array import array
from collections import Counter

import numpy as np

from ckptplan.fit.record import FailureRecord, Marks
from ckptplan.readers.files import TextLines, refused
from ckptplan.readers.records.numbered import Numbered
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.report import NO_ZONE, Report
from ckptplan.readers.records.stamps import clock, parse_stamps, to_utc

NAME = "NCCL watchdog log"
_WATCHDOG = re.compile(
    r"Watchdog caught collective operation timeout: WorkNCCL\((?P<work>.{0,2000}?)\) ran for (?P<ran>[0-9]{1,12}) milli"
)
_OPERATION = re.compile(r"OpType=([A-Za-z_0-9]{1,40})")
_TIMEOUT = re.compile(r"Timeout\(ms\)=([0-9]{1,12})")
_WARN = re.compile(
    r"(?:^|[\s\]])(?P<node>[\w.-]{1,255}):[0-9]+:[0-9]+ \[[0-9-]+\] (?:[^ ]{1,80} )?NCCL WARN (?P<said>.*)"
)
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_GLOG = re.compile(r"\[?[EWIF]([0-9]{2})([0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?")
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|[0-9]+")
_MOST_MARKS = 5_000_000
_HEAD = 160  # characters of a line in which its stamp stands


def looks_like(head: bytes) -> bool:
    """Whether a line comes from the watchdog or is a warning of NCCL."""
    text = head.decode("utf-8", "replace")
    return "Watchdog caught collective operation timeout" in text or "NCCL WARN" in text


class _Seen:
    """What the lines so far held."""

    def __init__(self) -> None:
        self.causes, self.codes = Numbered(), array("i")
        self.stamps, self.nodes = list[str](), list[str]()
        self.ran_ms, self.timeout_ms = array("d"), array("d")
        self.year = ""

    def take(self, text: str) -> bool:
        """One line; whether it is a mark."""
        early = text[:_HEAD]
        full = _ISO.search(early)
        if full:
            self.year = full[0][:4]
        if "NCCL WARN" not in text and "Watchdog caught" not in text:
            return False
        watchdog, warning = _WATCHDOG.search(text), _WARN.search(text)
        if watchdog is not None:
            self._watchdog(watchdog)
        elif warning is not None:
            said = _NUMBERS.sub("N", warning["said"]).strip()[:100]
            self.codes.append(self.causes.code(f"NCCL warning: {said}"))
        else:
            return False
        self.nodes.append(warning["node"] if warning else "")
        self.stamps.append(self._stamp(early, full))
        return True

    def _watchdog(self, match: re.Match[str]) -> None:
        operation, timeout = _OPERATION.search(match["work"]), _TIMEOUT.search(match["work"])
        name = operation[1] if operation else "a collective"
        self.codes.append(self.causes.code(f"NCCL watchdog: {name} timed out"))
        self.ran_ms.append(float(match["ran"]))
        self.timeout_ms.append(float(timeout[1]) if timeout else np.nan)

    def _stamp(self, early: str, full: re.Match[str] | None) -> str:
        if full:
            return full[0].replace(",", ".")
        short = _GLOG.search(early)
        # The log of PyTorch has no year; that of the last full stamp of the same file serves.
        return f"{self.year}-{short[1]}-{short[2]}T{short[3]}" if short and self.year else ""


def read(path: str, options: RecordOptions) -> FailureRecord:
    """One mark for each line of the watchdog or warning; the ranks of one failure each write their own."""
    lines, seen, rows = TextLines(path), _Seen(), 0
    seen.year = _year(options)
    for line in lines:
        if line.text.strip():
            rows += 1
            seen.take(line.text)
            if len(seen.codes) > _MOST_MARKS:
                raise refused(path, f"more than {_MOST_MARKS:,} lines of the watchdog", "split the log")
    report = Report(lines.left_out(), lines.warnings())
    report.leave(rows - len(seen.codes), "lines that neither the watchdog nor a warning of NCCL wrote")
    _say(seen, report)
    return _record(path, seen, rows + lines.too_long, report, options)


def _say(seen: _Seen, report: Report) -> None:
    """How often each cause came, how many lines have no date, and how late the watchdog noticed."""
    if not seen.codes:
        report.warnings.append("No line of the watchdog, no warning of NCCL: nothing says why a job failed.")
    undated = sum(not stamp for stamp in seen.stamps)
    report.count(
        undated, "{} without a date that has a year, which cannot be joined: --since with a date gives the year."
    )
    for cause, count in Counter(seen.codes).most_common(10):
        report.facts.append(f"{seen.causes.names()[cause]}: {count:,} line{'' if count == 1 else 's'}.")
    _delays(report, np.array(seen.ran_ms) / 1e3, np.array(seen.timeout_ms) / 1e3)


def _record(path: str, seen: _Seen, rows: int, report: Report, options: RecordOptions) -> FailureRecord:
    stamps = parse_stamps(seen.stamps)
    unzoned = bool(np.any(np.isfinite(stamps.seconds) & ~stamps.zoned))
    if unzoned and options.zone is None:
        report.warnings.append(NO_ZONE)
    at_s = to_utc(stamps, clock(options.zone))
    marks = Marks(at_s, np.array(seen.codes, np.int32), seen.causes.names(), tuple(seen.nodes))
    zone = (options.zone or "UTC") if unzoned else None
    return report.record(path, NAME, rows, marks, calendar=bool(np.isfinite(at_s).any()), zone=zone)


def _year(options: RecordOptions) -> str:
    match = _ISO.match(f"{options.watched_from or ''}T00:00:00"[:19])
    return match[0][:4] if match else ""


def _delays(report: Report, ran_s: np.ndarray, timeout_s: np.ndarray) -> None:
    """How long the watchdog waited: the part of each recovery in which nobody knew of the failure."""
    if not ran_s.size:
        return
    known = timeout_s[np.isfinite(timeout_s)]
    limit = f", with a timeout of {np.median(known):,.0f} s" if known.size else ""
    lines = "1 line" if ran_s.size == 1 else f"{ran_s.size:,} lines"
    report.facts.append(
        f"The watchdog noticed after {np.median(ran_s):,.0f} s (median of {lines}){limit}: "
        "that is the delay of detection of these failures."
    )

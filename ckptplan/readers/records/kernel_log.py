"""Xid lines of NVIDIA's driver in a kernel log, in any of its usual forms: marks that may say why a job failed."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from ckptplan.fit.record import FailureRecord, Marks
from ckptplan.readers.files import TextLines, refused
from ckptplan.readers.records.moments import Style, read_times
from ckptplan.readers.records.numbered import Numbered
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.report import NO_ZONE, Report
from ckptplan.readers.records.stamps import Stamps, clock, parse_stamps, to_utc
from ckptplan.readers.records.xid import xid_text

NAME = "kernel log"
_XID = re.compile(r"(S?)Xid \((?:PCI:)?[0-9A-Fa-f:.]+\): ([0-9]{1,6})\b")
_RING = re.compile(r"[0-9]{1,4},[0-9]+,[0-9]+,[^;]{1,20};")  # /dev/kmsg
_BOOT = re.compile(r"\[ *[0-9]+\.[0-9]{6}\](?:\[[^\]]*\])? ")  # dmesg
_DATED = re.compile(r"\[([A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4})\] ")  # dmesg -T
_ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)"
    r"(?: (\S+) kernel:)? "
)
_SYSLOG = re.compile(r"[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} (\S+) kernel: ")
_C_TIME = Style("ctime")
_MOST_MARKS = 5_000_000


def looks_like(head: bytes) -> bool:
    """Whether most lines begin as the kernel's do, or one has an Xid."""
    lines = [line for line in head.decode("utf-8-sig", "replace").splitlines() if line.strip()]
    few = lines[:20]
    forms = (_RING, _BOOT, _DATED, _SYSLOG)
    kernel = sum(any(form.match(line) for form in forms) or " kernel: " in line[:120] for line in few)
    return bool(few) and (2 * kernel > len(few) or any(_XID.search(line) for line in lines))


class _Found(NamedTuple):
    """One element for each Xid."""

    causes: Numbered
    codes: list[int]
    stamps: list[str]
    nodes: list[str]


def read(path: str, options: RecordOptions) -> FailureRecord:
    """One mark for each line with an Xid; all other lines are left out."""
    lines, found, rows = TextLines(path), _Found(Numbered(), [], [], []), 0
    for line in lines:
        if not line.text.strip():
            continue
        rows += 1
        match = _XID.search(line.text) if "Xid (" in line.text else None
        if match is None:
            continue
        if len(found.codes) >= _MOST_MARKS:
            raise refused(path, f"more than {_MOST_MARKS:,} lines with an Xid", "split the log")
        cause = f"NVSwitch SXid {match[2]}" if match[1] else xid_text(int(match[2]))
        stamp, node = _when(line.text)
        found.codes.append(found.causes.code(cause))
        found.stamps.append(stamp)
        found.nodes.append(node)
    report = Report(lines.left_out(), lines.warnings())
    report.leave(rows - len(found.codes), "lines without an Xid")
    _say(found, report)
    return _record(path, found, rows + lines.too_long, report, options)


def _say(found: _Found, report: Report) -> None:
    """How often each Xid came, and how many lines have no date."""
    undated = sum(not stamp for stamp in found.stamps)
    report.count(undated, "{} with a time since boot, or without a year, which cannot be joined: write dmesg -T.")
    if not found.codes:
        report.warnings.append("No line has an Xid: nothing in it says why a job failed.")
    for cause, count in Counter(found.codes).most_common(10):
        report.facts.append(f"{found.causes.names()[cause]}: {count:,} line{'' if count == 1 else 's'}.")


def _record(path: str, found: _Found, rows: int, report: Report, options: RecordOptions) -> FailureRecord:
    at_s, zoned = _seconds(found.stamps, options.zone)
    unzoned = bool(np.any(np.isfinite(at_s) & ~zoned))
    if unzoned and options.zone is None:
        report.warnings.append(NO_ZONE)
    marks = Marks(at_s, np.array(found.codes, np.int32), found.causes.names(), tuple(found.nodes))
    zone = (options.zone or "UTC") if unzoned else None
    return report.record(path, NAME, rows, marks, calendar=bool(np.isfinite(at_s).any()), zone=zone)


def _when(text: str) -> tuple[str, str]:
    """The stamp of a line, empty where it has no date with a year, and its node, empty where it has none."""
    if match := _DATED.match(text):
        return match[1], ""
    if match := _ISO.match(text):
        return match[1].replace(",", "."), match[2] or ""
    match = _SYSLOG.match(text)
    return "", match[1] if match else ""


def _seconds(stamps: list[str], zone: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Times in UTC, and whether the stamp named its zone."""
    iso, dated = parse_stamps(stamps), read_times(stamps, _C_TIME)
    local = np.where(np.isfinite(iso.seconds), iso.seconds, dated.seconds)
    return to_utc(Stamps(local, iso.zoned), clock(zone)), iso.zoned

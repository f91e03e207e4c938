"""Failure data of Los Alamos, 1996 to 2005 (LA-UR-05-7318): outages of nodes, with the time in service of each.

One row is one outage of one node. Stamps are Mountain time with daylight saving; Down Time is in true minutes, and so
decides between the two readings of an hour that came twice. "3-Sep" is September 2003: a spreadsheet has been at it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from ckptplan.fit.record import Codes, FailureRecord, Outages, Outcome
from ckptplan.readers.files import refused
from ckptplan.readers.records.delimited import Delimited
from ckptplan.readers.records.event_rows import NOT_NOTED
from ckptplan.readers.records.moments import Style, numbers, read_times, spans, watched
from ckptplan.readers.records.numbered import Numbered
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.report import Report, repairs
from ckptplan.readers.records.stamps import Clock, Flags, Floats, as_text, clock, local_to_utc

NAME = "LANL failure data"
ZONE = "America/Denver"
CAUSES = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
_NAMES = ("System", "nodes", "nodenumz", "node prod", "node decom", "Prob Started", "Prob Fixed", "Down Time", *CAUSES)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = re.compile(r"(?:([0-9]{1,2})-([A-Z][a-z]{2})|([A-Z][a-z]{2})-([0-9]{1,2}))")
_STYLE = Style("slashed")
_MOST_NODES = 1_000_000
_MOST_ROWS = 5_000_000  # the whole data set has 23,741
_MOST_MINUTES_OFF = 1.0  # seconds are cut from the stamps


class _Rows(NamedTuple):
    """The columns of all rows, as text or numbers."""

    system: list[str]
    nodes: Floats
    node: Floats
    life: list[tuple[str, str]]  # months of production and of retirement
    start: list[str]
    end: list[str]
    minutes: Floats
    causes: list[str]


def looks_like(head: bytes) -> bool:
    """Whether the header is that of the data set."""
    first = head.split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    return all(name in first for name in ("nodenumz", "Prob Started", "Prob Fixed", "Down Time"))


def read(path: str, options: RecordOptions) -> FailureRecord:
    """All outages; maintenance is a kind of its own, every other cause is a failure."""
    table = Delimited(path)
    missing = [name for name in _NAMES if name not in table.names]
    if missing:
        raise refused(path, f"has no column {missing[0]}", f"the data set has {', '.join(_NAMES)}")
    rows = _gather(table)
    if not rows.start:
        raise refused(path, "holds a header and no rows", "is this the right file?")
    return _record(rows, table, options)


def _gather(table: Delimited) -> _Rows:
    found = _Rows([], np.empty(0), np.empty(0), [], [], [], np.empty(0), [])
    nodes, node, minutes = [found.nodes], [found.node], [found.minutes]
    for chunk in table.columns([table.names.index(name) for name in _NAMES]):
        found.system.extend(chunk[0])
        if len(found.system) > _MOST_ROWS:
            raise refused(table.path, f"more than {_MOST_ROWS:,} rows", "is this the right file?")
        nodes.append(numbers(chunk[1]))
        node.append(numbers(chunk[2]))
        found.life.extend(zip(chunk[3], chunk[4], strict=True))
        found.start.extend(text.strip() for text in chunk[5])
        found.end.extend(text.strip() for text in chunk[6])
        minutes.append(numbers(chunk[7]))
        found.causes.extend(_cause(cells) for cells in zip(*chunk[8:], strict=True))
    return found._replace(nodes=np.concatenate(nodes), node=np.concatenate(node), minutes=np.concatenate(minutes))


def _cause(cells: tuple[str, ...]) -> str:
    """The group of the cause and what was filled in there."""
    for group, cell in zip(CAUSES, cells, strict=True):
        text = cell.strip()
        if text:
            return group if text == group else f"{group}: {text}"
    return NOT_NOTED


def _record(rows: _Rows, table: Delimited, options: RecordOptions) -> FailureRecord:
    zone = options.zone or ZONE
    by = clock(zone)
    report = Report(table.left_out(), table.warnings())
    start_s, end_s = _times(rows, by, report)
    unit, units = _units(rows, options, report, table.path)
    known = np.isfinite(start_s)
    report.leave(int((~known).sum()), "rows without a time of failure that can be read")
    report.leave(int((known & (unit < 0)).sum()), "rows whose node is not one of the system")
    kept = known & (unit >= 0)
    if not kept.any():
        raise refused(table.path, "no row has a time and a node", "is this the right file?")
    windows = _Windows(_Seen(rows, unit, kept, start_s), units, by, options, table.path)
    inside = (start_s >= windows.from_s[unit]) & (start_s <= windows.until_s[unit])
    report.leave(int((kept & ~inside).sum()), "rows outside the time in which their node was in service")
    kept &= inside
    windows.say(report, len(np.unique(unit[kept])))
    causes = Numbered()
    cause = causes.codes(rows.causes)
    outages = Outages(
        start_s=start_s,
        end_s=end_s,
        outcome=_outcomes(cause, causes.names(), report),
        unit=unit,
        cause=cause,
        causes=causes.names(),
        units=units,
        from_s=windows.from_s,
        until_s=windows.until_s,
        ends_at_last=windows.ends_at_last,
    ).only(kept)
    report.overlaps(outages)
    count = len(rows.start) + sum(one.rows for one in table.left_out())
    return report.record(table.path, NAME, count, outages, calendar=True, zone=zone, recoveries=repairs(outages))


def _times(rows: _Rows, by: Clock, report: Report) -> tuple[Floats, Floats]:
    """Starts and ends in UTC, and what Down Time says of them."""
    elapsed_s = np.where(rows.minutes >= 0, rows.minutes * 60.0, np.nan)
    found = spans(read_times(rows.start, _STYLE), read_times(rows.end, _STYLE), elapsed_s, by)
    report.clocks(*found[2:])
    off = np.abs(found.end_s - found.start_s - elapsed_s) > 60.0 * _MOST_MINUTES_OFF
    report.count(int(off.sum()), "{} with a Down Time that is not the time between the stamps: the stamps count.")
    return found.start_s, found.end_s


def _outcomes(cause: Codes, causes: tuple[str, ...], report: Report) -> Codes:
    report.facts.append("Hardware = Maintenance is planned work; every other row is a failure of its node.")
    planned = np.array([name == "Hardware: Maintenance" for name in causes])
    return np.where(planned[cause], Outcome.MAINTENANCE, Outcome.FAILURE).astype(np.int32)


def _units(rows: _Rows, options: RecordOptions, report: Report, path: str) -> tuple[Codes, int]:
    """The number of each row's node, systems one after another, and how many nodes there are; -1 for an odd one."""
    unit = np.full(len(rows.start), -1, np.int32)
    systems = list(dict.fromkeys(rows.system))
    if len(systems) > 1:
        report.warnings.append(
            f"Rows of {len(systems):,} systems are counted together: give each system a file of its own."
        )
    total = 0
    named = np.array(rows.system)
    for system in systems:
        own = named == system
        sizes = rows.nodes[own][np.isfinite(rows.nodes[own])]
        size = options.units if options.units is not None and len(systems) == 1 else int(max(sizes, default=0))
        if total + size > _MOST_NODES:
            raise refused(path, f"more than {_MOST_NODES:,} nodes", "is this the right file?")
        node = np.nan_to_num(rows.node, nan=-1.0)
        inside = own & (node >= 0) & (node < size)
        unit[inside] = total + node[inside].astype(np.int32)
        total += size
    return unit, max(total, 1)


class _Seen(NamedTuple):
    """The rows, the node of each, which of them count, and when each began."""

    rows: _Rows
    unit: Codes
    kept: Flags
    start_s: Floats


class _Windows:
    """The time in service of every node, with a node without rows given that of the next lower one that has some."""

    def __init__(self, seen: _Seen, units: int, by: Clock, options: RecordOptions, path: str) -> None:
        rows, unit, kept, start_s = seen
        first, last = float(start_s[kept].min()), float(start_s[kept].max())
        begin = watched(options.watched_from, "the begin of watching", first, by, path)
        end = watched(options.watched_until, "the end of watching", first, by, path)
        self.ends_at_last = end is None
        self.end, self.unknown = last if end is None else end, 0
        lives: dict[int, Counter[tuple[str, str]]] = {}
        for row in np.flatnonzero(kept).tolist():
            lives.setdefault(int(unit[row]), Counter())[rows.life[row]] += 1
        self.from_s, self.until_s = np.full(units, first), np.full(units, self.end)
        months: dict[tuple[str, str], tuple[float, float]] = {}
        latest = (first, self.end)
        for number in range(units):
            if number in lives:
                life = lives[number].most_common(1)[0][0]
                if life not in months:
                    months[life] = self._months(life, first, by)
                latest = months[life]
            elif number == 0:
                latest = self._months(lives[min(lives)].most_common(1)[0][0], first, by)
            self.from_s[number], self.until_s[number] = latest
        if begin is not None:
            self.from_s = np.maximum(self.from_s, begin)
        self.until_s = np.maximum(np.minimum(self.until_s, self.end), self.from_s)
        self._by, self._units = by, units

    def _months(self, life: tuple[str, str], first: float, by: Clock) -> tuple[float, float]:
        begin, end = (month_s(text, by) for text in life)
        if begin is None:
            self.unknown += 1
        return first if begin is None else begin, self.end if end is None else end

    def say(self, report: Report, with_rows: int) -> None:
        """How the time in service was taken."""
        report.facts.append(
            "A node is in service from the first day of its month of production to the first day of its month of "
            "retirement; the data set names no days."
        )
        if with_rows < self._units:
            report.facts.append(
                f"{with_rows:,} of {self._units:,} nodes have rows; the others are given the time in service of the "
                "next lower node that has some."
            )
        if self.unknown:
            report.warnings.append("A month of production cannot be read: watching is taken to begin with the file.")
        if self.ends_at_last:
            report.facts.append(
                f"Nodes in service to the end are watched until the last row, {as_text(self.end, self._by)}: "
                "the data set says no day on which it ends. Another one is said with --until."
            )


def month_s(text: str, by: Clock) -> float | None:
    """The first second of a month such as 3-Sep (2003) or Jan-98; None for "current" and all else."""
    match = _MONTH.fullmatch(text.strip())
    if match is None or (match[2] or match[3]) not in _MONTHS:
        return None
    year = int(match[1] or match[4])
    month = _MONTHS.index(match[2] or match[3]) + 1
    stamp = np.datetime64(f"{2000 + year if year < 50 else 1900 + year:04d}-{month:02d}-01", "s")
    return float(local_to_utc(np.array([stamp.astype(np.int64)], np.float64), by)[0])

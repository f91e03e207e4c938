"""Columns of starts, ends and kinds -> outages: on one clock, within the time that was watched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.fit.record import Codes, Outages, Outcome, Recoveries
from ckptplan.readers.files import refused
from ckptplan.readers.records.moments import UNITS_S, spans, watched
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.report import Report, repairs
from ckptplan.readers.records.stamps import Clock, Flags, Floats, Stamps, as_text, clock, to_utc
from ckptplan.readers.records.whole_days import move, spread
from ckptplan.readers.records.windows import BACKWARDS

_PIECE = 500_000  # rows that are put on a clock at one time
_SAME_UNIT = 0.05  # of the median, for stamps that are cut to minutes


class Noted(NamedTuple):
    """What the rows of a table say, one element each."""

    start: Stamps
    end: Stamps
    elapsed_s: Floats
    outcome: Codes
    cause: Codes
    node: Codes
    causes: tuple[str, ...]
    nodes: tuple[str, ...]  # empty where no column names a node
    calendar: bool
    whole_day: Flags  # the start is a date without a time of day
    end_day: Flags  # the end is one
    end_open: Flags  # a column of ends says none here
    bare_duration: str = ""  # the name of a column of durations that names no unit


def judged_outages(
    noted: Noted, options: RecordOptions, report: Report, path: str
) -> tuple[Outages, Recoveries | None]:
    """The rows that count, in the order of the file, and how long repairs took where their end is noted."""
    by = clock(options.zone)
    known = np.isfinite(noted.start.seconds)
    none = known & (noted.outcome == Outcome.CENSORED)
    report.leave(int(none.sum()), "rows that no failure made: completed, cancelled, running")
    kept = known & ~none
    if not kept.any():
        raise refused(path, "no row is a failure", "name the columns by their roles, or another file")
    days = kept & noted.whole_day
    spread_s = spread(noted.start.seconds, days, by) if days.any() else None
    start_s, end_s = _on_one_clock(noted, by, report)
    if spread_s is not None:
        move(start_s, end_s, spread_s, noted.end_day | np.isnan(noted.end.seconds))
        report.days(int(days.sum()))
        del spread_s
    begin_s, until_s = _window(_only(start_s, kept), noted.calendar, options, report, path)
    inside = (start_s >= begin_s) & (start_s <= until_s)
    report.leave(int((kept & ~inside).sum()), "rows outside the time that was watched")
    kept &= inside
    causes, cause = _used(noted, kept)
    outages = Outages(
        start_s=_only(start_s, kept),
        end_s=_only(end_s, kept),
        outcome=_only(noted.outcome, kept),
        unit=_only(noted.node, kept),
        cause=cause,
        causes=causes,
        units=_units(noted.nodes, options.units, report, path),
        from_s=np.array([begin_s]),
        until_s=np.array([until_s]),
        ends_at_last=options.watched_until is None,
        unit_names=noted.nodes,
    )
    without_end = (noted.end_open & np.isnan(end_s))[kept]
    del noted, start_s, end_s  # of ten million rows, what is not needed any more counts
    found = repairs(outages)
    outages = _lasting(outages, without_end, report)
    report.overlaps(outages)
    return outages, found


def _only(values: NDArray[Any], kept: Flags) -> NDArray[Any]:
    """Some of the values; all of them are not copied."""
    return values if kept.all() else values[kept]


def _lasting(outages: Outages, without_end: Flags, report: Report) -> Outages:
    """Outages whose end is left empty last until the end of watching, unless their node had another one since."""
    if not without_end.any():
        return outages
    order = np.lexsort((outages.start_s, outages.unit))
    last = np.zeros(len(order), bool)
    last[order] = np.diff(outages.unit[order], append=-2) != 0
    lasting = without_end & last
    report.without_end(int(lasting.sum()), int((without_end & ~last).sum()))
    return outages._replace(end_s=np.where(lasting, outages.until_s[0], outages.end_s))


def _on_one_clock(noted: Noted, by: Clock, report: Report) -> tuple[Floats, Floats]:
    """Starts and ends in UTC; an end that is not noted is the start and what elapsed.

    Millions of rows are put on the clock piece by piece, and starts where they stand: nothing else is asked of them.
    """
    elapsed_s = _elapsed(noted, by, report)
    start_s, end_s = noted.start.seconds, np.empty(len(elapsed_s))
    changes, backwards = np.zeros(3, np.int64), 0
    for first in range(0, len(start_s), _PIECE):
        rows = slice(first, first + _PIECE)
        start, end = (Stamps(part.seconds[rows], part.zoned[rows]) for part in (noted.start, noted.end))
        found = spans(start, end, elapsed_s[rows], by)
        ends_s = np.where(np.isnan(found.end_s), found.start_s + elapsed_s[rows], found.end_s)
        back = ends_s < found.start_s
        start_s[rows], end_s[rows] = found.start_s, np.where(back, np.nan, ends_s)
        changes += found[2:]
        backwards += int(back.sum())
    report.clocks(*changes.tolist())
    report.order(start_s)
    report.count(backwards, "{} with an end before the start: the end was dropped, the failure kept.")
    return start_s, end_s


def _elapsed(noted: Noted, by: Clock, report: Report) -> Floats:
    """Durations; where they name no unit, in that in which they are the times between starts and ends."""
    name, elapsed_s = noted.bare_duration, noted.elapsed_s
    if not name:
        return elapsed_s
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (to_utc(noted.end, by) - to_utc(noted.start, by)) / elapsed_s
    known = ratio[np.isfinite(ratio) & (ratio > 0)]
    middle = float(np.median(known)) if known.size else 0.0
    for unit, seconds in UNITS_S.items():
        if abs(middle / seconds - 1.0) < _SAME_UNIT:
            report.facts.append(f"{name}: in {unit}, judged by starts and ends.")
            return elapsed_s * seconds
    report.warnings.append(f"{name} names no unit: taken as seconds; name the column {name}_min or the like.")
    return elapsed_s


def _window(start_s: Floats, calendar: bool, options: RecordOptions, report: Report, path: str) -> tuple[float, float]:
    """From when to when events were watched."""
    by = clock(options.zone)
    first = float(start_s.min()) if calendar else 0.0
    begin = watched(options.watched_from, "the begin of watching", first, by, path)
    if begin is None:
        begin = min(first, float(start_s.min()))
        if calendar:
            report.warnings.append(
                "Nobody said when watching began: it is taken to begin with the first event. Say it with --since."
            )
    until = watched(options.watched_until, "the end of watching", first, by, path)
    if until is None:
        until = last = float(start_s.max())
        if begin > last:
            raise refused(
                path, f"all rows lie before --since: the last is of {_shown(last, calendar)}", "check --since"
            )
        report.warnings.append(
            "Nobody said when watching ended: it is taken to end with the last event. Say it with --until."
        )
    if until < begin:
        raise refused(path, "watching ends before it begins", BACKWARDS)
    return begin, until


def _shown(at_s: float, calendar: bool) -> str:
    return f"{as_text(at_s)} UTC" if calendar else f"{at_s:,.0f} s"


def _used(noted: Noted, kept: Flags) -> tuple[tuple[str, ...], Codes]:
    """The causes of the rows that count, and their numbers among these."""
    used = np.unique(_only(noted.cause, kept))
    number = np.zeros(len(noted.causes), np.int32)
    number[used] = np.arange(len(used))
    return tuple(noted.causes[one] for one in used), number[_only(noted.cause, kept)]


def _units(names: Sequence[str], units: int | None, report: Report, path: str) -> int:
    """How many nodes were watched; 1 for all of them together where nobody said."""
    if units is None:
        if len(names) > 1:
            report.facts.append(
                f"{len(names):,} nodes had an event; how many were watched is not in the file, so events count for all "
                "of them together. With --nodes they count per node."
            )
        return 1
    if units < len(names):
        raise refused(path, f"events of {len(names):,} nodes, more than the {units:,} given", "raise --nodes")
    return units

"""The reader of ``sacctmgr show event -P``: outages of nodes, with the reason that an operator or Slurm wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ckptplan.fit.record import FailureRecord, LeftOut, Outages
from ckptplan.readers.files import TextLines, refused
from ckptplan.readers.records.moments import Spans, spans
from ckptplan.readers.records.report import repairs
from ckptplan.readers.records.slurm.columns import MOST_COLUMNS, Header, header_of
from ckptplan.readers.records.slurm.jobs import MAINTENANCE
from ckptplan.readers.records.slurm.node_outages import Event, NodeOutage, continued, lasting
from ckptplan.readers.records.slurm.options import SlurmOptions, slurm_options
from ckptplan.readers.records.slurm.words import counted, first_taken, sentences
from ckptplan.readers.records.stamps import Clock, Flags, Floats, as_text, clock, parse_stamps
from ckptplan.readers.records.windows import OUTSIDE, asked_window

COMMAND = "sacctmgr -P show event All_Time=Yes format=Cluster,NodeName,TimeStart,TimeEnd,State,Reason,User"
MOST_EVENTS = 5_000_000
TORN = "torn (too few or too many fields)"
_MOST_CAUSES = 200  # the rarer reasons of more are one cause


def looks_like(head: bytes) -> bool:
    """Whether a file begins with a header of events of nodes."""
    return _is_events(header_of(head.split(b"\n", 1)[0]))


def _is_events(header: Header | None) -> bool:
    return (
        header is not None
        and header.at("nodename") is not None
        and header.at("timestart", "start") is not None
        and header.at("timeend", "end") is not None
    )


def read(path: str | Path, options: Any = None) -> FailureRecord:
    """Outages of nodes; rows of the whole cluster are left out."""
    own, name = slurm_options(options), str(path)
    lines = TextLines(path)
    text = iter(lines)
    first = next(text, None)
    header = None if first is None else header_of(first.text.encode(), own.delimiter)
    if header is None or not _is_events(header):
        raise refused(path, "the first line is no header of sacctmgr show event", f"run {COMMAND}", 1)
    if len(header.names) > MOST_COLUMNS:
        raise refused(path, f"{len(header.names):,} columns; {MOST_COLUMNS:,} are the most", None, 1)
    events, torn, rows = list[Event](), 0, 0
    for line in text:
        if not line.text.strip():
            continue
        rows += 1
        event = _event(line.text, header)
        if event is None:
            torn += 1
        else:
            events.append(event)
        if len(events) > MOST_EVENTS:
            raise refused(path, f"more than {MOST_EVENTS:,} events", "cut it into several by Start= and End=")
    if rows == 0:
        raise refused(path, "no events: the table holds its header alone", f"widen the time: {COMMAND}")
    left = {TORN: torn}
    record = _judged(name, events, own, left)
    said = (*lines.warnings(), *record.warnings)
    return record._replace(rows=rows + lines.too_long, left_out=(*lines.left_out(), *record.left_out), warnings=said)


def _event(text: str, header: Header) -> Event | None:
    """One row; a reason may hold the delimiter."""
    fields = text.split(header.delimiter.decode())
    extra = len(fields) - len(header.names)
    free = header.at("reason")
    if extra > 0 and free is not None:
        mark = header.delimiter.decode()
        fields = [*fields[:free], mark.join(fields[free : free + extra + 1]), *fields[free + extra + 1 :]]
    if len(fields) != len(header.names):
        return None
    roles = (("nodename",), ("timestart", "start"), ("timeend", "end"), ("state",), ("reason",))
    places = [header.at(*names) for names in roles]
    return Event(*("" if place is None else fields[place].strip() for place in places))


def _judged(name: str, events: list[Event], options: SlurmOptions, left: dict[str, int]) -> FailureRecord:
    by = clock(options.zone)
    stamps = [parse_stamps([getattr(event, part) for event in events]) for part in ("start", "end")]
    found = spans(stamps[0], stamps[1], None, by)
    start, end = found.start_s, found.end_s
    ends = np.array([event.is_open() for event in events], bool)
    nodes = np.array([bool(event.node) for event in events], bool)
    keep: Flags = nodes & np.isfinite(start) & (ends | np.isfinite(end)) & ~(end < start)
    left["of the whole cluster, not of a node"] = int((~nodes).sum())
    left["with a time that is none"] = int((nodes & ~(np.isfinite(start) & (ends | np.isfinite(end)))).sum())
    left["with an end before the start"] = int((nodes & (end < start)).sum())
    merged, pieces = continued([events[i] for i in np.flatnonzero(keep)], start[keep], end[keep])
    left["continuing an outage of the row before"] = pieces
    known = np.concatenate([start, end])
    window = _window(known[np.isfinite(known)], options, by, name)
    ended, open_, followed = lasting(merged, window.until_s)
    inside = [place for place, outage in enumerate(merged) if window.from_s <= outage.start_s <= window.until_s]
    left[OUTSIDE] = len(merged) - len(inside)
    outages, warnings = _outages([ended[place] for place in inside], ended, options, window)
    repaired = repairs(outages._replace(end_s=np.array([merged[place].end_s for place in inside], float)))
    facts = [
        "DOWN and FAIL are failures; DRAIN, MAINT and the like, and reasons with one of these words, are maintenance: "
        + ", ".join(MAINTENANCE),
    ]
    facts += _of_ends(open_, followed, as_text(window.until_s, by), window.given)
    zoned = bool(stamps[0].zoned.all())
    if options.zone is None and not zoned:
        facts.append("stamps have no zone and were read as UTC; --tz names another")
    said = _of_clocks(found)
    reasons = tuple(LeftOut(reason, rows) for reason, rows in left.items() if rows)
    return FailureRecord(
        name, "Slurm sacctmgr show event", len(events) + left[TORN], reasons, outages, True,
        None if zoned else by.name, sentences([*warnings, *said[0]]), sentences([*facts, *said[1]]), repaired,
    )  # fmt: skip


class _Watched(NamedTuple):
    """From when to when nodes were watched."""

    from_s: float
    until_s: float
    given: bool  # its end


def _window(known_s: Floats, options: SlurmOptions, by: Clock, path: str) -> _Watched:
    """As it was asked for, else from the first to the last time of the record."""
    first, last = (float(known_s.min()), float(known_s.max())) if len(known_s) else (np.nan, np.nan)
    asked = asked_window(options.watched_from, options.watched_until, first, by, path)
    until = options.report_s if np.isinf(asked.until_s) else asked.until_s
    begin = first if np.isinf(asked.from_s) else asked.from_s
    return _Watched(begin, last if until is None else until, until is not None)


def _of_ends(open_: int, followed: int, until: str, given: bool) -> list[str]:
    """How outages without an end were read."""
    facts = []
    if open_:
        by = "as given" if given else "the latest time of the record"
        facts.append(f"{counted(open_, 'outage')} without an end: away until {until}, {by}")
    if followed:
        said = "without an end, followed by another of the same node: up again at once"
        facts.append(f"{counted(followed, 'outage')} {said}")
    return facts


def _of_clocks(found: Spans) -> tuple[list[str], list[str]]:
    """Warnings and facts of hours that came twice or never."""
    warnings, facts = first_taken(found.twice), []
    if found.skipped:
        warnings.append(f"{counted(found.skipped, 'time')} in an hour that clocks skipped: is it the right --tz?")
    if found.decided:
        facts.append(f"{counted(found.decided)} in an hour that came twice, decided by the end")
    return warnings, facts


def _outages(
    found: list[NodeOutage], everywhere: list[NodeOutage], options: SlurmOptions, window: _Watched
) -> tuple[Outages, list[str]]:
    """Outages within the window; nodes that were away at its begin are watched from when they came back."""
    names = tuple(sorted({outage.node for outage in everywhere}))
    place = {name: number for number, name in enumerate(names)}
    units, warnings = _units(len(names), options)
    from_s = np.full(len(names) + 1, window.from_s)  # the last one is that of nodes without a name
    for outage in everywhere:
        if outage.start_s < window.from_s < outage.end_s:
            from_s[place[outage.node]] = max(from_s[place[outage.node]], min(outage.end_s, window.until_s))
    away = int((from_s > window.from_s).sum())
    if away:
        warnings.append(
            f"{counted(away, 'node')} already away when watching began: watched from the end of that outage on"
        )
    causes = _causes(found)
    code = {cause: number for number, cause in enumerate(causes)}
    cause = [code.get(outage.cause, len(causes) - 1) for outage in found]
    return Outages(
        np.array([outage.start_s for outage in found], float),
        np.array([outage.end_s for outage in found], float),
        np.array([outage.outcome for outage in found], np.int32),
        np.array([place[outage.node] for outage in found], np.int32),
        np.array(cause, np.int32),
        causes,
        units,
        from_s[:units] if away else from_s[-1:],
        np.full(1, window.until_s),
        unit_names=names,
    ), warnings


def _units(names: int, options: SlurmOptions) -> tuple[int, list[str]]:
    """How many nodes were watched."""
    if options.nodes is None:
        return names, [
            f"the record names the {counted(names, 'node')} that had outages, not those that had none: without "
            "the number of all nodes (--nodes) the rate per node is too high"
        ]
    if options.nodes < names:
        return names, [f"{counted(names, 'node')} had outages, more than the {options.nodes:,} given: all are counted"]
    return options.nodes, []


def _causes(found: list[NodeOutage]) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    for outage in found:
        counts[outage.cause] = counts.get(outage.cause, 0) + 1
    ranked = sorted(counts, key=lambda cause: -counts[cause])
    return tuple(ranked) if len(ranked) <= _MOST_CAUSES else (*ranked[:_MOST_CAUSES], "other reasons")

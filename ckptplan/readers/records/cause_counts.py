"""Tables of failures by cause, as papers print them: how many of each, and no times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.errors import printable
from ckptplan.fit.record import Counts, FailureRecord, Outcome
from ckptplan.readers.files import refused
from ckptplan.readers.records.column_roles import plain
from ckptplan.readers.records.delimited import Delimited
from ckptplan.readers.records.events_csv import header_of
from ckptplan.readers.records.kinds_of_rows import outcome_of
from ckptplan.readers.records.moments import numbers, watched
from ckptplan.readers.records.numbered import Numbered
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.report import Report
from ckptplan.readers.records.stamps import clock

NAME = "failures counted by cause"
_COUNTED = ("interruption_count", "interruptions", "failure_count", "failures", "count", "occurrences", "number")
_CAUSES = ("component", "root_cause", "cause", "reason", "failure_type", "error", "type")
_GROUPS = ("category", "class", "group")


def looks_like(head: bytes) -> bool:
    """Whether the header names a cause and a count."""
    names = [plain(name) for name in header_of(head)]
    return any(name in names for name in _COUNTED) and any(name in names for name in (*_CAUSES, *_GROUPS))


class _Columns(NamedTuple):
    """Places of the columns that count; the group may be that of the causes again."""

    counted: int
    cause: int
    group: int


def read(path: str, options: RecordOptions) -> FailureRecord:
    """The counts; maintenance that was planned and preemptions are kinds of their own."""
    table = Delimited(path)
    columns = _columns(table)
    causes, failures, outcome, codes, odd = Numbered(), list[float](), list[int](), list[int](), 0
    for chunk in table.columns(columns):
        for count, text, kind in zip(numbers(chunk[0]).tolist(), chunk[1], chunk[2], strict=True):
            if not (count >= 0 and count == np.floor(count)):
                odd += 1
                continue
            failures.append(count)
            kept = outcome_of(kind, text)
            outcome.append(Outcome.FAILURE if kept is Outcome.CENSORED else kept)
            codes.append(causes.code(text.strip()))
    counted, named = (printable(table.names[at][:60]) for at in columns[:2])
    if not failures:
        raise refused(path, f"no row has a count in column {counted}", "write whole numbers")
    report = Report(table.left_out(), table.warnings(), (f"{counted} counts failures, {named} names causes.",))
    report.leave(odd, "rows whose count is no whole number")
    until_s = watched(options.watched_until, "the time of counting", 0.0, clock(options.zone), path)
    if until_s is None:
        report.warnings.append("Nobody said in what time they were counted: say it with --until, such as 54 d.")
    watched_s = np.nan if until_s is None else until_s
    arrays = np.array(failures), np.array(outcome, np.int32), np.array(codes, np.int32)
    content = Counts(*arrays, causes.names(), watched_s)
    return report.record(path, NAME, len(failures) + sum(one.rows for one in report.left), content)


def _columns(table: Delimited) -> _Columns:
    names = [plain(name) for name in table.names]
    count, cause, group = (
        next((names.index(name) for name in known if name in names), None) for known in (_COUNTED, _CAUSES, _GROUPS)
    )
    cause = group if cause is None else cause
    if count is None or cause is None:
        message = f"has no column of counts and causes; there are {table.shown_names()}"
        raise refused(table.path, message, "name them count and cause")
    return _Columns(count, cause, cause if group is None else group)

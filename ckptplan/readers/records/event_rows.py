"""Rows of a table whose columns have roles -> a failure record; shared by CSV, JSON lines and outage lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckptplan.errors import printable
from ckptplan.fit.record import Codes, FailureRecord, LeftOut, Lifetimes
from ckptplan.readers.files import refused
from ckptplan.readers.records.column_roles import Column
from ckptplan.readers.records.effects import without_effect
from ckptplan.readers.records.growing import GrowingColumn
from ckptplan.readers.records.kinds_of_rows import Judge
from ckptplan.readers.records.lengths import is_separated, length_s
from ckptplan.readers.records.moments import UNITS_S, Style, numbers, read_times, style_of, whole_days
from ckptplan.readers.records.numbered import Numbered
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.outage_rows import Noted, judged_outages
from ckptplan.readers.records.report import NO_ZONE, Report
from ckptplan.readers.records.stamps import Flags, Floats, Stamps
from ckptplan.readers.records.text_columns import is_one_of, sample_of, trimmed, with_word

MOST_ROWS = 10_000_000
MOST_CAUSES = 10_000
_NO_UNITS = ("cycles", "megacycles")
_NO_END = ("", "-", "unknown", "none", "null", "nan", "nat", "n/a", "na", "ongoing", "open", "present", "now")

_TYPES: dict[str, type] = {
    **dict.fromkeys(("seconds", "end", "elapsed"), np.float64),
    **dict.fromkeys(("zoned", "end_zoned", "whole_day", "end_day", "end_open"), np.bool_),
    **dict.fromkeys(("outcome", "cause", "node"), np.int32),
}

NOT_NOTED = "not noted"  # the cause of a row that names none

Cells = Mapping[str, Any]  # role -> texts of equal number, as pyarrow arrays of strings or sequences of str
LineOf = Callable[[int, str], int | None]  # place of a column and the text of a cell -> the first line that holds it


class EventRows:
    """Rows, added in chunks of text; what is kept of them are numbers."""

    def __init__(self, path: str, name: str, roles: Mapping[str, Column], options: RecordOptions) -> None:
        self.path, self.name, self.roles, self.options = path, name, roles, options
        self.rows = self.empty = self.unreadable = self.odd_ends = 0
        self.first_unreadable = self.first_odd_end = ""
        self.causes, self.nodes = Numbered(MOST_CAUSES), Numbered()
        self._styles: dict[str, Style] = {}
        self._columns: dict[str, GrowingColumn] = {}
        self._judge = Judge()
        self._graded: bool | None = None
        self._unzoned = False
        self._bare: set[str] = set()  # roles with numbers that have no unit
        self._obeyed: set[str] = set()  # options that mattered
        self._gaps = "gap" in roles and "start" not in roles and "time" not in roles
        spanned = "start" in roles and ("end" in roles or "duration" in roles or "time" not in roles)
        if "time" in options.columns and "start" not in options.columns:  # what the user names outranks a guess
            spanned = False
        self._begin = "gap" if self._gaps else "start" if spanned else "time"

    def add(self, cells: Cells) -> None:
        """One chunk of rows."""
        columns = {role: trimmed(texts) for role, texts in cells.items()}
        texts = columns[self._begin]
        self.rows += len(texts)
        if self.rows > MOST_ROWS:
            raise refused(self.path, f"more than {MOST_ROWS:,} rows", "split the record, by months for example")
        category = None if self._is_graded(columns.get("category")) else columns.get("category")
        cause = with_word(columns.get("cause", category), NOT_NOTED, len(texts))
        if self._gaps:
            seconds = self._amounts("gap", texts)
            self._keep(seconds=seconds, outcome=self._failed(columns))
        else:
            seconds, zoned = self._stamps(self._begin, texts)
            self._unzoned |= bool(np.any(~zoned & np.isfinite(seconds)))
            self._keep(seconds=seconds, zoned=zoned, outcome=self._judge.outcomes(category, cause))
            if self._begin in self._styles:
                self._keep(whole_day=whole_days(texts, self._styles[self._begin]))
            else:
                self._keep(whole_day=np.zeros(len(texts), bool))
            self._keep_ends(columns)
        self._count_bad(texts, seconds)
        self._keep(cause=self.causes.codes(cause))
        if "node" in columns:
            self._keep(node=self.nodes.codes(columns["node"]))

    def _keep(self, **arrays: NDArray[Any]) -> None:
        for name, array in arrays.items():
            if name not in self._columns:
                self._columns[name] = GrowingColumn(_TYPES[name])
            self._columns[name].add(array)

    def _kept(self, name: str, otherwise: Any = 0) -> NDArray[Any]:
        """A whole column, which is given once; one that was never kept takes no memory."""
        column = self._columns.pop(name, None)
        if column is None:
            return np.broadcast_to(np.array(otherwise, _TYPES[name]), (self.rows,))
        return column.whole()

    def _is_graded(self, category: Any) -> bool:
        """Whether the column that may name a kind holds numbers, which are grades of severity and name none."""
        if self._graded is None and category is not None and (sample := sample_of(category)):
            self._graded = not np.isnan(numbers(sample)).any()
        return bool(self._graded)

    def _stamps(self, role: str, texts: Any) -> Stamps:
        if role not in self._styles:
            sample = sample_of(texts, _NO_END if role == "end" else ("",))
            if not sample:
                return Stamps(np.full(len(texts), np.nan), np.zeros(len(texts), bool))
            column = self.roles[role]
            unit = column.unit or self.options.unit
            shown = printable(column.name[:60])
            style = style_of(sample, shown, self.path, unit, self.options.date_order)
            if style.kind == "number" and column.unit is None:
                self._obeyed.add("unit")
            if style.kind == "slashed":
                self._obeyed.add("date_order")
            self._styles[role] = style
        return read_times(texts, self._styles[role])

    def _amounts(self, role: str, texts: Any) -> Floats:
        """Lengths of time: numbers in the unit of the column, or with a unit of their own."""
        factor = UNITS_S.get(self.roles[role].unit or self.options.unit or "s", 1.0)
        found = numbers(texts) * factor
        if np.isfinite(found).any() and self.roles[role].unit is None:
            self._obeyed.add("unit")
            if self.options.unit is None:
                self._bare.add(role)
        odd = np.flatnonzero(np.isnan(found))
        found[odd] = [length_s(text) if text else np.nan for text in texts.take(odd).to_pylist()]
        return found

    def _keep_ends(self, columns: Mapping[str, Any]) -> None:
        if "end" in columns:
            texts = columns["end"]
            end = self._stamps("end", texts)
            open_ = is_one_of(texts, _NO_END)
            whole = whole_days(texts, self._styles["end"]) if "end" in self._styles else open_
            self._keep(end=end.seconds, end_zoned=end.zoned, end_open=open_, end_day=whole)
            odd = np.flatnonzero(np.isnan(end.seconds) & ~open_)
            self.odd_ends += len(odd)
            if len(odd) and not self.first_odd_end:
                self.first_odd_end = texts[int(odd[0])].as_py()[:40]
        if "duration" in columns:
            self._keep(elapsed=self._amounts("duration", columns["duration"]))

    def _count_bad(self, texts: Any, seconds: Floats) -> None:
        rows = np.flatnonzero(np.isnan(seconds))
        filled = [text for text in texts.take(rows).to_pylist() if text] if len(rows) else []
        self.empty += len(rows) - len(filled)
        self.unreadable += len(filled)
        self.first_unreadable = self.first_unreadable or (filled[0] if filled else "")

    def _failed(self, columns: Mapping[str, Any]) -> Codes:
        """Of gaps: 1 where a failure ended it, 0 where watching ended before."""
        for role, yes in (("failed", 1), ("censored", 0)):
            if role in columns:
                said = is_one_of(columns[role], ("1", "true", "yes", "y", "t", "1.0"))
                return np.where(said, yes, 1 - yes).astype(np.int32)
        return np.ones(len(columns["gap"]), np.int32)

    def record(
        self, left: Sequence[LeftOut], warnings: Sequence[str], facts: Sequence[str], line_of: LineOf | None = None
    ) -> FailureRecord:
        """The record of all rows; ``left`` are rows that the caller could not add."""
        unread = self._unread(line_of)
        if self.rows == self.empty + self.unreadable:
            column = printable(self.roles[self._begin].name[:60])
            said = f"no row has a time in column {column}{': ' if unread else ''}{unread}"
            raise refused(self.path, said, self._hint() if unread else "name another column by its role")
        report = Report(left, warnings, (*facts, *(s.said + "." for s in self._styles.values() if s.said)))
        if self._graded:
            report.facts.append(f"{printable(self.roles['category'].name[:60])} holds numbers, which name no kind.")
        report.leave(self.empty, "rows without a time")
        report.leave(self.unreadable, "rows with a time that cannot be read")
        if unread:
            report.warnings.append(f"{unread[0].upper()}{unread[1:]}: {self._hint()}.")
        if self.causes.is_full():
            report.facts.append(f"More than {MOST_CAUSES:,} different causes: the later ones are one, (others).")
        rows = self.rows + sum(one.rows for one in left)
        return self._lifetimes(rows, report) if self._gaps else self._outages(rows, report, unread)

    def _unread(self, line_of: LineOf | None) -> str:
        """How many rows have a time that cannot be read, and the first of them; empty for none."""
        if not self.unreadable:
            return ""
        line = None if line_of is None else line_of(self.roles[self._begin].at, self.first_unreadable)
        where = "" if line is None else f" in line {line:,}"
        count = "1 row has a time" if self.unreadable == 1 else f"{self.unreadable:,} rows have times"
        return f"{count} that cannot be read, the first is {self.first_unreadable[:40]!a}{where}"

    def _hint(self) -> str:
        if is_separated(self.first_unreadable):
            plain, point = self.first_unreadable.replace(",", ""), self.first_unreadable.replace(",", ".", 1)
            return f"commas in numbers are not read, write {plain[:40]} or {point[:40]}"
        if self._gaps:
            return "write numbers with their unit, such as 3.2 h, 2 h 30 min or 12:00:00"
        return "write ISO 8601 such as 2024-07-01T12:00:00Z, of a day that exists, from 1900 to 2199"

    def _outages(self, rows: int, report: Report, unread: str) -> FailureRecord:
        calendar = self._styles[self._begin].calendar
        unzoned = calendar and self._unzoned
        if unzoned and self.options.zone is None:
            report.warnings.append(NO_ZONE)
        if self.odd_ends:
            report.count(self.odd_ends, f"{{}} with an end that cannot be read, the first is {self.first_odd_end!a}.")
        outages, repairs = judged_outages(self._noted(), self.options, report, self.path)
        if unread and not float(outages.until_s[0]) > float(outages.from_s[0]):
            raise refused(self.path, f"no time passes between the times that can be read: {unread}", self._hint())
        zone = (self.options.zone or "UTC") if unzoned else None
        obeyed = {*self._obeyed, "zone", "columns", "watched_from", "watched_until"}
        report.warnings.extend(without_effect(self.options, obeyed, self.name))
        return report.record(self.path, self.name, rows, outages, calendar=calendar, zone=zone, recoveries=repairs)

    def _noted(self) -> Noted:
        return Noted(
            start=Stamps(self._kept("seconds"), self._kept("zoned")),
            end=Stamps(self._kept("end", np.nan), self._kept("end_zoned", True)),
            elapsed_s=self._kept("elapsed", np.nan),
            outcome=self._kept("outcome"),
            cause=self._kept("cause"),
            node=self._kept("node", -1),
            causes=self.causes.names(),
            nodes=self.nodes.names() if "node" in self.roles else (),
            calendar=self._styles[self._begin].calendar,
            whole_day=self._kept("whole_day"),
            end_day=self._kept("end_day"),
            end_open=self._kept("end_open"),
            bare_duration=printable(self.roles["duration"].name[:60]) if "duration" in self._bare else "",
        )

    def _lifetimes(self, rows: int, report: Report) -> FailureRecord:
        column = self.roles["gap"]
        if column.name.strip().lower() in _NO_UNITS and self.options.unit is None:
            report.warnings.append(f"{column.name.strip()} are no time: every second below is one of them.")
        elif "gap" in self._bare:
            report.warnings.append("No unit is named for numbers: taken as seconds; give it with --unit.")
        report.warnings.extend(without_effect(self.options, {*self._obeyed, "columns"}, f"gaps of {self.name}"))
        time_s, failed = self._kept("seconds"), self._kept("outcome") == 1
        report.leave(int((time_s < 0).sum()), "negative times")
        report.leave(int((time_s == 0).sum()), "gaps of 0: two failures at one time are one")
        kept: Flags = time_s > 0
        time_s, ended = time_s[kept], failed[kept]
        steps = np.diff(time_s)
        in_order = not (len(time_s) >= 5 and (np.all(steps >= 0) or np.all(steps <= 0)))
        if not in_order:
            report.facts.append("The times are sorted by size: a sample of separate parts, which can show no trend.")
        return report.record(self.path, self.name, rows, Lifetimes(time_s, ended, in_order))

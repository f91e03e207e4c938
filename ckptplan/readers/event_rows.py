"""Rows of a table whose columns have roles -> a failure record; shared by CSV, JSON lines and outage lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ckptplan.errors import InputError, printable
from ckptplan.fit.record import Codes, FailureRecord, LeftOut, Lifetimes
from ckptplan.readers.column_roles import Column
from ckptplan.readers.files import refused
from ckptplan.readers.kinds_of_rows import outcome_of
from ckptplan.readers.moments import UNITS_S, Style, numbers, read_times, style_of
from ckptplan.readers.numbered import Numbered
from ckptplan.readers.options import RecordOptions
from ckptplan.readers.outage_rows import Noted, outages_of
from ckptplan.readers.report import NO_ZONE, Report, repairs
from ckptplan.readers.stamps import Floats, Stamps
from ckptplan.units import UnitError, parse_quantity

MOST_ROWS = 50_000_000
_MOST_JUDGED = 100_000
_SAMPLE = 2_000
_NO_UNITS = ("cycles", "megacycles")

NOT_NOTED = "not noted"  # the cause of a row that names none

Cells = Mapping[str, Sequence[str]]  # role -> texts of equal number


class EventRows:
    """Rows, added in chunks of text; what is kept of them are numbers."""

    def __init__(self, path: str, name: str, roles: Mapping[str, Column], options: RecordOptions) -> None:
        self.path, self.name, self.roles, self.options = path, name, roles, options
        self.rows = self.empty = self.unreadable = 0
        self.first_unreadable = ""
        self.causes, self.nodes = Numbered(), Numbered()
        self._styles: dict[str, Style] = {}
        self._parts: list[tuple[Floats, ...]] = []
        self._judged: dict[tuple[str, str], int] = {}
        self._graded: bool | None = None
        self._bare: set[str] = set()  # roles with numbers that have no unit
        self._gaps = "gap" in roles and "start" not in roles and "time" not in roles
        spanned = "start" in roles and ("end" in roles or "duration" in roles or "time" not in roles)
        if "time" in options.columns and "start" not in options.columns:  # what the user names outranks a guess
            spanned = False
        self._begin = "gap" if self._gaps else "start" if spanned else "time"

    def add(self, cells: Cells) -> None:
        """One chunk of rows."""
        texts = [text.strip() for text in cells[self._begin]]
        self.rows += len(texts)
        if self.rows > MOST_ROWS:
            raise refused(self.path, f"more than {MOST_ROWS:,} rows", "split the record")
        begin = self._amounts("gap", texts) if self._gaps else self._stamps(self._begin, texts)
        seconds, zoned = (begin, np.ones(len(texts), bool)) if isinstance(begin, np.ndarray) else begin
        self._count_bad(texts, seconds)
        end, elapsed = self._ends(cells, len(texts))
        category = cells.get("category") or [""] * len(texts)
        if self._is_graded(category):
            category = [""] * len(texts)
        cause = [text.strip() or NOT_NOTED for text in cells.get("cause") or category]
        outcome = self._failed(cells) if self._gaps else self._outcomes(category, cause)
        node = self.nodes.codes(cells["node"]) if "node" in cells else np.full(len(texts), -1, np.int32)
        codes = (outcome, self.causes.codes(cause), node)
        self._parts.append((seconds, zoned, end.seconds, end.zoned, elapsed, *codes))  # type: ignore[arg-type]

    def _is_graded(self, category: Sequence[str]) -> bool:
        """Whether the column that may name a kind holds numbers, which are grades of severity and name none."""
        if self._graded is None and (sample := [text for text in category[:_SAMPLE] if text.strip()]):
            self._graded = not np.isnan(numbers(sample)).any()
        return bool(self._graded)

    def _stamps(self, role: str, texts: Sequence[str]) -> Stamps:
        if role not in self._styles:
            sample = [text for text in texts if text][:_SAMPLE]
            if not sample:
                return Stamps(np.full(len(texts), np.nan), np.zeros(len(texts), bool))
            column = self.roles[role]
            unit = column.unit or self.options.unit
            shown = printable(column.name[:60])
            self._styles[role] = style_of(sample, shown, self.path, unit, self.options.date_order)
        return read_times(texts, self._styles[role])

    def _amounts(self, role: str, texts: Sequence[str]) -> Floats:
        """Lengths of time: numbers in the unit of the column, or with a unit of their own."""
        factor = UNITS_S.get(self.roles[role].unit or self.options.unit or "s", 1.0)
        found = numbers(texts) * factor
        if np.isfinite(found).any() and self.roles[role].unit is None and self.options.unit is None:
            self._bare.add(role)
        for row in np.flatnonzero(np.isnan(found)).tolist():
            try:
                found[row] = parse_quantity(texts[row], "time")
            except UnitError:
                continue
        return found

    def _ends(self, cells: Cells, rows: int) -> tuple[Stamps, Floats]:
        end = Stamps(np.full(rows, np.nan), np.ones(rows, bool))
        if not self._gaps and "end" in cells:
            end = self._stamps("end", [text.strip() for text in cells["end"]])
        elapsed = np.full(rows, np.nan)
        if "duration" in cells and not self._gaps:
            elapsed = self._amounts("duration", [text.strip() for text in cells["duration"]])
        return end, elapsed

    def _count_bad(self, texts: Sequence[str], seconds: Floats) -> None:
        for row in np.flatnonzero(np.isnan(seconds)).tolist():
            if not texts[row]:
                self.empty += 1
                continue
            self.unreadable += 1
            self.first_unreadable = self.first_unreadable or texts[row][:40]

    def _outcomes(self, category: Sequence[str], cause: Sequence[str]) -> Codes:
        found = np.empty(len(cause), np.int32)
        judged = self._judged
        for row, pair in enumerate(zip(category, cause, strict=True)):
            outcome = judged.get(pair)
            if outcome is None:
                outcome = int(outcome_of(pair[0][:200], pair[1][:200]))
                if len(judged) < _MOST_JUDGED:
                    judged[pair] = outcome
            found[row] = outcome
        return found

    def _failed(self, cells: Cells) -> Codes:
        """Of gaps: 1 where a failure ended it, 0 where watching ended before."""
        rows = len(cells["gap"])
        for role, yes in (("failed", 1), ("censored", 0)):
            if role in cells:
                said = [text.strip().lower() in ("1", "true", "yes", "y", "t", "1.0") for text in cells[role]]
                return np.where(said, yes, 1 - yes).astype(np.int32)
        return np.ones(rows, np.int32)

    def record(self, left: Sequence[LeftOut], warnings: Sequence[str], facts: Sequence[str]) -> FailureRecord:
        """The record of all rows; ``left`` are rows that the caller could not add."""
        if not self._parts or self.rows == self.empty + self.unreadable:
            raise self._nothing()
        report = Report(left, warnings, (*facts, *(s.said + "." for s in self._styles.values() if s.said)))
        if self._graded:
            report.facts.append(f"{printable(self.roles['category'].name[:60])} holds numbers, which name no kind.")
        report.leave(self.empty, "rows without a time")
        report.leave(self.unreadable, "rows with a time that cannot be read")
        if self.unreadable:
            report.warnings.append(f"The first time that cannot be read is {self.first_unreadable!a}.")
        rows = self.rows + sum(one.rows for one in left)
        columns = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        if self._gaps:
            return report.record(self.path, self.name, rows, self._lifetimes(columns[0], columns[5], report))
        noted = self._noted(columns)
        unzoned = noted.calendar and bool(np.any(~noted.start.zoned & np.isfinite(noted.start.seconds)))
        if unzoned and self.options.zone is None:
            report.warnings.append(NO_ZONE)
        outages = outages_of(noted, self.options, report, self.path)
        zone = (self.options.zone or "UTC") if unzoned else None
        return report.record(
            self.path, self.name, rows, outages, calendar=noted.calendar, zone=zone, recoveries=repairs(outages)
        )

    def _noted(self, columns: Sequence[Floats]) -> Noted:
        start_s, zoned, end_s, end_zoned, elapsed_s, *codes = columns
        outcome, cause, node = (code.astype(np.int32) for code in codes)
        return Noted(
            start=Stamps(start_s, zoned.astype(bool)),
            end=Stamps(end_s, end_zoned.astype(bool)),
            elapsed_s=elapsed_s,
            outcome=outcome,
            cause=cause,
            node=node,
            causes=self.causes.names(),
            nodes=self.nodes.names() if "node" in self.roles else (),
            calendar=self._styles[self._begin].calendar,
            bare_duration=printable(self.roles["duration"].name[:60]) if "duration" in self._bare else "",
        )

    def _nothing(self) -> InputError:
        column = printable(self.roles[self._begin].name[:60])
        seen = f", the first is {self.first_unreadable!a}" if self.first_unreadable else ""
        return refused(self.path, f"no row has a time in column {column}{seen}", "name another column by its role")

    def _lifetimes(self, time_s: Floats, failed: Codes, report: Report) -> Lifetimes:
        column = self.roles["gap"]
        if column.name.strip().lower() in _NO_UNITS and self.options.unit is None:
            report.warnings.append(f"{column.name.strip()} are no time: every second below is one of them.")
        elif "gap" in self._bare:
            report.warnings.append("No unit is named for numbers: taken as seconds; give it with --unit.")
        known = ~np.isnan(time_s)
        report.leave(int((time_s < 0).sum()), "negative times")
        report.leave(int((time_s == 0).sum()), "gaps of 0: two failures at one time are one")
        kept = known & (time_s > 0)
        time_s, ended = time_s[kept], failed[kept] == 1
        steps = np.diff(time_s)
        in_order = not (len(time_s) >= 5 and (np.all(steps >= 0) or np.all(steps <= 0)))
        if not in_order:
            report.facts.append("The times are sorted by size: a sample of separate parts, which can show no trend.")
        return Lifetimes(time_s, ended, in_order)

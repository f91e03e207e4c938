"""What is said of a record besides its rows: what was left out, what weakens it, how rows were judged."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ckptplan.fit.record import (
    Allocations,
    Codes,
    Counts,
    FailureRecord,
    LeftOut,
    Lifetimes,
    Marks,
    Outages,
    Outcome,
    Recoveries,
)
from ckptplan.readers.moments import Spans
from ckptplan.readers.stamps import Flags, Floats

NO_ZONE = (
    "Stamps have no zone and were read as UTC: where clocks change, gaps are an hour off. Name the zone with --tz, "
    "for example --tz America/New_York."
)


class Report:
    """What is said of a record besides its rows."""

    def __init__(self, left: Iterable[LeftOut] = (), warnings: Iterable[str] = (), facts: Iterable[str] = ()) -> None:
        self.left, self.warnings, self.facts = [*left], [*warnings], [*facts]

    def leave(self, rows: int, reason: str) -> None:
        """Count rows that do not count."""
        if rows:
            self.left.append(LeftOut(reason, rows))

    def count(self, rows: int, sentence: str) -> None:
        """A warning that begins with a number of rows, if there are any."""
        if rows:
            self.warnings.append(sentence.format(_rows(rows)))

    def clocks(self, found: Spans) -> None:
        """How stamps close to a change of clocks were read."""
        self.count(found.twice, "{} in an hour that came twice when clocks were put back: the first was taken.")
        self.count(found.skipped, "{} in an hour that clocks skipped: is the zone the right one?")
        if found.decided:
            self.facts.append(
                f"{_rows(found.decided)} in an hour that came twice, decided by the time that elapsed, or by the end."
            )

    def order(self, start_s: Floats) -> None:
        """Rows that are earlier than the one before."""
        known = start_s[np.isfinite(start_s)]
        back = int((np.diff(known) < 0).sum())
        newest_first = len(known) > 2 and back > 0.5 * (len(known) - 1)
        if newest_first:
            self.facts.append("The newest row stands first; rows were put in order of time.")
            back = int((np.diff(known) > 0).sum())
        self.count(back, "{} out of order: a stamp may be mistyped; all were put in order of time.")

    def overlaps(self, start_s: Floats, end_s: Floats, unit: Codes) -> None:
        """Outages that begin while another one lasts, and those that are there twice."""
        order = np.argsort(start_s, kind="stable")
        ends = np.maximum.accumulate(np.where(np.isfinite(end_s[order]), end_s[order], -np.inf))
        concurrent = int((start_s[order][1:] < ends[:-1]).sum())
        if concurrent:
            begin = "outage begins" if concurrent == 1 else "outages begin"
            self.facts.append(f"{concurrent:,} {begin} while another one lasts.")
        keys = np.rec.fromarrays([start_s, np.nan_to_num(end_s, nan=-1.0), unit])
        twice = len(keys) - len(np.unique(keys))
        self.count(twice, "{} with the times and the node of another row: delete what was noted twice.")

    def record(
        self,
        file: str,
        form: str,
        rows: int,
        content: Allocations | Outages | Lifetimes | Marks | Counts,
        *,
        calendar: bool = False,
        zone: str | None = None,
        recoveries: Recoveries | None = None,
    ) -> FailureRecord:
        """The record, with everything that was said of it."""
        left, warnings, facts = tuple(self.left), tuple(self.warnings), tuple(self.facts)
        return FailureRecord(file, form, rows, left, content, calendar, zone, warnings, facts, recoveries)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def repairs(outages: Outages) -> Recoveries | None:
    """Start to end of the outages that are failures; None where no end is known."""
    failures: Flags = outages.outcome == Outcome.FAILURE
    seconds = (outages.end_s - outages.start_s)[failures]
    return Recoveries("repair", outages.cause[failures], seconds) if np.isfinite(seconds).any() else None

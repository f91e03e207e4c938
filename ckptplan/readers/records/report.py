"""What is said of a record besides its rows: what was left out, what weakens it, how rows were judged."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ckptplan.fit.record import (
    Allocations,
    Counts,
    FailureRecord,
    LeftOut,
    Lifetimes,
    Marks,
    Outages,
    Outcome,
    Recoveries,
)
from ckptplan.readers.files import refused
from ckptplan.readers.records.numbered import OTHERS
from ckptplan.readers.records.stamps import Flags, Floats
from ckptplan.readers.records.windows import OUTSIDE, Clipped, Window, clipped

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

    def clocks(self, twice: int, decided: int, skipped: int) -> None:
        """How stamps close to a change of clocks were read: the last three elements of ``Spans``."""
        self.count(twice, "{} in an hour that came twice when clocks were put back: the first was taken.")
        self.count(skipped, "{} in an hour that clocks skipped: is the zone the right one?")
        if decided:
            self.facts.append(
                f"{_rows(decided)} in an hour that came twice, decided by the time that elapsed, or by the end."
            )

    def order(self, start_s: Floats) -> None:
        """Rows that are earlier than the one before."""
        finite = np.isfinite(start_s)
        known = start_s if finite.all() else start_s[finite]
        back = int((known[1:] < known[:-1]).sum())
        newest_first = len(known) > 2 and back > 0.5 * (len(known) - 1)
        if newest_first:
            self.facts.append("The newest row stands first; rows were put in order of time.")
            back = int((known[1:] > known[:-1]).sum())
        self.count(back, "{} out of order: a stamp may be mistyped; all were put in order of time.")

    def watched(self, runs: Allocations, window: Window, path: str, running: str = "still running") -> Clipped:
        """Runs cut to the time that was watched."""
        found = clipped(runs, *window, running)
        if len(found.kept) and not found.kept.any():
            raise refused(path, "no run lies between --since and --until", "check --since and --until")
        self.leave(found.outside, OUTSIDE)
        self.facts.extend(found.facts)
        return found

    def days(self, rows: int) -> None:
        """How dates without a time of day were read."""
        has, their = ("has a date", "its") if rows == 1 else ("have dates", "their")
        self.facts.append(
            f"{_rows(rows)} {has} without a time of day: the events of one day are spread evenly within it, so that "
            f"{their} number counts; gaps are known to a day."
        )

    def without_end(self, lasting: int, followed: int) -> None:
        """How outages without an end were read."""
        if lasting:
            last = "1 outage without an end lasts" if lasting == 1 else f"{lasting:,} outages without an end last"
            self.facts.append(f"{last} until the end of watching: no later row is of the same node.")
        if followed:
            are = "1 outage without an end is" if followed == 1 else f"{followed:,} outages without an end are"
            self.facts.append(f"{are} followed by another of the same node: up again at once.")

    def overlaps(self, outages: Outages) -> None:
        """Outages that begin while another one lasts, and those that are there twice."""
        start_s = outages.start_s
        if not len(start_s):
            return
        order = None if (start_s[1:] >= start_s[:-1]).all() else np.argsort(start_s, kind="stable")
        start_s = start_s if order is None else start_s[order]
        concurrent = 0
        if np.isfinite(outages.end_s).any():
            ends = np.nan_to_num(outages.end_s if order is None else outages.end_s[order], nan=-np.inf)
            concurrent = int((start_s[1:] < np.maximum.accumulate(ends, out=ends)[:-1]).sum())
        if concurrent:
            begin = "outage begins" if concurrent == 1 else "outages begin"
            self.facts.append(f"{concurrent:,} {begin} while another one lasts.")
        same = np.concatenate((start_s[1:] == start_s[:-1], [False]))
        same |= np.roll(same, 1)
        together = np.zeros(len(same), bool)
        together[slice(None) if order is None else order] = same
        some = outages.only(together)
        some = some.only(np.array([outages.causes[code] != OTHERS for code in some.cause], bool))
        keys = np.rec.fromarrays([some.start_s, np.nan_to_num(some.end_s, nan=-1.0), some.unit, some.cause])
        twice = len(keys) - len(np.unique(keys))
        said = "{} with the times, the node and the cause of another row: delete what was noted twice."
        self.count(twice, said)

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

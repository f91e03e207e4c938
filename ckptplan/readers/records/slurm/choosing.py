"""Rows of a record that count: those that were asked for, and a tally of the others by reason."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ckptplan.errors import printable
from ckptplan.fit.record import LeftOut
from ckptplan.readers.records.slurm.jobs import FILTERED, Jobs
from ckptplan.readers.records.stamps import Flags

_MOST_NAMES, _LONGEST_NAME = 5, 40


class Tally:
    """Rows left out by reason, and the rows that still count."""

    def __init__(self, rows: int) -> None:
        self.counts, self.used = dict[str, int](), np.ones(rows, bool)

    def add(self, reason: str, rows: int) -> None:
        """Count rows that were never among those that could count."""
        if rows:
            self.counts[reason] = self.counts.get(reason, 0) + int(rows)

    def drop(self, reason: str, which: Flags) -> None:
        """Leave out those of the rows that still count."""
        gone = self.used & which
        self.add(reason, int(gone.sum()))
        self.used &= ~which

    def left_out(self) -> tuple[LeftOut, ...]:
        """The reasons with their counts."""
        return tuple(LeftOut(reason, rows) for reason, rows in self.counts.items())


def choose(jobs: Jobs, tally: Tally) -> None:
    """Leave out jobs that were not asked for; where none is left, by reasons that say what there is."""
    wanted = bool((jobs.filtered == 0).any())
    for number, reason in enumerate(FILTERED):
        if number:
            there = "" if wanted else _there(jobs.others.get(number, {}))
            tally.drop(reason + there, jobs.filtered == number)


def _there(counts: Mapping[bytes, int]) -> str:
    """The names that most jobs have."""
    ranked = sorted((name for name in counts if name), key=lambda name: -counts[name])
    shown = [printable(name.decode(errors="replace")[:_LONGEST_NAME]) for name in ranked[:_MOST_NAMES]]
    more = ", ..." if len(ranked) > _MOST_NAMES else ""
    return f" (there are {', '.join(shown)}{more})" if shown else ""

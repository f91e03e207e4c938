"""What of the runs lies in the time that was watched: between --since and --until."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.fit.record import Allocations, Codes, Outcome
from ckptplan.readers.files import refused
from ckptplan.readers.records.moments import watched
from ckptplan.readers.records.stamps import Clock, Flags

OUTSIDE = "outside of --since and --until"
BACKWARDS = "check --since and --until: of both, a time such as 20 d counts from the start of the record"


class Window(NamedTuple):
    """From when to when was watched, in the seconds of the record; infinite where nobody said."""

    from_s: float = -np.inf
    until_s: float = np.inf


class Clipped(NamedTuple):
    """The runs within a window."""

    runs: Allocations
    kept: Flags  # which of the given rows they are
    outside: int  # the others
    facts: tuple[str, ...]  # sentences: how many runs were cut


def asked_window(since: str | float | None, until: str | float | None, first_s: float, by: Clock, path: str) -> Window:
    """The window that a user asks for.

    Parameters
    ----------
    since, until : str, float or None
        A stamp, a date, or a time from the start of the record, such as 1500 h.
    first_s : float
        The start of the record [s]: what a time such as 1500 h counts from, of both.
    by : Clock
        Of stamps without a zone.
    path : str
        For errors.

    Raises
    ------
    InputError
        Where one is no time, or watching ends before it begins.
    """
    begin = watched(since, "the begin of watching", first_s, by, path)
    end = watched(until, "the end of watching", first_s, by, path)
    window = Window(-np.inf if begin is None else begin, np.inf if end is None else end)
    if window.until_s < window.from_s:
        raise refused(path, "watching ends before it begins", BACKWARDS)
    return window


def clipped(runs: Allocations, from_s: float, until_s: float, running: str = "still running") -> Clipped:
    """Runs cut to a window: at risk from its begin, and censored at its end.

    Parameters
    ----------
    runs : Allocations
    from_s, until_s : float
        The window [s], in the seconds of the runs; infinite where there is none. A run that ends with its begin, or
        starts with its end, lies outside, so that windows that follow each other count every run's end once.
    running : str
        The cause of runs that are cut at the end.
    """
    kept = (runs.end_s > from_s) & (runs.start_s < until_s)
    inside = runs.only(kept)
    early, late = inside.start_s < from_s, inside.end_s > until_s
    cause, causes = _running(inside, late, running)
    inside = inside._replace(
        start_s=np.maximum(inside.start_s, from_s),
        end_s=np.minimum(inside.end_s, until_s),
        outcome=np.where(late, np.int32(Outcome.CENSORED), inside.outcome),
        cause=cause,
        causes=causes,
    )
    return Clipped(inside, kept, int((~kept).sum()), _facts(int(early.sum()), int(late.sum())))


def _running(runs: Allocations, late: Flags, running: str) -> tuple[Codes, tuple[str, ...]]:
    """Causes in which runs that are cut at the end are still running, whatever ended them later."""
    if not late.any():
        return runs.cause, runs.causes
    causes = runs.causes if running in runs.causes else (*runs.causes, running)
    return np.where(late, np.int32(causes.index(running)), runs.cause), causes


def _facts(early: int, late: int) -> tuple[str, ...]:
    said = []
    if early:
        said.append(f"{_runs(early)} that began before --since: at risk from then on.")
    if late:
        said.append(f"{_runs(late)} that went on after --until: censored there.")
    return tuple(said)


def _runs(count: int) -> str:
    return f"{count:,} run{'' if count == 1 else 's'}"

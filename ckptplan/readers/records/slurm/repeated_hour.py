"""Stamps in an hour that came twice: which of the two each means, by elapsed time and by the attempts around it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.fit.record import Codes
from ckptplan.readers.records.stamps import Clock, Flags, Floats, Stamps, is_repeated, to_utc

MOST_CHAINED = 20_000  # rows whose neighbours are asked: of a real record a few, those of one night a year
_CASES = np.array([(False, False), (False, True), (True, False), (True, True)])  # start and end in the second hour
_BACKWARDS = 1e9  # an end before its start; costs are seconds by which a reading is off
_OVERLAP = 900.0  # less than a change of clocks, which elapsed time would show
_SECOND = 1e-3  # what nothing decides is the first
_TIE = 1.0
_ROUNDED_S = 1.0


class Readings(NamedTuple):
    """Both times in UTC, and how many rows lay in an hour that came twice."""

    start_s: Floats
    end_s: Floats
    decided: int
    undecided: int  # the first was taken


class _Cases(NamedTuple):
    """Rows, one column for each of the cases; a case that a row cannot be costs without end."""

    start_s: Floats
    end_s: Floats
    cost: Floats

    def of(self, rows: NDArray[np.intp]) -> _Cases:
        return _Cases(self.start_s[rows], self.end_s[rows], self.cost[rows])


def read_twice(job: Codes, columns: tuple[Stamps, Stamps], elapsed_s: Floats, by: Clock, among: Flags) -> Readings:
    """Starts and ends of attempts on one clock.

    Parameters
    ----------
    job : array of int
        The same number for attempts of one job, in the order in which they were listed.
    columns : pair of Stamps
        Starts and ends.
    elapsed_s : array
        Time that Slurm says elapsed [s]; nan where it does not.
    by : Clock
    among : array of bool
        Rows that count.

    Returns
    -------
    Readings
        Of the two readings of a stamp the one that agrees with the elapsed time, lets the end follow the start, and
        lets the attempt begin after the one before has ended; if these decide nothing, the first.
    """
    start, end = columns
    starts, ends = to_utc(start, by), to_utc(end, by)
    twice = [is_repeated(stamps.seconds, by) & ~stamps.zoned & among for stamps in columns]
    unclear = twice[0] | twice[1]
    if not unclear.any():
        return Readings(starts, ends, 0, 0)
    rows = np.flatnonzero(unclear)
    near = np.flatnonzero(np.isin(job, job[rows]) & among & np.isfinite(starts))
    chained = len(near) <= MOST_CHAINED
    rows = np.union1d(rows, near) if chained else rows
    cases = _cases(rows, columns, (twice[0][rows], twice[1][rows]), elapsed_s[rows], by)
    totals = cases.cost.copy()
    if chained:
        at = np.searchsorted(rows, near)
        begin_s = np.where(twice[0][near], _change(starts[near], by), starts[near])
        written = np.column_stack([start.seconds, end.seconds])[near]
        for chain in _chains(job[near], begin_s, written[:, 0]):
            totals[at[chain]] = _with_neighbours(cases.of(at[chain]), written[chain])
    best = totals.argmin(axis=1)
    late = _CASES[best]
    starts[rows] = np.where(late[:, 0], cases.start_s[:, 2], starts[rows])
    ends[rows] = np.where(late[:, 1], _ends(end, by, rows), ends[rows])
    undecided = np.zeros(len(rows), bool)
    for column, mask in enumerate(twice):
        first, second = (totals[:, _CASES[:, column] == bit].min(axis=1) for bit in (False, True))
        undecided |= mask[rows] & (np.abs(second - first) < _TIE)
    return Readings(starts, ends, int(unclear.sum()) - int(undecided.sum()), int(undecided.sum()))


def _cases(
    rows: NDArray[np.intp], columns: tuple[Stamps, Stamps], twice: tuple[Flags, Flags], elapsed_s: Floats, by: Clock
) -> _Cases:
    """Every case of every row by itself; an end that is not known is the start and what elapsed, if that is known."""
    early, late = (
        [to_utc(Stamps(s.seconds[rows], s.zoned[rows]), by, later=bit) for s in columns] for bit in (False, True)
    )
    starts = np.where(_CASES[:, 0], late[0][:, None], early[0][:, None])
    ends = np.where(_CASES[:, 1], late[1][:, None], early[1][:, None])
    off = np.abs(ends - starts - elapsed_s[:, None])
    cost = (
        np.where(np.isfinite(off), off, 0.0) + np.where(ends < starts, _BACKWARDS, 0.0) + _SECOND * _CASES.sum(axis=1)
    )
    for column in (0, 1):
        cost[~twice[column][:, None] & _CASES[:, column]] = np.inf
    return _Cases(starts, np.where(np.isfinite(ends), ends, starts + elapsed_s[:, None]), cost)


def _ends(end: Stamps, by: Clock, rows: NDArray[np.intp]) -> Floats:
    return to_utc(Stamps(end.seconds[rows], end.zoned[rows]), by, later=True)


def _change(utc_s: Floats, by: Clock) -> Floats:
    """When the clocks were put back in the night of a time: attempts of that hour stay in the order of the list."""
    at = np.searchsorted(by.edges_s, utc_s, side="right")
    return by.edges_s[np.minimum(at, len(by.edges_s) - 1)]


def _chains(job: Codes, begin_s: Floats, written_s: Floats) -> list[NDArray[np.intp]]:
    """Rows of each job that has several, in order of time; rows with one start as it is written stand together."""
    pairs = np.column_stack([job, written_s])
    _, first, same = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    order = np.lexsort((first[same.reshape(-1)], begin_s, job))
    cuts = np.flatnonzero(np.diff(job[order])) + 1
    return [chain for chain in np.split(order, cuts) if len(chain) > 1]


def _with_neighbours(cases: _Cases, written_s: Floats) -> Floats:
    """For each case of each row the least cost of all attempts of the job together.

    Parameters
    ----------
    cases : _Cases
        Attempts of one job in order of time.
    written_s : array
        Their starts and ends as they are written.
    """
    count = len(written_s)
    forward, backward = cases.cost.copy(), np.zeros_like(cases.cost)
    passes = [_between(cases, written_s, row) for row in range(count - 1)]
    for row in range(1, count):
        forward[row] += (forward[row - 1][:, None] + passes[row - 1]).min(axis=0)
    for row in range(count - 2, -1, -1):
        backward[row] = ((cases.cost[row + 1] + backward[row + 1])[None, :] + passes[row]).min(axis=1)
    total: Floats = forward + backward
    return total


def _between(cases: _Cases, written_s: Floats, row: int) -> Floats:
    """What it costs that an attempt begins before the one before has ended: from its cases to those of the next."""
    (start, end), (next_start, next_end) = written_s[row], written_s[row + 1]
    if start == next_start and (end == next_end or np.isnan(end) or np.isnan(next_end)):  # one attempt, written twice
        return np.where(_CASES[:, None, 0] == _CASES[None, :, 0], 0.0, _OVERLAP)
    early = cases.start_s[row + 1][None, :] < cases.end_s[row][:, None] - _ROUNDED_S
    return np.where(early, _OVERLAP, 0.0)

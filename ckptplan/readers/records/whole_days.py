"""Dates without a time of day: the events of one day are spread evenly within it.

At midnight all of them would be one event. Spread, each counts, and none is more than a day off.
"""

from __future__ import annotations

import numpy as np

from ckptplan.readers.records.stamps import Clock, Flags, Floats, local_to_utc

_DAY_S = 86_400.0
_PIECE = 500_000  # rows


def spread(midnight_s: Floats, rows: Flags, by: Clock) -> Floats:
    """Times in UTC for some rows, nan for the others: the k-th of n events at (k - 1/2) / n of its day.

    Parameters
    ----------
    midnight_s : ndarray
        The begin of each day on the wall clock, as though it were UTC. [s]
    rows : ndarray of bool
        Which rows are dates; those of one day are taken in their order.
    by : Clock
        Whose day it is: one in which clocks change has 23 or 25 hours.
    """
    found = np.full(len(midnight_s), np.nan)
    if not rows.any():
        return found
    number = np.rint(midnight_s[rows] / _DAY_S).astype(np.int32)
    first = int(number.min())
    of = number - np.int32(first)
    count = np.bincount(of)
    order = np.argsort(of, kind="stable")
    place = np.empty(len(of))
    place[order] = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    days_s: Floats = (first + np.arange(len(count) + 1, dtype=np.float64)) * _DAY_S
    edges_s = local_to_utc(days_s, by)
    found[rows] = edges_s[of] + (place + 0.5) / count[of] * np.diff(edges_s)[of]
    return found


def move(start_s: Floats, end_s: Floats, spread_s: Floats, shifted: Flags) -> None:
    """Puts starts where they are spread to: an end that is known to a day, or by its length, moves along.

    An end with a time of day stays, and no start comes after it. Both arrays are changed, piece by piece.
    """
    for first in range(0, len(start_s), _PIECE):
        rows = slice(first, first + _PIECE)
        start, end, to = start_s[rows], end_s[rows], spread_s[rows]
        there = np.isfinite(to)
        end[there & shifted[rows]] += (to - start)[there & shifted[rows]]
        start[there] = np.fmin(to, end)[there]

"""Dates without a time of day: the events of one day are spread evenly within it.

At midnight all of them would be one event. Spread, each counts, and none is more than a day off.
"""

from __future__ import annotations

import numpy as np

from ckptplan.readers.stamps import Clock, Flags, Floats, local_to_utc

_DAY_S = 86_400.0


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
    days, of, count = np.unique(midnight_s[rows], return_inverse=True, return_counts=True)
    order = np.argsort(of, kind="stable")
    first = np.cumsum(count) - count
    place = np.empty(len(of))
    place[order] = np.arange(len(of)) - np.repeat(first, count)
    begin_s, end_s = local_to_utc(days, by), local_to_utc(days + _DAY_S, by)
    found[rows] = begin_s[of] + (place + 0.5) / count[of] * (end_s - begin_s)[of]
    return found


def moved(start_s: Floats, end_s: Floats, spread_s: Floats, shifted: Flags) -> tuple[Floats, Floats]:
    """Starts and ends with the spread starts: an end that is known to a day, or by its length, moves along.

    An end with a time of day stays, and no start comes after it.
    """
    there = np.isfinite(spread_s)
    by_s = np.where(there, spread_s - start_s, 0.0)
    moved_end_s = np.where(shifted, end_s + by_s, end_s)
    return np.where(there, np.fmin(spread_s, moved_end_s), start_s), moved_end_s

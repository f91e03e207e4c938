"""The best interval for recorded gaps between failures, taken as they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import effective_stall, interval_floor, meets_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import Shares
from ckptplan.interval.elementary import floor_to_whole
from ckptplan.interval.recovery import recovery_parts

_CONTINUOUS = 1e-13  # periods over a cycle below which all of a gap is covered, to all digits
_SLICE = 1_000_000  # candidates sorted at a time


class EmpiricalOptimum(NamedTuple):
    """Best interval for recorded gaps, with what to hold it against.

    The interval overfits few gaps: goodput jumps at each of them. ``young_interval`` needs their mean only. [s, 1]
    """

    interval_s: float
    goodput: float
    young_interval_s: float  # from the mean of the gaps, raised to the floor
    young_goodput: float  # of it, on the same gaps
    gaps: int


class _Record(NamedTuple):
    """Recorded gaps, and the cycle that they make; per failure. [s]."""

    durable: Floats  # what is left of each gap once training and the first flush may start, not negative
    length: float  # C
    recovery: float
    running: float


def empirical_shares(
    interval: npt.ArrayLike,
    gaps: npt.ArrayLike,
    stall: float,
    *,
    downtime: float = 0.0,
    restart: float = 0.0,
    strike: Strike = Strike.DR,
    flush: float = 0.0,
    speed: float = 1.0,
    in_flight: float = 1.0,
) -> Shares:
    """Shares of wall time at any interval, if the gaps to come are like the recorded ones.

    Parameters
    ----------
    interval : array_like
        Work between two saves, the save excluded, W. [s]
    gaps : array_like
        Recorded gaps between failures of the whole job, at least one, all positive. [s]
    stall : float
        Time one save blocks training, d. [s]
    downtime, restart : float
        Per failure, D and R. [s]
    strike : Strike
        Where the clock of a gap starts: with training (safe), with the restart (R), or at the failure (DR).
    flush, speed : float
        Background flush F of one save, and training speed during it, om. [s, 1]
    in_flight : float
        Saves whose flush may be under way at one time. [1]

    Returns
    -------
    Shares
        nan for an interval below `interval_floor` and for input outside its domain.

    Notes
    -----
    The renewal model with the empirical law: ``W mean(floor((x - c)/P))/C``, with c and C as in
    `ckptplan.interval.renewal.renewal_shares`. Inclusive: a save that is durable at the moment of the failure counts,
    and a quotient within 1e-9 of a whole number is that number.
    """
    record = _record(gaps, downtime, restart, strike, speed * flush)
    W = np.asarray(interval, dtype=np.float64)
    floor = float(interval_floor(flush, speed, in_flight=in_flight, stall=stall))
    save = float(effective_stall(stall, flush, speed))
    with np.errstate(all="ignore"):
        valid = meets_floor(W, floor) & (W >= 0.0) & _in_domain(stall, downtime, restart, flush, speed)
        period = W + save
        covered = np.array([_covered(record, p) for p in period.reshape(-1)]).reshape(W.shape)
        useful_part = np.where(save == 0.0, 1.0, np.where(np.isposinf(period), 0.0, W / period))
        useful, kept = useful_part * covered, (1.0 - useful_part) * covered
        rework = np.maximum(record.running - covered, 0.0)
        parts = (useful, kept, rework, np.full(W.shape, record.recovery))
        return Shares(*(np.where(valid, part / record.length, np.nan) for part in parts))


def empirical_goodput(
    interval: npt.ArrayLike,
    gaps: npt.ArrayLike,
    stall: float,
    *,
    downtime: float = 0.0,
    restart: float = 0.0,
    strike: Strike = Strike.DR,
    flush: float = 0.0,
    speed: float = 1.0,
    in_flight: float = 1.0,
) -> Floats:
    """Useful work over wall time at any interval, if the gaps to come are like the recorded ones.

    Parameters
    ----------
    interval, gaps, stall, downtime, restart, strike, flush, speed, in_flight
        As for `empirical_shares`. [s, 1]

    Returns
    -------
    ndarray
        Goodput; it jumps at the periods ``(x - c)/j``. [1]
    """
    return empirical_shares(
        interval,
        gaps,
        stall,
        downtime=downtime,
        restart=restart,
        strike=strike,
        flush=flush,
        speed=speed,
        in_flight=in_flight,
    ).useful


def empirical_interval(
    gaps: npt.ArrayLike,
    stall: float,
    *,
    downtime: float = 0.0,
    restart: float = 0.0,
    strike: Strike = Strike.DR,
    flush: float = 0.0,
    speed: float = 1.0,
    in_flight: float = 1.0,
) -> EmpiricalOptimum:
    """Interval that maximises the goodput of `empirical_goodput`, exactly.

    Parameters
    ----------
    gaps, stall, downtime, restart, strike, flush, speed, in_flight
        As for `empirical_shares`. [s, 1]

    Returns
    -------
    EmpiricalOptimum
        nan for an interval if no gap leaves room for a save, or for input outside its domain.

    Notes
    -----
    Between two of the periods ``(x - c)/j`` goodput grows with P, so its maximum is at one of them. In falling order
    the r-th of them has exactly r whole periods in the record, ties aside, so that one sort does. Periods below
    ``d_eff/(1 - g/g0)``, with any goodput g reached and g0 that without a stall, cannot reach g.
    """
    floor = float(interval_floor(flush, speed, in_flight=in_flight, stall=stall))
    save = float(effective_stall(stall, flush, speed))
    record = _record(gaps, downtime, restart, strike, speed * flush)
    count = int(record.durable.size)
    if not _in_domain(stall, downtime, restart, flush, speed) or np.isnan(floor):
        return EmpiricalOptimum(np.nan, np.nan, np.nan, np.nan, count)
    young = max(float(np.sqrt(2.0 * save * np.mean(np.asarray(gaps, dtype=np.float64)))), floor)

    def goodput(work: float) -> float:
        return float(
            empirical_goodput(
                work,
                gaps,
                stall,
                downtime=downtime,
                restart=restart,
                strike=strike,
                flush=flush,
                speed=speed,
                in_flight=in_flight,
            )
        )

    best = young if save == 0.0 else _best_period(record.durable, save, floor, young + save) - save
    best = max(best, floor)
    if goodput(best) <= 0.0:
        return EmpiricalOptimum(np.nan, 0.0, young, goodput(young), count)
    return EmpiricalOptimum(best, goodput(best), young, goodput(young), count)


def _record(gaps: npt.ArrayLike, downtime: float, restart: float, strike: Strike, age: float) -> _Record:
    """The gaps and the cycle under a convention; a gap that is not positive is a mistake of the caller."""
    x = np.asarray(gaps, dtype=np.float64).reshape(-1)
    if x.size == 0 or not np.all((x > 0.0) & np.isfinite(x)):
        raise ValueError("recorded gaps: at least one, all positive and finite")
    mean = float(np.mean(x))
    unstruck, start = (float(part) for part in recovery_parts(downtime, restart, strike))
    struck = float(np.mean(np.minimum(x, start)))
    return _Record(np.maximum(x - (start + age), 0.0), mean + unstruck, unstruck + struck, mean - struck)


def _covered(record: _Record, period: float) -> float:
    """Time per failure that ends in a durable save, also in the limit of periods of 0 and infinity."""
    if period < _CONTINUOUS * record.length:
        return float(np.mean(record.durable))
    if np.isposinf(period):
        return 0.0
    return period * float(np.mean(floor_to_whole(record.durable / period)))


def _in_domain(stall: float, downtime: float, restart: float, flush: float, speed: float) -> bool:
    """Whether the scalars have a meaning."""
    return min(stall, downtime, restart, flush) >= 0.0 and 0.0 <= speed <= 1.0 and bool(np.isfinite(stall + flush))


def _best_period(durable: Floats, save: float, floor: float, young: float) -> float:
    """Best of the periods ``x/j`` and of the least allowed one, in slices of falling period."""
    x = durable[durable > 0.0]
    if x.size == 0:
        return young
    total, least = float(np.sum(x)), floor + save
    start = max(young, least)
    best, most = start, (start - save) * _whole(x, start)
    if (least - save) * _whole(x, least) > most:
        best, most = least, (least - save) * _whole(x, least)
    high = float(np.max(x))
    lowest = max(least, save / (1.0 - most / total))
    while high > lowest:
        # All periods of a slice are in memory at once, about _SLICE of them.
        low = max(lowest, total / (total / high + _SLICE))
        if (high - save) * _whole(x, low) >= most:
            period, work = _best_of_slice(x, save, low, high)
            if work > most:
                best, most = period, work
                lowest = max(least, save / (1.0 - most / total))
        high = low
    return best


def _whole(x: Floats, period: float) -> float:
    """Whole periods in the record."""
    return float(np.sum(floor_to_whole(x / period)))


def _best_of_slice(x: Floats, save: float, low: float, high: float) -> tuple[float, float]:
    """Best period x/j from low to high, and ``W`` times the whole periods of the record at it."""
    first = np.maximum(np.ceil(x / high * (1.0 - 1e-12)), 1.0)
    number = np.maximum(np.floor(x / low * (1.0 + 1e-12)) - first + 1.0, 0.0).astype(np.int64)
    within = np.arange(int(np.sum(number))) - np.repeat(np.cumsum(number) - number, number)
    period = np.sort(np.repeat(x, number) / (np.repeat(first, number) + within))[::-1]
    if not period.size:
        return high, -np.inf
    # Those counted in the slice, and those of longer periods, which the first indices have left out.
    work = (period - save) * (float(np.sum(first - 1.0)) + np.arange(1.0, period.size + 1.0))
    chosen = int(np.argmax(work))
    return float(period[chosen]), float(work[chosen])

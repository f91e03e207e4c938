"""The best interval when the gaps between failures follow any law, for many scenarios at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import LawName, Strike
from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.renewal_sum import GapLaw, durable_saves, gap_law

_ITERATIONS = 80
_ENOUGH = 1e-11  # product of the last two steps in log W: the secant's next step is smaller than this
_SEVERAL = 0.5  # Young's period over the standard deviation of the law, from which on there may be several maxima
_PEAKS = 3  # of them refined: those next to the best points of the scan
_LONGEST = 700.0  # |log W/M|, so that a search without end stays in the range of doubles


class Problem(NamedTuple):
    """Scenarios in units of the mean gap, flat. [1]."""

    law: GapLaw
    save: Floats  # d_eff
    offset: Floats  # c: the k-th save is durable at age c + k P
    floor: Floats  # least W, from `interval_floor`

    def take(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Problem:
        """Some of the scenarios."""
        return Problem(self.law.take(rows), self.save[rows], self.offset[rows], self.floor[rows])


def renewal_interval(
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    name: LawName,
    shape: npt.ArrayLike = 1.0,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1,
) -> Floats:
    """Work between saves that maximises goodput when the gaps between failures follow a given law.

    Parameters
    ----------
    stall : array_like
        Time one save blocks training, d. [s]
    mtbf : array_like
        Mean gap between failures of the whole job, M. [s]
    name : LawName
        Family of the law; not ``recorded``.
    shape : array_like
        Shape of Weibull and gamma, sigma of the log-normal. [1]
    downtime, restart, strike, flush, speed, in_flight
        As for `ckptplan.interval.renewal.renewal_shares`. Unlike under exponential failures, the recovery and the
        flush move the optimum: training starts at another age. [s, 1]

    Returns
    -------
    ndarray
        Work between two saves, not below `interval_floor`; relative error below 1e-9. nan for input outside its
        domain, and where no save ever becomes durable. [s]

    Notes
    -----
    The root of ``n + W dn/dP = 0`` with ``n = sum_k S(c + k P)``, found by the secant rule in log W within a bracket,
    from Young's interval for the mean residual life at age c. Where saves are rare and the law is sharp, goodput has
    several maxima: there the interval is scanned first. Exponential failures: `exact_interval`.
    """
    arrays = (stall, mtbf, shape, downtime, restart, flush, speed, in_flight)
    d, M, k, D, R, F, om, b = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in arrays))
    with np.errstate(all="ignore"):
        if LawName(name) is LawName.EXPONENTIAL:
            best = np.maximum(exact_interval(effective_stall(d, F, om), M), interval_floor(F, om, in_flight=b, stall=d))
            return np.where(_valid((d, M, D, R, F, om)), best, np.nan)
        return interval_under(gap_law(LawName(name), k.reshape(-1)), (d, M, D, R, F, om, b), strike)


def interval_under(law: GapLaw, arguments: tuple[Floats, ...], strike: Strike) -> Floats:
    """Best interval under any law of the gaps.

    Parameters
    ----------
    law : GapLaw
        The law; its elements are those of the arguments, flattened.
    arguments : tuple of ndarray
        d, M, D, R, F [s], om and the saves in flight [1], in one shape.
    strike : Strike
        As for `renewal_interval`.

    Returns
    -------
    ndarray
        Work between two saves, in the shape of the arguments. [s]
    """
    d, M, D, R, F, om, b = (np.ravel(value) for value in arguments)
    floor = interval_floor(F, om, in_flight=b, stall=d) / M
    start = recovery_parts(D, R, strike).struck / M
    # The sums need finite numbers; the parameters of a law are nan where they are outside their domain.
    rows = np.flatnonzero(_valid((d, M, D, R, F, om)) & np.isfinite(sum(law.parameters) + law.sharpness + floor))
    problem = Problem(law, effective_stall(d, F, om) / M, start + om * F / M, floor).take(rows)
    best = np.full(M.shape, np.nan)
    best[rows] = best_work(problem) * M[rows]
    return best.reshape(arguments[0].shape)


def _valid(arguments: tuple[Floats, ...]) -> npt.NDArray[np.bool_]:
    """Whether a scenario is in the domain of the model."""
    d, M, D, R, F, om = arguments
    valid = (d >= 0.0) & (M > 0.0) & np.isfinite(M) & (D >= 0.0) & (R >= 0.0)
    return valid & (F >= 0.0) & (om >= 0.0) & (om <= 1.0) & np.isfinite(d + D + R + F)


def best_work(problem: Problem) -> Floats:
    """Best work between saves over the mean gap.

    Parameters
    ----------
    problem : Problem
        Valid scenarios.

    Returns
    -------
    ndarray
        W/M, at least the floor; nan where no save ever becomes durable. [1]
    """
    work = np.array(problem.floor)  # right without a stall: then goodput falls with W
    residual = _residual(problem)
    young = np.sqrt(2.0 * problem.save * residual)
    work[~(young >= 0.0)] = np.nan
    several = (problem.law.sharpness > 1.0) & (young * problem.law.sharpness > _SEVERAL * residual)
    plain = np.flatnonzero((young > 0.0) & ~several)
    best = _refine(problem.take(plain), young[plain], np.zeros(plain.size), np.full(plain.size, np.inf))
    work[plain] = np.maximum(best, problem.floor[plain])
    scanned = np.flatnonzero((young > 0.0) & several)
    if scanned.size:
        work[scanned] = _scan(problem.take(scanned), residual[scanned])
    return work


def _residual(problem: Problem) -> Floats:
    """Mean residual life where training starts; far in the tail, where its integral has no digits left, 1/hazard."""
    alive, fall = problem.law.curve(problem.offset, *problem.law.parameters)
    left = 1.0 - problem.law.integral(problem.offset, *problem.law.parameters)
    return np.where(problem.offset == 0.0, 1.0, np.where(left > 1e-8, left / alive, problem.offset * alive / fall))


def _gain(problem: Problem, work: Floats) -> tuple[Floats, Floats]:
    """``W n``, which is proportional to goodput, and minus its slope, ``-d log(W n)/d log W``."""
    period = work + problem.save
    saves, fall = durable_saves(problem.law, period, problem.offset)
    return work * saves, work / period * (fall / saves) - 1.0


def _refine(problem: Problem, start: Floats, low: Floats, high: Floats) -> Floats:
    """Root of the slope in (low, high), where it grows from below 0 to above: the secant rule in log W."""
    x, low, high = np.log(start), np.log(low), np.log(high)
    period = np.exp(x) + problem.save
    rate = 0.5 * period + problem.save / period  # about d slope/d log W, for the first step
    before, slope_before, last_step = np.full_like(x, np.nan), np.full_like(x, np.nan), np.ones_like(x)
    rows = np.arange(x.size)
    for _ in range(_ITERATIONS):
        if not rows.size:
            break
        here = x[rows]
        slope = _gain(problem.take(rows), np.exp(here))[1]
        low[rows] = np.where(slope < 0.0, here, low[rows])
        high[rows] = np.where(slope > 0.0, here, high[rows])
        secant = (slope - slope_before[rows]) / (here - before[rows])
        rate[rows] = np.where(secant > 0.0, secant, rate[rows])
        step = _within(here, -slope / rate[rows], low[rows], high[rows])
        step = np.where(slope == 0.0, 0.0, step)
        before[rows], slope_before[rows], x[rows] = here, slope, here + step
        going = ~(np.abs(step * last_step[rows]) < _ENOUGH) & (np.abs(x[rows]) < _LONGEST)
        last_step[rows] = step
        rows = rows[going]
    return np.where(np.abs(x) < _LONGEST, np.exp(x), np.nan)


def _within(x: Floats, step: Floats, low: Floats, high: Floats) -> Floats:
    """A step that stays in the bracket: else half of it, or a factor of e towards an open end."""
    outside = ~((x + step > low) & (x + step < high)) | (np.abs(step) > 1.0)
    half = 0.5 * (low + high) - x
    bounded = np.where(np.isfinite(half), half, np.clip(step, -1.0, 1.0))
    return np.where(outside, bounded, step)


def _scan(problem: Problem, residual: Floats) -> Floats:
    """Best of the maxima next to the highest points of a grid of intervals, and of the floor."""
    grid = _grid(problem, residual)
    columns = np.tile(np.arange(residual.size), len(grid))
    value = _gain(problem.take(columns), grid.reshape(-1))[0].reshape(grid.shape)
    left = np.vstack((np.full_like(residual, -1.0), value[:-2]))
    peaks = np.where((value[:-1] >= left) & (value[:-1] >= value[1:]), value[:-1], -1.0)
    best, most = grid[0], value[0]  # the floor, if it is above the start of the grid
    for _ in range(_PEAKS):
        found = np.flatnonzero(np.max(peaks, axis=0) > 0.0)
        row = np.argmax(peaks, axis=0)[found]
        low, high = grid[np.maximum(row - 1, 0), found], grid[row + 1, found]
        part = problem.take(found)
        work = _refine(part, np.sqrt(low * high), low, high)
        gain = _gain(part, work)[0]
        better = gain > most[found]
        best[found[better]], most[found[better]] = work[better], gain[better]
        peaks[row, found] = -1.0
    return np.where(most > 0.0, best, np.nan)


def _grid(problem: Problem, residual: Floats) -> Floats:
    """Intervals to scan, from the floor or below any maximum to beyond all of them, one row each."""
    points = int(min(64 + 16 * np.max(problem.law.sharpness), 512))
    first = problem.offset + problem.save
    alive, fall = problem.law.curve(first, *problem.law.parameters)
    patience = first * alive / fall  # 1/hazard at the first save: with few saves per failure, a maximum is near there
    least = 0.02 * np.minimum(np.sqrt(problem.save), 1.0) * residual
    low = np.maximum(problem.floor, np.fmin(least, 0.1 * patience))
    high = 10.0 * np.maximum(residual, low)
    return np.asarray(low * (high / low) ** np.linspace(0.0, 1.0, points)[:, np.newaxis])

"""Verified saves: silent errors, found by a verification before each save, beside failures that stop the job.

A pattern is m chunks of equal work, each followed by a verification, then one save. A failure or a failed
verification goes back to the last save and starts the pattern again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import decay_deficit, decay_ratio
from ckptplan.interval.recovery import recovery_factor, recovery_parts, recovery_share


class VerifiedShares(NamedTuple):
    """Shares of wall time [1], which sum to one; verifications and saves of aborted attempts count as rework."""

    useful: Floats
    save: Floats
    verify: Floats
    rework_silent: Floats  # attempts that a verification ended
    rework_failstop: Floats  # attempts that a failure ended
    restart: Floats

    @property
    def rework(self) -> Floats:
        """Share of wall time in attempts that were thrown away."""
        return np.asarray(self.rework_silent + self.rework_failstop)

    @property
    def overhead(self) -> Floats:
        """Wall time over useful work, minus one; infinite where nothing useful is left."""
        with np.errstate(all="ignore"):
            return np.asarray((self.save + self.verify + self.rework + self.restart) / self.useful)

    @property
    def goodput(self) -> Floats:
        """Useful work over wall time."""
        return self.useful


class VerifiedFirstOrder(NamedTuple):
    """First-order interval [s], its overhead [1], and the best number of verifications per save [1]."""

    interval_s: Floats
    overhead: Floats  # without restarts, which no interval changes
    verifications: Floats  # the best whole number
    verifications_continuous: Floats  # ``sqrt((C/V) ls/(ls + lf))``, may be below 1


class _Pattern(NamedTuple):
    """The numbers of one pattern; nan where the input is outside its domain."""

    work: Floats  # of one chunk, w = W/m [s]
    verify: Floats  # V [s]
    stall: Floats  # C [s]
    failstop: Floats  # lf [1/s]
    silent: Floats  # ls [1/s]
    chunks: Floats  # m [1]
    running: Floats  # 1/A, from the recovery after a failure [1]
    restart: Floats  # (A - 1)/A [1]
    silent_restart: Floats  # mean recovery after a failed verification, over A [s]


class _Attempt(NamedTuple):
    """Means over one attempt at a pattern, finite for any rate."""

    success: Floats  # probability that the save is reached and finished [1]
    time: Floats  # until the save is done or the attempt ends [s]
    silent: Floats  # probability that a verification ends it [1]
    lost_silent: Floats  # time of attempts that a verification ends [s]
    lost_failstop: Floats  # time of attempts that a failure ends [s]


def verified_shares(
    interval: npt.ArrayLike,
    verify: npt.ArrayLike,
    stall: npt.ArrayLike,
    rate_failstop: npt.ArrayLike,
    rate_silent: npt.ArrayLike,
    *,
    verifications: npt.ArrayLike = 1,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> VerifiedShares:
    """Exact shares of wall time with verified saves, under exponential failures and silent errors.

    Parameters
    ----------
    interval : array_like
        Work between two saves, verifications and the save excluded, W, positive. [s]
    verify, stall : array_like
        Time of one verification, V, and time one save blocks training, C. [s]
    rate_failstop : array_like
        Rate of failures that stop the job, lf: they strike work, verifications and saves. [1/s]
    rate_silent : array_like
        Rate of silent errors, ls: they hit work only, and the next verification finds them all. [1/s]
    verifications : array_like
        Chunks of equal work between two saves, each verified, m; a whole number. [1]
    downtime, restart : array_like
        D, after a failure only, and R, after a failure or a failed verification. [s]
    strike : Strike
        Which part of a recovery a failure may strike.

    Returns
    -------
    VerifiedShares
        nan for input outside its domain.

    Notes
    -----
    Benoit et al. 2016, for recoveries that nothing strikes; those that failures strike enter through the factor A
    of `recovery_factor` after a failure, and through ``A (1 - exp(-lf R))/lf`` after a failed verification, which
    has no downtime unless a failure strikes it. The sum over chunks is geometric and taken in closed form.
    """
    p = _pattern((interval, verify, stall, rate_failstop, rate_silent, verifications, downtime, restart), strike)
    with np.errstate(all="ignore"):
        a = _attempt(p)
        mean = a.time + a.silent * p.silent_restart  # of an attempt with its recovery, over A
        per_mean = p.running / mean
        kept = a.success * per_mean
        return VerifiedShares(
            useful=p.chunks * p.work * kept,
            save=p.stall * kept,
            verify=p.chunks * p.verify * kept,
            rework_silent=a.lost_silent * per_mean,
            rework_failstop=a.lost_failstop * per_mean,
            restart=(p.restart * a.time + a.silent * p.silent_restart) / mean,
        )


def verified_goodput(
    interval: npt.ArrayLike,
    verify: npt.ArrayLike,
    stall: npt.ArrayLike,
    rate_failstop: npt.ArrayLike,
    rate_silent: npt.ArrayLike,
    *,
    verifications: npt.ArrayLike = 1,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> Floats:
    """Useful work over wall time with verified saves; arguments as for `verified_shares`. [1]."""
    costs = (verify, stall, rate_failstop, rate_silent)
    return verified_shares(
        interval, *costs, verifications=verifications, downtime=downtime, restart=restart, strike=strike
    ).useful


def verified_time(
    interval: npt.ArrayLike,
    verify: npt.ArrayLike,
    stall: npt.ArrayLike,
    rate_failstop: npt.ArrayLike,
    rate_silent: npt.ArrayLike,
    *,
    verifications: npt.ArrayLike = 1,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> Floats:
    """Expected wall time until a pattern is saved; infinite beyond doubles; arguments as for `verified_shares`. [s]."""
    costs = (verify, stall, rate_failstop, rate_silent)
    goodput = verified_goodput(
        interval, *costs, verifications=verifications, downtime=downtime, restart=restart, strike=strike
    )
    with np.errstate(all="ignore"):
        return np.asarray(np.asarray(interval, dtype=np.float64) / goodput)


def verified_first_order(
    verify: npt.ArrayLike,
    stall: npt.ArrayLike,
    rate_failstop: npt.ArrayLike,
    rate_silent: npt.ArrayLike,
    *,
    verifications: npt.ArrayLike = 1,
) -> VerifiedFirstOrder:
    """First-order interval between verified saves, its overhead, and how often to verify.

    Parameters
    ----------
    verify, stall, rate_failstop, rate_silent, verifications
        As for `verified_shares`; interval and overhead are for this m. [s, 1/s, 1]

    Returns
    -------
    VerifiedFirstOrder
        The best number of verifications is infinite where they cost nothing and silent errors occur; nan for input
        outside its domain.

    Notes
    -----
    Aupy et al. 2013 and Benoit et al. 2016: ``W = sqrt((m V + C)/b)``, ``H = 2 sqrt((m V + C) b)`` with ``b = ls
    (1 + 1/m)/2 + lf/2``: a silent error costs the whole chunk, a failure half of what it strikes. m + 1 is better
    than m iff ``m (m + 1) < (C/V) ls/(ls + lf)``. Valid for ``m V + C`` far below ``1/(ls + lf)``.
    """
    arrays = (verify, stall, rate_failstop, rate_silent, verifications)
    V, C, lf, ls, m = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in arrays))
    valid = (V >= 0.0) & (C >= 0.0) & (lf >= 0.0) & (ls >= 0.0) & (m >= 1.0) & (m == np.floor(m))
    with np.errstate(all="ignore"):
        cost, loss = m * V + C, 0.5 * (ls * (1.0 + 1.0 / m) + lf)
        W = np.where(cost == 0.0, 0.0, np.sqrt(cost / loss))
        square = np.where((ls == 0.0) | (C == 0.0), 0.0, (C / V) * (ls / (ls + lf)))
        best = np.maximum(1.0, np.ceil(2.0 * square / (1.0 + np.sqrt(1.0 + 4.0 * square))))
        # The root is rounded: let the condition itself decide between neighbours.
        best = np.where((best > 1.0) & ((best - 1.0) * best >= square), best - 1.0, best)
        best = np.where(best * (best + 1.0) < square, best + 1.0, best)
        best = np.where(np.isposinf(square), np.inf, best)
        values = (W, 2.0 * np.sqrt(cost * loss), best, np.sqrt(square))
        return VerifiedFirstOrder(*(np.where(valid, value, np.nan) for value in values))


def _pattern(arguments: tuple[npt.ArrayLike, ...], strike: Strike) -> _Pattern:
    """Interval, V, C, lf, ls, m, D and R in one shape, with what their recoveries cost."""
    W, V, C, lf, ls, m, D, R = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in arguments))
    valid = (W > 0.0) & (V >= 0.0) & (C >= 0.0) & (lf >= 0.0) & (ls >= 0.0) & (m >= 1.0) & (m == np.floor(m))
    with np.errstate(all="ignore"):
        M = 1.0 / lf
        running = 1.0 / recovery_factor(M, D, R, strike)
        silent_restart = silent_recovery(lf, D, R, strike)
        return _Pattern(
            np.where(valid, W / m, np.nan), V, C, lf, ls, m, running, recovery_share(M, D, R, strike), silent_restart
        )


def silent_recovery(failstop: Floats, downtime: Floats, restart: Floats, strike: Strike) -> Floats:
    """Mean recovery after a failed verification, over A: no downtime, unless a failure strikes the restart. [s]."""
    unstruck, struck = recovery_parts(0.0, restart, strike)
    return np.asarray(
        unstruck / recovery_factor(1.0 / failstop, downtime, restart, strike) + _exposed(failstop, struck)
    )


def _attempt(p: _Pattern) -> _Attempt:
    """Means over one attempt; every difference is taken in closed form, so that tiny rates keep full precision.

    With ``c = lf (w + V) + ls w`` chunk i is reached with probability ``exp(-i c)``. The sum over i is ``S`` and the
    mean of i under these weights ``((1 - q(m c)) - (1 - q(c)))/c`` with q from `decay_ratio`.
    """
    u = p.work + p.verify
    y, z = p.failstop * u, p.silent * p.work
    c = y + z
    S = p.chunks * _mean_survival(p.chunks * c) / _mean_survival(c)
    index = mean_index(p.chunks, c)
    at_save = np.exp(-p.chunks * c)
    chunk, save = _exposed(p.failstop, u), _exposed(p.failstop, p.stall)
    silent = -np.exp(-y) * np.expm1(-z)
    x = p.failstop * p.stall
    # of a failure after a time t in a span: the mean of t where it falls into it, and the chunks before
    in_chunks = S * (chunk * decay_deficit(y) - np.expm1(-y) * u * index)
    in_save = at_save * (save * decay_deficit(x) - np.expm1(-x) * p.chunks * u)
    return _Attempt(
        success=np.exp(-p.chunks * c - x),
        time=S * chunk + at_save * save,
        silent=S * silent,
        lost_silent=S * silent * u * (index + 1.0),
        lost_failstop=in_chunks + in_save,
    )


def mean_index(chunks: Floats, c: Floats) -> Floats:
    """Mean of i = 0 .. m - 1 under weights ``exp(-i c)``. [1]."""
    return np.where(c == 0.0, 0.5 * (chunks - 1.0), (decay_deficit(chunks * c) - decay_deficit(c)) / c)


def _mean_survival(x: Floats) -> Floats:
    """``(1 - exp(-x))/x``, 1 at 0. [1]."""
    return np.asarray(1.0 / (x + decay_ratio(x)))


def _exposed(rate: Floats, span: Floats) -> Floats:
    """Mean time until a failure or the end of a span, ``(1 - exp(-rate span))/rate``. [s]."""
    return span * _mean_survival(rate * span)

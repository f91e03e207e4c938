"""A finite amount of work: expected time, its variance, failures and saves on the way, and the best pieces."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import expm1_minus, expm1_minus_two
from ckptplan.interval.finite_pieces import FinitePlan, best_finite_plan
from ckptplan.interval.finite_process import FiniteRun, finite_run
from ckptplan.interval.recovery import recovery_factor

__all__ = [
    "Counts",
    "FinitePlan",
    "FiniteRun",
    "best_finite_plan",
    "expected_counts",
    "expected_time",
    "finite_run",
    "stretch_variance",
    "time_variance",
]


class Counts(NamedTuple):
    """Expected numbers of one run [1]; saves started are those made durable and those aborted."""

    failures: Floats
    saves_durable: Floats
    saves_aborted: Floats


def expected_time(
    work: npt.ArrayLike,
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1.0,
) -> Floats:
    """Expected wall time of a finite amount of work: a save after every interval, none after the last piece.

    Parameters
    ----------
    work, interval, stall, mtbf, downtime, restart, strike, flush, speed, in_flight
        As for `finite_run`. [s, 1]

    Returns
    -------
    ndarray
        Expected wall time; infinity where it exceeds the range of doubles. [s]

    Notes
    -----
    ``A M [n (exp(P/M) - 1) exp(om F/M) + exp(r/M) - 1]``: Daly 2006, Herault and Robert 2015 for F = 0; with a
    flush, from the recursion over the saves that remain, in the process of Vaidya 1997.
    """
    run = finite_run(
        work,
        interval,
        stall,
        mtbf,
        downtime=downtime,
        restart=restart,
        strike=strike,
        flush=flush,
        speed=speed,
        in_flight=in_flight,
    )
    with np.errstate(over="ignore"):
        return np.asarray(recovery_factor(mtbf, downtime, restart, strike) * _time_in_training(run))


def time_variance(
    work: npt.ArrayLike,
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    recovery: npt.ArrayLike = 0.0,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1.0,
) -> Floats:
    """Variance of the time of `expected_time`.

    Parameters
    ----------
    work, interval, stall, mtbf, downtime, restart, strike, flush, speed, in_flight
        As for `finite_run`. [s, 1]
    recovery : array_like
        Recovery per failure that no failure strikes, beside D and R. [s]

    Returns
    -------
    ndarray
        Variance; relative error about 1e-15 times ``1 + (om F + struck recovery)/P``. [s^2]

    Notes
    -----
    The Laplace transform of the time factors into those of single stretches (`FiniteRun.stretches`), so its
    variance is the weighted sum of theirs. For one of length ``x M``, with ``o = exp(x) - 1``, a loss of U per
    failure besides the work, and ``E2, E3`` the exponential less its first two and three terms, it is
    ``M^2 (2 E3 + E2^2) + 2 (1 + o) M E2 U + o (1 + o) U^2``: no term is negative.
    """
    run = finite_run(
        work,
        interval,
        stall,
        mtbf,
        downtime=downtime,
        restart=restart,
        strike=strike,
        flush=flush,
        speed=speed,
        in_flight=in_flight,
    )
    extra = np.asarray(recovery, dtype=np.float64)
    U = run.unstruck_s + np.where(extra >= 0.0, extra, np.nan)
    with np.errstate(all="ignore"):
        last, struck, piece, exposed = (w * stretch_variance(L, run.mtbf_s, U) for w, L in run.stretches)
        saved = np.where(run.saves > 0.0, piece + exposed, 0.0)
        return np.where(np.isposinf(last) | np.isposinf(piece), np.inf, last + struck + saved)


def expected_counts(
    work: npt.ArrayLike,
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1.0,
) -> Counts:
    """Expected numbers of failures and of saves until a finite amount of work is done.

    Parameters
    ----------
    work, interval, stall, mtbf, downtime, restart, strike, flush, speed, in_flight
        As for `finite_run`. [s, 1]

    Returns
    -------
    Counts
        Failures, those inside recoveries included; saves made durable; saves that a failure struck in their
        stall or their flush.

    Notes
    -----
    Failures come at the rate 1/M while their clock runs. Every save of the division becomes durable exactly
    once, and each one started does so with probability ``exp(-(d + F)/M)``, whatever came before: so
    ``n exp((d + F)/M)`` are started.
    """
    run = finite_run(
        work,
        interval,
        stall,
        mtbf,
        downtime=downtime,
        restart=restart,
        strike=strike,
        flush=flush,
        speed=speed,
        in_flight=in_flight,
    )
    d, F = np.asarray(stall, dtype=np.float64), np.asarray(flush, dtype=np.float64)
    with np.errstate(all="ignore"):
        failures = np.exp(run.struck_s / run.mtbf_s) * _time_in_training(run) / run.mtbf_s
        return Counts(failures, run.saves, np.asarray(run.saves * np.expm1((d + F) / run.mtbf_s)))


def _time_in_training(run: FiniteRun) -> Floats:
    """Expected wall time outside recoveries. [s]."""
    M = run.mtbf_s
    with np.errstate(all="ignore"):
        saved = np.expm1(run.period_s / M) * np.exp(run.exposed_s / M)
        pieces = np.where(run.saves > 0.0, run.saves * saved, 0.0 * run.saves)
        return np.asarray(M * (pieces + np.expm1(run.last_piece_s / M)))


def stretch_variance(length: Floats, mtbf: Floats | float, unstruck: Floats | float) -> Floats:
    """Variance of the time to get through a stretch without a failure, each of which costs a fixed time besides.

    Parameters
    ----------
    length, mtbf, unstruck : ndarray
        The stretch, M, and what a failure costs besides the time in the stretch, U. [s]

    Returns
    -------
    ndarray
        Variance, see `time_variance`. [s^2]
    """
    M, U, x = mtbf, unstruck, length / mtbf
    odds, two, three = np.expm1(x), expm1_minus(x), expm1_minus_two(x)
    return np.asarray(M * M * (2.0 * three + two * two) + (1.0 + odds) * U * (2.0 * M * two + odds * U))

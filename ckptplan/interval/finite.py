"""A finite amount of work: expected time, its variance, and the best number of pieces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import ceil_to_whole, decay_deficit
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.recovery import recovery_factor


class FinitePlan(NamedTuple):
    """The best division of a finite amount of work; the last piece ends without a save."""

    pieces: Floats  # [1]
    mean_s: Floats  # expected wall time [s]
    work_piece_s: Floats  # work in each piece but the last [s]
    last_piece_s: Floats  # work in the last piece [s]


def expected_time(
    work: npt.ArrayLike,
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> Floats:
    """Expected wall time of a finite amount of work: a save after every interval, none after the last piece.

    Parameters
    ----------
    work : array_like
        Work to do, S. [s]
    interval : array_like
        Work between two saves, W. [s]
    stall, mtbf, downtime, restart : array_like
        d, M, D and R. [s]
    strike : Strike
        Which part of a recovery a further failure may strike.

    Returns
    -------
    ndarray
        Expected wall time; infinity where it exceeds the range of doubles. [s]

    Notes
    -----
    ``A M (n (exp((W + d)/M) - 1) + exp(r/M) - 1)`` with n = ceil(S/W) - 1 saves and a last piece r = S - n W
    (Daly 2006; Herault and Robert 2015). Work that is a multiple of W has one save fewer than pieces.
    """
    S, W, d, M = (np.asarray(v, dtype=np.float64) for v in (work, interval, stall, mtbf))
    A = recovery_factor(M, downtime, restart, strike)
    with np.errstate(all="ignore"):
        saves, last = _pieces(S, W)
        exposed = saves * np.expm1((W + d) / M) + np.expm1(last / M)
        return np.where(_valid(S, W, d, M), A * M * exposed, np.nan)


def time_variance(
    work: npt.ArrayLike,
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    recovery: npt.ArrayLike = 0.0,
) -> Floats:
    """Variance of the time of `expected_time`, for recoveries of fixed length that failures do not strike.

    Parameters
    ----------
    work, interval, stall, mtbf : array_like
        S, W, d and M. [s]
    recovery : array_like
        Whole recovery per failure, D + R. [s]

    Returns
    -------
    ndarray
        Variance. [s^2]

    Notes
    -----
    Pieces are independent. In one, failures are geometric, and the time lost to each is an exponential time
    cut at the length of the piece; the variance of a random sum does the rest.
    """
    S, W, d, M, Q = (np.asarray(v, dtype=np.float64) for v in (work, interval, stall, mtbf, recovery))
    with np.errstate(all="ignore"):
        saves, last = _pieces(S, W)
        total = saves * _piece_variance(W + d, M, Q) + _piece_variance(last, M, Q)
        return np.where(_valid(S, W, d, M) & (Q >= 0.0), total, np.nan)


def best_finite_plan(
    work: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> FinitePlan:
    """The division of a finite amount of work that minimises expected wall time.

    Parameters
    ----------
    work : array_like
        Work to do, S. [s]
    stall, mtbf, downtime, restart : array_like
        d, M, D and R. [s]
    strike : Strike
        Which part of a recovery a further failure may strike.

    Returns
    -------
    FinitePlan
        Number of pieces, expected wall time, and their lengths.

    Notes
    -----
    All attempts (work and save) have the same length, so the last piece, which has no save, is longer by d.
    Its expected time ``A M K (exp((S + (K - 1) d)/(K M)) - 1)`` is unimodal in K, with the continuous optimum
    at ``(S - d)/W*`` (Daly 2006): the best K is 1 or one of the two whole numbers around that.
    """
    S, d, M = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (work, stall, mtbf)))
    A = recovery_factor(M, downtime, restart, strike)
    with np.errstate(all="ignore"):
        around = np.maximum(1.0, np.floor((S - d) / exact_interval(d, M)))
        K = np.ones_like(S)
        for candidate in (around, around + 1.0):
            K = np.where(_attempts(candidate, S, d, M) < _attempts(K, S, d, M), candidate, K)
        piece = (S + (K - 1.0) * d) / K - d
        valid = (S > 0.0) & (d > 0.0) & (M > 0.0)
        mean = np.where(valid, A * M * _attempts(K, S, d, M), np.nan)
        alone = K == 1.0
        return FinitePlan(
            pieces=np.where(valid, K, np.nan),
            mean_s=mean,
            work_piece_s=np.where(valid, np.where(alone, S, piece), np.nan),
            last_piece_s=np.where(valid, np.where(alone, S, piece + d), np.nan),
        )


def _attempts(K: Floats, S: Floats, d: Floats, M: Floats) -> Floats:
    """Expected time outside recoveries over the MTBF, of K attempts of equal length."""
    return np.asarray(K * np.expm1((S + (K - 1.0) * d) / (K * M)))


def _pieces(S: Floats, W: Floats) -> tuple[Floats, Floats]:
    """Number of saves, and the work after the last one, in (0, W]."""
    saves = np.maximum(ceil_to_whole(S / W) - 1.0, 0.0)
    return saves, S - saves * W


def _piece_variance(p: Floats, M: Floats, Q: Floats) -> Floats:
    """Variance of the time of one piece of length p, recoveries included."""
    odds = np.expm1(p / M)  # mean number of failures, (1 - e)/e
    mean_lost = M * decay_deficit(p / M)
    second_moment = 2.0 * M * M - (p * p + 2.0 * p * M) / odds
    return np.asarray(odds * (second_moment - mean_lost**2) + odds * (1.0 + odds) * (mean_lost + Q) ** 2)


def _valid(S: Floats, W: Floats, d: Floats, M: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray((S > 0.0) & (W > 0.0) & (d >= 0.0) & (M > 0.0))

"""The best division of a finite amount of work."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import floor_to_whole
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.recovery import recovery_factor


class FinitePlan(NamedTuple):
    """The best division of a finite amount of work; the last piece ends without a save."""

    pieces: Floats  # [1]
    mean_s: Floats  # expected wall time [s]
    work_piece_s: Floats  # work in each piece but the last [s]
    last_piece_s: Floats  # work in the last piece [s]


class _Work(NamedTuple):
    """The problem, all over the MTBF."""

    work: Floats
    stall: Floats
    flush: Floats
    exposed: Floats  # om F
    floor: Floats


def best_finite_plan(
    work: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1.0,
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
    flush : array_like
        Background flush of one save, F; 0 for a synchronous save. [s]
    speed : array_like
        Training speed during the flush, om. [1]
    in_flight : array_like
        Saves whose flush may be under way at one time. [1]

    Returns
    -------
    FinitePlan
        Number of pieces, expected wall time, and their lengths; nan where saving costs nothing and has no
        floor, so that no number of pieces is the best.

    Notes
    -----
    With K pieces, all but the last hold ``w = (S - d - F)/K`` of work, but not less than the floor, and the
    last one, which has no save, the rest: ``w + d + F``, so that every attempt up to a durable save, and the
    last, has the same length. The expected time is convex in K, with its continuous optimum at ``(S - d -
    F)/W*``, where W* is the interval of a run without end (Daly 2006 for F = 0): the best K is one of the two
    whole numbers around that, or 1. Where the floor binds, the optimum is that of the last piece.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (work, stall, mtbf, flush, speed, in_flight))
    S, d, M, F, om, b = np.broadcast_arrays(*arrays)
    with np.errstate(all="ignore"):
        floor = interval_floor(F, om, in_flight=b, stall=d)
        costs = (effective_stall(d, F, om) > 0.0) | (floor > 0.0)
        valid = (S > 0.0) & (d >= 0.0) & (M > 0.0) & (F >= 0.0) & (om >= 0.0) & (om <= 1.0) & (b >= 1.0) & costs
        problem = _Work(*(np.where(valid, v / M, np.nan) for v in (S, d, F, om * F, floor)))
        around = np.floor(_continuous_pieces(problem))
        most = np.where(floor > 0.0, np.maximum(floor_to_whole((S - om * F) / floor) + 1.0, 1.0), np.inf)
        K = np.ones_like(S)
        for candidate in (np.clip(around, 1.0, most), np.clip(around + 1.0, 1.0, most)):
            K = np.where(_exposed(candidate, problem) < _exposed(K, problem), candidate, K)
        piece = _piece(K, problem)
        A = recovery_factor(M, downtime, restart, strike)
        return FinitePlan(
            pieces=np.where(valid, K, np.nan),
            mean_s=A * M * _exposed(K, problem),
            work_piece_s=M * np.where(K == 1.0, problem.work, piece),
            last_piece_s=M * np.where(K == 1.0, problem.work, problem.work - (K - 1.0) * piece),
        )


def _continuous_pieces(p: _Work) -> Floats:
    """The number of pieces, not a whole one, at which the expected time is least."""
    cost = p.stall + p.flush - p.exposed
    optimum = exact_interval(cost, 1.0)
    # Under the floor, pieces are as long as the floor and the last one grows: d/dK of the sum in `_exposed` is 0.
    last = p.exposed + np.log(np.expm1(p.floor + cost) / p.floor)
    return np.where(optimum >= p.floor, (p.work - p.stall - p.flush) / optimum, 1.0 + (p.work - last) / p.floor)


def _piece(K: Floats, p: _Work) -> Floats:
    """Best work in all pieces but the last."""
    return np.asarray(np.maximum((p.work - p.stall - p.flush) / K, p.floor))


def _exposed(K: Floats, p: _Work) -> Floats:
    """Expected time outside recoveries, of K pieces of the best lengths."""
    piece = _piece(K, p)
    saved = np.expm1(piece + p.stall + p.flush - p.exposed) * np.exp(p.exposed)
    last = np.expm1(p.work - (K - 1.0) * piece)
    return np.where(K == 1.0, np.expm1(p.work), (K - 1.0) * saved + last)

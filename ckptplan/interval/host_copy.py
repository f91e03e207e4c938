"""Asynchronous saves whose copy in host memory outlives some failures: a process crash, not a lost node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import effective_stall, interval_floor, meets_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import Shares
from ckptplan.interval.elementary import decay_deficit, decay_ratio
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.recovery import recovery_factor, recovery_parts, recovery_share

_POINTS = 25  # of the grid that brackets the maximum; each round narrows it by 12
_ROUNDS = 7
_WIDEST = 3.0  # times the optimum without surviving copies, beyond which no maximum was found on a grid


class _Process(NamedTuple):
    """The dimensionless numbers: everything over the MTBF."""

    useful_part: Floats  # W/P
    x: Floats  # P/M
    flush: Floats  # F/M
    exposed: Floats  # om F/M
    again: Floats  # share of the resumes that begin with a flush done anew


def host_copy_shares(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    survives: npt.ArrayLike,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> Shares:
    """Exact shares of wall time when the copy in host memory is still there after a fraction of the failures.

    Parameters
    ----------
    interval : array_like
        Work between two saves, the save excluded, W. [s]
    stall : array_like
        Time one save blocks training, d; the copy is complete when it ends. [s]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]
    survives : array_like
        Fraction of the failures that leave the copy, phi. [1]
    downtime, restart : array_like
        Per failure, D and R. [s]
    strike : Strike
        Which part of a recovery a further failure may strike; one that does not leave the copy takes it then, too.
    flush : array_like
        Background flush of one save, F. [s]
    speed : array_like
        Training speed during the flush, om. [1]

    Returns
    -------
    Shares
        As of `exact_shares`; nan for input outside its domain and for an interval below ``om F``.

    Notes
    -----
    A failure that leaves the copy goes back to the newest copied save. If that was not durable, its flush is done
    anew after the resume, in the background; until it ends, a failure that takes the copy goes back to the durable
    save before. With f = om F/M and x = P/M, a save is in flight at the failure with probability ``a = (exp((1 -
    om) F/M) - exp(-f))/(exp(x) - 1)`` after a resume from a durable save, ``b = (1 - exp(-F/M))/(1 - exp(-x))``
    after one with a flush done anew. The share of the latter is ``p = phi a/(1 - phi b + phi a)``, and ``n = (1 -
    p) exp(-f)/(exp(x) - 1) + p exp(-F/M)/(1 - exp(-x))`` saves become durable per failure; useful = n W/(A M).
    A copy must also outlive the failures inside the recovery, ``s = exp(-struck/M)``: phi stands for
    ``phi s/(1 - phi (1 - s))``. Derived from this process; Vaidya 1997 is phi = 0.

    To first order a surviving copy is worth ``F - (1 - om) F^2/P`` per failure: a flush is under way with
    probability F/P, and then a period is kept at the price of one slow-down more. That is om F, "only the other
    failures pay for the flush", where nothing is slowed down, and more elsewhere.
    """
    arguments = (interval, stall, mtbf, survives, flush, speed, downtime, restart)
    p, valid = _process(arguments, strike)
    with np.errstate(all="ignore"):
        running = 1.0 / recovery_factor(mtbf, downtime, restart, strike)
        kept = _kept(p) * running
        rework = _lost(p) * running
        share = recovery_share(mtbf, downtime, restart, strike)
        columns = (p.useful_part * kept, (1.0 - p.useful_part) * kept, rework, share)
        return Shares(*(np.where(valid, column, np.nan) for column in columns))


def host_copy_interval(
    stall: npt.ArrayLike,
    flush: npt.ArrayLike,
    speed: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    survives: npt.ArrayLike,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> Floats:
    """Work between saves that maximises goodput when the host copy outlives a fraction of the failures.

    Parameters
    ----------
    stall, flush, speed, mtbf, survives, downtime, restart, strike
        As for `host_copy_shares`. [s, 1]

    Returns
    -------
    ndarray
        Work between two saves, not below ``om F``; relative error about 1e-7, that of a flat maximum. [s]

    Notes
    -----
    Searched on a grid that is narrowed around its best point. It equals `asynchronous_interval` for phi = 0. The
    recovery matters only through the failures that strike it, because those may take the copy.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (stall, flush, speed, mtbf, survives, downtime, restart))
    d, F, om, M, phi, D, R = np.broadcast_arrays(*arrays)
    with np.errstate(all="ignore"):
        floor = interval_floor(F, om)
        plain = np.maximum(exact_interval(effective_stall(d, F, om), M), floor)
        low, high = np.maximum(plain / _WIDEST, floor), plain * _WIDEST
        share = np.linspace(0.0, 1.0, _POINTS).reshape(-1, *(1 for _ in plain.shape))
        for _ in range(_ROUNDS):
            W = low + (high - low) * share
            p, _valid = _process((W, d, M, phi, F, om, D, R), strike)
            loss = (1.0 - p.useful_part) + p.useful_part * _lost(p)
            best = np.argmin(np.where(np.isnan(loss), np.inf, loss), axis=0)
            step = (high - low) / (_POINTS - 1)
            centre = low + step * best
            low, high = np.maximum(centre - step, low), np.minimum(centre + step, high)
        valid = (phi >= 0.0) & (phi <= 1.0) & ~np.isnan(loss).all(axis=0)
        return np.where(valid, np.where(phi == 0.0, plain, centre), np.nan)


def _kept(p: _Process) -> Floats:
    """``x n``: time in saved periods over time in training."""
    q = decay_ratio(p.x)
    return np.asarray((1.0 - p.again) * q * np.exp(-p.exposed) + p.again * (q + p.x) * np.exp(-p.flush))


def _lost(p: _Process) -> Floats:
    """``1 - x n``: the two kinds of resume apart, 1 taken out of ``q exp(-f)`` and of ``(q + x) exp(-F/M)``."""
    deficit = decay_deficit(p.x)
    plain = deficit * np.exp(-p.exposed) - np.expm1(-p.exposed)
    anew = -np.expm1(-p.flush) - (p.x - deficit) * np.exp(-p.flush)
    return np.asarray(plain + p.again * (anew - plain))


def _process(arguments: tuple[npt.ArrayLike, ...], strike: Strike) -> tuple[_Process, npt.NDArray[np.bool_]]:
    """Everything over the MTBF, and where the input is inside its domain."""
    W, d, M, phi, F, om, D, R = (np.asarray(value, dtype=np.float64) for value in arguments)
    with np.errstate(all="ignore"):
        valid = meets_floor(W, interval_floor(F, om)) & (W > 0.0) & (d >= 0.0) & (M > 0.0)
        valid &= (F >= 0.0) & (om >= 0.0) & (om <= 1.0) & (D >= 0.0) & (R >= 0.0) & (phi >= 0.0) & (phi <= 1.0)
        P = W + effective_stall(d, F, om)
        x, flush, exposed = P / M, F / M, om * F / M
        alone = np.exp(-recovery_parts(D, R, strike).struck / M)
        copy = phi * alone / (1.0 - phi * (1.0 - alone))
        anew = np.expm1(-flush) / np.expm1(-x)
        in_flight = anew * np.exp(flush - exposed - x)
        again = copy * in_flight / (1.0 - copy * anew + copy * in_flight)
        return _Process(W / P, x, flush, exposed, again), np.asarray(valid)

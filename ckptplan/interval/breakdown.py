"""Where wall time goes: shares that are useful work, saves, rework and restarts."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import effective_stall, interval_floor, meets_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import decay_deficit, decay_ratio
from ckptplan.interval.first_order import FirstOrder, first_order_shares
from ckptplan.interval.recovery import recovery_factor, recovery_share

__all__ = [
    "FirstOrder",
    "Shares",
    "exact_goodput",
    "exact_shares",
    "first_order_shares",
    "gross_shares",
    "lost_per_failure",
]


class Shares(NamedTuple):
    """Shares of wall time [1], which sum to one."""

    useful: Floats
    save: Floats
    rework: Floats
    restart: Floats

    @property
    def overhead(self) -> Floats:
        """Wall time over useful work, minus one; infinite where nothing useful is left."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray((self.save + self.rework + self.restart) / self.useful)

    @property
    def goodput(self) -> Floats:
        """Useful work over wall time."""
        return self.useful


class _Process(NamedTuple):
    """The dimensionless numbers of the process: everything over the MTBF."""

    useful_part: Floats  # W/P, the work in an undisturbed period
    save_part: Floats  # d_eff/P
    x: Floats  # P/M
    save: Floats  # d_eff/M
    exposed: Floats  # om F/M, work at risk until the flush ends
    running: Floats  # 1/A, the share of wall time outside recoveries
    restart: Floats  # (A - 1)/A


def exact_shares(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1,
) -> Shares:
    """Exact shares of wall time at any interval, under exponential failures.

    Parameters
    ----------
    interval : array_like
        Work between two saves, the save excluded, W. [s]
    stall : array_like
        Time one save blocks training, d. [s]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]
    downtime, restart : array_like
        Per failure, D and R. [s]
    strike : Strike
        Which part of a recovery a further failure may strike.
    flush : array_like
        Background flush of one save, F; 0 for a synchronous save. [s]
    speed : array_like
        Training speed during the flush, om. [1]
    in_flight : array_like
        Saves whose flush may be under way at one time. For more than one the result is exact at om = 1, and a
        bound of the goodput from below otherwise: each save is charged its slow-down in full. [1]

    Returns
    -------
    Shares
        ``save`` counts the saves that were kept; ``rework`` is everything between the newest durable save and
        the failure, aborted saves included. nan for input outside its domain, and for an interval below
        `interval_floor`: ``om F`` for one save in flight, which must be durable before the next one starts.

    Notes
    -----
    With ``P = W + d + (1 - om) F``, ``q = x/(exp(x) - 1)`` at x = P/M, and A from `recovery_factor`:
    useful = (W/P) q exp(-om F/M)/A. Daly 2006, Herault and Robert 2015 for F = 0; the flush: Vaidya 1997.
    """
    p = _process((interval, stall, mtbf, downtime, restart, flush, speed, in_flight), strike)
    with np.errstate(all="ignore"):
        survives = np.exp(-p.exposed)
        kept = decay_ratio(p.x) * survives * p.running
        rework = (decay_deficit(p.x) * survives - np.expm1(-p.exposed)) * p.running
        return Shares(p.useful_part * kept, p.save_part * kept, rework, p.restart)


def gross_shares(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> Shares:
    """Exact shares of wall time that book every second in a save under ``save``, also in an aborted one.

    Parameters
    ----------
    interval, stall, mtbf, downtime, restart, strike
        As for `exact_shares`; synchronous saves only.

    Returns
    -------
    Shares
        ``useful`` and ``restart`` equal those of `exact_shares`; only the line between the other two moves.

    Notes
    -----
    ``save = (exp(-W/M) - exp(-P/M))/(1 - exp(-P/M))/A``; for ``rework`` the difference
    ``1 - exp(-w) - w exp(-x)`` at w = W/M is split into two positive terms.
    """
    p = _process((interval, stall, mtbf, downtime, restart, 0.0, 1.0, 1), strike)
    with np.errstate(all="ignore"):
        w = p.useful_part * p.x
        struck = -np.expm1(-p.x)
        in_save = np.exp(-w) * -np.expm1(-p.save)
        lost_work = -np.expm1(-w) * decay_deficit(w) + np.exp(-w) * w * -np.expm1(-p.save)
        empty = p.x == 0.0
        save = np.where(empty, p.save_part, in_save / struck) * p.running
        rework = np.where(empty, 0.0, lost_work / struck) * p.running
        return Shares(p.useful_part * decay_ratio(p.x) * p.running, save, rework, p.restart)


def exact_goodput(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1,
) -> Floats:
    """Useful work over wall time at any interval, under exponential failures.

    Parameters
    ----------
    interval, stall, mtbf, downtime, restart, strike, flush, speed, in_flight
        As for `exact_shares`. [s, 1]

    Returns
    -------
    ndarray
        Goodput, between 0 and 1. [1]

    Notes
    -----
    ``(W/M) exp(-om F/M) / (A (exp(P/M) - 1))`` (Daly 2006; Herault and Robert 2015; Vaidya 1997).
    """
    p = _process((interval, stall, mtbf, downtime, restart, flush, speed, in_flight), strike)
    with np.errstate(all="ignore"):
        return np.asarray(p.useful_part * decay_ratio(p.x) * np.exp(-p.exposed) * p.running)


def lost_per_failure(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1,
) -> Floats:
    """Mean time between the state that a failure goes back to and the failure, on the training timeline.

    Parameters
    ----------
    interval, stall, mtbf, flush, speed, in_flight
        As for `exact_shares`. [s, 1]

    Returns
    -------
    ndarray
        ``P/2 + d + F`` for ``P << M``. The rerun does not pay ``d_eff`` of the aborted save again, so the
        rework in the shares is shorter by that. [s]

    Notes
    -----
    ``M - W p - P p/(exp(P/M) - 1)`` with ``p = exp(-(P + om F)/M)``, from the process of Vaidya 1997; the
    state saved is the one at the start of the stall.
    """
    p = _process((interval, stall, mtbf, 0.0, 0.0, flush, speed, in_flight), Strike.SAFE)
    with np.errstate(all="ignore"):
        rework = decay_deficit(p.x) * np.exp(-p.exposed) - np.expm1(-p.exposed)
        stalled = p.save * np.exp(-(p.x + p.exposed))
        return np.asarray(np.asarray(mtbf, dtype=np.float64) * (rework + stalled))


def _process(arguments: tuple[npt.ArrayLike, ...], strike: Strike) -> _Process:
    """Everything over the MTBF, nan where the input is outside its domain.

    What a recovery has no part in keeps the shape of what it follows from: in a table over many recoveries it is worked
    out once.
    """
    W, d, M, D, R, F, om, b = (np.asarray(value, dtype=np.float64) for value in arguments)
    with np.errstate(all="ignore"):
        exposed, d_eff = om * F, effective_stall(d, F, om)
        floor = interval_floor(F, om, in_flight=b, stall=d)
        valid = meets_floor(W, floor) & (W >= 0.0) & (d >= 0.0) & (M > 0.0)
        valid = valid & (F >= 0.0) & (om >= 0.0) & (om <= 1.0)
        # Without a stall all of a period is work, also in the limit of an interval of 0.
        useful_part = np.where(d_eff == 0.0, 1.0, np.where(np.isposinf(W), 0.0, W / (W + d_eff)))
        return _Process(
            useful_part=useful_part,
            save_part=np.where(d_eff == 0.0, 0.0, d_eff / (W + d_eff)),
            x=np.where(valid, (W + d_eff) / M, np.nan),
            save=d_eff / M,
            exposed=exposed / M,
            running=np.where(valid, 1.0 / recovery_factor(M, D, R, strike), np.nan),
            restart=np.where(valid, recovery_share(M, D, R, strike), np.nan),
        )

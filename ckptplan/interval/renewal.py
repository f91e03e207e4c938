"""Goodput and shares of wall time when the gaps between failures follow any law: the renewal model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import LawName, Strike
from ckptplan.interval.asynchronous import effective_stall, interval_floor, meets_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import Shares
from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.renewal_sum import GapLaw, durable_saves, gap_law

_CONTINUOUS = 1e-13  # periods over the mean below which the sum is the integral to all digits


class Cycle(NamedTuple):
    """What happens from one failure to the next, everything over the mean gap; flat arrays. [1]."""

    work: Floats  # W
    save: Floats  # d_eff
    length: Floats  # C, wall time per failure
    recovery: Floats  # of it, in the recovery
    running: Floats  # of it, in training
    offset: Floats  # c: the k-th save is durable at age c + k P
    shape: tuple[int, ...]


def renewal_shares(
    interval: npt.ArrayLike,
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
) -> Shares:
    """Shares of wall time when the gaps between failures are independent and follow a given law.

    Parameters
    ----------
    interval : array_like
        Work between two saves, the save excluded, W. [s]
    stall : array_like
        Time one save blocks training, d. [s]
    mtbf : array_like
        Mean gap between failures of the whole job, M. [s]
    name : LawName
        Family of the law; not ``recorded``.
    shape : array_like
        Shape of Weibull and gamma, sigma of the log-normal. [1]
    downtime, restart : array_like
        Per failure, D and R. [s]
    strike : Strike
        Which part of a recovery a further failure may strike; it also says where the clock of the law starts:
        with training (safe), with the restart (R), or at the failure (DR).
    flush : array_like
        Background flush of one save, F; 0 for a synchronous save. [s]
    speed : array_like
        Training speed during the flush, om. [1]
    in_flight : array_like
        Saves whose flush may be under way at one time. [1]

    Returns
    -------
    Shares
        ``save`` counts the saves that were kept. nan for input outside its domain, and for an interval below
        `interval_floor`.

    Notes
    -----
    The k-th save of a cycle is durable at age ``c + k P``, so a failure leaves ``n = sum_k S(c + k P)`` of them, and
    useful = n W/C with the length of a cycle C: c = om F and C = M + D + R (safe), c = R + om F and C = M + D (R), c =
    D + R + om F and C = M (DR). Renewal reward theorem (Cox 1962); equal to `exact_shares` for the exponential law.
    ``rework`` is a difference, with an absolute error of some 1e-15.
    """
    arrays = (interval, stall, mtbf, shape, downtime, restart, flush, speed, in_flight)
    W, d, M, k, *rest = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in arrays))
    with np.errstate(all="ignore"):
        law = gap_law(LawName(name), k.reshape(-1))
        return shares_of_cycle(law, cycle(law, (W, d, M, *rest), strike))


def renewal_goodput(
    interval: npt.ArrayLike,
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
    """Useful work over wall time when the gaps between failures follow a given law.

    Parameters
    ----------
    interval, stall, mtbf, name, shape, downtime, restart, strike, flush, speed, in_flight
        As for `renewal_shares`. [s, 1]

    Returns
    -------
    ndarray
        Goodput, between 0 and 1; relative error below 1e-12. [1]

    Notes
    -----
    ``W sum_k S(c + k P)/C``: see `renewal_shares`.
    """
    return renewal_shares(
        interval,
        stall,
        mtbf,
        name,
        shape,
        downtime=downtime,
        restart=restart,
        strike=strike,
        flush=flush,
        speed=speed,
        in_flight=in_flight,
    ).useful


def cycle(law: GapLaw, arguments: tuple[Floats, ...], strike: Strike) -> Cycle:
    """Reduce a scenario to one cycle in units of the mean gap.

    Parameters
    ----------
    law : GapLaw
        The law; its elements are those of the arguments, flattened.
    arguments : tuple of ndarray
        W, d, M, D, R, F [s], om and the saves in flight [1], in one shape.
    strike : Strike
        As for `renewal_shares`.

    Returns
    -------
    Cycle
        nan in ``work`` where the input is outside its domain.
    """
    dimensions = arguments[0].shape
    W, d, M, D, R, F, om, b = (np.ravel(value) for value in arguments)
    floor, save = interval_floor(F, om, in_flight=b, stall=d), effective_stall(d, F, om)
    valid = meets_floor(W, floor) & (W >= 0.0) & (d >= 0.0) & (M > 0.0) & np.isfinite(M)
    valid &= (F >= 0.0) & (om >= 0.0) & (om <= 1.0) & (D >= 0.0) & (R >= 0.0)
    unstruck, struck = recovery_parts(D / M, R / M, strike)
    length, recovery = 1.0 + unstruck, unstruck + law.integral(struck, *law.parameters)
    return Cycle(
        work=np.where(valid, W / M, np.nan),
        save=save / M,
        length=length,
        recovery=recovery,
        running=length - recovery,
        offset=struck + om * F / M,
        shape=dimensions,
    )


def shares_of_cycle(law: GapLaw, one: Cycle) -> Shares:
    """Shares of wall time in a cycle: what the durable saves cover, the recovery, and the rest.

    Parameters
    ----------
    law : GapLaw
        The law of the gaps.
    one : Cycle
        The cycle, from `cycle`.

    Returns
    -------
    Shares
        In the shape of the scenario.
    """
    period = one.work + one.save
    covered = _covered(law, period, one.offset) / one.length
    # Without a stall all of a period is work, also in the limit of an interval of 0.
    useful_part = np.where(one.save == 0.0, 1.0, one.work / period)
    useful = np.where(np.isposinf(period), 0.0, useful_part * covered)
    save = np.where(np.isposinf(period) | (one.save == 0.0), 0.0, one.save / period * covered)
    rework = np.maximum(one.running / one.length - covered, 0.0)
    recovery = np.where(np.isnan(useful), np.nan, one.recovery / one.length)
    return Shares(*(np.reshape(share, one.shape) for share in (useful, save, rework, recovery)))


def _covered(law: GapLaw, period: Floats, offset: Floats) -> Floats:
    """Time per failure that ends in a durable save, n P, also in the limit of periods of 0 and infinity."""
    covered = np.where(np.isnan(period + offset), np.nan, 0.0)
    continuous = period < _CONTINUOUS
    within = 1.0 - law.integral(offset, *law.parameters)
    covered = np.where(continuous, within, covered)
    sensible = ~continuous & np.isfinite(period) & np.isfinite(offset) & np.isfinite(law.sharpness)
    part = durable_saves(law.take(sensible), period[sensible], offset[sensible])
    covered[sensible] = part.saves * period[sensible]
    covered[np.isnan(law.sharpness) | np.isnan(within)] = np.nan
    return covered

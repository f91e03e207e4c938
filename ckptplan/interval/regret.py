"""Regret: what a wrong MTBF costs, and what it costs on average after a number of failures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import asynchronous_interval, effective_stall
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import exact_goodput

_SHIFT = 16  # from here on the series below is at rounding error


class Regret(NamedTuple):
    """A plan with a wrong MTBF against the best one."""

    interval_s: Floats  # chosen with the assumed MTBF [s]
    goodput: Floats
    goodput_best: Floats
    regret: Floats  # goodput lost [1]


class PosteriorRegret(NamedTuple):
    """Expected loss of the interval that suits the mean of a posterior, against the best for the true rate."""

    relative: Floats  # share of the overhead of the saves and the rework [1]
    overhead: Floats  # the same as overhead, to first order points of goodput [1]


def regret_ratio_first_order(mtbf_ratio: npt.ArrayLike) -> Floats:
    """Overhead of saves and rework over its least value, for an interval chosen with a wrong MTBF.

    Parameters
    ----------
    mtbf_ratio : array_like
        c, the assumed MTBF over the true one; for any interval W, ``(W/W*)^2``. [1]

    Returns
    -------
    ndarray
        ``(sqrt(c) + 1/sqrt(c))/2``, the same for c and 1/c. [1]

    Notes
    -----
    From ``d/W + W/(2M)`` (Young 1974) at ``W = sqrt(2 d c M)``. Valid for ``d << M``: a factor of 2 costs
    6 %, one of 4 costs 25 %.
    """
    c = np.asarray(mtbf_ratio, dtype=np.float64)
    with np.errstate(all="ignore"):
        root = np.sqrt(c)
        return np.where(c > 0.0, 0.5 * (root + 1.0 / root), np.nan)


def regret_exact(
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    mtbf_assumed: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> Regret:
    """Goodput lost by planning with a wrong MTBF.

    Parameters
    ----------
    stall, mtbf : array_like
        Stall d of one save, true MTBF M of the job. [s]
    mtbf_assumed : array_like
        The MTBF that the interval was computed with. [s]
    downtime, restart, strike, flush, speed
        As for `exact_goodput`. [s, 1]

    Returns
    -------
    Regret
        Interval chosen, its goodput under the true MTBF, the best goodput, and the difference.

    Notes
    -----
    Both intervals are the exact optimum for their MTBF (Daly 2006), raised to the floor of the flush.
    """
    used = asynchronous_interval(stall, flush, speed, mtbf_assumed)
    best = asynchronous_interval(stall, flush, speed, mtbf)
    goodput, goodput_best = (
        exact_goodput(W, stall, mtbf, downtime=downtime, restart=restart, strike=strike, flush=flush, speed=speed)
        for W in (used, best)
    )
    return Regret(used, goodput, goodput_best, np.asarray(goodput_best - goodput))


def expected_regret_after_failures(failures: npt.ArrayLike) -> Floats:
    """Expected relative excess of the overhead when the MTBF is estimated as time over number of failures.

    Parameters
    ----------
    failures : array_like
        k, at least 1; counting stopped at the last one. [1]

    Returns
    -------
    ndarray
        About ``1/(8k)``; nan for k < 1. Share of the overhead of saves and rework, recoveries excluded. [1]

    Notes
    -----
    ``( G(k + 1/2)/(G(k) sqrt(k)) + sqrt(k) G(k - 1/2)/G(k) )/2 - 1``: the mean of `regret_ratio_first_order`
    over the gamma distribution of the estimate.
    """
    k = np.asarray(failures, dtype=np.float64)
    with np.errstate(all="ignore"):
        excess = _root_ratio_less_one(k)
        return np.where(k >= 1.0, excess + (1.0 + excess) / (4.0 * k - 2.0), np.nan)


def posterior_regret(
    stall: npt.ArrayLike,
    failures: npt.ArrayLike,
    exposure: npt.ArrayLike,
    prior_shape: npt.ArrayLike = 0.5,
    prior_exposure: npt.ArrayLike = 0.0,
    *,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> PosteriorRegret:
    """Expected loss of the interval for the mean posterior rate, against the best interval for each true rate.

    Parameters
    ----------
    stall : array_like
        Stall d of one save. [s]
    failures, exposure : array_like
        Failures k of the whole job in a time t. [1, s]
    prior_shape, prior_exposure : array_like
        Prior of the rate of the job, Gamma(a0, b0). [1, s]
    flush, speed : array_like
        Flush F of one save and training speed during it. [s, 1]

    Returns
    -------
    PosteriorRegret
        Relative to the expected overhead of saves and rework, about ``1/(8 (k + a0))``, and absolute.

    Notes
    -----
    With the mean rate ``r = (k + a0)/(t + b0)`` the chosen interval ``sqrt(2 d/r)`` costs ``sqrt(2 d r)`` on
    average, the best one ``sqrt(2 d)`` times the mean root of the rate. The relative loss is ``1 - G(a + 1/2)/
    (G(a) sqrt(a))``, a = k + a0. First order in ``d_eff r``; multiply by the square of the goodput where it is
    far below 1. Where the floor of the flush binds the loss is smaller.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (stall, failures, exposure, prior_shape, prior_exposure))
    d, k, t, a0, b0 = np.broadcast_arrays(*arrays)
    with np.errstate(all="ignore"):
        d_eff = effective_stall(d, flush, speed)
        shape, time = k + a0, t + b0
        valid = (d >= 0.0) & (k >= 0.0) & (t >= 0.0) & (a0 >= 0.0) & (b0 >= 0.0) & (shape > 0.0) & (time > 0.0)
        relative = np.where(valid & (d_eff >= 0.0), -_root_ratio_less_one(shape), np.nan)
        return PosteriorRegret(relative, np.asarray(np.sqrt(2.0 * d_eff * shape / time) * relative))


def _root_ratio_less_one(a: Floats) -> Floats:
    """``G(a + 1/2)/(G(a) sqrt(a)) - 1``, mean over root of mean square of the root of a gamma variable, less 1.

    About ``-1/(8a)``. The asymptotic series of the logarithm (DLMF 5.11.8) at a >= 16, reached by the recurrence
    G(a + 1) = a G(a).
    """
    large = np.where(a < _SHIFT, a + _SHIFT, a)
    s = 1.0 / (large * large)
    tail = 1.0 / 640.0 - s * (17.0 / 14336.0 - s * 31.0 / 18432.0)
    log_ratio = (-1.0 / 8.0 + s * (1.0 / 192.0 - s * tail)) / large
    if not np.any(a < _SHIFT):
        return np.expm1(log_ratio)
    j = np.arange(float(_SHIFT))
    steps = np.prod((a[..., None] + j + 0.5) / (a[..., None] + j), axis=-1)
    small = np.exp(log_ratio) * np.sqrt(large / a) / steps - 1.0
    return np.where(a < _SHIFT, small, np.expm1(log_ratio))

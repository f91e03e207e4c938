"""The interval that follows what a run has seen of its own failures, and what that costs at first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import exact_goodput

_NODES = 256  # of the trapezoid rule, which is at rounding error long before on such integrands
_END = 42.0  # the density has fallen by exp(-42) where the sum is cut


def online_interval(
    stall: npt.ArrayLike,
    failures: npt.ArrayLike,
    exposure: npt.ArrayLike,
    prior_shape: npt.ArrayLike,
    prior_exposure: npt.ArrayLike,
    *,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> Floats:
    """Work between saves after a number of failures: the posterior rule.

    Parameters
    ----------
    stall : array_like
        Stall of one save, so far as known, d. [s]
    failures, exposure : array_like
        Failures k seen in the time t that the failure clock ran. [1, s]
    prior_shape, prior_exposure : array_like
        Belief before: a0 failures in a time b0. [1, s]
    flush, speed : array_like
        Flush F of one save and training speed during it. [s, 1]

    Returns
    -------
    ndarray
        ``sqrt(2 d_eff (t + b0)/(k + a0))``, at least ``om F``; infinity with neither failure nor prior. [s]

    Notes
    -----
    Young 1974 with the mean rate of the posterior Gamma(k + a0, t + b0): the first-order overhead is linear in
    the rate, so this minimises its expectation. Regret after k failures: about ``1/(8 (k + a0))`` of it.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (failures, exposure, prior_shape, prior_exposure))
    k, t, a0, b0 = np.broadcast_arrays(*arrays)
    valid = (k >= 0.0) & (t >= 0.0) & (a0 >= 0.0) & (b0 >= 0.0) & (t + b0 > 0.0)
    d_eff = effective_stall(stall, flush, speed)
    with np.errstate(all="ignore"):
        W = np.maximum(np.sqrt(2.0 * d_eff * ((t + b0) / (k + a0))), interval_floor(flush, speed))
        return np.where(valid, W, np.nan)


def adaptive_cycle_goodput(
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    failures: npt.ArrayLike,
    prior_shape: npt.ArrayLike,
    prior_exposure: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> Floats:
    """Expected goodput between failure k and the next one when the interval follows the posterior rule.

    Parameters
    ----------
    stall, mtbf : array_like
        Stall d, true MTBF M of the job. [s]
    failures : array_like
        Failures seen so far, k: 0, or at least 1. [1]
    prior_shape, prior_exposure : array_like
        a0 and b0 of `online_interval`. [1, s]
    downtime, restart, strike, flush, speed
        As for `exact_goodput`. [s, 1]

    Returns
    -------
    ndarray
        Goodput, averaged over the time that the k failures took; nan outside the domain. [1]

    Notes
    -----
    The mean of the exact goodput at ``online_interval(d, k, t, a0, b0)`` over t, which has the distribution
    Gamma(k) of scale M. Every cycle lasts M + D + R on average whatever its interval, so the mean of the goodput
    is the goodput of the mean. By the trapezoid rule in log(t), where the density decays on both sides.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (stall, mtbf, failures, prior_shape, prior_exposure, downtime))
    more = (np.asarray(v, dtype=np.float64) for v in (restart, flush, speed))
    d, M, k, a0, b0, D, R, F, om = (v[..., None] for v in np.broadcast_arrays(*arrays, *more))
    valid = (k == 0.0) | (k >= 1.0)
    with np.errstate(all="ignore"):
        t, weight = _exposures(np.maximum(k, 1.0))
        W = online_interval(d, k, np.where(k == 0.0, 0.0, M * t), a0, b0, flush=F, speed=om)
        goodput = exact_goodput(W, d, M, downtime=D, restart=R, strike=strike, flush=F, speed=om)
        return np.where(valid[..., 0], np.sum(weight * goodput, axis=-1), np.nan)


def _exposures(k: Floats) -> tuple[Floats, Floats]:
    """Nodes over a gamma variable of shape k, evenly spaced in its logarithm, and their weights, which sum to 1."""
    # Where k (exp(v) - 1 - v) passes _END: from v^2/2 above 0, from exp(-s) >= (2 - s)/(2 + s) below.
    left = 4.0 * _END / (np.sqrt(_END * _END + 8.0 * k * _END) - _END)
    right = np.sqrt(2.0 * _END / k)
    v = -left + (left + right) * np.linspace(0.0, 1.0, _NODES)
    weight = np.exp(-k * (np.expm1(v) - v))
    return k * np.exp(v), weight / weight.sum(axis=-1, keepdims=True)

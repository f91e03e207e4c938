"""Scale: the number of GPUs beyond which more of them do less."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import asynchronous_interval, effective_stall, interval_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.elementary import decay_deficit
from ckptplan.interval.recovery import recovery_parts

_DOUBLINGS = 200  # of a bracket that starts at the sum of all times, and is nearly always right at once
_HALVINGS = 60  # of a bracket in log(M): to rounding


class Peak(NamedTuple):
    """The size at which a job makes most progress per unit of time."""

    mtbf_s: Floats  # of the whole job at that size [s]
    gpus: Floats  # not rounded [1]
    goodput: Floats  # there, at the best interval [1]


def gpus_at_peak(
    stall: npt.ArrayLike,
    restart: npt.ArrayLike,
    mtbf_per_gpu: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    scaling_exponent: npt.ArrayLike = 1.0,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> Peak:
    """Number of GPUs at which throughput times goodput peaks, every size with its best interval.

    Parameters
    ----------
    stall, restart, downtime : array_like
        d, R and D, taken to be the same at every size. [s]
    mtbf_per_gpu : array_like
        MTBF of one GPU and its share of the node; that of the job is ``M_gpu/N``. [s]
    strike : Strike
        Which part of a recovery a further failure may strike.
    scaling_exponent : array_like
        Failure-free throughput grows as N to this power. [1]
    flush, speed : array_like
        Flush F of one save and training speed during it, the same at every size. [s, 1]

    Returns
    -------
    Peak
        nan outside the domain, and where there is no peak (saves that cost nothing and restarts that are not
        struck: the throughput of ``safe`` grows for ever).

    Notes
    -----
    At the peak the goodput falls with N as fast as throughput grows: ``d log(g)/d log(M) = gamma``. For
    synchronous saves ``gamma M = d/u(d/M) + r``, where r comes from the recovery: D + R (DR), R + D M/(M + D)
    (R), or (D + R) M/(M + D + R) (safe). The left side less the right has one root, found by bisection in
    log(M). Far below the peak more GPUs already cost efficiency.
    """
    times = (stall, restart, mtbf_per_gpu, downtime, scaling_exponent, flush, speed)
    d, R, M_gpu, D, gamma, F, om = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in times))
    valid = (
        (d >= 0.0) & (R >= 0.0) & (M_gpu > 0.0) & (D >= 0.0) & (gamma > 0.0) & (F >= 0.0) & (om >= 0.0) & (om <= 1.0)
    )
    scale = (d + R + D + F) / np.where(valid, gamma, np.nan)

    def excess(log_m: Floats) -> Floats:
        M = np.exp(log_m)
        return np.asarray(goodput_elasticity(M, d, R, downtime=D, strike=strike, flush=F, speed=om) - gamma)

    with np.errstate(all="ignore"):
        M = np.asarray(np.exp(root_of_falling(excess, np.log(scale))))
        goodput = exact_goodput(
            asynchronous_interval(d, F, om, M), d, M, downtime=D, restart=R, strike=strike, flush=F, speed=om
        )
        return Peak(M, np.asarray(M_gpu / M), goodput)


def goodput_elasticity(
    mtbf: npt.ArrayLike,
    stall: npt.ArrayLike,
    restart: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> Floats:
    """By how many percent the goodput grows if the MTBF grows by one, ``d log(g)/d log(M)``.

    Parameters
    ----------
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]
    stall, restart, downtime, strike, flush, speed
        As for `gpus_at_peak`. [s, 1]

    Returns
    -------
    ndarray
        Elasticity at the best interval, not negative; falls with M. nan outside the domain. [1]

    Notes
    -----
    ``x/(1 - exp(-x)) - 1 + om F/M`` with ``x = P/M``, and the part of the recovery: B/M of what failures strike,
    U/(M + U) of what they do not (from Daly 2006). The interval may be held constant while M changes: where it is
    best, the goodput does not depend on it to first order, and where the floor binds, it is constant.
    """
    times = (mtbf, stall, restart, downtime, flush, speed)
    M, d, R, D, F, om = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in times))
    valid = (M > 0.0) & (d >= 0.0) & (R >= 0.0) & (D >= 0.0) & (F >= 0.0) & (om >= 0.0) & (om <= 1.0)
    with np.errstate(all="ignore"):
        x = (asynchronous_interval(d, F, om, M) + effective_stall(d, F, om)) / M
        attempt = x - decay_deficit(x)  # x/(1 - exp(-x)) - 1, without cancellation
        unstruck, struck = recovery_parts(D, R, strike)
        recovery = struck / M + unstruck / (M + unstruck)
        return np.where(valid, attempt + interval_floor(F, om) / M + recovery, np.nan)


def root_of_falling(excess: Callable[[Floats], Floats], start: Floats) -> Floats:
    """Root of a falling function, nan where none is bracketed.

    Parameters
    ----------
    excess : callable
        Function of the logarithm of a quantity, elementwise over the shape of ``start``.
    start : ndarray
        Logarithm of the order of magnitude of the root.

    Returns
    -------
    ndarray
        The root, to rounding.
    """
    low, high = start.copy(), start.copy()
    for _ in range(_DOUBLINGS):
        left, right = excess(low) <= 0.0, excess(high) > 0.0
        if not (left.any() or right.any()):
            break
        low, high = np.where(left, low - np.log(2.0), low), np.where(right, high + np.log(2.0), high)
    bracketed = (excess(low) > 0.0) & (excess(high) <= 0.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        above = excess(middle) > 0.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(bracketed, 0.5 * (low + high), np.nan)

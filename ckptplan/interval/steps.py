"""Whole steps: the number to type into a training configuration."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import ceil_to_whole, expm1_minus, floor_to_whole


def whole_steps(
    interval: npt.ArrayLike,
    step_time: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> Floats:
    """The better of the two whole numbers of steps next to an interval, by exact goodput.

    Parameters
    ----------
    interval : array_like
        Work between two saves, W. [s]
    step_time : array_like
        Time of one optimizer step, t. [s]
    stall : array_like
        Time one save blocks training, d. [s]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]
    flush : array_like
        Background flush of one save, F. [s]
    speed : array_like
        Training speed during the flush, om. [1]

    Returns
    -------
    ndarray
        Whole number of steps, at least 1 and at least ``om F / t``; nan for input outside its domain. [1]

    Notes
    -----
    The goodput of n steps is proportional to ``n/(exp((n t + d_eff)/M) - 1)``. So n + 1 is at least as good
    as n iff ``n (exp(t/M) - 1) <= 1 - exp(-(n t + d_eff)/M)``. Near the optimum both sides agree to the last
    digits; with ``e(x) = exp(x) - 1 - x`` the same condition reads ``n e(t/M) + e(-(n t + d_eff)/M) <=
    d_eff/M``, where nothing cancels. Restarts change neither.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (interval, step_time, stall, mtbf, flush, speed))
    W, t, d, M, F, om = np.broadcast_arrays(*arrays)
    valid = (W >= 0.0) & (t > 0.0) & (d >= 0.0) & (M > 0.0) & (F >= 0.0) & (om >= 0.0) & (om <= 1.0)
    with np.errstate(all="ignore"):
        least = np.maximum(1.0, ceil_to_whole(interval_floor(F, om) / t))
        below = np.maximum(floor_to_whole(W / t), least)
        above = np.maximum(ceil_to_whole(W / t), least)
        a = effective_stall(d, F, om) / M
        tau = t / M
        longer = below * expm1_minus(tau) + expm1_minus(-(below * tau + a)) <= a
        return np.where(valid, np.where(longer, above, below), np.nan)


def whole_steps_first_order(step_time: npt.ArrayLike, stall: npt.ArrayLike, mtbf: npt.ArrayLike) -> Floats:
    """Best whole number of steps to first order: the least n with ``n (n + 1) >= 2 d M / t^2``.

    Parameters
    ----------
    step_time : array_like
        Time of one optimizer step, t. [s]
    stall : array_like
        Time one save blocks training, d. [s]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]

    Returns
    -------
    ndarray
        Whole number of steps, at least 1; nan for input outside its domain. [1]

    Notes
    -----
    Two neighbours cost the same under ``d/W + W/(2M)`` (Young 1974) when the continuous optimum is their
    geometric mean: the switch is at ``sqrt(n (n + 1))``, not at n + 1/2. Valid for ``d << M``.
    """
    t, d, M = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (step_time, stall, mtbf)))
    valid = (t > 0.0) & (d >= 0.0) & (M > 0.0)
    with np.errstate(all="ignore"):
        square = 2.0 * (d / t) * (M / t)
        n = np.maximum(1.0, np.ceil(2.0 * square / (1.0 + np.sqrt(1.0 + 4.0 * square))))
        # The root is rounded: let the condition itself decide between neighbours.
        n = np.where((n > 1.0) & ((n - 1.0) * n >= square), n - 1.0, n)
        n = np.where(n * (n + 1.0) < square, n + 1.0, n)
        return np.where(valid, n, np.nan)

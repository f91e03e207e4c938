"""Asynchronous saves: a short stall, then a background flush while training goes on, perhaps slower."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.exact import exact_interval

_FLOOR_TOLERANCE = 1e-9  # relative


def effective_stall(stall: npt.ArrayLike, flush: npt.ArrayLike, speed: npt.ArrayLike) -> Floats:
    """Training time that one save costs in all, ``d + (1 - om) F``.

    Parameters
    ----------
    stall : array_like
        Time for which training stands still, d. [s]
    flush : array_like
        Length of the background flush, F; 0 for a synchronous save. [s]
    speed : array_like
        Training speed during the flush, om: 1 is no slow-down, 0 stands still. [1]

    Returns
    -------
    ndarray
        Effective stall. [s]

    Notes
    -----
    The overhead C of Vaidya 1997; the optimum depends on stall, flush and speed through this alone.
    """
    d, F, om = (np.asarray(value, dtype=np.float64) for value in (stall, flush, speed))
    return np.asarray(d + (1.0 - om) * F)


def interval_floor(
    flush: npt.ArrayLike, speed: npt.ArrayLike, *, in_flight: npt.ArrayLike = 1, stall: npt.ArrayLike = 0.0
) -> Floats:
    """Least work between two saves: for one save in flight, what training does while a flush runs, ``om F``.

    Parameters
    ----------
    flush : array_like
        Length of the background flush, F. [s]
    speed : array_like
        Training speed during the flush, om. [1]
    in_flight : array_like
        Saves whose flush may be under way at one time, b. [1]
    stall : array_like
        Time for which training stands still, d; it matters for more than one save in flight. [s]

    Returns
    -------
    ndarray
        Least interval, not negative; a shorter one would start a save that has no buffer yet. nan for b < 1.
        [s]

    Notes
    -----
    Save j + b may not start before flush j has ended: ``b P >= d + F``, that is ``W >= F/b - (1 - om) F - d (1
    - 1/b)``. For b = 1 that is ``om F``, latency minus overhead of Vaidya 1997. For more it takes a flush for
    as long, and for as much slow-down, whether or not another one runs beside it.
    """
    F, om, b, d = (np.asarray(value, dtype=np.float64) for value in (flush, speed, in_flight, stall))
    with np.errstate(all="ignore"):
        share = np.where(b >= 1.0, 1.0 / b, np.nan)
        more = np.maximum(share * F - (1.0 - om) * F - (1.0 - share) * d, 0.0)
        return np.where(b == 1.0, om * F, more)


def meets_floor(interval: Floats, floor: Floats | float) -> npt.NDArray[np.bool_]:
    """Whether an interval is not below the floor, rounding apart: whole steps may miss it by that. [s -> bool]."""
    return np.asarray(floor * (1.0 - _FLOOR_TOLERANCE) <= interval)


def asynchronous_interval(
    stall: npt.ArrayLike, flush: npt.ArrayLike, speed: npt.ArrayLike, mtbf: npt.ArrayLike
) -> Floats:
    """Work between asynchronous saves that maximises goodput.

    Parameters
    ----------
    stall, flush : array_like
        Stall d and background flush F of one save. [s]
    speed : array_like
        Training speed during the flush, om. [1]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]

    Returns
    -------
    ndarray
        Work between the starts of two saves. [s]

    Notes
    -----
    ``max(M u(d_eff/M), om F)``: exact for exponential failures. The flush acts as a longer restart, which
    does not move the optimum (Vaidya 1997).
    """
    optimum = exact_interval(effective_stall(stall, flush, speed), mtbf)
    return np.asarray(np.maximum(optimum, interval_floor(flush, speed)))


def break_even_stall(stall: npt.ArrayLike, flush: npt.ArrayLike, speed: npt.ArrayLike, mtbf: npt.ArrayLike) -> Floats:
    """Stall of a synchronous save that would yield the goodput of this asynchronous one, each at its optimum.

    Parameters
    ----------
    stall, flush : array_like
        Stall d and background flush F of the asynchronous save. [s]
    speed : array_like
        Training speed during the flush, om. [1]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]

    Returns
    -------
    ndarray
        Stall of the synchronous save; the asynchronous save wins against any longer one. [s]

    Notes
    -----
    A synchronous optimum has goodput ``exp(-x)`` for the period x M that solves ``x + exp(-x) - 1 = d/M``.
    Setting that equal to ``(W/M) exp(-om F/M) / (exp(P/M) - 1)`` gives x, hence d. The restart time cancels.
    """
    M = np.asarray(mtbf, dtype=np.float64)
    floor = interval_floor(flush, speed)
    d_eff = effective_stall(stall, flush, speed)
    W = np.maximum(exact_interval(d_eff, M), floor)
    with np.errstate(all="ignore"):
        w, p = W / M, (W + d_eff) / M
        # log((exp(p) - 1)/w), split so that a long period does not overflow
        x = p + np.log(-np.expm1(-p) / w) + floor / M
        return np.asarray(M * (x + np.expm1(-x)))


def break_even_stall_first_order(
    stall: npt.ArrayLike, flush: npt.ArrayLike, speed: npt.ArrayLike, mtbf: npt.ArrayLike
) -> Floats:
    """First-order form of `break_even_stall`.

    Parameters
    ----------
    stall, flush : array_like
        Stall d and background flush F of the asynchronous save. [s]
    speed : array_like
        Training speed during the flush, om. [1]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]

    Returns
    -------
    ndarray
        Stall of the synchronous save; nan for input outside its domain. [s]

    Notes
    -----
    Equal overheads, ``sqrt(2 d_s/M) = d_eff/P + P/(2M) + om F/M`` with ``P = max(sqrt(2 d_eff M), d + F)``
    (Young 1974 on both sides). Without a binding floor the right side is ``sqrt(2 d_eff/M) + om F/M``, and the
    result is above the exact one by a relative 1/3 to 2/3 of ``om F/M``. Valid for ``d_eff, F << M``.
    """
    d, F, om, M = (np.asarray(value, dtype=np.float64) for value in (stall, flush, speed, mtbf))
    valid = (d >= 0.0) & (F >= 0.0) & (om >= 0.0) & (om <= 1.0) & (M > 0.0)
    with np.errstate(all="ignore"):
        d_eff = effective_stall(d, F, om)
        P = np.maximum(np.sqrt(2.0 * d_eff * M), d + F)
        overhead = np.where(d_eff == 0.0, 0.0, d_eff / P) + (0.5 * P + om * F) / M
        return np.where(valid, 0.5 * M * overhead**2, np.nan)

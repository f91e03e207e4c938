"""Asynchronous saves: a short stall, then a background flush while training goes on, perhaps slower."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.exact import exact_interval


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


def interval_floor(flush: npt.ArrayLike, speed: npt.ArrayLike) -> Floats:
    """Least work between two saves: what training does while one flush runs, ``om F``.

    Parameters
    ----------
    flush : array_like
        Length of the background flush, F. [s]
    speed : array_like
        Training speed during the flush, om. [1]

    Returns
    -------
    ndarray
        Least interval; a shorter one would start a save before the last one is durable. [s]

    Notes
    -----
    Vaidya 1997: latency minus overhead, L - C with L = d + F.
    """
    return np.asarray(np.asarray(speed, dtype=np.float64) * np.asarray(flush, dtype=np.float64))


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

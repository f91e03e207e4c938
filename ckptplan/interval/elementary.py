"""Elementary functions in forms that keep full precision where the textbook form cancels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats

_TERMS = 14  # of the series; at |x| = 0.5 the first one left out is below 1e-17 of the sum

_WHOLE = 1e-9  # relative distance at which a quotient counts as a whole number: 900 s of 6 s are 150 steps


def expm1_minus(x: Floats) -> Floats:
    """``exp(x) - 1 - x`` without cancellation for small x.

    Parameters
    ----------
    x : ndarray
        Any real number. [1]

    Returns
    -------
    ndarray
        The value, relative error a few 1e-16. [1]

    Notes
    -----
    Below ``|x| = 0.5`` the Taylor series ``x^2/2 (1 + x/3 (1 + x/4 (...)))``, nested so that each term is a
    correction to 1; above, ``expm1(x) - x``, which loses no more than two bits there.
    """
    small = np.clip(x, -0.5, 0.5)
    nested = np.ones_like(small)
    for k in range(_TERMS + 2, 2, -1):
        nested = 1.0 + nested * small / k
    return np.where(np.abs(x) < 0.5, 0.5 * small * small * nested, np.expm1(x) - x)


def expm1_minus_two(x: Floats) -> Floats:
    """``exp(x) - 1 - x - x^2/2`` without cancellation for small x.

    Parameters
    ----------
    x : ndarray
        Any real number. [1]

    Returns
    -------
    ndarray
        The value, relative error a few 1e-16. [1]

    Notes
    -----
    As `expm1_minus`, with the series up to ``|x| = 1``, where the difference loses three bits.
    """
    small = np.clip(x, -1.0, 1.0)
    nested = np.ones_like(small)
    for k in range(_TERMS + 7, 3, -1):
        nested = 1.0 + nested * small / k
    return np.where(np.abs(x) < 1.0, small * small * small / 6.0 * nested, np.expm1(x) - x * (1.0 + 0.5 * x))


def decay_ratio(x: Floats) -> Floats:
    """``q(x) = x / (exp(x) - 1)`` for x >= 0: the share of an attempt of length x that survives to be useful.

    Parameters
    ----------
    x : ndarray
        Length of an attempt over the MTBF, not negative. [1]

    Returns
    -------
    ndarray
        From 1 at 0 to 0 at infinity. [1]

    Notes
    -----
    Computed as ``x exp(-x) / (1 - exp(-x))``, which neither overflows nor cancels.
    """
    q = x * np.exp(-x) / -np.expm1(-x)
    return np.where(x == 0.0, 1.0, np.where(np.isposinf(x), 0.0, q))


def decay_deficit(x: Floats) -> Floats:
    """``1 - q(x) = 1 - x / (exp(x) - 1)`` for x >= 0, without cancellation for small x.

    Parameters
    ----------
    x : ndarray
        Length of an attempt over the MTBF, not negative. [1]

    Returns
    -------
    ndarray
        From ``x/2`` near 0 to 1 at infinity. [1]
    """
    small = np.minimum(x, 1.0)
    near = np.where(x == 0.0, 0.0, expm1_minus(small) / np.expm1(small))
    return np.where(x < 1.0, near, 1.0 - decay_ratio(x))


def floor_to_whole(quotient: Floats) -> Floats:
    """Largest whole number not above a quotient; one that misses a whole number by rounding counts as it. [1]."""
    nearest, whole = _nearest(quotient)
    return np.where(whole, nearest, np.floor(quotient))


def ceil_to_whole(quotient: Floats) -> Floats:
    """Least whole number not below a quotient, with the same allowance for rounding. [1]."""
    nearest, whole = _nearest(quotient)
    return np.where(whole, nearest, np.ceil(quotient))


def _nearest(quotient: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The nearest whole number, and whether the quotient is that number to rounding."""
    nearest = np.rint(quotient)
    return nearest, np.abs(quotient - nearest) <= _WHOLE * np.maximum(nearest, 1.0)

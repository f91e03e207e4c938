"""Laws of the gaps between failures in units of their scale, without checks: the inner loop of the sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import LawName

Floats = npt.NDArray[np.float64]

_ROOT_2PI = 2.5066282746310002
_GONE = 1000.0  # exponent at which a survival is 0: larger ones would multiply 0 by infinity


class Decay(NamedTuple):
    """Survival S at an age t, and its fall per unit of log t, ``t f(t)`` with the density f. [1]."""

    survival: Floats
    fall: Floats


def scale(name: LawName, shape: npt.ArrayLike) -> Floats:
    """Scale of a law over its mean: eta (Weibull), theta (gamma), the median (log-normal). [1].

    Parameters
    ----------
    name : LawName
        The family.
    shape : array_like
        As for `ckptplan.cost.laws.survival`. [1]

    Returns
    -------
    ndarray
        The scale; nan for a shape that is not positive. [1]
    """
    k = np.asarray(shape, dtype=np.float64)
    with np.errstate(all="ignore"):
        match name:
            case LawName.EXPONENTIAL:
                return np.ones_like(k)
            case LawName.WEIBULL:
                from scipy.special import gamma

                value = 1.0 / gamma(1.0 + 1.0 / k)
            case LawName.GAMMA:
                value = 1.0 / k
            case LawName.LOGNORMAL:
                value = np.exp(-0.5 * k * k)
            case LawName.RECORDED:
                raise ValueError("recorded gaps have no parametric law")
        return np.where(k > 0.0, value, np.nan)


def decay(u: Floats, shape: Floats, name: LawName) -> Decay:
    """Survival and its fall at an age in units of the scale (see `scale`).

    Parameters
    ----------
    u : ndarray
        Age over the scale, not negative. [1]
    shape : ndarray
        As for `ckptplan.cost.laws.survival`. [1]
    name : LawName
        The family.

    Returns
    -------
    Decay
        S and t f. [1]
    """
    match name:
        case LawName.EXPONENTIAL:
            y = np.minimum(u, _GONE)
            alive = np.exp(-y)
            return Decay(alive, y * alive)
        case LawName.WEIBULL:
            y = np.minimum(u**shape, _GONE)
            alive = np.exp(-y)
            return Decay(alive, shape * (y * alive))
        case LawName.GAMMA:
            from scipy.special import gammaincc, gammaln, xlogy

            return Decay(gammaincc(shape, u), np.exp(xlogy(shape, u) - u - gammaln(shape)))
        case LawName.LOGNORMAL:
            from scipy.special import ndtr

            z = np.log(u) / shape
            return Decay(ndtr(-z), np.exp(-0.5 * z * z) / (_ROOT_2PI * shape))
        case LawName.RECORDED:
            raise ValueError("recorded gaps have no parametric law")


def unit_integral(u: Floats, shape: Floats, name: LawName) -> Floats:
    """``(1/M) int_0^t S`` at an age in units of the scale; see `ckptplan.cost.laws.integrated_survival`. [1]."""
    if name is LawName.EXPONENTIAL:
        return np.asarray(-np.expm1(-u))
    if name is LawName.WEIBULL:
        from scipy.special import gammainc

        return np.asarray(gammainc(1.0 / shape, u**shape))
    if name is LawName.GAMMA:
        from scipy.special import gammainc, gammaincc

        return np.asarray(gammainc(shape + 1.0, u) + _product(u / shape, gammaincc(shape, u)))
    from scipy.special import ndtr

    z = np.log(u) / shape
    return np.asarray(ndtr(z - shape) + _product(u * np.exp(-0.5 * shape * shape), ndtr(-z)))


def unit_equilibrium(u: Floats, shape: Floats, name: LawName) -> Floats:
    """S_e at an age in units of the scale, from the tail where that keeps its digits."""
    if name is LawName.EXPONENTIAL:
        return np.exp(-u)
    if name is LawName.WEIBULL:
        from scipy.special import gammaincc

        return np.asarray(gammaincc(1.0 / shape, u**shape))
    # S_e of the last two is a difference, so a survival far in the tail has an absolute error of 1e-16.
    if name is LawName.GAMMA:
        from scipy.special import gammaincc

        far = gammaincc(shape + 1.0, u) - _product(u / shape, gammaincc(shape, u))
    else:
        from scipy.special import ndtr

        z = np.log(u) / shape
        far = ndtr(shape - z) - _product(u * np.exp(-0.5 * shape * shape), ndtr(-z))
    return np.maximum(far, 0.0)


def unit_density(u: Floats, shape: Floats, name: LawName) -> Floats:
    """Density in units of the scale, with its limit at age 0. [1]."""
    ratio = decay(u, shape, name).fall / u
    return np.where(u > 0.0, ratio, _at_birth(shape, name))


def unit_hazard(u: Floats, shape: Floats, name: LawName) -> Floats:
    """Hazard in units of the scale, in forms that do not divide 0 by 0 far in the tail."""
    match name:
        case LawName.EXPONENTIAL:
            return np.where(u >= 0.0, 1.0, np.nan)
        case LawName.WEIBULL:
            return np.asarray(shape * u ** (shape - 1.0))
        case LawName.LOGNORMAL:
            from scipy.special import log_ndtr

            z = np.log(u) / shape
            ratio = np.exp(-0.5 * z * z - log_ndtr(-z)) / (_ROOT_2PI * shape * u)
            return np.where(u > 0.0, ratio, 0.0 * shape)
    alive, fall = decay(u, shape, name)
    # The gamma law ends like an exponential one of rate 1/theta, with (a - 1)/u as the first correction.
    ratio = np.where(alive > 1e-290, fall / (alive * u), 1.0 - (shape - 1.0) / u)
    return np.where(u > 0.0, ratio, _at_birth(shape, name))


def _at_birth(shape: Floats, name: LawName) -> Floats:
    """Density and hazard at age 0 in units of the scale: infinite, that of the exponential law, or 0."""
    match name:
        case LawName.EXPONENTIAL:
            return np.ones_like(shape)
        case LawName.LOGNORMAL:
            return 0.0 * shape
    return np.where(shape < 1.0, np.inf, np.where(shape == 1.0, 1.0, 0.0 * shape))


def _product(growing: Floats, dying: Floats) -> Floats:
    """Product of a growing and a dying factor, 0 where the second has underflowed and the first may be infinite."""
    return np.where(dying > 0.0, growing * dying, 0.0 * dying)

"""Laws of the gaps between failures, each given by its mean and one shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import LawName
from ckptplan.cost.unit_laws import (
    Floats,
    decay,
    scale,
    unit_density,
    unit_equilibrium,
    unit_hazard,
    unit_integral,
)


def survival(t: npt.ArrayLike, mean: npt.ArrayLike, name: LawName, shape: npt.ArrayLike = 1.0) -> Floats:
    """Probability that a gap is longer than t.

    Parameters
    ----------
    t : array_like
        Age: time since the last failure. [s]
    mean : array_like
        Mean gap, the MTBF. [s]
    name : LawName
        The family; not ``recorded``.
    shape : array_like
        Shape k of Weibull, shape a of gamma, sigma of the log-normal; not used by the exponential law. [1]

    Returns
    -------
    ndarray
        S(t), from 1 at 0 to 0; nan for a negative age and for a mean or a shape that is not positive. [1]

    Notes
    -----
    Weibull ``exp(-(t/eta)^k)`` with ``eta = M / Gamma(1 + 1/k)``; gamma ``Q(a, a t/M)``; log-normal
    ``Phi(-log(t/m)/sigma)`` with the median ``m = M exp(-sigma^2/2)``. Shape 1 of Weibull and gamma is the
    exponential law. Johnson, Kotz and Balakrishnan, Continuous univariate distributions 1 (1994), ch. 14, 17, 21.
    """
    return _evaluate(lambda u, k: decay(u, k, name).survival, t, mean, name, shape)


def density(t: npt.ArrayLike, mean: npt.ArrayLike, name: LawName, shape: npt.ArrayLike = 1.0) -> Floats:
    """Density f of the gaps; arguments as for `survival`.

    Returns
    -------
    ndarray
        f(t); infinite at age 0 where the hazard is (Weibull and gamma with a shape below 1). [1/s]
    """
    return _evaluate(lambda u, k: unit_density(u, k, name), t, mean, name, shape, per_time=True)


def hazard(t: npt.ArrayLike, mean: npt.ArrayLike, name: LawName, shape: npt.ArrayLike = 1.0) -> Floats:
    """Rate of failure at age t, given no failure before, ``h = f/S``; arguments as for `survival`.

    Returns
    -------
    ndarray
        h(t). It falls with age for Weibull and gamma with a shape below 1 and grows for shapes above 1; that of the
        log-normal grows from 0 and then falls. [1/s]
    """
    return _evaluate(lambda u, k: unit_hazard(u, k, name), t, mean, name, shape, per_time=True)


def integrated_survival(t: npt.ArrayLike, mean: npt.ArrayLike, name: LawName, shape: npt.ArrayLike = 1.0) -> Floats:
    """``int_0^t S``, the expected part of a gap that lies before age t; arguments as for `survival`.

    Returns
    -------
    ndarray
        From 0 to the mean. [s]

    Notes
    -----
    ``M P(1/k, (t/eta)^k)`` for Weibull, ``M P(a + 1, a t/M) + t S`` for gamma and ``M Phi(log(t/m)/sigma - sigma) +
    t S`` for the log-normal (P, Q: regularised incomplete gamma functions). Every term is positive.
    """
    share = _evaluate(lambda u, k: unit_integral(u, k, name), t, mean, name, shape)
    return np.asarray(share * np.asarray(mean, dtype=np.float64))


def equilibrium_survival(t: npt.ArrayLike, mean: npt.ArrayLike, name: LawName, shape: npt.ArrayLike = 1.0) -> Floats:
    """Survival of the time to the next failure as seen at a random moment, ``S_e(t) = (1/M) int_t^inf S``.

    Parameters
    ----------
    t, mean, name, shape
        As for `survival`; t counts from the random moment. [s, 1]

    Returns
    -------
    ndarray
        S_e(t). [1]

    Notes
    -----
    The stationary residual life (Cox, Renewal theory, 1962, section 5.2).
    """
    return _evaluate(lambda u, k: unit_equilibrium(u, k, name), t, mean, name, shape)


def mean_residual(t: npt.ArrayLike, mean: npt.ArrayLike, name: LawName, shape: npt.ArrayLike = 1.0) -> Floats:
    """Expected time to the next failure at age t, ``M S_e(t)/S(t)``; arguments as for `survival`.

    Returns
    -------
    ndarray
        The mean at age 0; nan where the survival underflows. [s]
    """
    with np.errstate(all="ignore"):
        ratio = equilibrium_survival(t, mean, name, shape) / survival(t, mean, name, shape)
        return np.asarray(np.asarray(mean, dtype=np.float64) * ratio)


def _evaluate(
    function: Callable[[Floats, Floats], Floats],
    t: npt.ArrayLike,
    mean: npt.ArrayLike,
    name: LawName,
    shape: npt.ArrayLike,
    *,
    per_time: bool = False,
) -> Floats:
    """A function of age over scale and shape, nan where the input is outside its domain."""
    age, M, k = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (t, mean, shape)))
    with np.errstate(all="ignore"):
        size = M * scale(name, k)
        valid = (age >= 0.0) & (M > 0.0) & (k > 0.0)
        value = function(np.where(valid, age / size, np.nan), k)
        return np.where(valid, value / size if per_time else value, np.nan)

"""The exact optimum for exponential failures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats, in_blocks
from ckptplan.interval.young import young_interval

# Start of Newton's method, -u0 = r N(r)/D(r) with r = sqrt(a), lowest power first (D has the leading
# coefficient 1). It carries five terms of the power series of u, so that it is exact to rounding for small a;
# written by tests/interval/fit_exact_start.py, which says what the rest minimises.
_NUMERATOR = (
    -8009.357067059718,
    8099.983572418298,
    -4019.4736943791145,
    1054.2413126099816,
    -150.5957286158615,
    8.84970015086126,
)
_DENOMINATOR = (
    5663.470695062324,
    -3057.7676225367086,
    1086.1143644673712,
    -122.91455148481971,
    14.993266214308067,
    1.0,
)
_LARGEST_RATIO = 10.0  # where the fit ends; beyond, u is within 2e-5 of 1 and Newton's step from there is exact enough
_SMALLEST_ROOT = 0.025  # below, the residual (absolute rounding error 3e-16) is noise beside the error of the start


def exact_interval(stall: npt.ArrayLike, mtbf: npt.ArrayLike) -> Floats:
    """Work between saves that minimises expected run time under exponential failures.

    Parameters
    ----------
    stall : array_like
        Time one save blocks training, d. [s]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]

    Returns
    -------
    ndarray
        Work between two saves, the save excluded; nan for a negative stall or an MTBF that is not positive.
        [s]

    Notes
    -----
    The optimum is ``M u`` with ``-log(1 - u) - u = d/M`` (Daly 2006, from eq. 20; Herault and Robert 2015).
    It depends neither on the downtime nor on the restart time, whether failures strike them or not. It equals
    ``M (1 + W0(-exp(-1 - d/M)))``, but keeps full precision for ``d << M``, where W0 is evaluated next to its
    branch point.
    """
    return in_blocks(_fast, _careful, stall, mtbf, scratch_rows=4)


def exact_work_fraction(stall_over_mtbf: npt.ArrayLike) -> Floats:
    """Optimal work between saves over the MTBF, u.

    Parameters
    ----------
    stall_over_mtbf : array_like
        a = d/M. [1]

    Returns
    -------
    ndarray
        u, between 0 and 1, the solution of ``-log(1 - u) - u = a``; relative error below 1e-13. [1]

    Notes
    -----
    With restarts that cost nothing, u is also the share of wall time that is lost at the optimum, and 1 - u
    the goodput. Take 1 - u as ``exp(-exact_attempt(a))``: for large a the difference has no digits left.
    """
    return exact_interval(stall_over_mtbf, 1.0)


def exact_attempt(stall_over_mtbf: npt.ArrayLike) -> Floats:
    """Optimal period (work and save) over the MTBF, x = u + a, the solution of ``x + exp(-x) - 1 = a``.

    Parameters
    ----------
    stall_over_mtbf : array_like
        a = d/M. [1]

    Returns
    -------
    ndarray
        x; ``exp(-x)`` is the goodput at the optimum when restarts cost nothing, relative error below 1e-13.
        [1]

    Notes
    -----
    Herault and Robert 2015. Both terms of u + a are positive: nothing cancels.
    """
    return np.asarray(np.asarray(stall_over_mtbf, dtype=np.float64) + exact_work_fraction(stall_over_mtbf))


def _fast(stall: Floats, mtbf: Floats, out: Floats, scratch: Floats) -> None:
    ratio = scratch[0]
    np.divide(stall, mtbf, out=ratio)
    _work_fraction(ratio, out, scratch[1:])
    np.multiply(out, mtbf, out=out)


def _work_fraction(a: Floats, u: Floats, scratch: Floats) -> None:
    """Write u(a): the start u0, then one Newton step for ``u = G(u)``, ``G(u) = 1 - exp(-(a + u))``."""
    root, work, largest = scratch
    largest.fill(_LARGEST_RATIO)  # numpy vectorises the minimum of two arrays, not that of an array and a scalar
    np.minimum(a, largest, out=root)
    np.sqrt(root, out=root)
    _start(root, u, work)
    np.subtract(u, a, out=work)  # u holds -u0: this is -(a + u0)
    np.expm1(work, out=work)  # -G
    np.divide(u, work, out=work)
    np.subtract(1.0, work, out=work)
    np.multiply(work, np.greater(root, _SMALLEST_ROOT), out=work)
    np.subtract(work, u, out=u)


def _start(root: Floats, out: Floats, work: Floats) -> None:
    """Write -u0 into ``out``: both polynomials by Horner's rule, in place."""
    np.multiply(root, _NUMERATOR[-1], out=out)
    np.add(out, _NUMERATOR[-2], out=out)
    for coefficient in _NUMERATOR[-3::-1]:
        np.multiply(out, root, out=out)
        np.add(out, coefficient, out=out)
    np.add(root, _DENOMINATOR[-2], out=work)
    for coefficient in _DENOMINATOR[-3::-1]:
        np.multiply(work, root, out=work)
        np.add(work, coefficient, out=work)
    np.divide(out, work, out=out)
    np.multiply(out, root, out=out)


def _careful(stall: Floats, mtbf: Floats) -> Floats:
    ratio = np.asarray(stall / mtbf)
    u = np.empty_like(ratio)
    _work_fraction(ratio, u, np.empty((3, ratio.size)))
    tiny = (ratio < 1e-280) | (stall == 0.0)  # the ratio underflows; the first term of the series is the whole value
    interval = np.where(tiny, young_interval(stall, mtbf), mtbf * u)
    interval = np.where(np.isposinf(mtbf) & (stall > 0.0), np.inf, interval)
    return np.where((stall >= 0.0) & (mtbf > 0.0), interval, np.nan)

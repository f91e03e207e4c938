"""First-order intervals found in the literature, each with what separates it from the exact optimum.

They reduce to Young's rule for ``R, d << M``. None is exact: the exact optimum does not depend on the restart
time, so ``+R`` and ``-R`` are artefacts of two bookkeepings. They are here to reproduce published numbers,
not to plan with.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats


def daly_first_order(stall: npt.ArrayLike, mtbf: npt.ArrayLike, restart: npt.ArrayLike) -> Floats:
    """``sqrt(2 d (M + R))``.

    Parameters
    ----------
    stall, mtbf, restart : array_like
        d, M and R. [s]

    Returns
    -------
    ndarray
        Work between saves, nan where the root is undefined. [s]

    Notes
    -----
    Daly 2006, first order, as quoted by Bougeret et al. 2011. Wrong in that it grows with R.
    """
    d, M, R = _floats(stall, mtbf, restart)
    return _root(2.0 * d * (M + R))


def daly_first_order_less_stall(stall: npt.ArrayLike, mtbf: npt.ArrayLike, restart: npt.ArrayLike) -> Floats:
    """``sqrt(2 d (M + R)) - d``.

    Parameters
    ----------
    stall, mtbf, restart : array_like
        d, M and R. [s]

    Returns
    -------
    ndarray
        Work between saves, nan where the root is undefined. [s]

    Notes
    -----
    Widely quoted as Daly's first order. Wrong in that it grows with R, and subtracts d where the exact
    second-order term is ``-(2/3) d``; negative for ``d > 2 (M + R)``.
    """
    return np.asarray(daly_first_order(stall, mtbf, restart) - np.asarray(stall, dtype=np.float64))


def saxena_interval(stall: npt.ArrayLike, mtbf: npt.ArrayLike, restart: npt.ArrayLike) -> Floats:
    """``sqrt(2 d (M + R) + d^2)``.

    Parameters
    ----------
    stall, mtbf, restart : array_like
        d, M and R. [s]

    Returns
    -------
    ndarray
        Work between saves (the paper gives the period, this plus d), nan where the root is undefined. [s]

    Notes
    -----
    Saxena et al. 2024: exactly the minimum of Daly's first-order cost. Wrong in that it grows with R.
    """
    d, M, R = _floats(stall, mtbf, restart)
    return _root(2.0 * d * (M + R) + d * d)


def herault_robert_interval(
    stall: npt.ArrayLike, mtbf: npt.ArrayLike, restart: npt.ArrayLike, downtime: npt.ArrayLike = 0.0
) -> Floats:
    """``sqrt(2 d (M - D - R)) - d``.

    Parameters
    ----------
    stall, mtbf, restart, downtime : array_like
        d, M, R and D. [s]

    Returns
    -------
    ndarray
        Work between saves (the book gives the period, without the ``- d``); nan for ``D + R > M``. [s]

    Notes
    -----
    Herault and Robert 2015, first order. Wrong in that it falls with R: near ``R = M`` it loses most of the
    goodput, beyond it is undefined.
    """
    d, M, R = _floats(stall, mtbf, restart)
    return np.asarray(_root(2.0 * d * (M - np.asarray(downtime, dtype=np.float64) - R)) - d)


def bosilca_period(
    alpha: npt.ArrayLike,
    save: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    restart: npt.ArrayLike,
    downtime: npt.ArrayLike = 0.0,
) -> Floats:
    """``max(sqrt(2 (1 - alpha) C (M - (D + R + alpha C))), C)``, a period.

    Parameters
    ----------
    alpha : array_like
        Training speed while a save runs. [1]
    save : array_like
        Length of a save, all of it overlapped, C. [s]
    mtbf, restart, downtime : array_like
        M, R and D. [s]

    Returns
    -------
    ndarray
        Time from save start to save start, nan where the root is undefined. [s]

    Notes
    -----
    Bosilca et al. 2014; Aupy et al. 2013 with omega. It is the asynchronous save with d = 0, F = C and om =
    alpha, apart from the ``- (D + R + alpha C)``, which the exact optimum does not have.
    """
    C, M, R = _floats(save, mtbf, restart)
    al, D = np.asarray(alpha, dtype=np.float64), np.asarray(downtime, dtype=np.float64)
    return np.asarray(np.maximum(_root(2.0 * (1.0 - al) * C * (M - (D + R + al * C))), C))


def _floats(*values: npt.ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)


def _root(square: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt(square))

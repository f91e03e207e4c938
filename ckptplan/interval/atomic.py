"""The optimum when failures strike only the work, never a save (atomic saves)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import expm1_minus

_ROUNDS = 12  # of Newton's method; seven reach rounding for d/(A M) from 1e-14 to 1e6


def atomic_interval(stall: npt.ArrayLike, mtbf: npt.ArrayLike, recovery: npt.ArrayLike = 1.0) -> Floats:
    """Work between saves that maximises goodput when failures cannot strike a save.

    Parameters
    ----------
    stall : array_like
        Time one save blocks training, d. [s]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]
    recovery : array_like
        Factor A of `recovery_factor`. [1]

    Returns
    -------
    ndarray
        Work between two saves; nan for input outside its domain. [s]

    Notes
    -----
    ``u = 1 + W0((d/(A M) - 1)/e)``, i.e. ``1 - (1 - u) exp(u) = d/(A M)``: here, and only here, the optimum
    depends on the restart time. Solved as ``u + log(exp(-u) - 1 + u) = log(d/(A M))``, which is nearly linear
    in u for large stalls and in log u for small ones.
    """
    d, M, A = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (stall, mtbf, recovery)))
    valid = (d >= 0.0) & (M > 0.0) & (A >= 1.0)
    with np.errstate(all="ignore"):
        b = d / (A * M)
        u = np.log1p(np.sqrt(2.0 * b))
        for _ in range(_ROUNDS):
            excess = expm1_minus(-u)
            slope = 1.0 - np.expm1(-u) / excess
            step = (u + np.log(excess / b)) / slope
            u = np.where(step < u, u - step, 0.5 * u)
        return np.where(valid, np.where(b == 0.0, 0.0, M * u), np.nan)


def atomic_goodput(
    interval: npt.ArrayLike, stall: npt.ArrayLike, mtbf: npt.ArrayLike, recovery: npt.ArrayLike = 1.0
) -> Floats:
    """Goodput at any interval when failures cannot strike a save.

    Parameters
    ----------
    interval : array_like
        Work between two saves, W. [s]
    stall, mtbf, recovery : array_like
        As for `atomic_interval`. [s, s, 1]

    Returns
    -------
    ndarray
        ``W / (A M (exp(W/M) - 1) + d)``. [1]

    Notes
    -----
    Herault and Robert 2015, with the save outside the exposed time.
    """
    W, d, M, A = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (interval, stall, mtbf, recovery)))
    with np.errstate(all="ignore"):
        goodput = W / (A * M * np.expm1(W / M) + d)
        return np.where((W > 0.0) & (d >= 0.0) & (M > 0.0) & (A >= 1.0), goodput, np.nan)

"""What a recovery costs when failures may strike it too: the one factor A that all exact formulas share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats


def recovery_factor(mtbf: npt.ArrayLike, downtime: npt.ArrayLike, restart: npt.ArrayLike, strike: Strike) -> Floats:
    """Factor by which recoveries lengthen wall time, A >= 1.

    Parameters
    ----------
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]
    downtime : array_like
        Detection and waiting for a node, per failure, D. [s]
    restart : array_like
        Launch, load and reshard, per failure, R. [s]
    strike : Strike
        Which part of a recovery a further failure may strike.

    Returns
    -------
    ndarray
        A; infinity where it exceeds the range of doubles, nan for invalid input. [1]

    Notes
    -----
    ``1 + (D + R)/M`` where neither is struck, ``exp(R/M) (1 + D/M)`` where only the restart is (Herault and
    Robert 2015), ``exp((D + R)/M)`` where both are (Daly 2006 with D = 0). The expected wall time of a saved
    segment is ``A M (exp(P/M) - 1)``.
    """
    down, back = _ratios(mtbf, downtime, restart)
    with np.errstate(over="ignore", invalid="ignore"):
        match Strike(strike):
            case Strike.SAFE:
                return np.asarray(1.0 + (down + back))
            case Strike.R:
                return np.asarray(np.exp(back) * (1.0 + down))
            case Strike.DR:
                return np.asarray(np.exp(down + back))


def recovery_share(mtbf: npt.ArrayLike, downtime: npt.ArrayLike, restart: npt.ArrayLike, strike: Strike) -> Floats:
    """Share of wall time spent in recoveries, ``(A - 1)/A``.

    Parameters
    ----------
    mtbf, downtime, restart : array_like
        As for `recovery_factor`. [s]
    strike : Strike
        Which part of a recovery a further failure may strike.

    Returns
    -------
    ndarray
        Between 0 and 1; full relative precision also for a recovery much shorter than the MTBF. [1]

    Notes
    -----
    The forms below are ``(A - 1)/A`` with the leading 1 taken out by hand, so that nothing cancels or
    overflows.
    """
    down, back = _ratios(mtbf, downtime, restart)
    with np.errstate(all="ignore"):
        match Strike(strike):
            case Strike.SAFE:
                return _bounded(down + back)
            case Strike.R:
                return np.asarray(-np.expm1(-back) + np.exp(-back) * _bounded(down))
            case Strike.DR:
                return np.asarray(-np.expm1(-(down + back)))


def _bounded(ratio: Floats) -> Floats:
    """``r / (1 + r)``, 1 at infinity."""
    return np.where(np.isposinf(ratio), 1.0, ratio / (1.0 + ratio))


def _ratios(mtbf: npt.ArrayLike, downtime: npt.ArrayLike, restart: npt.ArrayLike) -> tuple[Floats, Floats]:
    """D/M and R/M, nan where an argument is out of its domain."""
    M, D, R = (np.asarray(value, dtype=np.float64) for value in (mtbf, downtime, restart))
    valid = (M > 0.0) & (D >= 0.0) & (R >= 0.0)
    with np.errstate(all="ignore"):
        return np.where(valid, D / M, np.nan), np.where(valid, R / M, np.nan)

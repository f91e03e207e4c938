"""What a recovery costs when failures may strike it too: the one factor A that all exact formulas share."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats


class RecoveryParts(NamedTuple):
    """A recovery, seen from the clock of failures."""

    unstruck: Floats  # during which the clock stands still
    struck: Floats  # at the end, through which no failure may fall


def recovery_parts(downtime: npt.ArrayLike, restart: npt.ArrayLike, strike: Strike) -> RecoveryParts:
    """Which part of a recovery the clock of failures does not count, and which part failures may strike.

    Parameters
    ----------
    downtime, restart : array_like
        Per failure, D and R. [any unit of time]
    strike : Strike
        Which part of a recovery a further failure may strike.

    Returns
    -------
    RecoveryParts
        They add up to ``D + R``. [the unit of the arguments]
    """
    D, R = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (downtime, restart)))
    match Strike(strike):
        case Strike.SAFE:
            return RecoveryParts(D + R, np.zeros_like(D))
        case Strike.R:
            return RecoveryParts(D, R)
        case Strike.DR:
            return RecoveryParts(np.zeros_like(D), D + R)


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
    ``exp(B/M) (1 + U/M)`` with the parts B, which is struck, and U, which is not, of `recovery_parts`:
    ``1 + (D + R)/M`` where neither is struck, ``exp(R/M) (1 + D/M)`` where only the restart is (Herault and
    Robert 2015), ``exp((D + R)/M)`` where both are (Daly 2006 with D = 0). The expected wall time of a saved
    segment is ``A M (exp(P/M) - 1)``.
    """
    unstruck, struck = recovery_parts(*_ratios(mtbf, downtime, restart), strike)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.exp(struck) * (1.0 + unstruck))


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
    ``(A - 1)/A`` with the leading 1 taken out by hand, so that nothing cancels or overflows.
    """
    unstruck, struck = recovery_parts(*_ratios(mtbf, downtime, restart), strike)
    with np.errstate(all="ignore"):
        return np.asarray(-np.expm1(-struck) + np.exp(-struck) * _bounded(unstruck))


def _bounded(ratio: Floats) -> Floats:
    """``r / (1 + r)``, 1 at infinity."""
    return np.where(np.isposinf(ratio), 1.0, ratio / (1.0 + ratio))


def _ratios(mtbf: npt.ArrayLike, downtime: npt.ArrayLike, restart: npt.ArrayLike) -> tuple[Floats, Floats]:
    """D/M and R/M, nan where an argument is out of its domain."""
    M, D, R = (np.asarray(value, dtype=np.float64) for value in (mtbf, downtime, restart))
    valid = (M > 0.0) & (D >= 0.0) & (R >= 0.0)
    with np.errstate(all="ignore"):
        return np.where(valid, D / M, np.nan), np.where(valid, R / M, np.nan)

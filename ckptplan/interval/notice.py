"""Notice: interruptions that are announced, long enough ahead to save or not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats


class NoticedInterruption(NamedTuple):
    """What announced interruptions add to the overhead, and whether the notice allows to save."""

    overhead: Floats  # first order [1]
    is_long_enough: npt.NDArray[np.bool_]


def noticed_interruption_overhead(
    stall: npt.ArrayLike,
    restart: npt.ArrayLike,
    mean_time_between: npt.ArrayLike,
    *,
    notice: npt.ArrayLike = np.inf,
    flush: npt.ArrayLike = 0.0,
) -> NoticedInterruption:
    """Overhead of interruptions with notice: a last save and a restart each, and no rework.

    Parameters
    ----------
    stall, flush : array_like
        Stall d and background flush F of the last save. [s]
    restart : array_like
        Per interruption, downtime included, R. [s]
    mean_time_between : array_like
        Mean time between such interruptions, M_i. [s]
    notice : array_like
        From the announcement to the interruption. [s]

    Returns
    -------
    NoticedInterruption
        ``(d + F + R)/M_i`` where the notice is at least d + F. nan, and False, for a shorter one, which is a failure
        like any other: see `mtbf_without_notice`. nan, and False, outside the domain.

    Notes
    -----
    The last save ends with the notice. It holds the state at its start, so that training beside its flush is in vain:
    F is lost like the stall. Nothing depends on the interval, so that the best one is that for the failures alone.
    First order: valid for an interval, d, F and R far below M_i. A save that had just ended anyway, which makes the
    last one superfluous, is of second order.
    """
    d, R, M_i, ahead, F = np.broadcast_arrays(*_floats(stall, restart, mean_time_between, notice, flush))
    valid = (d >= 0.0) & (R >= 0.0) & (M_i > 0.0) & (ahead >= 0.0) & (F >= 0.0)
    with np.errstate(all="ignore"):
        saves = valid & (ahead >= d + F)
        return NoticedInterruption(np.where(saves, (d + F + R) / M_i, np.nan), saves)


def mtbf_without_notice(
    mtbf: npt.ArrayLike,
    stall: npt.ArrayLike,
    mean_time_between: npt.ArrayLike,
    *,
    notice: npt.ArrayLike = np.inf,
    flush: npt.ArrayLike = 0.0,
) -> Floats:
    """MTBF that sets the interval: of the failures, and of the interruptions whose notice is too short to save.

    Parameters
    ----------
    mtbf : array_like
        Mean time between failures that nobody announces, M; may be infinite. [s]
    stall, mean_time_between, notice, flush : array_like
        As for `noticed_interruption_overhead`. [s]

    Returns
    -------
    ndarray
        M, or ``1/(1/M + 1/M_i)``; nan outside the domain. [s]

    Notes
    -----
    Rates of independent causes add.
    """
    M, d, M_i, ahead, F = np.broadcast_arrays(*_floats(mtbf, stall, mean_time_between, notice, flush))
    valid = (M > 0.0) & (d >= 0.0) & (M_i > 0.0) & (ahead >= 0.0) & (F >= 0.0)
    with np.errstate(all="ignore"):
        return np.where(valid, np.where(ahead >= d + F, M, 1.0 / (1.0 / M + 1.0 / M_i)), np.nan)


def _floats(*values: npt.ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)

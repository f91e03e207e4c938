"""The first-order account: what the published tables print, and where it stops being a goodput."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.interval.blocks import Floats


class FirstOrder(NamedTuple):
    """First-order terms [1], each a time over the interval or over the MTBF."""

    save: Floats
    rework: Floats
    restart: Floats

    @property
    def overhead(self) -> Floats:
        """Sum of the terms; to first order both the waste and the overhead over useful work."""
        return np.asarray(self.save + self.rework + self.restart)

    @property
    def goodput(self) -> Floats:
        """One minus the sum, nan where the sum exceeds one and first order says nothing."""
        total = self.overhead
        return np.where(total <= 1.0, 1.0 - total, np.nan)


def first_order_shares(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    restart: npt.ArrayLike = 0.0,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> FirstOrder:
    """First-order cost of an interval: ``d_eff/W``, ``W/(2M) + om F/M`` and ``R/M``.

    Parameters
    ----------
    interval : array_like
        Work between two saves, the save excluded, W. [s]
    stall : array_like
        Time one save blocks training, d. [s]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]
    restart : array_like
        Whole recovery per failure, downtime included. [s]
    flush : array_like
        Background flush of one save, F. [s]
    speed : array_like
        Training speed during the flush, om. [1]

    Returns
    -------
    FirstOrder
        The three terms; nan for input outside its domain.

    Notes
    -----
    Young 1974 for F = 0. Valid for ``d, W, R << M``; at the optimum the sum without R lies between the exact
    waste and the exact overhead over useful work.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (interval, stall, mtbf, restart, flush, speed))
    W, d, M, R, F, om = np.broadcast_arrays(*arrays)
    valid = (W >= 0.0) & (d >= 0.0) & (M > 0.0) & (R >= 0.0) & (F >= 0.0) & (om >= 0.0) & (om <= 1.0)
    with np.errstate(all="ignore"):
        d_eff = effective_stall(d, F, om)
        save = np.where(d_eff == 0.0, 0.0, d_eff / W)  # saving costs nothing, however often
        rework = W / (2.0 * M) + interval_floor(F, om) / M
        return FirstOrder(*(np.where(valid, term, np.nan) for term in (save, rework, R / M)))

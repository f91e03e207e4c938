"""Detection: how long a failure goes unnoticed, over all the ways in which jobs fail."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_WHOLE = 1e-9  # shares written with ten decimals still add up to one


def mean_detection_delay(share: ArrayLike, delay: ArrayLike, axis: int = -1) -> Floats:
    """Mean time from a failure until it is noticed, the first part of the downtime D.

    Parameters
    ----------
    share : array_like
        Share of the failures that belong to each class, which sum to 1 along ``axis``. [1]
    delay : array_like
        Time until a failure of the class is noticed: seconds for a crash, the timeout of the watchdog for a hang.
        [s]
    axis : int
        Axis along which the classes lie.

    Returns
    -------
    ndarray
        ``sum share delay``; nan where shares or delays are negative, or the shares do not sum to 1. [s]

    Notes
    -----
    Exact. The mean is all that matters while failures do not strike the downtime: it enters the goodput through
    ``D`` alone and does not move the best interval. A class without failures may have any delay.
    """
    p, t = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (share, delay)))
    with np.errstate(all="ignore"):
        valid = np.all((p >= 0.0) & (t >= 0.0), axis=axis) & (np.abs(np.sum(p, axis=axis) - 1.0) <= _WHOLE)
        mean = np.sum(np.where(p == 0.0, 0.0, p * t), axis=axis)
        return np.where(valid, mean, np.nan)

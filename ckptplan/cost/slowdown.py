"""How much a background flush slows training: from measured steps, or from a link that both share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class OverlappedCopy(NamedTuple):
    """A copy-out beside forward and backward: what training waits for, and what it does not see. [s]."""

    stall_s: Floats
    hidden_s: Floats


def speed_from_step_times(outside: ArrayLike, during: ArrayLike) -> Floats:
    """Training speed while a save flushes, from the time of a step outside and during it.

    Parameters
    ----------
    outside : array_like
        Time of a step while nothing is saved. [s]
    during : array_like
        Time of a step while a save is flushed. [s]

    Returns
    -------
    ndarray
        om, from 0 to 1; nan unless both times are positive. [1]

    Notes
    -----
    Work per time, ``outside/during``; measured throughputs enter as ``during/outside``. A flush does not speed
    training up: a ratio above 1 is scatter of the measurement and counts as 1.
    """
    before, beside = np.asarray(outside, dtype=np.float64), np.asarray(during, dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.where((before > 0.0) & (beside > 0.0), np.minimum(before / beside, 1.0), np.nan)


def speed_from_shared_link(flush_rate: ArrayLike, bandwidth: ArrayLike, exposed_communication: ArrayLike) -> Floats:
    """Training speed while a flush takes part of a link that communication waits for.

    Parameters
    ----------
    flush_rate : array_like
        Rate of the flush over the link of one node. [bytes/s]
    bandwidth : array_like
        Bandwidth of that link. [bytes/s]
    exposed_communication : array_like
        Share of a step in which training waits for the link, c; communication hidden behind work does not count.
        [1]

    Returns
    -------
    ndarray
        om; 0 where the flush takes the whole link and communication is exposed, nan for input outside its domain.
        [1]

    Notes
    -----
    With the share ``s = rate/bandwidth`` the exposed part lasts ``1/(1 - s)`` times as long: ``om = 1/(1 - c +
    c/(1 - s))``, in the form ``(1 - s)/(1 - s + c s)``. Fair shares of bandwidth are assumed, and hidden
    communication stays hidden: for a large s that is optimistic, so measured step times are the better source.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (flush_rate, bandwidth, exposed_communication))
    rate, link, c = np.broadcast_arrays(*arrays)
    valid = (rate >= 0.0) & (link > 0.0) & (c >= 0.0) & (c <= 1.0)
    with np.errstate(all="ignore"):
        left = np.maximum(1.0 - rate / link, 0.0)
        speed = np.where(c == 0.0, 1.0, left / (left + c * (1.0 - left)))
        return np.where(valid, speed, np.nan)


def overlapped_copy_stall(copy_time: ArrayLike, forward_backward: ArrayLike) -> OverlappedCopy:
    """What of a copy-out does not fit beside forward and backward, before the optimizer changes the weights.

    Parameters
    ----------
    copy_time : array_like
        Time of the copy from GPU memory to host memory. [s]
    forward_backward : array_like
        Forward and backward of one step, in which weights and optimizer states do not change. [s]

    Returns
    -------
    OverlappedCopy
        ``max(0, copy - forward and backward)``, and the rest; nan for negative times. [s]

    Notes
    -----
    Maurya et al. 2024 (DataStates-LLM) copy in this window. Valid if the copy does not slow the step itself.
    """
    copy, window = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (copy_time, forward_backward)))
    valid = (copy >= 0.0) & (window >= 0.0)
    with np.errstate(all="ignore"):
        hidden = np.minimum(copy, window)
        return OverlappedCopy(np.where(valid, copy - hidden, np.nan), np.where(valid, hidden, np.nan))

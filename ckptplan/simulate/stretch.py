"""One stretch of training, from a recovery to the failure that ends it, for many runs at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.simulate.process import Recovery
from ckptplan.simulate.timeline import Timeline, copied_saves, durable_saves, spent

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class End(NamedTuple):
    """Where a run of finite work ends, seen from the last resume: saves left, position of the end. [1, s]."""

    saves: Floats
    position_s: Floats


class Stretch(NamedTuple):
    """What one recovery and the training after it brought. [1, s].

    Work up to a copy from which training resumes is no rework yet: it waits for the flush to be done anew, and
    becomes rework if that comes to nothing.
    """

    durable: Floats  # saves that became durable
    begun: Floats  # saves begun
    to_copy: Bools  # the next resume is from a copy that is not durable
    rework_s: Floats  # ledger "kept": time in training that is neither durable nor waiting
    work_lost_s: Floats  # ledger "gross": work done that is neither durable nor waiting
    saving_s: Floats  # ledger "gross": time in stall and slow-down
    restart_s: Floats
    uptime_s: Floats
    ended: Bools  # all the work is done


def play(
    timeline: Timeline,
    recovery: Recovery,
    gap_s: Floats,
    from_copy: Bools,
    soft: Bools,
    *,
    end: End | None = None,
) -> Stretch:
    """Play one recovery and the stretch of training after it.

    Parameters
    ----------
    timeline, recovery : Timeline, Recovery
        The process.
    gap_s : ndarray
        Time to the failure on the clock of failures. [s]
    from_copy : ndarray
        Training resumes from a copy in host memory whose flush has to be done anew.
    soft : ndarray
        The failure leaves the copy in host memory.
    end : End, optional
        Where the run ends.

    Returns
    -------
    Stretch
        Its parts are booked each from its own position in the cycle. [1, s]
    """
    restart = np.minimum(gap_s, recovery.struck_s)
    uptime = gap_s - restart
    restart += recovery.safe_s
    at_start = timeline.copied_s * from_copy
    position = uptime + at_start
    ended, durable, most = _cut(timeline, position, end)
    if end is not None:
        np.subtract(position, at_start, out=uptime, where=ended)
    to_copy = soft & ~ended
    if soft.any():
        to_copy &= np.minimum(copied_saves(timeline, position), most) > durable
    time = spent(timeline, position, most)
    waiting = timeline.copied_s * to_copy
    work_lost = time.worked_s - timeline.interval_s * (durable + to_copy)
    rework = position - timeline.period_s * durable - waiting
    rework[ended] = work_lost[ended] = 0.0
    return Stretch(
        durable=durable,
        begun=time.begun - from_copy,
        to_copy=to_copy,
        rework_s=rework,
        work_lost_s=work_lost,
        saving_s=time.saving_s - timeline.stall_s * from_copy,
        restart_s=restart,
        uptime_s=uptime,
        ended=ended,
    )


def play_hard(timeline: Timeline, recovery: Recovery, gap_s: Floats, end: End) -> Stretch:
    """`play` where no copy ever survives: the same, without what is zero then.

    Parameters
    ----------
    timeline, recovery, gap_s, end
        As for `play`.

    Returns
    -------
    Stretch
        [1, s]
    """
    restart = np.minimum(gap_s, recovery.struck_s)
    position = gap_s - restart
    restart += recovery.safe_s
    ended, durable, most = _cut(timeline, position, end)
    time = spent(timeline, position, most)
    lost = ~ended
    work_lost = np.multiply(durable, -timeline.interval_s)
    work_lost += time.worked_s
    work_lost *= lost
    rework = np.multiply(durable, -timeline.period_s)
    rework += position
    rework *= lost
    return Stretch(durable, time.begun, _NEVER, rework, work_lost, time.saving_s, restart, position, ended)


_NEVER = np.zeros(1, dtype=np.bool_)


def _cut(timeline: Timeline, position: Floats, end: End | None) -> tuple[Bools, Floats, Floats | float]:
    """Positions cut at the end of the run, in place; which runs are at it, saves that are durable, and their most."""
    if end is None:
        return np.zeros(position.size, dtype=np.bool_), durable_saves(timeline, position), np.inf
    ended = position >= end.position_s
    np.minimum(position, end.position_s, out=position)
    durable = durable_saves(timeline, position)
    np.minimum(durable, end.saves, out=durable)
    np.copyto(durable, end.saves, where=ended)
    return ended, durable, end.saves

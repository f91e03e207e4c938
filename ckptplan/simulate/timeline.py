"""Positions on the timeline of training: which saves are complete at a time since the resume, and what it was spent on.

A resume from a copy in host memory that was not durable yet flushes it anew. It is the same timeline, entered at
``W + d``, where the copy of the first save is complete and its flush starts. The *position* of a stretch is therefore
its uptime, plus ``W + d`` after such a resume.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.simulate.process import Process

Floats = npt.NDArray[np.float64]


class Timeline(NamedTuple):
    """The lengths that make up the timeline. [s], speed [1]."""

    interval_s: float
    stall_s: float
    flush_s: float
    speed: float
    stolen_s: float  # training time that one flush takes by slowing down, (1 - om) F
    overlap_s: float  # work done during one flush, om F
    save_s: float  # training time that one save takes in all, d + (1 - om) F
    period_s: float
    copied_s: float  # position at which the copy of the first save is complete, W + d


class Spent(NamedTuple):
    """What the time from the resume to a position went into. [s, 1]."""

    begun: Floats  # saves begun
    worked_s: Floats  # work done, at full speed or slowed down
    saving_s: Floats  # stall and slow-down, also of saves that came to nothing


def timeline_of(process: Process) -> Timeline:
    """The timeline of a checked process. [s]."""
    W, d, F, om = process.interval_s, process.stall_s, process.flush_s, process.speed
    stolen = (1.0 - om) * F
    return Timeline(W, d, F, om, stolen, om * F, d + stolen, W + d + stolen, W + d)


def durable_saves(timeline: Timeline, position_s: Floats) -> Floats:
    """Saves whose flush has ended at a position: save j is durable at ``j P + om F``. [s -> 1]."""
    count = np.subtract(position_s, timeline.overlap_s)
    np.maximum(count, 0.0, out=count)
    np.divide(count, timeline.period_s, out=count)
    return np.floor(count, out=count)


def copied_saves(timeline: Timeline, position_s: Floats) -> Floats:
    """Saves whose copy is complete at a position: that of save j is at ``j P - (1 - om) F``. [s -> 1]."""
    count = np.add(position_s, timeline.stolen_s)
    np.divide(count, timeline.period_s, out=count)
    return np.floor(count, out=count)


def spent(timeline: Timeline, position_s: Floats, most_saves: Floats | float = np.inf) -> Spent:
    """What the time up to a position was spent on, phase by phase.

    Parameters
    ----------
    timeline : Timeline
        The lengths of the phases.
    position_s : ndarray
        Positions, not negative. [s]
    most_saves : array_like
        Saves after which no further one starts (the end of a finite run). [1]

    Returns
    -------
    Spent
        Saves begun, work done, and time in stalls and slow-downs. The two times sum to the position. [1, s]
    """
    W, d, F = timeline.interval_s, timeline.stall_s, timeline.flush_s
    since = np.subtract(position_s, W)  # since the first save began
    begun = np.divide(since, timeline.period_s)
    np.floor(begun, out=begun)
    begun += 1.0
    np.maximum(begun, 0.0, out=begun)
    if most_saves is not np.inf:
        np.minimum(begun, most_saves, out=begun)
    before = np.maximum(begun, 1.0)
    before -= 1.0  # saves whose whole period has passed
    rest = np.multiply(before, timeline.period_s)
    np.subtract(since, rest, out=rest)  # since the last save began; negative before the first
    saving = np.maximum(rest, 0.0)
    np.minimum(saving, d, out=saving)
    worked = np.multiply(before, W)
    worked += W
    if F == 0.0:
        rest -= saving
        worked += rest
    else:
        worked += np.minimum(rest, 0.0)
        rest -= d
        np.maximum(rest, 0.0, out=rest)
        flushing = np.minimum(rest, F)
        rest -= flushing
        worked += rest
        worked += timeline.speed * flushing
        saving += (1.0 - timeline.speed) * flushing
    before *= timeline.save_s
    saving += before
    if most_saves is not np.inf:  # a last piece without a save may be longer than an interval
        none = begun == 0.0
        np.copyto(worked, position_s, where=none)
        np.copyto(saving, 0.0, where=none)
    return Spent(begun, worked, saving)

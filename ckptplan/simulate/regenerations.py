"""Many failures, each a fresh start: what the time between them was spent on, in blocks that stay in the cache.

Every time of interest is a weighted sum of a few quantities per failure. Only these are computed, summed over groups of
failures; totals and spreads of all times follow from their sums and products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.simulate.process import Process, recovery_of
from ckptplan.simulate.timeline import timeline_of

Floats = npt.NDArray[np.float64]

BLOCK = 8192  # failures: all rows together stay in the second-level cache
_GROUP = 32  # failures whose sums are one unit of the estimate of the spread
_FEW = 2048  # failures, below which each one is a unit

# Per failure: 1, gap, part of the recovery on the clock, durable saves, whole periods since the first save began, time
# since the last save began (negative before the first), and of that the stall and the flush.
_ONE, _GAP, _STRUCK, _DURABLE, _PERIODS, _REST, _STALL, _FLUSH = range(8)


class Weights(NamedTuple):
    """How each time follows from the rows of `Sums`: weights to sum with. [s]."""

    useful: Floats
    kept_save: Floats
    kept_rework: Floats
    gross_save: Floats
    gross_rework: Floats
    restart: Floats
    clock: Floats
    saves: Floats  # durable saves, a number


class Sums(NamedTuple):
    """Sums over independent units: of each row, and of the product of any two."""

    units: int
    total: Floats
    product: Floats
    weights: Weights


def sum_up(process: Process, blocks: Iterator[Floats], failures: int) -> Sums:
    """Sums over gaps that each start the process afresh.

    Parameters
    ----------
    process : Process
        A checked process in which no host copy survives.
    blocks : iterator of ndarray
        Gaps on the clock of failures, at most ``BLOCK`` at a time. [s]
    failures : int
        How many there are. [1]

    Returns
    -------
    Sums
        Units are groups of consecutive gaps.
    """
    group = 1 if failures < _FEW else _GROUP
    rows, limits = np.ones((8, BLOCK)), _limits(process)
    totals, product, units = [], np.zeros((8, 8)), 0
    for gap in blocks:
        part = rows[:, : gap.size]
        _fill(process, gap, part, limits)
        grouped = np.add.reduceat(part, np.arange(0, gap.size, group), axis=1) if group > 1 else part
        totals.append(grouped.sum(axis=1))
        product += grouped @ grouped.T
        units += grouped.shape[1]
    total = np.array([math.fsum(column) for column in zip(*totals, strict=True)])
    return Sums(units, total, product, _weights(process))


class _Limits(NamedTuple):
    """Bounds as arrays: numpy vectorises the minimum of two arrays, not that of an array and a number."""

    zero: Floats
    struck: Floats
    stall: Floats
    flush: Floats


def _limits(process: Process) -> _Limits:
    values = (0.0, recovery_of(process).struck_s, process.stall_s, process.flush_s)
    return _Limits(*(np.full(BLOCK, value) for value in values))


def _fill(process: Process, gap: Floats, rows: Floats, limits: _Limits) -> None:
    """Write the rows of one block."""
    timeline, size = timeline_of(process), gap.size
    zero, struck, stall, flush = (limit[:size] for limit in limits)
    durable, periods, rest = rows[_DURABLE], rows[_PERIODS], rows[_REST]
    rows[_GAP] = gap
    np.minimum(gap, struck, out=rows[_STRUCK])
    uptime = np.subtract(gap, rows[_STRUCK], out=gap)
    np.subtract(uptime, timeline.overlap_s, out=durable)  # save j is durable at j P + om F
    np.maximum(durable, zero, out=durable)
    np.divide(durable, timeline.period_s, out=durable)
    np.floor(durable, out=durable)
    np.subtract(uptime, timeline.interval_s, out=rest)  # save j begins at W + (j - 1) P
    np.divide(rest, timeline.period_s, out=periods)
    np.floor(periods, out=periods)
    np.maximum(periods, zero, out=periods)
    np.multiply(periods, timeline.period_s, out=gap)
    np.subtract(rest, gap, out=rest)
    np.maximum(rest, zero, out=rows[_STALL])
    np.minimum(rows[_STALL], stall, out=rows[_STALL])
    if timeline.flush_s == 0.0:
        rows[_FLUSH] = 0.0
        return
    np.subtract(rest, timeline.stall_s, out=rows[_FLUSH])
    np.maximum(rows[_FLUSH], zero, out=rows[_FLUSH])
    np.minimum(rows[_FLUSH], flush, out=rows[_FLUSH])


def _weights(process: Process) -> Weights:
    """What each time is made of."""
    timeline, safe = timeline_of(process), recovery_of(process).safe_s
    one, gap, struck, durable, periods, rest, stall, flush = np.eye(8)
    W, om = timeline.interval_s, timeline.speed
    worked = W * (one + periods) + (rest - stall - flush) + om * flush
    return Weights(
        useful=W * durable,
        kept_save=timeline.save_s * durable,
        kept_rework=gap - struck - timeline.period_s * durable,
        gross_save=timeline.save_s * periods + stall + (1.0 - om) * flush,
        gross_rework=worked - W * durable,
        restart=safe * one + struck,
        clock=safe * one + gap,
        saves=durable,
    )

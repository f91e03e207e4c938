"""Retention: how many checkpoints to keep, when what is wrong with them is found only later, and what they wear out."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import ceil_to_whole, decay_ratio

_DAY_S = 86400.0
_NEIGHBOURS = 2  # whole numbers by which a rounded logarithm may be off


class DelayLaw(StrEnum):
    """How the delay from a corruption to its detection is distributed."""

    EXPONENTIAL = "exponential"
    BOUNDED = "bounded"  # never longer than given; taken to be always that long, the worst case


class Wear(NamedTuple):
    """What saves write, and how long the devices that take it last."""

    bytes_per_day: Floats  # by the job
    device_bytes_per_day: Floats  # to the cells of each device, copies and amplification included
    days: Floats  # until a device has taken its endurance; infinite where nothing is written


def no_clean_probability(
    keep: npt.ArrayLike,
    period: npt.ArrayLike,
    delay: npt.ArrayLike,
    *,
    law: DelayLaw = DelayLaw.EXPONENTIAL,
    rollback: npt.ArrayLike = 0.0,
) -> Floats:
    """Probability that no kept checkpoint is older than a corruption at the time it is found.

    Parameters
    ----------
    keep : array_like
        Newest checkpoints that are kept, k; a whole number, not negative. [1]
    period : array_like
        Wall time from save to save, P. [s]
    delay : array_like
        From the corruption to its detection: the mean (exponential) or the longest (bounded). [s]
    law : DelayLaw
        Distribution of the delay.
    rollback : array_like
        The checkpoint must be older than the corruption by this much, B: the steps back from a loss spike. [s]

    Returns
    -------
    ndarray
        nan for input outside its domain. [1]

    Notes
    -----
    A corruption happens at a phase, uniform in (0, P), after the last clean save; that save is still there iff
    ``phase + delay + B < k P``. Exponential of mean l, ``y = k P - B >= P``: ``exp(-(y - P)/l) (1 - exp(-P/l)) l/P``;
    for ``0 < y < P`` the phases beyond y have lost it for certain.
    """
    k, P, L, B = _arrays(keep, period, delay, rollback)
    valid = (k >= 0.0) & (k == np.floor(k)) & (P > 0.0) & (L >= 0.0) & (B >= 0.0)
    with np.errstate(all="ignore"):
        y = k * P - B
        always = np.clip((L - (y - P)) / P, 0.0, 1.0)
        if DelayLaw(law) is DelayLaw.EXPONENTIAL:
            full = np.exp(-(y - P) / L) * _mean_survival(P / L)
            part = 1.0 - y / P * (1.0 - _mean_survival(y / L))
            always = np.where(L == 0.0, always, np.where(y >= P, full, np.where(y > 0.0, part, 1.0)))
        return np.where(valid, always, np.nan)


def checkpoints_to_keep(
    max_probability: npt.ArrayLike,
    period: npt.ArrayLike,
    delay: npt.ArrayLike,
    *,
    law: DelayLaw = DelayLaw.EXPONENTIAL,
    rollback: npt.ArrayLike = 0.0,
) -> Floats:
    """Least number of newest checkpoints with which a clean one is missing no more often than asked.

    Parameters
    ----------
    max_probability : array_like
        Probability of no clean checkpoint that is accepted, 0 to 1. [1]
    period, delay, law, rollback
        As for `no_clean_probability`. [s]

    Returns
    -------
    ndarray
        Whole number, at least 1; infinite where none suffices (0 asked of an exponential delay); nan for input outside
        its domain. A save under way needs room for one more. [1]

    Notes
    -----
    Bounded by L: ``ceil((L + B)/P - max_probability) + 1``, at 0 the certain ``ceil((L + B)/P) + 1``. Exponential:
    the logarithm of `no_clean_probability`, then that function itself decides between neighbours.
    """
    q, P, L, B = _arrays(max_probability, period, delay, rollback)
    valid = (q >= 0.0) & (q <= 1.0) & (P > 0.0) & (L >= 0.0) & (B >= 0.0)
    with np.errstate(all="ignore"):
        k = np.maximum(1.0, ceil_to_whole((L + B) / P - q) + 1.0)
        if DelayLaw(law) is DelayLaw.EXPONENTIAL:
            more = np.log(_mean_survival(P / L) / q) * (L / P)
            k = np.where(L == 0.0, k, np.maximum(np.floor(B / P) + 1.0, np.ceil(1.0 + B / P + more)))
            k = np.where(q == 1.0, 1.0, np.where((q == 0.0) & (L > 0.0) | np.isposinf(L), np.inf, k))
            k = _least(k, lambda n: no_clean_probability(n, P, L, law=law, rollback=B) <= q)
        return np.where(valid, k, np.nan)


def checkpoints_for_depth(depth: npt.ArrayLike, interval: npt.ArrayLike) -> Floats:
    """Checkpoints to keep so that one at least ``depth`` back is always there.

    Parameters
    ----------
    depth : array_like
        How far back the wanted state may lie when it is asked for: for a loss spike the steps back and the steps until
        it is noticed, B + lag. [any unit]
    interval : array_like
        From save to save, in the unit of ``depth``: steps, or seconds of the same clock. [that unit]

    Returns
    -------
    ndarray
        ``ceil(depth/interval) + 1``; nan for input outside its domain. [1]
    """
    return checkpoints_to_keep(0.0, interval, depth, law=DelayLaw.BOUNDED)


def fits(capacity_bytes: npt.ArrayLike, size_bytes: npt.ArrayLike) -> Floats:
    """Whole checkpoints that fit into a capacity.

    Parameters
    ----------
    capacity_bytes, size_bytes : array_like
        Room for checkpoints, and the size of one. [bytes]

    Returns
    -------
    ndarray
        One of them is needed for the save under way, if the oldest is deleted after it; nan for input outside its
        domain. [1]
    """
    capacity, size = _arrays(capacity_bytes, size_bytes)
    with np.errstate(all="ignore"):
        return np.where((capacity >= 0.0) & (size > 0.0), np.floor_divide(capacity, size), np.nan)


def wear(
    size_bytes: npt.ArrayLike,
    period: npt.ArrayLike,
    *,
    endurance_bytes: npt.ArrayLike = np.inf,
    devices: npt.ArrayLike = 1,
    copies: npt.ArrayLike = 1.0,
    write_amplification: npt.ArrayLike = 1.0,
) -> Wear:
    """Bytes that saves write per day, and the days until the devices are worn out.

    Parameters
    ----------
    size_bytes : array_like
        Bytes of one checkpoint. [bytes]
    period : array_like
        Wall time from save to save, P. [s]
    endurance_bytes : array_like
        Bytes that one device may take in its life: its TBW, or capacity x writes per day x days. [bytes]
    devices : array_like
        Devices that share the writes evenly; a whole number. [1]
    copies : array_like
        Bytes stored per byte saved: replicas, or data and parity over data. [1]
    write_amplification : array_like
        Bytes written to the cells per byte that the device is sent, at least 1. [1]

    Returns
    -------
    Wear
        Which checkpoints are kept does not matter: every save is written. nan for input outside its domain.
    """
    size, P, endurance, n, c, a = _arrays(size_bytes, period, endurance_bytes, devices, copies, write_amplification)
    valid = (size >= 0.0) & (P > 0.0) & (endurance >= 0.0) & (n >= 1.0) & (c >= 1.0) & (a >= 1.0)
    with np.errstate(all="ignore"):
        daily = np.where(valid & (n == np.floor(n)), size * (_DAY_S / P), np.nan)
        device = daily * c * a / n
        days = np.where(device == 0.0, np.inf, endurance / device)
        return Wear(daily, device, days)


def _least(start: Floats, enough: Callable[[Floats], npt.NDArray[np.bool_]]) -> Floats:
    """Least whole number that is enough, one or two from a start."""
    k = start
    for _ in range(_NEIGHBOURS):
        k = np.where(enough(k), k, k + 1.0)
    for _ in range(_NEIGHBOURS):
        k = np.where((k > 1.0) & enough(k - 1.0), k - 1.0, k)
    return k


def _mean_survival(x: Floats) -> Floats:
    """``(1 - exp(-x))/x``, 1 at 0. [1]."""
    return np.asarray(1.0 / (x + decay_ratio(x)))


def _arrays(*values: npt.ArrayLike) -> tuple[Floats, ...]:
    """In one shape."""
    return tuple(np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in values)))

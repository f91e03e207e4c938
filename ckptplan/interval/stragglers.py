"""Slow nodes: what it is worth to find and evict a node that slows the whole job and does not recover soon."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import expm1_minus


class Eviction(NamedTuple):
    """Shares of wall time lost to slow nodes [1]."""

    evicting: Floats  # with every slow node replaced once it is found
    keeping: Floats  # with every slow node left alone

    @property
    def worth(self) -> Floats:
        """Points of goodput that evictions yield; negative where they cost more than they save."""
        return np.asarray(self.keeping - self.evicting)


def eviction_worth(
    slowdown: npt.ArrayLike,
    nodes: npt.ArrayLike,
    mean_time_to_slow: npt.ArrayLike,
    *,
    found_after: npt.ArrayLike,
    stall: npt.ArrayLike,
    restart: npt.ArrayLike,
    persists: npt.ArrayLike = np.inf,
    run: npt.ArrayLike = np.inf,
    goodput: npt.ArrayLike = 1.0,
) -> Eviction:
    """What slow nodes cost a run if they are evicted, and if they are not.

    Parameters
    ----------
    slowdown : array_like
        Step of the job with a slow node over its step without, f, at least 1. [1]
    nodes : array_like
        Nodes of the job, n. [1]
    mean_time_to_slow : array_like
        Time after which a healthy node becomes slow, on average, ``M_slow``. [s]
    found_after : array_like
        Time for which a node is slow until it is evicted. [s]
    stall, restart : array_like
        An eviction is announced: it costs one save and one restart, d + R, and no rework. [s]
    persists : array_like
        Time for which a node that is left alone is slow; infinite if it never recovers. [s]
    run : array_like
        Length of the run, which starts with healthy nodes; infinite for the long-run shares. [s]
    goodput : array_like
        Goodput of the job but for slow nodes: what a second of running is worth. [1]

    Returns
    -------
    Eviction
        nan outside the domain. [1]

    Notes
    -----
    Slow nodes arise at the rate ``a = n/M_slow`` while the job runs, each slow for a time L, so that their number
    is Poisson with mean ``a min(t, L)`` (the queue M/D/inf), and the job is slowed while there is at least one:
    a share ``1 - exp(-a L)`` of a long run, of which ``1 - 1/f`` is lost. Valid for ``L << M_slow``, or nodes that
    stay slow; several slow nodes slow the job no more than one. Times are those of the running job, so failures only
    scale both shares by the goodput, to first order.
    """
    arrays = (slowdown, nodes, mean_time_to_slow, found_after, stall, restart, persists, run, goodput)
    f, n, M, found, d, R, lasts, T, g = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in arrays))
    valid = (f >= 1.0) & (f < np.inf) & (n > 0.0) & (M > 0.0) & (found >= 0.0) & (d >= 0.0) & (R >= 0.0)
    valid &= (lasts >= 0.0) & (T > 0.0) & (g >= 0.0) & (g <= 1.0)
    with np.errstate(all="ignore"):
        rate, lost = n / M, (f - 1.0) / f
        keeping = _slowed(rate, lasts, T) * lost
        slowed = _slowed(rate, np.minimum(found, lasts), T) * lost
        evictions = np.where(found < lasts, rate * np.maximum(1.0 - found / T, 0.0), 0.0)
        stopped = evictions * (d + R)
        # 1 - (1 - slowed)/(1 + stopped), without the difference from 1
        evicting = np.where(np.isposinf(stopped), 1.0, (slowed + stopped) / (1.0 + stopped))
        return Eviction(np.where(valid, g * evicting, np.nan), np.where(valid, g * keeping, np.nan))


def eviction_gain(
    slowdown: npt.ArrayLike,
    remaining: npt.ArrayLike,
    *,
    stall: npt.ArrayLike,
    restart: npt.ArrayLike,
    persists: npt.ArrayLike = np.inf,
    goodput: npt.ArrayLike = 1.0,
) -> Floats:
    """Wall time that a run saves by evicting a node that is slow now.

    Parameters
    ----------
    slowdown : array_like
        Step of the job with the slow node over its step without, f, at least 1. [1]
    remaining : array_like
        Work that the run still has to do, S: time of its steps at full speed. [s]
    stall, restart : array_like
        What the eviction costs, d + R. [s]
    persists : array_like
        Time for which the node would still be slow. [s]
    goodput : array_like
        Goodput of the job without the slow node. [1]

    Returns
    -------
    ndarray
        ``min(persists, f S/g) (1 - 1/f) - d - R``, negative where the node should stay; nan outside the domain. [s]

    Notes
    -----
    While the node is slow the job loses ``1 - 1/f`` of the time, until the node recovers or the run ends. If it does
    not recover that is ``(f - 1) S/g``: evict if the slow-down times the remaining run exceeds save and restart.
    """
    arrays = (slowdown, remaining, stall, restart, persists, goodput)
    f, S, d, R, lasts, g = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in arrays))
    valid = (f >= 1.0) & (f < np.inf) & _domain(S, d, R, lasts, g)
    with np.errstate(all="ignore"):
        excess = f - 1.0  # the run ends first: (f S/g) (1 - 1/f), without infinity times zero
        lost = np.where(f == 1.0, 0.0, np.minimum(lasts * (excess / f), excess * (S / g)))
        return np.where(valid, lost - (d + R), np.nan)


def break_even_slowdown(
    remaining: npt.ArrayLike,
    *,
    stall: npt.ArrayLike,
    restart: npt.ArrayLike,
    persists: npt.ArrayLike = np.inf,
    goodput: npt.ArrayLike = 1.0,
) -> Floats:
    """Slow-down above which it pays to evict a node: the best threshold of a search for slow nodes.

    Parameters
    ----------
    remaining, stall, restart, persists, goodput
        As for `eviction_gain`. [s, 1]

    Returns
    -------
    ndarray
        f, at least 1; infinite where no slow-down is worth it, nan outside the domain. [1]

    Notes
    -----
    The root of `eviction_gain` in f. With c = d + R it is ``1 + c g/S`` for a node that stays slow; for one that
    recovers it is no less than ``persists/(persists - c)``, and the larger of the two holds.
    """
    arrays = (remaining, stall, restart, persists, goodput)
    S, d, R, lasts, g = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in arrays))
    valid = _domain(S, d, R, lasts, g)
    with np.errstate(all="ignore"):
        cost = d + R
        until_end = np.where(cost == 0.0, 1.0, 1.0 + cost / S * g)
        until_well = np.where(cost == 0.0, 1.0, np.where(lasts > cost, 1.0 / (1.0 - cost / lasts), np.inf))
        return np.where(valid, np.maximum(until_end, until_well), np.nan)


def _domain(S: Floats, d: Floats, R: Floats, lasts: Floats, g: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray((S >= 0.0) & (d >= 0.0) & (R >= 0.0) & (lasts >= 0.0) & (g > 0.0) & (g <= 1.0))


def _slowed(rate: Floats, lasts: Floats, run: Floats) -> Floats:
    """Mean over a run of the probability ``1 - exp(-rate min(t, lasts))`` that some node is slow at time t."""
    exposed = rate * np.minimum(lasts, run)
    rising = np.where(exposed == 0.0, 0.0, expm1_minus(-exposed) / exposed)  # 1 - (1 - exp(-y))/y
    share = np.where(np.isposinf(run), np.where(np.isposinf(lasts), 1.0, 0.0), np.minimum(lasts / run, 1.0))
    return np.asarray(share * np.where(np.isposinf(exposed), 1.0, rising) + (1.0 - share) * -np.expm1(-exposed))

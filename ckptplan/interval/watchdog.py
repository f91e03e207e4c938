"""The timeout of a watchdog over collectives: waiting for hangs to be noticed against killing slow steps.

A hang is noticed one timeout after it began. A step that is healthy, but longer than the timeout (a save, an
evaluation, a recompilation in it), is killed too, and costs a whole recovery.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats

_NEWTON = 8  # steps from within a third of the result; each squares the error
_HALVINGS = 64
_FARTHEST = 40.0  # standard deviations: no healthy step is so long


class Tail(Protocol):
    """The long end of the distribution of healthy steps."""

    @property
    def shortest(self) -> npt.ArrayLike:
        """Least timeout for which the tail is known. [s]."""
        ...

    def exceeds(self, timeout: npt.ArrayLike) -> Floats:
        """Probability that a healthy step lasts longer, p(x). [1]."""
        ...

    def stationary(self, hangs_per_step: Floats, recovery: Floats, least: Floats) -> list[Floats]:
        """Timeouts among which every local minimum of the cost above ``least`` is. [s]."""
        ...


class ExponentialTail(NamedTuple):
    """Healthy steps exceed x with probability ``p0 exp(-(x - x0)/s)`` from a known point (x0, p0) on."""

    start: npt.ArrayLike  # x0 [s]
    probability: npt.ArrayLike  # p0, per step [1]
    scale: npt.ArrayLike  # s: the time over which it falls to 1/e [s]

    @property
    def shortest(self) -> npt.ArrayLike:
        """Where the tail starts. [s]."""
        return self.start

    def exceeds(self, timeout: npt.ArrayLike) -> Floats:
        """Probability that a healthy step lasts longer; nan before the start and outside the domain. [1]."""
        x0, p0, s, x = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (*self, timeout)))
        valid = (x0 >= 0.0) & (p0 >= 0.0) & (p0 <= 1.0) & (s > 0.0) & (x >= x0)
        with np.errstate(all="ignore"):
            return np.where(valid, p0 * np.exp(-(x - x0) / s), np.nan)

    def stationary(self, hangs_per_step: Floats, recovery: Floats, least: Floats) -> list[Floats]:
        """The one local minimum, nan if the cost grows all along. [s].

        With ``v = (B + x)/s - 1`` the derivative vanishes where ``v - log(v) = log(p0/(lam t)) - 1 + (B + x0)/s``;
        the root below 1 is a local maximum, the one above 1 the minimum (the Lambert branch W_(-1)). There false
        alarms are v times as rare as hangs: ``x = x0 + s log(p0 v/(lam t))``, where nothing cancels.
        """
        x0, p0, s = (np.asarray(v, dtype=np.float64) for v in self)
        log_ratio = np.log(p0 / hangs_per_step)
        excess = _excess(log_ratio - 2.0 + (recovery + x0) / s)
        return [np.asarray(x0 + s * (log_ratio + np.log1p(excess)))]


class LognormalTail(NamedTuple):
    """A share of the steps, or of their longest pauses, is log-normal; the others are never long."""

    median: npt.ArrayLike  # [s]
    sigma: npt.ArrayLike  # standard deviation of the logarithm [1]
    share: npt.ArrayLike = 1.0  # of the steps: 1/n for a pause in every n-th [1]

    @property
    def shortest(self) -> npt.ArrayLike:
        """The median: a shorter timeout kills more than half of these steps. [s]."""
        return self.median

    def exceeds(self, timeout: npt.ArrayLike) -> Floats:
        """Probability that a healthy step lasts longer; nan outside the domain. [1]."""
        from scipy.special import ndtr

        m, sigma, share, x = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (*self, timeout)))
        valid = (m > 0.0) & (sigma > 0.0) & (share >= 0.0) & (share <= 1.0) & (x >= 0.0)
        with np.errstate(all="ignore"):
            return np.where(valid, share * ndtr(-np.log(x / m) / sigma), np.nan)

    def stationary(self, hangs_per_step: Floats, recovery: Floats, least: Floats) -> list[Floats]:
        """One point of each stretch on which the derivative of the cost is monotone: its root, if it has one. [s].

        In ``z = log(x/m)/sigma`` the derivative is ``f = lam t/share + Q(z) - phi(z) (1 + B/x)/sigma``. It falls
        where ``k = log((1 - w)/(1 + w)) + sigma^2 w - log(B/m)`` is positive, ``w = z/sigma``, and k has its only
        turning point of w > 0 at ``w^2 = 1 - 2/sigma^2``. So f turns at most twice; each turn is found, then each root.
        """
        from scipy.special import ndtr

        m, sigma, share = (np.asarray(v, dtype=np.float64) for v in self)
        first = np.maximum(np.log(least / m) / sigma, 0.0)

        def falling(w: Floats) -> Floats:
            return np.asarray(np.log((1.0 - w) / (1.0 + w)) + sigma * sigma * w - np.log(recovery / m))

        def slope(z: Floats) -> Floats:
            density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
            return np.asarray(
                hangs_per_step / share + ndtr(-z) - density * (1.0 + recovery / m * np.exp(-sigma * z)) / sigma
            )

        bend = np.sqrt(np.maximum(1.0 - 2.0 / (sigma * sigma), 0.0))
        turns = [sigma * _crossing(falling, 0.0 * bend, bend), sigma * _crossing(falling, bend, np.ones_like(bend))]
        edges = [first, *(np.clip(turn, first, _FARTHEST) for turn in turns), np.full_like(first, _FARTHEST)]
        roots = (_crossing(slope, low, high) for low, high in pairwise(edges))
        return [np.asarray(m * np.exp(sigma * z)) for z in roots]


class WatchdogCost(NamedTuple):
    """Time lost per second of training [1]."""

    hang: Floats  # waiting for the timeout in hangs
    false_alarm: Floats  # healthy steps killed: waiting, restart and rework

    @property
    def total(self) -> Floats:
        """Both together."""
        return np.asarray(self.hang + self.false_alarm)


class BestTimeout(NamedTuple):
    """The timeout that loses least, and what it loses."""

    timeout_s: Floats
    cost: WatchdogCost


def watchdog_cost(
    timeout: npt.ArrayLike,
    tail: Tail,
    *,
    hang_rate: npt.ArrayLike,
    step_time: npt.ArrayLike,
    restart: npt.ArrayLike,
    rework: npt.ArrayLike,
) -> WatchdogCost:
    """Time that a watchdog loses per second of training.

    Parameters
    ----------
    timeout : array_like
        Time without progress after which the job is killed, x. [s]
    tail : Tail
        Probability that a healthy step lasts longer, p(x).
    hang_rate : array_like
        Hangs per second of training, lam. [1/s]
    step_time : array_like
        Time of a step, t. [s]
    restart : array_like
        From the alarm until training goes on, R. [s]
    rework : array_like
        Mean time back to the newest save: ``W/2``, and ``om F`` more if saves are flushed in the background. [s]

    Returns
    -------
    WatchdogCost
        ``lam x`` and ``p(x)/t (R + W/2 + x)``; infinite for an infinite timeout if there are hangs, nan outside
        the domain. [1]

    Notes
    -----
    First order: valid while the sum is small beside 1. Restart and rework of a true hang are not part of it, since
    no timeout avoids them.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (timeout, hang_rate, step_time, restart, rework))
    x, lam, t, R, lost, p = np.broadcast_arrays(*arrays, tail.exceeds(timeout))
    valid = (x >= 0.0) & (lam >= 0.0) & (t > 0.0) & (R >= 0.0) & (lost >= 0.0) & ~np.isnan(p)
    with np.errstate(all="ignore"):
        hang = np.where(lam == 0.0, 0.0, lam * x)
        false_alarm = np.where(p == 0.0, 0.0, p / t * (R + lost + x))
        return WatchdogCost(np.where(valid, hang, np.nan), np.where(valid, false_alarm, np.nan))


def best_timeout(
    tail: Tail,
    *,
    hang_rate: npt.ArrayLike,
    step_time: npt.ArrayLike,
    restart: npt.ArrayLike,
    rework: npt.ArrayLike,
    least: npt.ArrayLike = 0.0,
) -> BestTimeout:
    """Timeout of a watchdog that loses least time.

    Parameters
    ----------
    tail, hang_rate, step_time, restart, rework
        As for `watchdog_cost`.
    least : array_like
        Shortest timeout to consider, besides the shortest one for which the tail is known. [s]

    Returns
    -------
    BestTimeout
        The shortest timeout where the cost grows from there on; infinite if nothing ever hangs, nan outside the
        domain. [s, 1]

    Notes
    -----
    The cost may rise from the shortest timeout to a local maximum before it falls to a minimum (and, for a
    log-normal tail with ``sigma^2 > 2``, have two of them): all are compared with each other and with the shortest.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (hang_rate, step_time, restart, rework, least))
    lam, t, R, lost, x_min, known = np.broadcast_arrays(*arrays, np.asarray(tail.shortest, dtype=np.float64))
    start = np.maximum(x_min, known)
    job = {"hang_rate": lam, "step_time": t, "restart": R, "rework": lost}
    with np.errstate(all="ignore"):
        candidates = [start, *(np.fmax(x, start) for x in tail.stationary(lam * t, R + lost, start))]
        shape = np.broadcast_shapes(*(x.shape for x in candidates))
        timeouts = np.stack([np.broadcast_to(x, shape) for x in candidates])
        costs = watchdog_cost(timeouts, tail, **job).total
        chosen = np.argmin(np.where(np.isnan(costs), np.inf, costs), axis=0)
        best = np.take_along_axis(timeouts, chosen[None], axis=0)[0]
        best = np.where(np.isnan(costs[0]), np.nan, np.where(lam == 0.0, np.inf, best))
    return BestTimeout(best, watchdog_cost(best, tail, **job))


def timeout_regret(
    timeout: npt.ArrayLike,
    tail: Tail,
    *,
    hang_rate: npt.ArrayLike,
    step_time: npt.ArrayLike,
    restart: npt.ArrayLike,
    rework: npt.ArrayLike,
) -> Floats:
    """What a timeout loses per second of training more than the best one.

    Parameters
    ----------
    timeout, tail, hang_rate, step_time, restart, rework
        As for `watchdog_cost`.

    Returns
    -------
    ndarray
        Difference of the two costs; nan outside the domain, and where the tail is not known at the timeout. [1]
    """
    job = {"hang_rate": hang_rate, "step_time": step_time, "restart": restart, "rework": rework}
    return np.asarray(watchdog_cost(timeout, tail, **job).total - best_timeout(tail, **job).cost.total)


def _excess(u: Floats) -> Floats:
    """The solution w >= 0 of ``w - log(1 + w) = u``, nan for u < 0.

    Newton's method from the upper bound ``sqrt(2 u) + u`` (Chatzigeorgiou 2013), so from where it cannot overshoot.
    """
    w = np.sqrt(2.0 * u) + u
    for _ in range(_NEWTON):
        w = np.where(w > 0.0, w - (w - np.log1p(w) - u) * (1.0 + w) / w, w)
    return w


def _crossing(function: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Where a function monotone between two points changes sign; one of the two if it does not."""
    positive = function(low) > 0.0
    for _ in range(_HALVINGS):
        middle = np.asarray(0.5 * (low + high))
        same = (function(middle) > 0.0) == positive
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.asarray(0.5 * (low + high))

"""The optimum of verified saves: interval and number of verifications together, also in whole steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import ceil_to_whole, decay_deficit, decay_ratio, floor_to_whole
from ckptplan.interval.verified import (
    VerifiedShares,
    mean_index,
    silent_recovery,
    verified_first_order,
    verified_shares,
)

_DOUBLINGS = 200  # of a bracket that starts at the first-order interval, and is nearly always right at once
_HALVINGS = 24  # of a bracket in log(W): then it is narrow enough for a straight line to end at rounding
_ROUNDS = 64  # of a search for a whole number below 2^53


class VerifiedOptimum(NamedTuple):
    """Interval between saves and verifications per save that maximise goodput."""

    interval_s: Floats
    verifications: Floats
    goodput: Floats
    overhead: Floats


class VerifiedSteps(NamedTuple):
    """The same in whole steps; every chunk has the same whole number of them."""

    steps: Floats  # between two saves
    verifications: Floats
    goodput: Floats
    overhead: Floats


class _Fixed(NamedTuple):
    """What neither the interval nor the number of verifications changes, in one shape."""

    verify: Floats
    stall: Floats
    failstop: Floats
    silent: Floats
    downtime: Floats
    restart: Floats
    silent_restart: Floats  # mean recovery after a failed verification, over A
    strike: Strike


def verified_optimum(
    verify: npt.ArrayLike,
    stall: npt.ArrayLike,
    rate_failstop: npt.ArrayLike,
    rate_silent: npt.ArrayLike,
    *,
    verifications: npt.ArrayLike | None = None,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> VerifiedOptimum:
    """Interval and number of verifications per save that maximise the exact goodput.

    Parameters
    ----------
    verify, stall, rate_failstop, rate_silent, downtime, restart, strike
        As for `ckptplan.interval.verified.verified_shares`. [s, 1/s]
    verifications : array_like, optional
        A given number of verifications per save; by default the best one. [1]

    Returns
    -------
    VerifiedOptimum
        nan for input outside its domain, and where no number is best (verifications that cost nothing); infinite
        where nothing ever fails. Where neither saves nor verifications cost anything the interval is 0, and the
        goodput its limit.

    Notes
    -----
    The expected time of a pattern is a sum of exponentials of W, convex and positive at W = 0: its ratio to W has one
    minimum, where its derivative, written without cancellation, changes sign. The overhead at that interval is taken
    to have one minimum over m too (checked by brute force), found by bisection from the first-order number.
    """
    fixed, m = _fixed((verify, stall, rate_failstop, rate_silent, verifications, downtime, restart), strike)
    if verifications is None:
        m = _best_number(lambda n: _overhead(fixed, _interval(fixed, n), n), m)
    W = _interval(fixed, m)
    shares = _shares(fixed, W, m)
    return VerifiedOptimum(W, np.where(np.isnan(W), np.nan, m), shares.goodput, _overhead(fixed, W, m))


def verified_whole_steps(
    step_time: npt.ArrayLike,
    verify: npt.ArrayLike,
    stall: npt.ArrayLike,
    rate_failstop: npt.ArrayLike,
    rate_silent: npt.ArrayLike,
    *,
    verifications: npt.ArrayLike | None = None,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> VerifiedSteps:
    """Best whole number of steps between saves, with chunks of equally many whole steps.

    Parameters
    ----------
    step_time : array_like
        Time of one optimizer step, t, positive. [s]
    verify, stall, rate_failstop, rate_silent, verifications, downtime, restart, strike
        As for `verified_optimum`. [s, 1/s, 1]

    Returns
    -------
    VerifiedSteps
        ``steps`` is a multiple of ``verifications``, at least once it; nan as for `verified_optimum`, and where nothing
        ever fails.

    Notes
    -----
    For m chunks the better of the two whole numbers of steps per chunk next to ``W(m)/(m t)``. The continuous
    optimum over intervals of at least ``m t`` bounds what m can yield: neighbours of its best m are tried until it
    rules out more.
    """
    t = np.asarray(step_time, dtype=np.float64)
    fixed, m = _fixed((verify, stall, rate_failstop, rate_silent, verifications, downtime, restart), strike, t)
    t = np.broadcast_to(t, m.shape)

    def bound(n: Floats) -> Floats:
        return _overhead(fixed, np.maximum(_interval(fixed, n), n * t), n)

    if verifications is not None:
        steps, overhead = _whole(fixed, m, t)
    else:
        m = _best_number(bound, m)
        steps, overhead = _whole(fixed, m, t)
        for direction in (1.0, -1.0):
            n, open_ = m + direction, np.isfinite(overhead)
            while (open_ := open_ & (n >= 1.0) & (bound(n) < overhead)).any():
                other, cost = _whole(fixed, np.where(open_, n, 1.0), t)
                better = open_ & (cost < overhead)
                m, steps, overhead = (np.where(better, *pair) for pair in ((n, m), (other, steps), (cost, overhead)))
                n = n + direction
    goodput = _shares(fixed, steps * t, m).goodput
    return VerifiedSteps(*(np.where(np.isfinite(steps), v, np.nan) for v in (steps, m, goodput, overhead)))


def _fixed(
    arguments: tuple[npt.ArrayLike | None, ...], strike: Strike, step_time: npt.ArrayLike = 1.0
) -> tuple[_Fixed, Floats]:
    """Everything in one shape, and the number of verifications: the given one, or the best to first order."""
    V, C, lf, ls, given, D, R = arguments
    values = (1.0 if v is None else v for v in (V, C, lf, ls, given, D, R, step_time))
    V, C, lf, ls, m, D, R, t = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in values))
    first_order = verified_first_order(V, C, lf, ls, verifications=m)
    number = first_order.verifications if given is None else np.where(np.isnan(first_order.interval_s), np.nan, m)
    valid = np.isfinite(number) & (D >= 0.0) & (R >= 0.0) & (t > 0.0)
    with np.errstate(all="ignore"):
        silent_restart = silent_recovery(lf, D, R, strike)
    return _Fixed(V, C, lf, ls, D, R, silent_restart, strike), np.where(valid, number, np.nan)


def _interval(fixed: _Fixed, m: Floats) -> Floats:
    """Work between saves that maximises goodput for m verifications per save."""
    start = verified_first_order(*fixed[:4], verifications=m).interval_s
    inside = np.isfinite(start) & (start > 0.0)
    low = np.log(np.where(inside, start, 1.0))
    high = low.copy()
    with np.errstate(all="ignore"):
        for _ in range(_DOUBLINGS):
            left, right = inside & (_slope(fixed, low, m) > 0.0), inside & (_slope(fixed, high, m) < 0.0)
            if not (left.any() or right.any()):
                break
            low, high = np.where(left, low - np.log(2.0), low), np.where(right, high + np.log(2.0), high)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            beyond = _slope(fixed, middle, m) > 0.0
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        below, above = _slope(fixed, low, m), _slope(fixed, high, m)
        root = np.where(above > below, low - below * (high - low) / (above - below), low)
        return np.where(inside, np.exp(root), start)


def _slope(fixed: _Fixed, log_interval: Floats, m: Floats) -> Floats:
    """Sign of the derivative of time over work: ``w dE/dw - E`` over positive factors, w the work of a chunk."""
    V, C, lf, ls = fixed[:4]
    w = np.exp(log_interval) / m
    u = w + V
    y, z = lf * u, ls * w
    c = y + z
    chunk, save = u / (y + decay_ratio(y)), C / (lf * C + decay_ratio(lf * C))
    power = m - mean_index(m, c)  # of exp(c): mean number of chunks that an error may send back
    sum_ = m * (c + decay_ratio(c)) / (m * c + decay_ratio(m * c))
    silent = -np.exp(-y) * np.expm1(-z)
    found_late = silent * ((power - 1.0) * y * w / u + power * z - decay_deficit(z))
    struck = power * (lf + ls) * w * chunk - chunk * decay_deficit(y)
    return struck + fixed.silent_restart * found_late - V * np.exp(-y) - save * np.exp(-m * c) / sum_


def _best_number(overhead: Callable[[Floats], Floats], start: Floats) -> Floats:
    """Least whole number whose successor is not better, nan where the start is."""
    known = np.isfinite(start)
    low, high = np.ones_like(start), 2.0 * np.where(known, start, 1.0) + 2.0
    for _ in range(_ROUNDS):
        growing = known & (overhead(high + 1.0) < overhead(high))
        if not growing.any():
            break
        low, high = np.where(growing, high, low), np.where(growing, 2.0 * high, high)
    for _ in range(_ROUNDS):
        if not (low < high).any():
            break
        middle = np.floor(0.5 * (low + high))
        better = overhead(middle + 1.0) < overhead(middle)
        low, high = np.where(better, middle + 1.0, low), np.where(better, high, middle)
    return np.where(known, low, np.nan)


def _whole(fixed: _Fixed, m: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Best whole number of steps for m chunks, and its overhead."""
    with np.errstate(all="ignore"):
        per_chunk = _interval(fixed, m) / (m * t)
        below = np.maximum(1.0, floor_to_whole(per_chunk))
        above = np.maximum(1.0, ceil_to_whole(per_chunk))
        short, long = (_overhead(fixed, m * n * t, m) for n in (below, above))
        return np.where(short <= long, m * below, m * above), np.fmin(short, long)


def _overhead(fixed: _Fixed, W: Floats, m: Floats) -> Floats:
    """Wall time over useful work, minus one."""
    return _shares(fixed, W, m).overhead


def _shares(fixed: _Fixed, W: Floats, m: Floats) -> VerifiedShares:
    """Exact shares, with the limits of an interval of 0 (everything is free) and of infinity (nothing fails)."""
    V, C, lf, ls, D, R, _, strike = fixed
    tiny = np.where(W == 0.0, np.finfo(np.float64).tiny ** 0.5, W)
    shares = verified_shares(tiny, V, C, lf, ls, verifications=m, downtime=D, restart=R, strike=strike)
    limit = VerifiedShares(*(np.full_like(W, float(k == 0)) for k in range(len(shares))))
    return VerifiedShares(*(np.where(np.isposinf(W), end, share) for share, end in zip(shares, limit, strict=True)))

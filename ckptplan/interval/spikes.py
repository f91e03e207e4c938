"""Loss spikes: training goes back some steps ahead of the spike, skips data, and does the steps again.

A spike at a new step is noticed ``lag`` steps later; training returns to the newest save at or before ``back`` steps
ahead of it. Steps that are done again do not spike: the data that caused it are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import decay_ratio, expm1_minus, expm1_minus_two
from ckptplan.interval.recovery import recovery_factor, recovery_parts, recovery_share
from ckptplan.interval.retention import checkpoints_for_depth
from ckptplan.interval.young import young_interval

_LARGEST = 2.0**53  # whole number of steps that a double holds exactly


class SpikeOverhead(NamedTuple):
    """Parts of the overhead, wall time over useful work minus one [1], and what a spike needs."""

    save: Floats  # stalls, without spikes and failures
    spike: Floats  # what spikes add, without failures
    failure: Floats  # what failures add, to training, to reruns and to the restarts after spikes
    mean_steps_lost: Floats  # per spike [1]
    mean_saves_redone: Floats  # per spike [1]
    keep: Floats  # saves that must be kept so that the wanted one is always there [1]

    @property
    def overhead(self) -> Floats:
        """Wall time over useful work, minus one."""
        return np.asarray(self.save + self.spike + self.failure)

    @property
    def goodput(self) -> Floats:
        """Useful work over wall time."""
        return np.asarray(1.0 / (1.0 + self.overhead))


class SkippedData(NamedTuple):
    """Data given up after spikes."""

    batches: Floats  # in the whole run [1]
    tokens: Floats  # in the whole run, or samples: whatever a batch is counted in
    share: Floats  # of all batches drawn, those used included [1]


def spike_overhead(
    steps_between_saves: npt.ArrayLike,
    step_time: npt.ArrayLike,
    stall: npt.ArrayLike,
    spikes_per_new_step: npt.ArrayLike,
    *,
    back_steps: npt.ArrayLike = 0.0,
    lag_steps: npt.ArrayLike = 0.0,
    spike_restart: npt.ArrayLike = 0.0,
    mtbf: npt.ArrayLike = np.inf,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> SpikeOverhead:
    """Overhead of saves, loss spikes and failures together, at a whole number of steps between saves.

    Parameters
    ----------
    steps_between_saves : array_like
        n, a whole number. [1]
    step_time, stall : array_like
        Time of one optimizer step, t, and time one save blocks training, d. [s]
    spikes_per_new_step : array_like
        Probability that a step, the first time it is done, spikes, ls. [1]
    back_steps, lag_steps : array_like
        Steps ahead of the spike that the state must lie, B, and after it until it is noticed; means of whole numbers
        are allowed, but then ``keep`` holds for the mean only. [1]
    spike_restart : array_like
        From the end of the lag until training goes on, R_s. [s]
    mtbf : array_like
        Mean time between failures of the whole job, M; infinite for none. [s]
    downtime, restart : array_like
        Per failure, D and R. [s]
    strike : Strike
        Which part of a recovery a failure may strike; a restart after a spike counts as R does. A failure in it costs
        D and starts it again.

    Returns
    -------
    SpikeOverhead
        nan for input outside its domain.

    Notes
    -----
    After PaLM (Chowdhery et al. 2022). A spike loses ``B + lag + (n - 1)/2`` steps and redoes ``(B + lag)/n`` saves,
    exactly, in the mean over the phase; of these steps ``x = (s + lag) mod n``, uniform in 0 to n - 1, are cut off
    without a save. A piece of length p takes ``A M (exp(p/M) - 1)`` with A from `recovery_factor`: the period n t + d
    once per n new steps and (B + lag)/n times per spike, the piece x t once per spike.
    """
    arguments = (steps_between_saves, step_time, stall, spikes_per_new_step, back_steps, lag_steps, spike_restart)
    n, t, d, ls, depth, R, M, excess = _process(arguments, (mtbf, downtime, restart), strike)
    with np.errstate(all="ignore"):
        whole = n == np.floor(n)
        saves, lost = depth / n, depth + 0.5 * (n - 1.0)
        spike = ls * (lost * t + d * saves + R) / t
        x = (n * t + d) / M
        full = (n * t + d) * (_times(excess, 1.0 / decay_ratio(x)) + _growth(x))
        cut_off = t * (_times(excess, _mean_cut_off(n, t / M)) + _cut_off_growth(n, t / M))
        again = _restart_growth(R, M, downtime, strike)
        failure = (full * (1.0 / n + ls * saves) + _times(ls, cut_off + again)) / t
        keep = checkpoints_for_depth(depth, n)
        values = (d / (n * t), spike, failure, lost, saves, keep)
        return SpikeOverhead(*(np.where(whole, value, np.nan) for value in values))


def spike_interval_first_order(
    stall: npt.ArrayLike, mtbf: npt.ArrayLike, mean_time_between_spikes: npt.ArrayLike
) -> Floats:
    """First-order interval with failures and loss spikes: ``sqrt(2 d/(1/M + 1/M_spike))``.

    Parameters
    ----------
    stall : array_like
        Time one save blocks training, d. [s]
    mtbf : array_like
        Mean time between failures, M; infinite for none. [s]
    mean_time_between_spikes : array_like
        Mean useful work between spikes, ``t/ls``; infinite for none. [s]

    Returns
    -------
    ndarray
        Work between saves; nan for input outside its domain. [s]

    Notes
    -----
    Each loses half an interval in the mean, whatever else it costs (Young 1974).
    """
    M, Ms = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (mtbf, mean_time_between_spikes)))
    with np.errstate(all="ignore"):
        both = np.where((M > 0.0) & (Ms > 0.0), 1.0 / (1.0 / M + 1.0 / Ms), np.nan)
        return young_interval(stall, both)


def spike_whole_steps(
    step_time: npt.ArrayLike,
    stall: npt.ArrayLike,
    spikes_per_new_step: npt.ArrayLike,
    *,
    back_steps: npt.ArrayLike = 0.0,
    lag_steps: npt.ArrayLike = 0.0,
    mtbf: npt.ArrayLike = np.inf,
) -> Floats:
    """Whole number of steps between saves that minimises the overhead of saves, spikes and failures.

    Parameters
    ----------
    step_time, stall, spikes_per_new_step, back_steps, lag_steps, mtbf
        As for `spike_overhead`. [s, 1]

    Returns
    -------
    ndarray
        At least 1; infinite where nothing makes saves worth while; nan for input outside its domain. No recovery and no
        restart changes it. [1]

    Notes
    -----
    The overhead times n is convex in n and positive at 0, so that the overhead has one minimum. n + 1 is better iff
    ``(E + s) (n e(tau) + e(-n tau)) < (exp(d/M) - 1) (1 - n E) E`` with ``tau = t/M``, ``e(x) = exp(x) - 1 - x``,
    ``E = exp(tau) - 1`` and ``s = ls/(1 + ls (B + lag))``; without failures ``s n (n + 1) < 2 d/t``. Bisection between
    powers of two around the first-order interval.
    """
    arguments = (1.0, step_time, stall, spikes_per_new_step, back_steps, lag_steps, 0.0)
    _, t, d, ls, depth, _, M, _ = _process(arguments, (mtbf, 0.0, 0.0), Strike.SAFE)
    with np.errstate(all="ignore"):
        tau, a, s = t / M, d / M, ls / (1.0 + ls * depth)

        def longer_is_better(n: Floats) -> npt.NDArray[np.bool_]:
            # both sides over E^2 exp(a), so that they keep a value without failures and for any stall
            E = np.expm1(tau)
            pair = np.where(tau == 0.0, 0.5 * n * (n + 1.0), (n * expm1_minus(tau) + expm1_minus(-n * tau)) / (E * E))
            gain = np.where(tau == 0.0, d / t, -np.expm1(-a) / E)
            return np.asarray((E + s) * pair * np.exp(-a) < gain * (1.0 - n * E))

        return _least(spike_interval_first_order(d, M, t / ls) / t, longer_is_better)


def skipped_data(
    spikes_per_new_step: npt.ArrayLike,
    batches_skipped: npt.ArrayLike,
    *,
    steps: npt.ArrayLike = 1.0,
    tokens_per_batch: npt.ArrayLike = 1.0,
) -> SkippedData:
    """Data that are skipped after loss spikes: they cost data, not time.

    Parameters
    ----------
    spikes_per_new_step : array_like
        ls. [1]
    batches_skipped : array_like
        Batches skipped per spike. [1]
    steps : array_like
        Steps of the run, one batch each. [1]
    tokens_per_batch : array_like
        Tokens (or samples) in a batch. [1]

    Returns
    -------
    SkippedData
        ``share = ls k/(1 + ls k)`` for k batches per spike; nan for input outside its domain.
    """
    arrays = (spikes_per_new_step, batches_skipped, steps, tokens_per_batch)
    ls, k, n, tokens = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in arrays))
    valid = (ls >= 0.0) & (ls <= 1.0) & (k >= 0.0) & (n >= 0.0) & (tokens >= 0.0)
    with np.errstate(all="ignore"):
        per_step = np.where(valid, ls * k, np.nan)
        return SkippedData(per_step * n, per_step * n * tokens, per_step / (1.0 + per_step))


def _process(
    spikes: tuple[npt.ArrayLike, ...], failures: tuple[npt.ArrayLike, ...], strike: Strike
) -> tuple[Floats, ...]:
    """n, t, d, ls, B + lag, R_s, M and A - 1 in one shape; t is nan where the input is outside its domain."""
    arrays = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (*spikes, *failures)))
    n, t, d, ls, back, lag, R_s, M, D, R = arrays
    valid = (n >= 1.0) & (t > 0.0) & (d >= 0.0) & (ls >= 0.0) & (ls <= 1.0) & (back >= 0.0) & (lag >= 0.0)
    valid &= (R_s >= 0.0) & (M > 0.0)
    with np.errstate(all="ignore"):
        return n, np.where(valid, t, np.nan), d, ls, back + lag, R_s, M, _excess(M, D, R, strike)


def _excess(mtbf: npt.ArrayLike, downtime: npt.ArrayLike, restart: npt.ArrayLike, strike: Strike) -> Floats:
    """``A - 1`` with full relative precision. [1]."""
    share = recovery_share(mtbf, downtime, restart, strike)
    return np.asarray(share * recovery_factor(mtbf, downtime, restart, strike))


def _growth(x: Floats) -> Floats:
    """``(exp(x) - 1)/x - 1``, 0 at 0. [1]."""
    return np.where(x == 0.0, 0.0, expm1_minus(x) / x)


def _mean_cut_off(n: Floats, tau: Floats) -> Floats:
    """Mean of ``(exp(k tau) - 1)/tau`` over k = 0 .. n - 1. [1]."""
    mean = (expm1_minus(n * tau) - n * expm1_minus(tau)) / (n * tau * np.expm1(tau))
    return np.where(tau == 0.0, 0.5 * (n - 1.0), mean)


def _cut_off_growth(n: Floats, tau: Floats) -> Floats:
    """The same less its value (n - 1)/2 at tau = 0. [1]."""
    third = expm1_minus_two(n * tau) - n * expm1_minus_two(tau) - 0.5 * (n - 1.0) * n * tau * expm1_minus(tau)
    return np.where(tau == 0.0, 0.0, third / (n * tau * np.expm1(tau)))


def _restart_growth(restart: Floats, mtbf: Floats, downtime: npt.ArrayLike, strike: Strike) -> Floats:
    """What failures add to a restart after a spike: each costs the downtime and starts it again. [s]."""
    struck = recovery_parts(0.0, restart, strike).struck
    y = struck / mtbf
    down = _excess(mtbf, downtime, 0.0, strike)
    return _times(struck, _times(down, 1.0 / decay_ratio(y)) + _growth(y))


def _times(factor: Floats, value: Floats) -> Floats:
    """Product, 0 where the factor is, though the value may be infinite."""
    return np.where(factor == 0.0, 0.0, factor * value)


def _least(start: Floats, longer_is_better: Callable[[Floats], npt.NDArray[np.bool_]]) -> Floats:
    """Least whole number whose successor is not better; a start that is infinite or nan stays."""
    known = np.isfinite(start)
    low, high = np.ones_like(start), np.where(known, np.maximum(1.0, np.ceil(start)), 1.0)
    while (growing := known & (high < _LARGEST) & longer_is_better(high)).any():
        low, high = np.where(growing, high + 1.0, low), np.where(growing, 2.0 * high, high)
    while (low < high).any():
        middle = np.floor(0.5 * (low + high))
        better = longer_is_better(middle)
        low, high = np.where(better, middle + 1.0, low), np.where(better, high, middle)
    return np.where(known, low, start)

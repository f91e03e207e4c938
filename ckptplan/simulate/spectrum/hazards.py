"""The causes of one process as arrays: rates of the clocks that they share, and what each needs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ckptplan.simulate.spectrum.causes import Cause, FailStop, Noticed, Silent, Slow, Spike
from ckptplan.simulate.spectrum.pattern import Bools, Floats, Ints
from ckptplan.simulate.spectrum.process import SpectrumProcess


class Clock:
    """Several independent exponential clocks as one."""

    def __init__(self, rates: Floats) -> None:
        self._upto = np.cumsum(rates)
        self.rate = float(self._upto[-1]) if rates.size else 0.0

    def gaps(self, rng: np.random.Generator, size: int) -> Floats:
        """Times to the next event. [s]."""
        if self.rate == 0.0:
            return np.full(size, np.inf)
        return rng.standard_exponential(size) / self.rate

    def which(self, rng: np.random.Generator, size: int) -> Ints:
        """Whose event it is."""
        chosen = np.searchsorted(self._upto, rng.random(size) * self.rate, side="right")
        return np.minimum(chosen, np.searchsorted(self._upto, self.rate))


class Hazards(NamedTuple):
    """Arrays are by cause, in the order of the process; spikes by spike. [s, 1]."""

    running: Clock  # fail-stop, planned, onset of slow training, silent also on stalls: on the running clock
    failing: Clock  # fail-stop only
    silent: Clock  # on work only
    fails: Bools
    corrupts: Bools
    slows: Bools
    spikes: Ints  # numbers of the causes
    spike_mean_s: Floats
    spike_back_s: Floats
    spike_lag_s: Floats
    downtime_s: Floats
    restart_s: Floats  # second axis: level
    needed_upto: Floats  # cumulated probabilities that a level is the lowest one left
    latency_s: Floats  # infinite: found by verification
    is_fixed: Bools
    planned_s: Floats  # stall of the planned save
    speeds: tuple[float, ...]  # of training: undisturbed, then with each slow cause
    speed_of: Ints  # which of them a cause brings

    def needed(self, rng: np.random.Generator, cause: Ints) -> Ints:
        """Lowest level left after an event of each cause. [level from 0]."""
        levels = self.needed_upto.shape[1]
        if levels == 1:
            return np.zeros(cause.size, dtype=np.int64)
        drawn = rng.random(cause.size)[:, None] >= self.needed_upto[cause, :-1]
        return np.asarray(drawn.sum(axis=1))

    def delays(self, rng: np.random.Generator, cause: Ints) -> Floats:
        """Times until an event of each cause is found. [s]."""
        drawn = np.where(self.is_fixed[cause], 1.0, rng.standard_exponential(cause.size))
        with np.errstate(invalid="ignore"):
            return np.where(self.latency_s[cause] < np.inf, drawn * self.latency_s[cause], np.inf)


def hazards_of(process: SpectrumProcess) -> Hazards:
    """The causes of a checked process."""
    causes = process.causes
    rate = np.array([1.0 / cause.mtbf_s for cause in causes])
    fails, slows = _are(causes, FailStop), _are(causes, Slow)
    corrupts = _are(causes, Silent)
    on_stalls = np.array([isinstance(cause, Silent) and cause.on_stalls for cause in causes], dtype=np.bool_)
    spikes = [cause for cause in causes if isinstance(cause, Spike)]
    running = fails | slows | _are(causes, Noticed) | on_stalls
    slow = [cause for cause in causes if isinstance(cause, Slow)]
    return Hazards(
        running=Clock(rate * running),
        failing=Clock(rate * fails),
        silent=Clock(rate * (corrupts & ~on_stalls)),
        fails=fails,
        corrupts=corrupts,
        slows=slows,
        spikes=np.flatnonzero(_are(causes, Spike)),
        spike_mean_s=np.array([cause.mtbf_s for cause in spikes]),
        spike_back_s=np.array([cause.back_s for cause in spikes]),
        spike_lag_s=np.array([cause.lag_s for cause in spikes]),
        downtime_s=np.array([process.downtime_s if c.downtime_s is None else c.downtime_s for c in causes]),
        restart_s=np.array([_restarts(process, cause) for cause in causes]),
        needed_upto=np.array([_needed_upto(cause, process.levels) for cause in causes]),
        latency_s=np.array([_latency(cause) for cause in causes]),
        is_fixed=np.array([isinstance(cause, Silent | Slow) and cause.fixed for cause in causes], dtype=np.bool_),
        planned_s=np.array([_planned(cause) for cause in causes]),
        speeds=(1.0, *(1.0 / (1.0 + cause.slowdown) for cause in slow)),
        speed_of=np.where(slows, np.cumsum(slows.astype(np.int64)), 0),
    )


def _are(causes: tuple[Cause, ...], kind: type) -> Bools:
    return np.array([isinstance(cause, kind) for cause in causes], dtype=np.bool_)


def _restarts(process: SpectrumProcess, cause: Cause) -> tuple[float, ...]:
    own = process.restart_s if cause.restart_s is None else cause.restart_s
    return own if isinstance(own, tuple) else (own,) * process.levels


def _needed_upto(cause: Cause, levels: int) -> Floats:
    level = cause.level
    chances = level if isinstance(level, tuple) else np.eye(levels)[(level or 1) - 1]
    return np.cumsum(np.asarray(chances, dtype=np.float64))


def _latency(cause: Cause) -> float:
    latency_s = cause.latency_s if isinstance(cause, Silent | Slow) else None
    return math.inf if latency_s is None else latency_s


def _planned(cause: Cause) -> float:
    save_s = cause.save_s if isinstance(cause, Slow | Noticed) else None
    return save_s or 0.0

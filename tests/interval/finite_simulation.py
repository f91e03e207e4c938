"""A finite amount of work played failure by failure, for comparison; it shares no formula with the package."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import Strike


class Case(NamedTuple):
    """A run. [s, 1]."""

    work: float
    interval: float
    stall: float
    mtbf: float
    downtime: float = 0.0
    restart: float = 0.0
    strike: Strike = Strike.DR
    flush: float = 0.0
    speed: float = 1.0

    @property
    def options(self):
        """All but the four that every function takes by position."""
        names = ("downtime", "restart", "strike", "flush", "speed")
        return {name: getattr(self, name) for name in names}


class Played(NamedTuple):
    """One entry per run. [s, 1]."""

    time: np.ndarray
    failures: np.ndarray
    aborted: np.ndarray


def timeline(case):
    """Save starts and durable instants of an undisturbed run, and its end; saves that would end too late left out."""
    starts, clock = [], 0.0
    for _ in range(int(case.work / case.interval) + 1):
        starts.append(clock + case.interval)
        clock = starts[-1] + case.stall + (1 - case.speed) * case.flush
    while starts:
        saves = len(starts)
        rest = case.work - saves * case.interval
        if rest > 1e-9 * case.work and rest >= case.speed * case.flush * (1 - 1e-12):
            break
        starts.pop()
    starts = np.array(starts)
    end = case.work + starts.size * (case.stall + (1 - case.speed) * case.flush)
    return starts, starts + case.stall + case.flush, end


def _recoveries(case, count, rng):
    """Length of each recovery, and the failures inside it."""
    unstruck, struck = {
        Strike.SAFE: (case.downtime + case.restart, 0.0),
        Strike.R: (case.downtime, case.restart),
        Strike.DR: (0.0, case.downtime + case.restart),
    }[case.strike]
    length, failures, open_ = np.zeros(count), np.zeros(count), np.arange(count)
    while open_.size:
        gap = rng.exponential(case.mtbf, open_.size)
        fails = gap < struck
        length[open_] += unstruck + np.where(fails, gap, struck)
        failures[open_] += fails
        open_ = open_[fails]
    return length, failures


def play(case, runs, seed):
    """Wall times, failures and aborted saves of many runs."""
    rng = np.random.default_rng(seed)
    starts, durable, end = timeline(case)
    period = case.interval + case.stall + (1 - case.speed) * case.flush
    time, failures, aborted = np.zeros(runs), np.zeros(runs), np.zeros(runs)
    kept, open_ = np.zeros(runs, dtype=int), np.arange(runs)
    while open_.size:
        left = end - kept[open_] * period  # after a restart the run is as at its start, with fewer saves to go
        gap = rng.exponential(case.mtbf, open_.size)
        fails = gap < left
        time[open_] += np.where(fails, gap, left)
        at, gap, still = open_[fails], gap[fails], starts.size - kept[open_[fails]]
        started = np.minimum(np.searchsorted(starts, gap), still)
        done = np.minimum(np.searchsorted(durable, gap), still)
        kept[at] += done
        aborted[at] += started - done
        lost, more = _recoveries(case, at.size, rng)
        time[at] += lost
        failures[at] += 1 + more
        open_ = at
    return Played(time, failures, aborted)

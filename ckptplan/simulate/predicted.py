"""Fault prediction, played event by event: periodic saves, and saves taken on predictions that may be false.

Failures are Poisson on a clock that stands still in recoveries. A share of them, the recall, is announced, and false
alarms come at random, so many that the given precision of all announcements is true. Each names its instant, at
least one proactive save ahead. Training saves after every W of work, counted from the last periodic save or resume.
If, at the predicted instant, more than a given time will have passed since the last save ended or training resumed,
and training is at work when the proactive save has to begin, that save is taken and ends at that instant; otherwise the
prediction is ignored. After a false alarm the period is completed: what was left of W is worked, then comes the save.
A failure goes back to the last save of either kind, is followed by a recovery, and training resumes with a new period.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.errors import InputError

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_CHAINS = 8192  # at most; each is a unit of the estimate of the spread
_CHAINS_MIN = 256
_PER_CHAIN = 32  # failures that a chain has at least, if there are enough


class Predicted(NamedTuple):
    """Periodic saves beside a predictor. [s]; recall and precision [1].

    ``trust_after_s`` is the least time since the last save after which a prediction is trusted; None stands for
    ``C_p/p``, infinity for never.
    """

    interval_s: float
    stall_s: float
    mtbf_s: float
    recall: float
    precision: float
    proactive_stall_s: float
    trust_after_s: float | None = None
    recovery_s: float = 0.0


class PredictedRun(NamedTuple):
    """What many failures say. [1]; time [s]."""

    process: Predicted
    failures: int
    predictions: int  # true and false
    trusted: int
    wall_s: float
    goodput: float
    goodput_error: float


class _Chains:
    """Chains side by side, each at its last resume, or at the end of its last proactive save."""

    def __init__(self, count: int) -> None:
        self.done = np.zeros(count)  # work of the current period that a proactive save holds
        self.elapsed = np.zeros(count)  # on the clock of failures
        self.useful, self.clock = np.zeros(count), np.zeros(count)
        self.failures = np.zeros(count, dtype=np.int64)
        self.predictions = self.trusted = 0


def simulate_predicted(process: Predicted, *, failures: int = 1_000_000, seed: int = 0) -> PredictedRun:
    """Simulate a run without end.

    Parameters
    ----------
    process : Predicted
        How it saves, and what is predicted.
    failures : int
        Failures to simulate; rounded up to full chains. [1]
    seed : int
        The same seed gives the same failures and predictions, whatever the interval and the rule of trust.

    Returns
    -------
    PredictedRun
        Goodput is work that was saved over wall time; its standard error is that of a ratio of sums over independent
        chains, each of which ends with a failure.

    Raises
    ------
    InputError
        A number is outside its domain, or the rule of trust leaves no room for a proactive save.
    """
    process = _checked(process)
    if failures != int(failures) or failures < 2:
        raise InputError(f"the number of failures must be a whole number of at least 2; got {failures:g}")
    count = int(min(failures, max(_CHAINS_MIN, min(_CHAINS, failures // _PER_CHAIN))))
    per_chain = -(-int(failures) // count)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    chains = _Chains(count)
    true_rate = 1.0 / process.mtbf_s
    false_rate = true_rate * process.recall * (1.0 / process.precision - 1.0)
    failing, predicted = 1.0 / (1.0 + false_rate / true_rate), process.recall
    while (running := chains.failures < per_chain).any():
        gap = rng.standard_exponential(count) / (true_rate + false_rate)
        fails = rng.random(count) < failing
        announced = (rng.random(count) < predicted) | ~fails
        _play(process, chains, gap, _Event(running, fails, announced))
    return _estimate(process, chains)


class _Event(NamedTuple):
    """The next event of each chain."""

    counts: Flags  # the chain still runs
    fails: Flags  # a failure, not a false alarm
    announced: Flags


def _play(process: Predicted, chains: _Chains, gap: Floats, event: _Event) -> None:
    """One event of each chain: where in its period it falls, what is saved then, and from where training goes on."""
    W, d, ahead = process.interval_s, process.stall_s, process.proactive_stall_s
    elapsed = chains.elapsed + gap
    periods, place = np.divmod(elapsed + chains.done, W + d)
    since = np.where(periods > 0.0, place, elapsed)  # the last save ended
    begins = place - ahead  # work of this period, if training is at work then
    trusted = event.announced & (since > _trust_after(process)) & (begins <= W)
    anew = event.fails | trusted
    saved = W * periods - chains.done + np.where(trusted, begins, 0.0)
    saved = np.where((periods > 0.0) | trusted, saved, 0.0)
    counted = anew & event.counts
    chains.useful += np.where(counted, saved, 0.0)
    chains.clock += np.where(counted, elapsed, 0.0)
    chains.failures += event.fails & event.counts
    chains.predictions += int(np.count_nonzero(event.announced & event.counts))
    chains.trusted += int(np.count_nonzero(trusted & event.counts))
    chains.done = np.where(event.fails, 0.0, np.where(trusted, begins, chains.done))
    chains.elapsed = np.where(anew, 0.0, elapsed)


def _estimate(process: Predicted, chains: _Chains) -> PredictedRun:
    """Goodput and its standard error from the chains."""
    wall = chains.clock + process.recovery_s * chains.failures
    total = math.fsum(wall)
    goodput = math.fsum(chains.useful) / total
    spread = math.sqrt(math.fsum((chains.useful - goodput * wall) ** 2) * wall.size / (wall.size - 1))
    return PredictedRun(
        process, int(chains.failures.sum()), chains.predictions, chains.trusted, total, goodput, spread / total
    )


def _trust_after(process: Predicted) -> float:
    if process.trust_after_s is None:
        return process.proactive_stall_s / process.precision
    return process.trust_after_s


def _checked(process: Predicted) -> Predicted:
    """The process itself, if it has a meaning."""
    for name in ("interval_s", "mtbf_s"):
        value = getattr(process, name)
        if not (math.isfinite(value) and value > 0.0):
            raise InputError(f"{name} must be a positive number of seconds; got {value:g}")
    for name in ("stall_s", "proactive_stall_s", "recovery_s"):
        value = getattr(process, name)
        if not (math.isfinite(value) and value >= 0.0):
            raise InputError(f"{name} must be a number of seconds, not negative; got {value:g}")
    if not 0.0 <= process.recall <= 1.0:
        raise InputError(f"recall must lie between 0 and 1; got {process.recall:g}")
    if not 0.0 < process.precision <= 1.0:
        raise InputError(f"precision must be above 0 and at most 1; got {process.precision:g}")
    if not _trust_after(process) >= process.proactive_stall_s:
        raise InputError(
            f"trust_after_s must be at least the proactive save of {process.proactive_stall_s:g} s; "
            f"got {process.trust_after_s:g}",
            hint="a save that begins before the last one has ended is not possible",
        )
    return process

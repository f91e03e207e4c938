"""The controller in simulated training: what it loses while it learns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from ckptplan.online import IntervalController

STEP, STALL, PRIOR, SHAPE = 1.0, 20.0, 11135.0, 2.0
RUNS = 300
AT = (1, 3, 8)  # failures seen


def train(mtbf: float, failures: int, rng: np.random.Generator, *, known: bool) -> list[float]:
    """Intervals in force after 0, 1, ... failures of a job that restarts a new process after each one.

    Steps are run from save to save; a failure inside a stall loses that save.
    """
    c = IntervalController(STEP, STALL, PRIOR, prior_shape=SHAPE)
    stored, intervals = c.state_dict(), []
    left = rng.exponential(mtbf)
    while True:
        intervals.append(c.interval_steps * STEP)
        if len(intervals) > failures:
            return intervals
        left, stored = run_until_failure(c, stored, left)
        lost = {"at_step": stored["step"] + int(max(left, 0.0) / STEP)} if known else {}
        c = IntervalController(STEP, STALL, PRIOR, prior_shape=SHAPE)
        c.load_state_dict(stored)
        c.observe_failure(**lost)
        stored = c.state_dict()  # kept beside the checkpoint, for a failure before the next save
        left = rng.exponential(mtbf)


def run_until_failure(c: IntervalController, stored: dict, left: float) -> tuple[float, dict]:
    """Save until the failure strikes; the newest checkpoint, and the time from its step on that was run in vain."""
    step = stored["step"]
    while True:
        steps = c.interval_steps
        if left < steps * STEP + STALL:
            return left, stored
        assert not c.should_save(step + steps - 1)
        step += steps
        assert c.should_save(step)
        stored = c.state_dict()
        c.observe_save(STALL)
        left -= steps * STEP + STALL


def relative_regret(*, known: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean excess of the overhead over the least one, after ``AT`` failures, with its standard error."""
    rng = np.random.default_rng(8)
    # True rates are drawn from the prior, for which the posterior rule is meant.
    rates = rng.gamma(SHAPE, 1 / (SHAPE * PRIOR), RUNS)
    W = np.array([[train(1 / r, max(AT), rng, known=known)[k] for k in AT] for r in rates])
    least = np.sqrt(2 * STALL * rates)[:, None]
    excess = STALL / W + rates[:, None] * W / 2 - least
    return excess.mean(axis=0) / least.mean(), excess.std(axis=0) / np.sqrt(RUNS) / least.mean()


def test_regret_is_an_eighth_over_failures_and_prior():
    """After k failures the overhead is 1/(8 (k + a0)) above the least, whether the lost steps are known or guessed."""
    expected = 1 / (8 * (np.array(AT) + SHAPE))
    for known in (True, False):
        regret, error = relative_regret(known=known)
        assert (np.abs(regret - expected) < 4 * error).all()
        np.testing.assert_allclose(regret, expected, rtol=0.3)


def test_an_optimistic_prior_is_unlearned():
    """A prior ten times too high costs as much after each failure as the posterior rule says, less and less."""
    rng = np.random.default_rng(5)
    mtbf = PRIOR / 10
    W = np.array([train(mtbf, 12, rng, known=False) for _ in range(RUNS)])
    ratio = W / np.sqrt(2 * STALL * mtbf)
    excess = 0.5 * (ratio + 1 / ratio) - 1
    assert excess[:, 0].mean() == pytest.approx(0.739, abs=0.005)  # ten times, in whole steps
    for k in (1, 4, 12):
        t = mtbf * special.gammaincinv(k, (np.arange(2000) + 0.5) / 2000)
        c = (t + SHAPE * PRIOR) / (k + SHAPE) / mtbf
        expected = (0.5 * (np.sqrt(c) + 1 / np.sqrt(c)) - 1).mean()
        assert excess[:, k].mean() == pytest.approx(
            expected, abs=4 * excess[:, k].std() / np.sqrt(RUNS) + 0.02 * expected
        )

"""The exact shares against the process itself, played event by event."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_goodput, lost_per_failure


def _cycle(gap: float, W: float, d: float, F: float, om: float) -> tuple[int, float]:
    """Play one stretch of training that fails after ``gap``: durable saves, time since the state kept."""
    clock, saves, kept_at = 0.0, 0, 0.0
    flush_left, state_of_flush, work_left = 0.0, 0.0, W
    while True:
        # The next event: the flush becomes durable, or the work up to the next save is done.
        speed = om if flush_left > 0 else 1.0
        to_save = work_left / speed if speed > 0 else np.inf
        step = min(to_save, flush_left) if flush_left > 0 else to_save
        if clock + step >= gap:
            return saves, gap - kept_at
        clock += step
        work_left -= step * speed
        if flush_left > 0:
            flush_left -= step
            if flush_left <= 1e-9:
                flush_left, saves, kept_at = 0.0, saves + 1, state_of_flush
        if work_left <= 1e-9:
            state_of_flush = clock
            if clock + d >= gap:
                return saves, gap - kept_at
            clock += d
            flush_left, work_left = F, W


@pytest.mark.parametrize(
    ("W", "d", "F", "om", "M", "R"),
    [(346.0, 3.0, 99.0, 0.98, 1824.4, 400.0), (300.0, 20.0, 400.0, 0.6, 1500.0, 250.0)],
)
def test_asynchronous_process(W, d, F, om, M, R):
    """Goodput and time lost per failure agree with 30,000 simulated failures within four standard errors."""
    rng = np.random.default_rng(2024)
    gaps = rng.exponential(M, 30_000)
    saves, lost = np.array([_cycle(gap, W, d, F, om) for gap in gaps]).T
    useful, wall = W * saves, gaps + R
    goodput = useful.sum() / wall.sum()
    # Standard error of a ratio of sums: the residual of each cycle around it.
    error = np.std(useful - goodput * wall) / np.sqrt(gaps.size) / wall.mean()
    exact = exact_goodput(W, d, M, restart=R, strike=Strike.SAFE, flush=F, speed=om)
    assert error < 0.004
    assert abs(goodput - exact) < 4 * error
    mean_lost = lost_per_failure(W, d, M, flush=F, speed=om)
    assert abs(lost.mean() - mean_lost) < 4 * lost.std() / np.sqrt(gaps.size)

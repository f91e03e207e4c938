from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.slowdown import overlapped_copy_stall, speed_from_shared_link, speed_from_step_times
from ckptplan.interval.asynchronous import effective_stall

SHARE = st.floats(0, 1)


@pytest.mark.parametrize(
    ("tokens_during", "tokens_outside", "flush", "blocked", "slow_down", "stall"),
    [(315, 700, 437, 0.78, 240.35, 241.13), (372, 700, 67, 0.78, 31.39, 32.17)],
)
def test_measured_throughput(tokens_during, tokens_outside, flush, blocked, slow_down, stall):
    """Two published measurements: less than a second of blocking is an effective stall of minutes and half a minute."""
    speed = speed_from_step_times(1 / tokens_outside, 1 / tokens_during)
    assert effective_stall(0, flush, speed) == pytest.approx(slow_down, abs=0.005)
    assert effective_stall(blocked, flush, speed) == pytest.approx(stall, abs=0.005)


def test_measured_step_times():
    """Steps of 20.576 s instead of 16.868 s are a speed of 82 %."""
    assert speed_from_step_times(16.868, 20.576) == pytest.approx(0.8198, abs=5e-5)


def test_faster_steps_count_as_not_slowed():
    """A step that happened to be quicker during a save is scatter."""
    assert speed_from_step_times(10.0, 9.9) == 1.0


def test_shared_link():
    """Half of the link taken, a fifth of the step exposed: the fifth doubles."""
    assert speed_from_shared_link(25e9, 50e9, 0.2) == pytest.approx(1 / 1.2, rel=1e-15)


@pytest.mark.parametrize(("rate", "exposed", "speed"), [(0, 0.3, 1), (50e9, 0.3, 0), (80e9, 0.3, 0), (80e9, 0, 1)])
def test_shared_link_at_its_ends(rate, exposed, speed):
    """No flush does not slow; a full link stops exposed communication, and nothing else."""
    assert speed_from_shared_link(rate, 50e9, exposed) == speed


@given(SHARE, SHARE, SHARE)
def test_more_flush_or_more_exposure_never_speeds_up(share, exposed, factor):
    """Speed falls in both arguments and stays between 0 and 1."""
    speed = speed_from_shared_link(share, 1.0, exposed)
    assert 0 <= speed <= 1
    assert speed_from_shared_link(share * factor, 1.0, exposed) >= speed * (1 - 1e-12)
    assert speed_from_shared_link(share, 1.0, exposed * factor) >= speed * (1 - 1e-12)


@pytest.mark.parametrize(
    ("copy", "window", "stall", "hidden"), [(3, 5, 0, 3), (7, 5, 2, 5), (0, 5, 0, 0), (4, 0, 4, 0)]
)
def test_overlapped_copy(copy, window, stall, hidden):
    """What does not fit beside forward and backward blocks."""
    assert tuple(overlapped_copy_stall(copy, window)) == (stall, hidden)


def test_invalid_is_nan():
    """Input outside its domain is nan without a warning, element by element."""
    assert np.isnan(speed_from_step_times([0, 1, np.nan], [1, -1, 1])).all()
    assert np.isnan(speed_from_shared_link([-1, 1, 1], [1, 0, 1], [0.1, 0.1, 1.1])).all()
    assert np.isnan(overlapped_copy_stall(-1, 5)).all()

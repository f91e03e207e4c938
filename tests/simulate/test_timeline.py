from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.simulate.process import Process
from ckptplan.simulate.timeline import copied_saves, durable_saves, spent, timeline_of

# W = 100, d = 5, F = 40 at half speed: P = 125; save 1 begins at 100, is copied at 105, durable at 145.
ASYNCHRONOUS = timeline_of(Process(100.0, 5.0, 40.0, 0.5))


@pytest.mark.parametrize(
    ("position", "copied", "durable", "begun", "worked", "saving"),
    [
        (0, 0, 0, 0, 0, 0),
        (99, 0, 0, 0, 99, 0),
        (103, 0, 0, 1, 100, 3),
        (105, 1, 0, 1, 100, 5),
        (115, 1, 0, 1, 105, 10),
        (145, 1, 1, 1, 120, 25),
        (225, 1, 1, 2, 200, 25),
        (269, 2, 1, 2, 219.5, 49.5),
        (270, 2, 2, 2, 220, 50),
    ],
)
def test_events_of_an_asynchronous_timeline(position, copied, durable, begun, worked, saving):
    """Saves begin, are copied and become durable at the instants worked out by hand."""
    at = np.array([float(position)])
    assert copied_saves(ASYNCHRONOUS, at) == copied
    assert durable_saves(ASYNCHRONOUS, at) == durable
    assert spent(ASYNCHRONOUS, at) == (begun, worked, saving)


def test_no_save_after_the_last():
    """Beyond the last save of a run everything is work."""
    time = spent(ASYNCHRONOUS, np.array([150.0, 150.0, 600.0]), np.array([0.0, 1.0, 2.0]))
    assert list(time.begun) == [0, 1, 2]
    assert list(time.worked_s) == [150, 125, 550]
    assert list(time.saving_s) == [0, 25, 50]


@given(st.floats(0, 1e6), st.floats(1, 1e4), st.floats(0, 1e3), st.floats(0, 1), st.floats(0, 1), st.integers(0, 50))
def test_the_parts_are_all_of_the_time(position, interval, stall, flush_share, speed, most):
    """Work and saving sum to the position, with or without a last save."""
    timeline = timeline_of(Process(interval, stall, flush_share * interval, speed))
    for limit in (np.inf, np.array([float(most)])):
        time = spent(timeline, np.array([position]), limit)
        assert time.worked_s + time.saving_s == pytest.approx(position, rel=1e-12, abs=1e-9)
        assert (time.saving_s >= 0).all()

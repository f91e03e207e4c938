from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.detection import mean_detection_delay


def test_reference():
    """Nine crashes noticed after 30 s and one hang noticed after half an hour: 207 s on average."""
    assert mean_detection_delay([0.9, 0.1], [30, 1800]) == pytest.approx(207, rel=1e-12)


def test_simulated_failures():
    """The mean over drawn failures agrees within four of its standard errors."""
    rng = np.random.default_rng(1)
    share, delay = np.array([0.6, 0.3, 0.1]), np.array([10.0, 60.0, 1800.0])
    drawn = rng.choice(delay, size=200_000, p=share)
    error = drawn.std() / np.sqrt(drawn.size)
    assert abs(drawn.mean() - mean_detection_delay(share, delay)) < 4 * error


@given(st.lists(st.floats(1e-3, 1), min_size=1, max_size=6), st.floats(0, 1e6))
def test_equal_delays_are_the_mean(weights, delay):
    """If every class is noticed after the same time, so are all failures."""
    share = np.array(weights) / sum(weights)
    assert mean_detection_delay(share, delay) == pytest.approx(delay, rel=1e-12)


def test_a_class_without_failures_does_not_count():
    """A hang that never occurs may go unnoticed for ever."""
    assert mean_detection_delay([1, 0], [30, np.inf]) == 30


def test_broadcast_axis_and_invalid():
    """Classes may lie along any axis; shares that miss 1, or are negative, and negative delays are nan."""
    share = np.array([[0.9, 0.1], [0.9, 0.2], [1.5, -0.5], [0.5, 0.5], [np.nan, 1.0]])
    delay = np.array([[30, 1800], [30, 1800], [30, 1800], [30, -1], [1, 1]])
    mean = mean_detection_delay(share, delay)
    np.testing.assert_array_equal(np.isnan(mean), [False, True, True, True, True])
    np.testing.assert_array_equal(mean_detection_delay(share.T, delay.T, axis=0), mean)

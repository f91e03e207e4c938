"""Repetitions: mean and scatter."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ckptplan.measure.repeats import Repeats


def test_mean_and_scatter_are_those_of_numpy() -> None:
    """Mean, sample standard deviation, extremes."""
    values = (3.0, 5.0, 4.0, 8.0)
    found = Repeats(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.sd == pytest.approx(np.std(values, ddof=1))
    assert found.cv == pytest.approx(np.std(values, ddof=1) / np.mean(values))
    assert (found.least, found.most) == (3.0, 8.0)


def test_one_value_has_no_scatter() -> None:
    """Once is no repetition; nothing has no mean."""
    assert (Repeats((2.0,)).sd, Repeats((2.0,)).cv) == (None, None)
    assert math.isnan(Repeats(()).mean)
    assert math.isnan(Repeats(()).least)
    assert Repeats((0.0, 0.0)).cv is None

"""Inputs that are not known exactly have the mean and the spread that were written."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.spread import Spread, largest_cv

_COUNT = 200_000


@pytest.mark.parametrize(
    ("spread", "mean", "sd"),
    [
        (Spread(65.0, low=40.0, high=90.0), 65.0, 50.0 / math.sqrt(12.0)),
        (Spread(60.0, cv=0.3), 60.0, 18.0),
        (Spread(60.0, cv=2.0), 60.0, 120.0),
        (Spread(0.9, cv=0.1, share=True), 0.9, 0.09),
    ],
)
def test_draws_have_the_mean_and_the_deviation_asked_for(spread: Spread, mean: float, sd: float) -> None:
    """200,000 draws agree with mean and standard deviation within four standard errors (of a heavy tail: 5 %)."""
    values = spread.draw(np.random.default_rng(1), _COUNT)
    assert abs(values.mean() - mean) < 4 * sd / math.sqrt(_COUNT)
    assert values.std() == pytest.approx(sd, rel=0.05)


def test_a_range_is_never_left() -> None:
    """Every draw of a range lies between its ends."""
    values = Spread(65.0, low=40.0, high=90.0).draw(np.random.default_rng(2), 10_000)
    assert values.min() >= 40.0
    assert values.max() <= 90.0


@given(st.floats(0.01, 0.99), st.floats(0.05, 0.95))
def test_a_share_stays_a_share(mean: float, part: float) -> None:
    """Whatever mean and admissible cv a share has, its draws lie between nothing and the whole."""
    spread = Spread(mean, cv=part * largest_cv(mean), share=True)
    values = spread.draw(np.random.default_rng(3), 100)
    assert ((values >= 0.0) & (values <= 1.0)).all()


def test_one_seed_gives_one_set_of_draws() -> None:
    """The same generator state gives the same values."""
    spread = Spread(60.0, cv=0.3)
    first, second = (spread.draw(np.random.default_rng(4), 10) for _ in range(2))
    assert (first == second).all()

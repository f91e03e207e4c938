from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ckptplan.errors import InputError
from ckptplan.fit.trend import laplace
from tests.fit.laws_in_numbers import REPAIRS, within


def test_by_hand():
    """The repairs of NIST come early: the sum of instants against its mean and deviation, and the normal tails."""
    u = (REPAIRS.sum() - 10 * 750) / (1500 * np.sqrt(10 / 12))
    found = laplace(REPAIRS, 1500)
    assert found.u == pytest.approx(u, rel=1e-12)
    assert found.p_value == pytest.approx(2 * stats.norm.cdf(-abs(u)), rel=1e-12)


def test_until_a_failure_the_last_one_ends_the_observation():
    """Counting until a failure tests the others over the time up to it, whatever end was given."""
    assert laplace(REPAIRS, 9999, until_failure=True) == laplace(REPAIRS[:-1], 1478)


@pytest.mark.parametrize("number", [4, 30, 1000])
@pytest.mark.parametrize("until_failure", [False, True])
def test_false_alarms_at_the_level(number, until_failure):
    """Of 2,000 records of constant rate 5 % are called a trend."""
    rng = np.random.default_rng(number)
    alarms = 0
    for _ in range(2000):
        t = np.cumsum(rng.exponential(1.0, number)) if until_failure else rng.random(number)
        alarms += laplace(t, t[-1] if until_failure else 1.0, until_failure).p_value < 0.05
    assert within(alarms / 2000, 0.05, 2000)


def test_order_and_ties_do_not_matter():
    """Instants may come in any order and several at once."""
    assert laplace([3, 1, 1, 2], 4) == laplace([1, 1, 2, 3], 4)


def test_nothing_to_test():
    """No failure, and only the one that ended the observation, are nan with a note."""
    for found in (laplace([], 5.0), laplace([3.0], 3.0, until_failure=True)):
        assert np.isnan(found.p_value)
        assert found.note


@pytest.mark.parametrize(
    ("instants", "end", "words"),
    [([1, 7], 5, "a failure at 7"), ([-1], 5, "a failure at -1"), ([np.nan], 5, "at nan"), ([], 0, "ends at 0"),
     ([1], np.inf, "ends at inf")],
)  # fmt: skip
def test_instants_outside_are_refused(instants, end, words):
    """An instant outside the observation, or an end that is none, is an error that says which."""
    with pytest.raises(InputError, match=words):
        laplace(instants, end)

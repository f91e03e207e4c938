from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from ckptplan.interval.retention import (
    DelayLaw,
    checkpoints_for_depth,
    checkpoints_to_keep,
    fits,
    no_clean_probability,
    wear,
)


def test_reference_values():
    """Probability and numbers to keep equal the reference."""
    assert no_clean_probability(2, 1200, 3600) == pytest.approx(0.6093425746, rel=1e-9)
    assert checkpoints_to_keep(0.001, 1200, 3600) == 22
    assert checkpoints_to_keep(0, 1200, 3600, law=DelayLaw.BOUNDED) == 4
    assert checkpoints_for_depth(100 + 10, 50) == 4


def _mean_over_the_phase(keep, mean, rollback):
    """Mean of the tail of the delay at the age of the oldest checkpoint, by quadrature."""

    def missing(phase):
        left = mp.mpf(keep) - mp.mpf(rollback) - phase
        return mp.exp(-left / mp.mpf(mean)) if left > 0 else mp.mpf(1)

    kink = min(max(keep - rollback, 0.0), 1.0)
    # the tail falls from 1 within a few means of the kink
    cuts = sorted({0.0, 1.0, kink, *(max(kink - f * mean, 0.0) for f in (1, 10, 100) if mean < 1)})
    largest = missing(mp.mpf(1))  # taken out, because the quadrature stops at an absolute error
    return largest * mp.quad(lambda phase: missing(phase) / largest, cuts)


@pytest.mark.parametrize("rollback", [0.0, 0.7, 1.0, 2.5, 3.0, 40.0])
@pytest.mark.parametrize("mean", [1e-6, 0.3, 3.0, 1e4, 1e12])
def test_exponential_against_an_integral_over_the_phase(rollback, mean):
    """The closed form is the mean over the phase of the tail of the delay, 40 digits, with and without a rollback."""
    with mp.workdps(40):
        for keep in (0, 1, 2, 3, 4, 45):
            true = _mean_over_the_phase(keep, mean, rollback)
            found = float(no_clean_probability(keep, 1.0, mean, rollback=rollback))
            # exp of a number of size c carries an error of c times the rounding error
            size = keep / mean if true > 1e-300 else 1.0
            assert abs(found - true) <= 4e-16 * (4 + size) * true + mp.mpf(10) ** -300


@pytest.mark.parametrize("law", list(DelayLaw))
@pytest.mark.parametrize("rollback", [0.0, 500.0])
def test_against_drawn_corruptions(law, rollback):
    """Corruptions drawn at random find no clean checkpoint as often as computed, within four standard errors."""
    rng, n, period, delay = np.random.default_rng(11), 400_000, 1200.0, 3600.0
    instant = rng.uniform(0, 1e9, n)
    found = instant + (rng.exponential(delay, n) if law is DelayLaw.EXPONENTIAL else delay)
    wanted = np.floor((instant - rollback) / period)  # index of the newest save old enough
    newest = np.floor(found / period)
    for keep in (1, 3, 4, 5):
        missing = np.mean(wanted <= newest - keep)
        exact = float(no_clean_probability(keep, period, delay, law=law, rollback=rollback))
        assert abs(missing - exact) <= 4 * np.sqrt(exact * (1 - exact) / n)


@pytest.mark.parametrize("law", list(DelayLaw))
def test_number_is_the_least_that_suffices(law):
    """The number keeps the probability, one fewer does not, for 4,000 random cases of every size."""
    rng = np.random.default_rng(5)
    q, delay = 10.0 ** rng.uniform(-9, -0.01, 4000), 10.0 ** rng.uniform(-3, 4, 4000)
    rollback = rng.choice([0.0, 0.4, 1.0, 17.3], 4000)
    k = checkpoints_to_keep(q, 1.0, delay, law=law, rollback=rollback)
    assert (k >= 1).all()
    assert (no_clean_probability(k, 1.0, delay, law=law, rollback=rollback) <= q).all()
    fewer = no_clean_probability(k - 1, 1.0, delay, law=law, rollback=rollback)
    assert (fewer[k > 1] > q[k > 1]).all()


def test_whole_quotients_survive_rounding():
    """A bound of seven periods of 0.1 needs eight checkpoints, though the quotient of doubles is off by rounding."""
    n = np.arange(1, 2000)
    np.testing.assert_array_equal(checkpoints_for_depth(n * 0.1, 0.1), n + 1)
    np.testing.assert_array_equal(checkpoints_for_depth(n * 0.1 + 0.01, 0.1), n + 2)


def test_depth_against_every_phase():
    """For every phase of a spike, steps back and lag, the saves from the wanted one on are at most the number kept."""
    step = np.arange(1000, 1000 + 420)
    for interval in (1, 2, 5, 7, 60):
        for back, lag in ((0, 0), (0, 3), (1, 0), (10, 4), (59, 1), (60, 0), (100, 10)):
            saves = (step + lag) // interval - (step - back) // interval + 1
            assert saves.max() == checkpoints_for_depth(back + lag, interval)


def test_limits():
    """A delay of 0 needs one checkpoint, an endless one or a certain guarantee infinitely many, a sure loss one."""
    assert no_clean_probability(1, 10, 0) == 0
    assert no_clean_probability(0, 10, 0) == 1
    assert no_clean_probability(5, 10, np.inf) == 1
    np.testing.assert_array_equal(
        checkpoints_to_keep([0.1, 0, 0.1, 1], 10, [0, 5, np.inf, 1e9]), [1, np.inf, np.inf, 1]
    )
    assert checkpoints_to_keep(0.1, 10, 0, rollback=35) == 5  # 4.5 periods: half of the phases need the fifth


def test_fits_and_wear():
    """Whole checkpoints in a capacity; days from endurance over bytes per device and day."""
    np.testing.assert_array_equal(
        fits([3e12, 3e12 - 1, 0, -1, 1], [1e12, 1e12, 1e12, 1e12, 0]), [3, 2, 0, np.nan, np.nan]
    )
    # 1 TB each half hour is 48 TB a day; with 2 copies and amplification 1.5, on 8 devices, 18 TB each
    result = wear(1e12, 1800, endurance_bytes=9e15, devices=8, copies=2, write_amplification=1.5)
    np.testing.assert_allclose(result, (48e12, 18e12, 500.0), rtol=1e-14)
    assert wear(0, 1800, endurance_bytes=1e15).days == np.inf
    assert wear(1e12, 1800).days == np.inf


def test_invalid_is_nan_beside_valid_neighbours():
    """Input outside the domain is nan; the arguments broadcast."""
    probability = no_clean_probability([2, 2.5, -1], [[1200], [0]], 3600)
    np.testing.assert_array_equal(np.isnan(probability), [[False, True, True], [True] * 3])
    number = checkpoints_to_keep([1e-3, -1, 2, 1e-3, 1e-3], 1200, [3600, 1, 1, -1, 3600], rollback=[0, 0, 0, 0, -1])
    np.testing.assert_array_equal(number, [22, np.nan, np.nan, np.nan, np.nan])
    bad = wear([1, -1, 1, 1], [1, 1, 0, 1], devices=[1, 1, 1, 1.5])
    np.testing.assert_array_equal(np.isnan(bad.days), [False, True, True, True])
    with pytest.raises(ValueError, match="sometimes"):
        no_clean_probability(2, 1200, 3600, law="sometimes")

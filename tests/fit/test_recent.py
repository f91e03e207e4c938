from __future__ import annotations

import numpy as np
import pytest

from ckptplan.fit.recent import Recent, change_point, constant_rate, recent_part
from tests.fit.laws_in_numbers import within


def jump(before: float, after: float, at: float, rng: np.random.Generator) -> np.ndarray:
    """Instants in [0, 1] at one rate before a time and another after it."""
    early, late = rng.poisson(before * at), rng.poisson(after * (1 - at))
    return np.concatenate([rng.random(early) * at, at + rng.random(late) * (1 - at)])


def test_change_point_by_trying_every_place():
    """The most likely change is the best of a fine grid of places, each with two rates fitted."""
    t = np.sort(jump(40, 120, 0.6, np.random.default_rng(1)))
    grid = np.linspace(0.05, 0.95, 400_001)
    k = np.searchsorted(t, grid, "right")
    n = t.size
    with np.errstate(divide="ignore", invalid="ignore"):
        two = k * np.log(k / grid) + (n - k) * np.log((n - k) / (1 - grid))
    found = change_point(t, 1.0)
    assert found.statistic == pytest.approx(2 * (np.nanmax(two) - n * np.log(n)), rel=1e-3)
    assert found.at == pytest.approx(grid[np.nanargmax(two)], abs=1e-5)


@pytest.mark.parametrize("number", [8, 40, 400])
def test_false_alarms_of_one_change(number):
    """Of 2,000 records of constant rate no more than the level are said to change, and as many where they are long."""
    rng = np.random.default_rng(number)
    p = np.array([change_point(rng.random(number), 1.0).p_value for _ in range(2000)])
    for level in (0.01, 0.05, 0.1):
        alarms = np.mean(p < level)
        assert alarms <= level + 4 * np.sqrt(level * (1 - level) / 2000)
        assert number < 400 or within(alarms, level, 2000)


@pytest.mark.parametrize("expected", [10, 100])
def test_a_constant_rate_is_hardly_cut(expected):
    """Of 1,000 records without a trend at most 5 % are cut; the rest are kept whole."""
    rng = np.random.default_rng(20261130)
    cut = 0
    for _ in range(1000):
        t = rng.random(rng.poisson(expected))
        found = recent_part(t, 1.0)
        cut += found.start > 0
        assert found.start > 0 or (found.failures, found.exposure) == (t.size, 1.0)
    assert cut / 1000 <= 0.05


@pytest.mark.parametrize(("after", "power"), [(0.25, 0.95), (4.0, 0.98)])
def test_a_jump_is_found_where_it_is(after, power):
    """A rate that falls or grows fourfold is found in 95 % and more of records with 60 failures, near its place."""
    rng = np.random.default_rng(5)
    before = 60 / (0.6 + 0.4 * after)
    starts = [recent_part(jump(before, before * after, 0.6, rng), 1.0).start for _ in range(300)]
    found = np.array([start for start in starts if start > 0])
    assert within(found.size / 300, power, 300)
    assert np.median(np.abs(found - 0.6)) < 0.03


@pytest.mark.parametrize(("b", "power"), [(0.6, 0.92), (1.5, 0.68)])
def test_a_drift_is_found(b, power):
    """A power law of 50 failures with b = 0.6 is found in 92 % of records, one with b = 1.5 in 68 %."""
    rng = np.random.default_rng(6)
    found = [constant_rate(rng.random(rng.poisson(50)) ** (1 / b), 1.0) < 0.05 for _ in range(400)]
    assert within(np.mean(found), power, 400)


def test_several_jumps_leave_the_last_part():
    """After two jumps what is left begins at the second one."""
    t = np.concatenate([np.linspace(0, 1, 200), np.linspace(1, 2, 40), np.linspace(2, 3, 120)])
    found = recent_part(t, 3.0)
    assert found.start == pytest.approx(2.0, abs=0.05)
    assert found.failures == np.count_nonzero(t > found.start)
    assert found.exposure == pytest.approx(3.0 - found.start)
    assert "changed" in found.reason


def test_no_failures_since_a_while():
    """A record whose failures stop has a recent part with hardly any."""
    found = recent_part(np.linspace(0.0, 0.4, 40), 1.0)
    assert found.start == pytest.approx(0.4, abs=0.02)
    assert found.failures <= 1


def test_a_burst_at_the_end_is_no_part():
    """Many failures in the last milliseconds of months do not leave milliseconds to plan from."""
    t = np.concatenate([np.linspace(0, 1e7, 50), 1e7 - 1e-3 * np.arange(30)])
    assert recent_part(t, 1e7).exposure >= 1e5
    assert recent_part([10.0] * 100, 10.0, until_failure=True).exposure >= 0.1
    assert recent_part([0.0] * 100, 10.0, until_failure=True).failures == 100


def test_ties_and_the_very_start():
    """Failures at one instant, and at 0, are counted and are no fault."""
    assert recent_part([0.0, 0.0, 2.0, 2.0, 5.0, 8.0], 10.0).failures == 6
    assert recent_part([3.0] * 50, 10.0).exposure <= 7.0


@pytest.mark.parametrize("until_failure", [False, True])
def test_few_failures_are_kept_whole(until_failure):
    """Fewer than five failures tell no change: all of the record is recent."""
    for number in range(1, 5):
        t = np.linspace(0.1, 0.2, number)
        found = recent_part(t, 1.0, until_failure)
        assert found == Recent(0.0, number, t[-1] if until_failure else 1.0, found.reason, 1.0)
        assert "fewer than 5" in found.reason
    assert recent_part([], 1.0).failures == 0


def test_until_a_failure_the_last_is_counted():
    """Where a failure ended the observation it is one of the failures of the recent part, which ends with it."""
    t = np.concatenate([np.linspace(0, 1, 100), np.linspace(1.05, 2, 20)])
    found = recent_part(t, 99.0, until_failure=True)
    assert found.start == pytest.approx(1.0, abs=0.06)
    assert found.failures == np.count_nonzero(t > found.start)
    assert found.exposure == pytest.approx(2.0 - found.start)

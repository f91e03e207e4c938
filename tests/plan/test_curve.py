"""Goodput against the interval, and how flat the optimum is."""

from __future__ import annotations

from dataclasses import replace

import mpmath
import numpy as np
import pytest

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.curve import WITHIN, Flat, flat_region, goodput_curve
from ckptplan.plan.record import TIERS

_LAWS = [
    "failures.law={name: weibull, shape: 0.7, of: job}",
    "failures.law={name: gamma, shape: 0.6, of: job}",
    "failures.law={name: weibull, shape: 0.7, of: node}",
    "failures.host_copy_survives=0.5",
]


def _in_40_digits(wanted: mpmath.mpf, low_s: float, high_s: float) -> mpmath.mpf:
    """Where the goodput of Daly (2006) for the synchronous strategy of llama3-405b is ``wanted``."""
    case = load("llama3-405b").scenario
    gpus, stall, restart = case.cluster.gpus, mpmath.mpf(60), mpmath.mpf(600)
    M = mpmath.mpf(case.failures.mtbf_per_gpu_s) / gpus

    def goodput(W: mpmath.mpf) -> mpmath.mpf:
        return (W / M) / (mpmath.exp(restart / M) * mpmath.expm1((W + stall) / M))

    return mpmath.findroot(lambda W: goodput(W) - wanted, (low_s, high_s), solver="anderson")


def test_the_ends_of_the_flat_region_are_those_of_40_digits() -> None:
    """A restart of 10 min that may be struck, a blocking save of 60 s: Daly's formula, solved by mpmath."""
    scenario = load("llama3-405b").scenario
    only = replace(scenario, saves=scenario.saves[:1])
    made = plan(only)
    assert made.flat is not None
    with mpmath.workdps(40):
        wanted = mpmath.mpf(made.best.goodput_typed) - WITHIN
        low = _in_40_digits(wanted, made.flat.low_s * 0.9, made.best.interval_s)
        high = _in_40_digits(wanted, made.best.interval_s, made.flat.high_s * 1.1)
    assert made.flat.low_s == pytest.approx(float(low), rel=1e-7)
    assert made.flat.high_s == pytest.approx(float(high), rel=1e-7)
    assert low <= made.flat.low_s * (1 + 1e-12)  # inside, not outside
    assert high >= made.flat.high_s * (1 - 1e-12)


@pytest.mark.parametrize("sets", [[], *([one] for one in _LAWS)])
def test_within_the_region_the_loss_is_a_tenth_of_a_point_and_outside_it_is_more(sets: list[str]) -> None:
    """By the law of the failures, whichever it is; the recommended interval lies within."""
    scenario = load("lab-64", sets=sets).scenario
    made = plan(scenario)
    assert made.flat is not None
    low_s, high_s, within = made.flat
    from ckptplan.plan.case import cases_of

    case = next(case for case in cases_of(scenario) if case.save.name == made.best.strategy)
    inside = case.shares(np.geomspace(low_s, high_s, 50)).goodput
    outside = case.shares(np.array([low_s * 0.999, high_s * 1.001])).goodput
    assert within == WITHIN
    assert np.all(inside >= made.best_goodput - within - 1e-12)
    assert np.all(outside < made.best_goodput - within)
    assert low_s < made.best.typed_interval_s(made.step_time_s) < high_s


def test_the_region_ends_at_the_floor_of_the_flush() -> None:
    """Shorter intervals cannot be had, however good they would be; nor can less than a step."""
    scenario = load("lab-64").scenario
    made = plan(scenario, intervals_s=[1.0])
    curve = goodput_curve(scenario, made)
    floors = {record.strategy: record.interval_floor_s for record in made.optima()}
    for line in curve.lines:
        below = curve.interval_s < max(floors[line.strategy], made.step_time_s or 0.0)
        assert np.isnan(line.goodput[below]).all()
        assert np.isfinite(line.goodput[~below]).all()
        assert below.any()
    at_floor = flat_region(lambda at: 1.0 - 1e-5 * at, 30.0, best=1.0, least_s=20.0)
    assert at_floor is not None
    assert at_floor.low_s == 20.0
    assert at_floor.high_s == pytest.approx(100.0, rel=1e-6)


def test_where_next_to_nothing_is_to_be_had_there_is_no_region() -> None:
    """A goodput below the allowed loss could not be lowered by it."""
    assert flat_region(lambda at: 0.0 * at + 1e-4, 10.0, best=1e-4) is None
    assert flat_region(lambda at: 0.0 * at, 0.0, best=0.9) is None


def test_wide_regions_are_found_and_endless_ones_end() -> None:
    """The first bracket is a factor of 100 to both sides; beyond it the search goes on."""

    def plateau(at: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return np.where((at > 1e-4) & (at < 1e7), 0.9, 0.1)

    found = flat_region(plateau, 10.0, best=0.9)
    assert found is not None
    assert (found.low_s, found.high_s) == pytest.approx((1e-4, 1e7), rel=1e-5)
    endless = flat_region(lambda at: 0.0 * at + 0.9, 10.0, best=0.9)
    assert endless is not None
    assert endless.low_s <= 1e-14
    assert endless.high_s >= 1e14


def test_a_region_is_the_connected_one_around_the_interval() -> None:
    """Another peak as high beyond a valley does not count."""

    def peaks(at: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return np.asarray(0.9 - 0.1 * np.sin(np.pi * np.log10(at)) ** 2)

    found = flat_region(peaks, 10.0, best=0.9)
    assert found is not None
    ends = [10.0 ** (1.0 + sign * np.arcsin(0.1) / np.pi) for sign in (-1.0, 1.0)]
    assert (found.low_s, found.high_s) == pytest.approx(tuple(ends), rel=1e-7)


def test_a_curve_has_every_strategy_and_its_tiers() -> None:
    """With several tiers there is one line more, best at the interval of the plan; each line passes its optimum."""
    scenario = load("spectrum-16384").scenario
    made = plan(scenario)
    assert made.tiers is not None
    curve = goodput_curve(scenario, made, points=2001)
    assert [line.strategy for line in curve.lines] == [*(r.strategy for r in made.optima()), TIERS]
    assert curve.best == TIERS
    assert curve.flat == made.flat
    lines = {line.strategy: line.goodput for line in curve.lines}
    for name, interval_s, goodput in (
        (TIERS, made.tiers.interval_s, made.tiers.goodput),
        (made.best.strategy, made.best.interval_s, made.best.goodput_exact),
    ):
        near = np.interp(np.log(interval_s), np.log(curve.interval_s), np.nan_to_num(lines[name]))
        assert near == pytest.approx(goodput, abs=2e-6)  # of the chords of 2,001 points


def test_only_what_people_read_has_a_flat_region() -> None:
    """A plan for one number to type does without."""
    assert plan(load("lab-64").scenario, whole_run=False).flat is None
    assert isinstance(plan(load("lab-64").scenario).flat, Flat)

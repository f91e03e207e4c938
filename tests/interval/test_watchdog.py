from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.interval.watchdog import (
    ExponentialTail,
    LognormalTail,
    best_timeout,
    timeout_regret,
    watchdog_cost,
)

JOB = {"hang_rate": 1 / 864_000, "step_time": 10.0, "restart": 600.0, "rework": 600.0}

jobs = st.fixed_dictionaries(
    {
        "hang_rate": st.floats(-9, -2).map(lambda e: 10**e),
        "step_time": st.floats(1, 100),
        "restart": st.floats(0, 4000),
        "rework": st.floats(0, 4000),
    }
)
exponential_tails = st.builds(
    ExponentialTail, st.floats(0, 1000), st.floats(-9, 0).map(lambda e: 10**e), st.floats(0.1, 1000)
)
lognormal_tails = st.builds(LognormalTail, st.floats(1, 300), st.floats(0.01, 4), st.floats(-4, 0).map(lambda e: 10**e))


def cost(x, tail, job):
    """The cost in 40 digits; x, and the numbers of the tail, may be mpmath's."""
    if isinstance(tail, ExponentialTail):
        p = tail.probability * mpmath.exp(-(x - tail.start) / mpmath.mpf(tail.scale))
    else:
        p = tail.share * mpmath.erfc(mpmath.log(x / mpmath.mpf(tail.median)) / tail.sigma / mpmath.sqrt(2)) / 2
    return job["hang_rate"] * x + p / job["step_time"] * (mpmath.mpf(job["restart"]) + job["rework"] + x)


@pytest.mark.parametrize("tail", [ExponentialTail(60, 1e-4, 30), LognormalTail(10, 0.15), LognormalTail(90, 1.2, 0.01)])
def test_stationary_in_forty_digits(tail):
    """The best timeout is a root of the derivative of the cost, and the cost there is the same in 40 digits."""
    best = best_timeout(tail, **JOB)
    with mpmath.workdps(40):
        x = mpmath.findroot(lambda x: mpmath.diff(lambda y: cost(y, tail, JOB), x), float(best.timeout_s))
        assert abs(best.timeout_s / x - 1) < 1e-13
        assert abs(best.cost.total / cost(x, tail, JOB) - 1) < 1e-13


@pytest.mark.parametrize(("start", "probability", "scale"), [(60, 1e-4, 30), (5, 1e-3, 0.5), (300, 1.0, 100)])
def test_exponential_tail_is_the_lambert_form(start, probability, scale):
    """The minimum is the branch W_(-1), also where its argument is below the range of doubles."""
    best = best_timeout(ExponentialTail(start, probability, scale), **JOB)
    with mpmath.workdps(40):
        B, s = mpmath.mpf(JOB["restart"] + JOB["rework"]), mpmath.mpf(scale)
        ratio = mpmath.mpf(JOB["hang_rate"]) * JOB["step_time"] / mpmath.mpf(probability)
        v = -mpmath.lambertw(-ratio * mpmath.exp(1 - (B + start) / s), -1)
        assert abs(best.timeout_s / ((v + 1) * s - B).real - 1) < 1e-13


def test_exponential_false_alarms_at_the_optimum():
    """At the best timeout false alarms are (B + x)/s - 1 times as rare as hangs."""
    tail = ExponentialTail(60, 1e-4, 30)
    x = best_timeout(tail, **JOB).timeout_s
    rate = tail.exceeds(x) / JOB["step_time"]
    assert JOB["hang_rate"] / rate == pytest.approx((1200 + x) / 30 - 1, rel=1e-12)


@given(st.one_of(exponential_tails, lognormal_tails), jobs, st.floats(0, 300))
def test_no_grid_point_is_better(tail, job, least):
    """From the shortest timeout to far beyond the best one, nothing costs less."""
    best = best_timeout(tail, **job, least=least)
    start = max(least, float(tail.shortest))
    assert best.timeout_s >= start
    x = start + np.concatenate(
        [[0.0], np.geomspace(1e-3, 1e9, 1200), (best.timeout_s - start) * np.linspace(0, 2, 201)]
    )
    # The argument of the exponential, up to 700, is rounded: 1e-13 of the cost.
    assert (watchdog_cost(x, tail, **job).total >= best.cost.total * (1 - 1e-12)).all()


def test_the_shortest_timeout_wins_where_the_cost_grows_all_along():
    """If a hang costs more per second than any alarm saves, be as impatient as is known to be safe."""
    job = {"hang_rate": 1.0, "step_time": 10.0, "restart": 10.0, "rework": 0.0}
    tail = ExponentialTail(60, 1e-3, 30)
    assert best_timeout(tail, **job).timeout_s == 60
    assert best_timeout(tail, **job, least=100).timeout_s == 100
    assert best_timeout(LognormalTail(60, 0.5, 1e-3), **job, least=100).timeout_s == 100


def test_the_minimum_may_lie_behind_a_local_maximum():
    """With a small recovery the cost first rises: the shortest timeout and the minimum behind it are compared."""
    job = {"hang_rate": 1e-6, "step_time": 1.0, "restart": 0.0, "rework": 0.0}
    tail = ExponentialTail(0.5, 1e-2, 10)
    behind = watchdog_cost(best_timeout(tail, **job, least=20).timeout_s, tail, **job).total
    at_start = watchdog_cost([0.5, 0.6], tail, **job).total
    assert at_start[0] < at_start[1]  # rising there
    assert behind < at_start[0]
    assert best_timeout(tail, **job).timeout_s == best_timeout(tail, **job, least=20).timeout_s > 20
    # The same hill, but hangs are common enough that the valley behind it lies higher than the start.
    often = job | {"hang_rate": 1e-4}
    valley = best_timeout(tail, **often, least=20)
    assert valley.timeout_s > 20
    assert valley.cost.total > watchdog_cost(0.5, tail, **often).total
    assert best_timeout(tail, **often).timeout_s == 0.5


def test_two_minima_of_a_heavy_tail():
    """With sigma = 3 the cost has two valleys; which of them is lower depends on how often the job hangs."""
    tail, chosen = LognormalTail(10, 3.0), []
    x = 10 * np.exp(np.linspace(0, 30, 8001))
    for rate in np.geomspace(1e-8, 1e-4, 17):
        job = {"hang_rate": rate, "step_time": 1.0, "restart": 20.0, "rework": 30.0}
        c = watchdog_cost(x, tail, **job).total
        valleys = 1 + np.flatnonzero((c[1:-1] < c[:-2]) & (c[1:-1] <= c[2:]))
        assert len(valleys) == 2
        best = best_timeout(tail, **job)
        assert best.cost.total <= c.min()
        chosen.append(int(np.argmin(np.abs(np.log(x[valleys] / best.timeout_s)))))
        assert best.timeout_s == pytest.approx(x[valleys[chosen[-1]]], rel=0.004)  # a step of the grid
    assert chosen == sorted(chosen, reverse=True)
    assert set(chosen) == {0, 1}


def test_present_timeout_against_the_best():
    """Ten minutes for hangs every ten days: the regret is the difference of costs, and nothing at the best."""
    tail = LognormalTail(10, 0.15)
    best = best_timeout(tail, **JOB)
    assert best.timeout_s < 30
    present = watchdog_cost(600, tail, **JOB)
    assert present.hang == pytest.approx(600 / 864_000, rel=1e-15)
    assert timeout_regret(600, tail, **JOB) == pytest.approx(present.total - best.cost.total, rel=1e-14)
    assert timeout_regret(best.timeout_s, tail, **JOB) == 0.0
    # Whole minutes of pauses in every hundredth step ask for more patience than the steps themselves.
    assert best_timeout(LognormalTail(90, 0.4, 0.01), **JOB).timeout_s > 200


@pytest.mark.parametrize("tail", [ExponentialTail(15, 2e-3, 10), LognormalTail(10, 0.5)])
def test_simulated_watchdog(tail):
    """A simulated job loses what the formula says, within four standard errors.

    Hangs are a Poisson process, false alarms come after a geometric number of steps and go back to the newest save.
    """
    rng = np.random.default_rng(7)
    t, R, n, hang_rate, timeout = 10.0, 300.0, 40, 1e-4, 30.0
    p = float(tail.exceeds(timeout))
    steps = rng.geometric(p, size=40_000)
    lost = timeout + R + (steps - 1) % n * t
    hangs = rng.poisson(hang_rate * t * steps) * timeout
    rate = (lost + hangs).sum() / (steps * t).sum()
    error = np.std(lost + hangs - rate * steps * t) / np.sqrt(steps.size) / (t * steps.mean())
    # Mean steps since a save at which an alarm strikes: uniform up to a few parts of n p, here summed in full.
    since = np.arange(n)
    weight = (1 - p) ** since
    rework = t * (since * weight).sum() / weight.sum()
    formula = watchdog_cost(timeout, tail, hang_rate=hang_rate, step_time=t, restart=R, rework=rework)
    assert abs(rate - formula.total) < 4 * error
    assert rework == pytest.approx((n - 1) / 2 * t, rel=n * p / 6 * 1.05)


def test_nothing_hangs_or_nothing_is_slow():
    """Without hangs wait for ever; without slow steps not at all."""
    for tail in (ExponentialTail(60, 1e-4, 30), LognormalTail(10, 0.2)):
        never = best_timeout(tail, **(JOB | {"hang_rate": 0.0}))
        assert never.timeout_s == np.inf
        assert never.cost.total == 0.0
        assert watchdog_cost(np.inf, tail, **JOB).total == np.inf
    assert best_timeout(ExponentialTail(60, 0.0, 30), **JOB).timeout_s == 60
    assert best_timeout(LognormalTail(10, 0.2, 0.0), **JOB).timeout_s == 10


def test_broadcast_and_invalid():
    """Arrays broadcast over tails and jobs; input outside the domain is nan beside valid neighbours."""
    job = JOB | {"hang_rate": np.array([[1e-6], [-1.0], [1e-5]])}
    for tail in (
        ExponentialTail(60, [1e-4, 2.0, 1e-3], [30, 30, 0]),
        LognormalTail(10, [0.2, -0.2, 0.3], [1.0, 1.0, 1.5]),
    ):
        best = best_timeout(tail, **job)
        expected = np.array([[False, True, True], [True] * 3, [False, True, True]])
        np.testing.assert_array_equal(np.isnan(best.timeout_s), expected)
        np.testing.assert_array_equal(np.isnan(best.cost.total), expected)
    assert best.timeout_s[2, 0] == best_timeout(LognormalTail(10, 0.2), **(JOB | {"hang_rate": 1e-5})).timeout_s
    assert np.isnan(watchdog_cost([59, -1], ExponentialTail(60, 1e-4, 30), **JOB).total).all()
    for name in ("step_time", "restart", "rework"):
        assert np.isnan(best_timeout(LognormalTail(10, 0.2), **(JOB | {name: -1.0})).timeout_s)

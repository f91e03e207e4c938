from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_shares
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.spikes import skipped_data, spike_interval_first_order, spike_overhead, spike_whole_steps
from ckptplan.interval.steps import whole_steps, whole_steps_first_order

FAILURES = {"mtbf": 11135.0835322, "downtime": 60, "restart": 600}


def test_reference_values():
    """Steps lost, overhead, goodput, saves to keep and the first-order interval equal the reference."""
    found = spike_overhead(50, 6, 10, 0.000990099009901, back_steps=100, lag_steps=10, spike_restart=300)
    assert found.mean_steps_lost == 134.5
    assert found.overhead == pytest.approx(0.2196369637, rel=1e-9)
    assert found.goodput == pytest.approx(0.8199161142, rel=1e-9)
    assert found.keep == 4
    assert found.failure == 0
    assert spike_interval_first_order(60, 11135.0835322, 76500) == pytest.approx(1080.013236, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 7, 50])
@pytest.mark.parametrize(("back", "lag"), [(0, 0), (1, 0), (0, 1), (100, 10), (49, 3), (7, 7)])
def test_steps_lost_and_saves_redone_against_every_phase(n, back, lag):
    """Over all phases of the spike the counts have exactly the mean that the formula says."""
    spike = np.arange(1000 * n, 1001 * n)
    target = (spike - back) // n * n
    found = spike_overhead(n, 6, 10, 0.001, back_steps=back, lag_steps=lag)
    assert np.mean(spike + lag - target) == pytest.approx(float(found.mean_steps_lost), rel=1e-14)
    redone = [np.sum(np.arange(t + 1, s + lag + 1) % n == 0) for t, s in zip(target, spike, strict=True)]
    assert np.mean(redone) == pytest.approx(float(found.mean_saves_redone), rel=1e-14)
    assert np.max(redone) + 1 == found.keep


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("n", [1, 5, 186, 3000])
def test_without_spikes_it_is_the_plain_save(strike, n):
    """With no spike the overhead is that of saves and failures alone."""
    plain = exact_shares(n * 6.0, 60, 11135.0835322, downtime=60, restart=600, strike=strike)
    found = spike_overhead(n, 6, 60, 0, back_steps=9, spike_restart=99, strike=strike, **FAILURES)
    assert found.overhead == pytest.approx(float(plain.overhead), rel=1e-13)
    assert found.spike == 0


def _summed(n, t, d, ls, back, lag, R_s, M, D, R, strike):
    """Overhead as a plain sum over the phases of a spike, every piece written out, 40 digits."""
    t, d, ls, R_s, M, D, R = (mp.mpf(float(v)) for v in (t, d, ls, R_s, M, D, R))

    def spent(span):
        return M * (1 - mp.exp(-span / M))

    def until_passed(span, safe, struck):  # time of a piece in which each failure costs a recovery and starts it again
        recovery = (safe + spent(struck)) * mp.exp(struck / M)
        return (spent(span) + (1 - mp.exp(-span / M)) * recovery) * mp.exp(span / M)

    after = {Strike.SAFE: (D + R, 0), Strike.R: (D, R), Strike.DR: (0, D + R)}[strike]
    again = {Strike.SAFE: (D + R_s, 0), Strike.R: (D, R_s), Strike.DR: (0, D + R_s)}[strike]
    recovery = (again[0] + spent(again[1])) * mp.exp(again[1] / M)
    restart = R_s if strike is Strike.SAFE else spent(R_s) + (1 - mp.exp(-R_s / M)) * recovery
    period = until_passed(n * t + d, *after)
    per_spike = mp.mpf(0)
    for s in range(1000 * n, 1001 * n):
        whole = (s + lag) // n - (s - back) // n
        per_spike += whole * period + until_passed((s + lag) % n * t, *after) + restart
    return (period + ls * per_spike) / (n * t) - 1


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("mtbf", [900.0, 11135.0, 1e9, 1e15])
@pytest.mark.parametrize("n", [1, 2, 60])
def test_against_the_sum_over_phases_at_40_digits(strike, mtbf, n):
    """Spikes and failures together agree with the sum over phases; so do rare failures on their own."""
    arguments = (n, 6, 10, 0.002)
    options = {
        "back_steps": 100,
        "lag_steps": 13,
        "spike_restart": 200,
        "downtime": 60,
        "restart": 300,
        "strike": strike,
    }
    found = spike_overhead(*arguments, mtbf=mtbf, **options)
    with mp.workdps(80):  # 40 more than asked, which the rarest failures cancel
        true = _summed(*arguments, 100, 13, 200, mtbf, 60, 300, strike)
        calm = _summed(*arguments, 100, 13, 200, 1e35, 0, 0, Strike.SAFE)
        assert abs(mp.mpf(float(found.overhead)) / true - 1) < 2e-15
        assert abs(mp.mpf(float(found.failure)) / (true - calm) - 1) < 1e-14


def _play(rng, new_steps, n, t, d, ls, back, lag, R_s, M, D, R, strike):
    """Wall time of each stretch of 100 n new steps, step by step, with spikes and failures."""
    safe, struck = {Strike.SAFE: (D + R, 0.0), Strike.R: (D, R), Strike.DR: (0.0, D + R)}[strike]
    again = {Strike.SAFE: (D + R_s, 0.0), Strike.R: (D, R_s), Strike.DR: (0.0, D + R_s)}[strike]
    clock, failure, stretches = 0.0, rng.exponential(M), [0.0]
    saved = position = 1000 * n

    def survives(span):
        nonlocal clock, failure
        if failure < span:
            clock, failure = clock + failure, rng.exponential(M)
            return False
        clock, failure = clock + span, failure - span
        return True

    def recover(free, exposed):
        nonlocal clock
        clock += free
        while not survives(exposed):
            clock += free

    def advance(goal):
        nonlocal saved, position
        while position < goal:
            alive = survives(t)
            if alive:
                position += 1
                if position % n == 0:
                    alive = survives(d)
                    saved = position if alive else saved
            if not alive:
                recover(safe, struck)
                position = saved

    for step in range(1000 * n + 1, 1000 * n + 1 + new_steps):
        advance(step)
        if rng.random() < ls:
            advance(step + lag)
            if strike is Strike.SAFE:
                clock += R_s
            elif not survives(R_s):
                recover(*again)
            saved = position = (step - back) // n * n
        if step % (100 * n) == 0:
            stretches.append(clock)
    return np.diff(stretches)


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize(("n", "back", "lag"), [(6, 8, 3), (5, 10, 0), (1, 3, 2)])
def test_against_a_simulation(strike, n, back, lag):
    """The overhead agrees with a simulation step by step within four standard errors."""
    numbers = {"t": 5.0, "d": 4.0, "ls": 0.01, "R_s": 30.0, "M": 400.0, "D": 20.0, "R": 40.0}
    wall = _play(np.random.default_rng(23), 150_000, n, back=back, lag=lag, strike=strike, **numbers)
    exact = spike_overhead(
        n,
        5,
        4,
        0.01,
        back_steps=back,
        lag_steps=lag,
        spike_restart=30,
        mtbf=400,
        downtime=20,
        restart=40,
        strike=strike,
    )
    overhead = wall / (100 * n * 5.0) - 1
    error = overhead.std() / np.sqrt(overhead.size)
    assert error < 0.02 * exact.overhead
    assert abs(overhead.mean() - exact.overhead) < 4 * error
    assert exact.failure > 10 * error  # so that a wrong account of failures would show
    assert exact.spike > 10 * error


@pytest.mark.parametrize("mtbf", [300.0, 11135.0, 1e7, np.inf])
@pytest.mark.parametrize("stall", [0.0, 0.3, 10.0, 800.0])
@pytest.mark.parametrize(("back", "lag"), [(0, 0), (100, 10), (2000, 0)])
def test_best_steps_against_every_number(mtbf, stall, back, lag):
    """No number of steps costs less than the best one, whatever recoveries and restarts cost."""
    every = np.arange(1, 3001)
    for ls in (0.0, 1e-4, 1e-2):
        depth = {"back_steps": back, "lag_steps": lag, "mtbf": mtbf}
        best = spike_whole_steps(6, stall, ls, **depth)
        costs = {"spike_restart": 300, "downtime": 60, "restart": 600}
        overhead = spike_overhead(every, 6, stall, ls, **depth, **costs).overhead
        if best > 3000:
            assert np.argmin(overhead) == 2999
        else:
            # neighbours of a flat minimum may agree to rounding; where they do not, the number is exact
            assert overhead[int(best) - 1] <= overhead.min() * (1 + 1e-15)


def test_best_steps_in_known_cases():
    """No spikes: the steps of failures alone. No failures: the switch at n(n + 1) = 2d/(t s)."""
    stall, mtbf = np.geomspace(0.1, 3000, 40), np.geomspace(100, 1e8, 30)[:, np.newaxis]
    alone = spike_whole_steps(6, stall, 0, mtbf=mtbf)
    assert (alone == whole_steps(exact_interval(stall, mtbf), 6, stall, mtbf)).all()
    rate = np.geomspace(1e-7, 0.5, 200)
    assert (spike_whole_steps(6, 60, rate) == whole_steps_first_order(6, 60, 6 / rate)).all()
    s = rate / (1 + rate * 110)
    redone = spike_whole_steps(6, 60, rate, back_steps=100, lag_steps=10)
    assert (redone == whole_steps_first_order(6, 60, 6 / s)).all()


def test_first_order_interval_is_the_limit():
    """For a stall far below the times between failures and spikes the best steps make the first-order interval."""
    W = spike_interval_first_order(60, 1e9, 3e9)
    n = spike_whole_steps(0.01, 60, 0.01 / 3e9, mtbf=1e9)
    assert n * 0.01 == pytest.approx(float(W), rel=1e-3)  # the next term is (2/3) d/W = 1e-4


def test_skipped_data():
    """20 spikes of 300 batches in 100,000 steps skip 6,000 batches, 5.7 % of all that are drawn."""
    found = skipped_data(20 / 100_000, 300, steps=100_000, tokens_per_batch=4e6)
    np.testing.assert_allclose(found, (6000, 2.4e10, 6000 / 106_000), rtol=1e-14)
    assert skipped_data(0, 300).share == 0


def test_limits():
    """Nothing goes wrong: never save. A free save: after every step. An overflow is an infinite overhead."""
    assert spike_whole_steps(6, 10, 0) == np.inf
    assert spike_whole_steps(6, 0, 0.001, mtbf=11135) == 1
    assert spike_overhead(10**6, 6, 10, 0.001, mtbf=100).goodput == 0
    assert (
        spike_overhead(10**6, 6, 10, 0, mtbf=100, **{k: FAILURES[k] for k in ("downtime", "restart")}).overhead
        == np.inf
    )
    assert spike_interval_first_order(60, np.inf, np.inf) == np.inf


BAD = [("steps_between_saves", 0), ("steps_between_saves", 2.5), ("step_time", 0), ("stall", -1)]
BAD += [("spikes_per_new_step", -1), ("spikes_per_new_step", 1.5), ("back_steps", -1), ("lag_steps", np.nan)]
BAD += [("spike_restart", -1), ("mtbf", 0), ("downtime", -1), ("restart", -1)]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_invalid_is_nan_beside_valid_neighbours(name, value):
    """Input outside the domain is nan in every figure; its neighbours keep their values."""
    good = {"steps_between_saves": 50, "step_time": 6, "stall": 10, "spikes_per_new_step": 0.001, "back_steps": 9}
    good |= {"lag_steps": 3, "spike_restart": 99, **FAILURES}
    found = spike_overhead(**good | {name: [value, good[name]]})
    assert np.isnan([found.overhead[0], found.goodput[0], found.failure[0]]).all()
    assert found.overhead[1] == spike_overhead(**good).overhead
    searched = {
        k: v for k, v in good.items() if k not in {"steps_between_saves", "spike_restart", "downtime", "restart"}
    }
    if name in searched:
        steps = spike_whole_steps(**searched | {name: [value, good[name]]})
        assert np.isnan(steps[0])
        assert steps[1] == spike_whole_steps(**searched)


def test_broadcast():
    """Arguments broadcast; a bad rate of skipped data and a bad MTBF are nan."""
    assert spike_overhead([[10], [20]], 6, 10, [0.1, 0.2, 0.3]).overhead.shape == (2, 3)
    np.testing.assert_array_equal(np.isnan(skipped_data([0.1, -1, 2], 300).share), [False, True, True])
    np.testing.assert_array_equal(np.isnan(spike_interval_first_order(60, [1, -1, 1], [1, 1, 0])), [False, True, True])

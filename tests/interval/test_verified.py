from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest
from scipy import optimize

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_goodput, exact_shares
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.verified import verified_first_order, verified_goodput, verified_shares, verified_time
from ckptplan.interval.verified_optimum import verified_optimum, verified_whole_steps

LF, LS = 8.98069151325e-05, 2.5e-05
SAFE = {"restart": 600, "strike": Strike.SAFE}


def test_reference_time():
    """Mean time and goodput of one verified pattern equal the reference."""
    assert verified_time(2000, 30, 60, LF, LS, **SAFE) == pytest.approx(2574.795532, rel=1e-9)
    assert verified_goodput(2000, 30, 60, LF, LS, **SAFE) == pytest.approx(0.776760708, rel=1e-9)


def test_reference_optimum():
    """First-order and exact optimum with one verification per save equal the reference."""
    first = verified_first_order(30, 60, LF, LS)
    expected = (1134.676149, 0.1586355721, 1, 0.659934721)
    np.testing.assert_allclose(first, expected, rtol=1e-9)
    best = verified_optimum(30, 60, LF, LS, verifications=1, **SAFE)
    assert best.interval_s == pytest.approx(1083.122831, rel=1e-9)
    assert best.goodput == pytest.approx(0.7996975987, rel=1e-9)
    assert verified_optimum(30, 60, LF, LS, **SAFE).verifications == 1


def _sum_over_chunks(W, V, C, lf, ls, m, D, R, strike):
    """Mean time of a pattern as the plain sum over chunks, every term of the process written out, 40 digits."""
    W, V, C, lf, ls, D, R = map(mp.mpf, map(float, (W, V, C, lf, ls, D, R)))
    w = W / m

    def spent(span):
        return (1 - mp.exp(-lf * span)) / lf if lf else span

    reach, time, silent = mp.mpf(1), mp.mpf(0), mp.mpf(0)
    for _ in range(m):
        time += reach * spent(w + V)
        silent += reach * mp.exp(-lf * (w + V)) * (1 - mp.exp(-ls * w))
        reach *= mp.exp(-lf * (w + V) - ls * w)
    time += reach * spent(C)
    success = reach * mp.exp(-lf * C)
    failstop = 1 - success - silent
    safe, struck = {Strike.SAFE: (D + R, 0), Strike.R: (D, R), Strike.DR: (0, D + R)}[strike]
    # after a failure: the safe part, then the struck part until it passes, each failure in it starts both again
    after_failure = (safe + spent(struck)) * mp.exp(lf * struck)
    part = R if strike is not Strike.SAFE else 0
    after_silent = (R - part) + spent(part) + (1 - mp.exp(-lf * part)) * after_failure
    return (time + failstop * after_failure + silent * after_silent) / success


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize(
    "rates", [(LF, LS), (1e-13, 1e-14), (0.0, LS), (LF, 0.0), (0.003, 0.002), (0.0, 0.0), (2e-9, 1)]
)
@pytest.mark.parametrize("m", [1, 2, 7, 150])
def test_against_the_sum_at_40_digits(strike, rates, m):
    """The closed geometric sum agrees with the sum over chunks, also where all rates are tiny, zero or large."""
    costs = (700.0, 3.0, 60.0, *rates)
    with mp.workdps(40):
        true = _sum_over_chunks(*costs, m, 120, 600, strike)
        shares = verified_shares(*costs, verifications=m, downtime=120, restart=600, strike=strike)
        time = verified_time(*costs, verifications=m, downtime=120, restart=600, strike=strike)
        overhead = true / 700 - 1
        # exp of a number of size c carries an error of c times the rounding error
        tolerance = 2e-15 * (2 + sum(rates) * (760 + 3 * m + 720))
        assert abs(mp.mpf(float(time)) / true - 1) < tolerance
        assert abs(mp.mpf(float(shares.overhead)) / overhead - 1) < 2 * tolerance


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("W", [10.0, 1116.0, 30000.0])
def test_without_silent_errors_it_is_the_plain_save(strike, W):
    """With one free verification and no silent error the shares are those of unverified saves."""
    times = {"downtime": 60, "restart": 600, "strike": strike}
    v, plain = verified_shares(W, 0, 60, LF, 0, **times), exact_shares(W, 60, 1 / LF, **times)
    assert v.goodput == pytest.approx(exact_goodput(W, 60, 1 / LF, **times), rel=1e-14)
    np.testing.assert_allclose((v.save, v.rework, v.restart), (plain.save, plain.rework, plain.restart), rtol=1e-13)
    assert v.verify == v.rework_silent == 0


def test_shares_sum_to_one():
    """The six shares are not negative and sum to one over six decades of rates and intervals."""
    rates = 10.0 ** np.arange(-8, -1)
    W, lf, ls, m = np.meshgrid(10.0 ** np.arange(0, 6), rates, rates, [1, 2, 30], sparse=True)
    for strike in Strike:
        shares = np.array(verified_shares(W, 30, 60, lf, ls, verifications=m, downtime=99, restart=600, strike=strike))
        known = ~np.isnan(shares).any(axis=0)
        assert known.all()
        np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-14)
        assert (shares >= 0).all()


def _play(rng, patterns, W, V, C, lf, ls, m, D, R, strike):
    """Save, verify, both kinds of rework and restarts of each pattern, event by event."""
    safe, struck = {Strike.SAFE: (D + R, 0.0), Strike.R: (D, R), Strike.DR: (0.0, D + R)}[strike]
    spans = [*([W / m, V] * m), C]
    failure, rows = rng.exponential(1 / lf), []
    for _ in range(patterns):
        silent_work = failed_work = recovery = 0.0
        done = False
        while not done:
            clock, dirty, ended = 0.0, False, "saved"
            for k, span in enumerate(spans):
                if failure < span:
                    clock, ended = clock + failure, "failure"
                    break
                failure -= span
                clock += span
                is_work, is_check = k % 2 == 0 and k < 2 * m, k % 2 == 1
                dirty = dirty or (is_work and rng.exponential(1 / ls) < span)
                if is_check and dirty:
                    ended = "silent"
                    break
            done = ended == "saved"
            if ended == "silent":
                silent_work += clock
                free, exposed = (R, 0.0) if strike is Strike.SAFE else (0.0, R)
            elif ended == "failure":
                failed_work += clock
                free, exposed = safe, struck
                failure = rng.exponential(1 / lf)
            else:
                continue
            while True:  # until a recovery passes
                recovery += free + min(exposed, failure)
                if failure >= exposed:
                    failure -= exposed
                    break
                free, exposed, failure = safe, struck, rng.exponential(1 / lf)
        rows.append((W, C, m * V, silent_work, failed_work, recovery))
    return np.array(rows)


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize(("W", "m"), [(700.0, 1), (1500.0, 3)])
def test_against_a_simulation(strike, W, m):
    """Every share agrees with a simulation of 20,000 patterns within four standard errors."""
    arguments = (W, 40.0, 90.0, 1 / 2500, 1 / 1800)
    played = _play(np.random.default_rng([7, m]), 20_000, *arguments, m, 200.0, 350.0, strike)
    shares = verified_shares(*arguments, verifications=m, downtime=200, restart=350, strike=strike)
    wall = played.sum(axis=1)
    for column, exact in zip(played.T, shares, strict=True):
        share = column.sum() / wall.sum()
        error = np.std(column - share * wall) / np.sqrt(wall.size) / wall.mean()
        assert error < 0.003
        assert abs(share - exact) < 4 * error


RATES = [(LF, LS), (LF, 0.0), (0.0, LS), (1e-9, 3e-10), (1e-2, 4e-2), (1e-4, 1e-2)]


@pytest.mark.parametrize("strike", [Strike.SAFE, Strike.DR])
@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("m", [1, 4])
def test_interval_is_where_a_minimiser_ends(strike, rates, m):
    """For a given number of verifications no interval has less overhead, whatever the rates."""
    options = {"verifications": m, "downtime": 60, "restart": 300, "strike": strike}
    best = verified_optimum(20, 90, *rates, **options)

    def overhead(log_interval):
        return float(verified_shares(np.exp(log_interval), 20, 90, *rates, **options).overhead)

    centre = float(np.log(best.interval_s))
    found = optimize.minimize_scalar(
        overhead, bounds=(centre - 4, centre + 5), method="bounded", options={"xatol": 1e-10}
    )
    assert best.interval_s == pytest.approx(np.exp(found.x), rel=1e-5)  # a flat minimum: the root of rounding
    assert best.overhead == pytest.approx(found.fun, rel=1e-11)


@pytest.mark.parametrize("costs", [(30, 60), (1, 5000), (0.05, 600), (200, 0)])
@pytest.mark.parametrize("rates", RATES)
def test_no_other_number_of_verifications_is_better(costs, rates):
    """The best number is that of a search through the first 150 numbers, each with its own best interval."""
    numbers = np.arange(1, 151)
    options = {"downtime": 60, "restart": 300}
    every = verified_optimum(*costs, *rates, verifications=numbers, **options).overhead
    best = verified_optimum(*costs, *rates, **options)
    assert best.verifications == numbers[np.argmin(every)]
    assert best.overhead <= every.min() * (1 + 1e-14)


def test_first_order_is_the_limit():
    """For costs far below the mean times between errors the exact optimum is the first-order one."""
    first = verified_first_order(1e-9, 1e-7, 1e-3, 1e-3, verifications=8)
    best = verified_optimum(1e-9, 1e-7, 1e-3, 1e-3)
    assert best.verifications == first.verifications
    again = verified_first_order(1e-9, 1e-7, 1e-3, 1e-3, verifications=best.verifications)
    assert best.interval_s == pytest.approx(float(again.interval_s), rel=2e-5)
    assert best.overhead == pytest.approx(float(again.overhead), rel=2e-5)


def test_first_order_number_against_both_neighbours():
    """The first-order number beats its neighbours, at one verification where a second does not pay."""
    ratio = np.geomspace(1e-3, 1e7, 4001)
    m = verified_first_order(1, ratio, LF, LS).verifications
    at = [verified_first_order(1, ratio, LF, LS, verifications=np.maximum(m + k, 1)).overhead for k in (-1, 0, 1)]
    assert (at[1] <= np.minimum(at[0], at[2]) * (1 + 1e-15)).all()
    assert m[0] == 1
    assert m[-1] > 1000


@pytest.mark.parametrize("step", [6.0, 60.0, 450.0, 3000.0])
@pytest.mark.parametrize(("costs", "rates"), [((30, 60), (LF, LS)), ((2, 600), (LF, 10 * LS)), ((1, 50), (1e-4, 1e-2))])
def test_whole_steps_against_every_pattern(step, costs, rates):
    """No number of verifications and of steps per chunk costs less than the pattern found."""
    options = {"downtime": 60, "restart": 300}
    found = verified_whole_steps(step, *costs, *rates, **options)
    assert found.steps % found.verifications == 0
    m, per_chunk = np.meshgrid(np.arange(1, 60), np.arange(1, 1 + int(4000 / step) + 3), sparse=True)
    every = verified_shares(m * per_chunk * step, *costs, *rates, verifications=m, **options).overhead
    assert found.overhead == pytest.approx(every.min(), rel=1e-13)
    fixed = verified_whole_steps(step, *costs, *rates, verifications=2, **options)
    assert fixed.overhead == pytest.approx(every[:, 1].min(), rel=1e-13)


def test_limits():
    """Nothing fails: infinite; nothing costs: 0; verifications that cost nothing have no best number."""
    assert verified_optimum(30, 60, 0, 0) == (np.inf, 1, 1, 0)
    free = verified_optimum(0, 0, LF, 0, restart=600, strike=Strike.SAFE)
    assert free[:2] == (0, 1)
    assert free.goodput == pytest.approx(1 / (1 + LF * 600), rel=1e-14)
    assert np.isnan(verified_optimum(0, 60, LF, LS)).all()
    assert verified_first_order(0, 60, LF, LS).verifications == np.inf
    assert verified_optimum(0, 60, LF, LS, verifications=3).interval_s > 0
    assert verified_optimum(0, 60, LF, 0).interval_s == pytest.approx(float(exact_interval(60, 1 / LF)), rel=1e-9)
    assert verified_goodput(1e9, 30, 60, LF, LS) == 0
    assert verified_time(1e9, 30, 60, LF, LS) == np.inf


BAD = [("interval", 0), ("verify", -1), ("stall", -1), ("rate_failstop", -1), ("rate_silent", np.nan)]
BAD += [("verifications", 0), ("verifications", 1.5), ("downtime", -1), ("restart", -1)]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_invalid_is_nan_beside_valid_neighbours(name, value):
    """Input outside the domain is nan in every figure; its neighbours keep their values."""
    good = {"interval": 900, "verify": 30, "stall": 60, "rate_failstop": LF, "rate_silent": LS}
    good |= {"verifications": 2, "downtime": 9, "restart": 99}
    arguments = good | {name: [value, good[name]]}
    shares = np.array(verified_shares(**arguments))
    assert np.isnan(shares[:, 0]).all()
    np.testing.assert_array_equal(shares[:, 1], verified_shares(**good))
    if name != "interval":
        del good["interval"], arguments["interval"]
        best, steps = np.array(verified_optimum(**arguments)), np.array(verified_whole_steps(6, **arguments))
        assert np.isnan(best[:, 0]).all()
        assert np.isnan(steps[:, 0]).all()
        np.testing.assert_array_equal(best[:, 1], verified_optimum(**good))
        np.testing.assert_array_equal(steps[:, 1], verified_whole_steps(6, **good))


def test_broadcast():
    """All arguments broadcast, element by element the scalar result."""
    W, m = np.array([300.0, 900.0]), np.array([[1], [2], [5]])
    table = verified_goodput(W, 30, 60, LF, LS, verifications=m)
    assert table.shape == (3, 2)
    for i, j in itertools.product(range(3), range(2)):
        assert table[i, j] == verified_goodput(W[j], 30, 60, LF, LS, verifications=m[i, 0])
    together = verified_whole_steps([6, 60], 30, 60, LF, [[LS], [9 * LS]])
    assert together.steps.shape == (2, 2)
    assert together.steps[1, 0] == verified_whole_steps(6, 30, 60, LF, 9 * LS).steps

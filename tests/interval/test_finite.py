from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.finite import best_finite_plan, expected_counts, expected_time, finite_run, time_variance
from tests.interval.finite_simulation import Case, play

CASES = pytest.mark.parametrize(
    "case",
    [
        Case(5000, 1500, 100, 2000, 100, 200, Strike.SAFE),
        Case(5000, 1500, 100, 2000, 100, 200, Strike.R),
        Case(5000, 1500, 100, 2000, 100, 200, Strike.DR),
        Case(9000, 1000, 20, 3000, 50, 300, Strike.SAFE, 900, 0.8),
        Case(9000, 1000, 20, 3000, 50, 300, Strike.R, 900, 0.8),
        Case(9500, 1000, 0, 3000, 50, 300, Strike.DR, 900, 0.8),
        Case(9500, 1000, 0, 3000, 50, 300, Strike.DR, 900, 0.0),
    ],
    ids=lambda case: f"{case.strike.value}-{case.flush:g}-{case.speed:g}",
)


@pytest.mark.parametrize(
    ("S", "W", "d", "M", "R", "D", "strike", "mean", "variance"),
    [
        (100000, 3600, 60, 11135, 600, 0, "safe", 126655.8304, 92472922.47),
        (100000, 3600, 60, 11135, 600, 0, "DR", 126833.4783, None),
        (20000, 3000, 1500, 4000, 1000, 200, "safe", 68276.11629, 379338862.2),
    ],
)
def test_reference_values(S, W, d, M, R, D, strike, mean, variance):
    """Expected time and variance of a finite amount of work equal the reference."""
    assert expected_time(S, W, d, M, restart=R, downtime=D, strike=Strike(strike)) == pytest.approx(mean, rel=1e-9)
    if variance is not None:
        assert time_variance(S, W, d, M, recovery=D + R) == pytest.approx(variance, rel=1e-9)


def test_reference_best_plan():
    """The best division of 100,000 s is 90 pieces, the last one longer by the stall it is spared."""
    plan = best_finite_plan(100000, 60, 11135, restart=600)
    assert plan.pieces == 90
    assert plan.mean_s == pytest.approx(117224.9451, rel=1e-9)
    assert plan.work_piece_s == pytest.approx(1110.444444, rel=1e-9)
    assert plan.last_piece_s == pytest.approx(1170.444444, rel=1e-9)


def test_best_plan_beats_every_number_of_pieces():
    """No number of equal attempts up to 400 has a shorter expected time."""
    for work, stall, mtbf in ((1e5, 60, 11135), (3e3, 60, 2000), (100, 60, 1e4), (2e4, 1500, 4000)):
        K = np.arange(1, 401)
        every = mtbf * K * np.expm1((work + (K - 1) * stall) / (K * mtbf))
        plan = best_finite_plan(work, stall, mtbf)
        assert plan.pieces == K[every.argmin()]
        assert plan.mean_s == pytest.approx(every.min(), rel=1e-12)


def test_multiple_of_the_interval_has_one_save_fewer_than_pieces():
    """0.3 s in pieces of 0.1 s takes two saves, although 0.3/0.1 is not 3 in doubles."""
    M = 10.0
    expected = M * (2 * np.expm1(1.1 / M * 1) + np.expm1(0.1 / M))
    assert expected_time(0.3, 0.1, 1.0, M) == pytest.approx(expected, rel=1e-12)


def test_against_simulation():
    """Mean and variance agree with simulated runs within four standard errors."""
    S, W, d, M, Q = 5000.0, 1500.0, 100.0, 2000.0, 300.0
    rng = np.random.default_rng(5)
    total = np.zeros(60_000)
    for piece in (W + d, W + d, W + d, S - 3 * W):
        todo = np.arange(total.size)
        while todo.size:
            gap = rng.exponential(M, todo.size)
            fails = gap < piece
            total[todo] += np.where(fails, gap + Q, piece)
            todo = todo[fails]
    mean = expected_time(S, W, d, M, restart=Q, strike=Strike.SAFE)
    assert abs(total.mean() - mean) < 4 * total.std() / np.sqrt(total.size)
    spread = (total - total.mean()) ** 2
    error = spread.std() / np.sqrt(total.size)
    assert abs(spread.mean() - time_variance(S, W, d, M, recovery=Q)) < 4 * error


def test_invalid_is_nan():
    """Input outside its domain is nan."""
    assert np.isnan(expected_time(-1, 10, 1, 100))
    assert np.isnan(time_variance(10, 0, 1, 100))
    assert np.isnan(best_finite_plan(10, 1, 0).pieces)
    assert np.isnan(expected_time(10, 5, 1, 100, flush=6))
    assert np.isnan(expected_counts(10, 5, 1, 100, speed=1.1).failures)
    assert np.isnan(best_finite_plan(10, 0, 100).pieces)


@CASES
def test_every_strike_and_flush_against_simulation(case):
    """Mean, variance, failures and aborted saves agree with 60,000 simulated runs within four standard errors."""
    played = play(case, 60_000, 11)
    counts = expected_counts(*case[:4], **case.options)
    expected = (expected_time(*case[:4], **case.options), counts.failures, counts.saves_aborted)
    for sample, mean in zip(played, expected, strict=True):
        assert abs(sample.mean() - mean) < 4 * sample.std() / np.sqrt(sample.size)
    spread = (played.time - played.time.mean()) ** 2
    variance = time_variance(*case[:4], **case.options)
    assert abs(spread.mean() - variance) < 4 * spread.std() / np.sqrt(spread.size)


@CASES
def test_mean_against_recursion(case):
    """The closed form is the solution of the recursion over the saves that remain."""
    work, W, d, M, D, R, strike, F, om = case
    run = finite_run(work, W, d, M, flush=F, speed=om)
    P, r, n = float(run.period_s), float(run.last_piece_s), int(run.saves)
    episode = {
        Strike.SAFE: D + R,
        Strike.R: np.exp(R / M) * (M + D) - M,
        Strike.DR: M * np.expm1((D + R) / M),
    }[strike]
    # Expected time from a restart and from the instant at which a save has become durable, k saves to go.
    fresh = (M + episode) * np.expm1(r / M)
    durable = (1 - np.exp(-(r - om * F) / M)) * (M + episode + fresh)
    for _ in range(n):
        first, fails = np.exp(-(P + om * F) / M), 1 - np.exp(-P / M)
        fresh = ((1 - first) * (M + episode) + first * durable) / first
        durable = fails * (M + episode + fresh) + (1 - fails) * durable
    assert expected_time(*case[:4], **case.options) == pytest.approx(fresh, rel=1e-12)


def test_save_that_the_run_would_not_wait_for_is_left_out():
    """The last save is not taken when its flush would end after the run."""
    taken = finite_run(10_600, 1000, 10, 5000, flush=600)
    spared = finite_run(10_599, 1000, 10, 5000, flush=600)
    assert (taken.saves, taken.last_piece_s) == (10, 600)
    assert (spared.saves, spared.last_piece_s) == (9, 1599)


def test_long_run_has_the_goodput_of_a_run_without_end():
    """Work over expected time tends to the exact goodput."""
    options = {"downtime": 60, "restart": 540, "flush": 700, "speed": 0.9}
    time = expected_time(1e9, 900, 5, 11135, **options)
    assert 1e9 / time == pytest.approx(float(exact_goodput(900, 5, 11135, **options)), rel=1e-5)


@pytest.mark.parametrize(
    ("work", "d", "M", "F", "om", "b"),
    [
        (1e5, 5, 11135, 120, 0.95, 1),
        (1e5, 5, 11135, 1500, 1.0, 1),
        (2e4, 1, 1824.4, 600, 0.97, 1),
        (2e3, 1, 1824.4, 600, 0.97, 1),
        (500, 1, 1824.4, 600, 0.97, 1),
        (1e5, 0, 11135, 1500, 1.0, 1),
        (1e5, 5, 11135, 1500, 1.0, 3),
        (5e4, 20, 2000, 1500, 0.4, 1),
    ],
)
def test_best_asynchronous_plan_beats_every_number_of_pieces_and_length(work, d, M, F, om, b):
    """No number of pieces up to 200, with any length of those before the last, has a shorter expected time."""
    plan = best_finite_plan(work, d, M, flush=F, speed=om, in_flight=b)
    P_less_W, floor = d + (1 - om) * F, max(F / b - (1 - om) * F - d * (1 - 1 / b), 0)
    best = M * np.expm1(work / M)
    for K in range(2, 201):
        longest = (work - om * F) / (K - 1)
        if longest < floor:
            break
        w = np.linspace(floor, longest, 4001)
        times = (K - 1) * np.expm1((w + P_less_W) / M) * np.exp(om * F / M) + np.expm1((work - (K - 1) * w) / M)
        best = min(best, M * times.min())
    assert plan.mean_s <= best * (1 + 1e-12)
    assert plan.mean_s == pytest.approx(best, rel=1e-4)  # the grid of lengths is that coarse
    K, w, last = float(plan.pieces), float(plan.work_piece_s), float(plan.last_piece_s)
    assert (K - 1) * w + last == pytest.approx(work, rel=1e-12)
    assert K == 1 or w >= floor * (1 - 1e-12)


def test_mean_of_the_best_plan_is_that_of_its_interval():
    """The expected time of the best plan is the expected time at its piece."""
    plan = best_finite_plan(1e5, 20, 5000, restart=300, flush=400, speed=0.7)
    K, w = float(plan.pieces), float(plan.work_piece_s)
    last = float(plan.last_piece_s)
    assert last == pytest.approx(w + 20 + 400, rel=1e-9)
    exposed = (K - 1) * np.expm1((w + 20 + 0.3 * 400) / 5000) * np.exp(280 / 5000) + np.expm1(last / 5000)
    assert plan.mean_s == pytest.approx(np.exp(300 / 5000) * 5000 * exposed, rel=1e-12)


def test_variance_keeps_its_digits_for_rare_failures():
    """With an MTBF of 1e12 s the variance equals that of 40-digit arithmetic."""
    import mpmath

    with mpmath.workdps(40):
        M, total = mpmath.mpf(10) ** 12, mpmath.mpf(0)
        for p, count in ((mpmath.mpf(1060), 9), (mpmath.mpf(1000), 1)):
            x = p / M
            total += count * M**2 * (mpmath.exp(2 * x) - 1 - 2 * x * mpmath.exp(x))
    assert time_variance(1e4, 1e3, 60, 1e12) == pytest.approx(float(total), rel=1e-13)

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import LawName, Strike
from ckptplan.interval.asynchronous import asynchronous_interval, interval_floor
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.renewal import renewal_goodput
from ckptplan.interval.renewal_optimum import renewal_interval


@pytest.mark.parametrize(
    ("stall", "mean", "restart", "shape", "interval", "goodput", "young", "regret"),
    [
        (60, 10000, 600, 0.5, 1223.861675, 0.8525690962, 1095.445115, 0.0004523881148),
        (60, 10000, 600, 0.7, 1109.295427, 0.8465580381, 1095.445115, 6.546334999e-06),
        (300, 2000, 200, 0.5, 1308.223199, 0.5641445874, 1095.445115, 0.002713100372),
        (300, 2000, 200, 2.0, 795.445115, 0.4793431295, 1095.445115, 0.01465807951),
    ],
)
def test_reference_optima(stall, mean, restart, shape, interval, goodput, young, regret):
    """Interval, goodput, and what Young's interval with the true mean loses, equal the reference."""
    case = {"restart": restart, "strike": Strike.SAFE}
    W = renewal_interval(stall, mean, LawName.WEIBULL, shape, **case)
    best = renewal_goodput(W, stall, mean, LawName.WEIBULL, shape, **case)
    assert pytest.approx(interval, rel=1e-9) == W
    assert best == pytest.approx(goodput, rel=1e-9)
    assert np.sqrt(2 * stall * mean) == pytest.approx(young, rel=1e-9)
    at_young = renewal_goodput(np.sqrt(2 * stall * mean), stall, mean, LawName.WEIBULL, shape, **case)
    assert best - at_young == pytest.approx(regret, rel=1e-9)


@pytest.mark.parametrize(
    ("shape", "losses"),
    [
        (0.5, (1.2e-4, 5.3e-4, 2.5e-3, 5.6e-3)),
        (0.7, (3.2e-6, 7.7e-6, 3.5e-6, 4.7e-4)),
        (1.0, (4.9e-6, 7.2e-5, 1.7e-3, 1.3e-2)),
        (2.0, (1.1e-5, 1.7e-4, 4.8e-3, 5.1e-2)),
    ],
)
def test_how_wrong_young_is(shape, losses):
    """The relative goodput lost by Young's interval equals the published table to its two digits."""
    stall = np.array([0.001, 0.006, 0.05, 0.2])
    case = (LawName.WEIBULL, shape)
    best = renewal_goodput(renewal_interval(stall, 1, *case, strike=Strike.SAFE), stall, 1, *case, strike=Strike.SAFE)
    young = renewal_goodput(np.sqrt(2 * stall), stall, 1, *case, strike=Strike.SAFE)
    assert [f"{loss:.1e}" for loss in 1 - young / best] == [f"{loss:.1e}" for loss in losses]


def test_period_of_a_law_that_starts_without_hazard():
    """With f(0) = 0 the best period, stall included, is Young's; with exponential gaps it is d/3 longer."""
    stall = 1e-4
    young = np.sqrt(2 * stall)
    period = renewal_interval(stall, 1, LawName.WEIBULL, [3.0, 1.0], strike=Strike.SAFE) + stall
    assert period[0] == pytest.approx(young, rel=1e-6)
    assert period[1] == pytest.approx(young + stall / 3, rel=1e-5)  # the next term is young^3/36


@pytest.mark.parametrize("strike", Strike)
@pytest.mark.parametrize("name", [LawName.WEIBULL, LawName.GAMMA])
def test_shape_one_is_exponential(name, strike):
    """With shape 1 the interval is the exact exponential one, whatever the recovery, and the floor holds."""
    stall = np.logspace(-9, 1, 31)
    case = {"restart": 0.3, "downtime": 0.2, "strike": strike}
    assert renewal_interval(stall, 1, name, 1.0, **case) == pytest.approx(exact_interval(stall, 1), rel=1e-9)
    flushed = renewal_interval(stall, 1, name, 1.0, flush=0.4, speed=0.7, **case)
    assert flushed == pytest.approx(asynchronous_interval(stall, 0.4, 0.7, 1), rel=1e-9)
    assert np.all(flushed >= 0.7 * 0.4)


def test_exponential_uses_the_closed_form():
    """The exponential law gives the exact interval to the last bit."""
    assert renewal_interval(60, 11135, LawName.EXPONENTIAL, restart=600) == exact_interval(60, 11135)


@pytest.mark.parametrize("strike", [Strike.SAFE, Strike.DR])
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [(LawName.WEIBULL, 0.3, 12.0), (LawName.GAMMA, 0.3, 60.0), (LawName.LOGNORMAL, 0.15, 2.0)],
)
def test_no_interval_of_a_fine_grid_is_better(name, low, high, strike):
    """Sharp and heavy laws, short and long stalls, floors: no point of a fine grid beats the optimum."""
    rng = np.random.default_rng(11)
    n = 60
    shape = np.exp(rng.uniform(np.log(low), np.log(high), n))
    stall = 10 ** rng.uniform(-3.5, 0.3, n)
    restart = np.where(rng.random(n) < 0.5, 0, rng.uniform(0, 1, n))
    flush = np.where(rng.random(n) < 0.5, 0, rng.uniform(0, 0.5, n))
    case = {"restart": restart, "strike": strike, "flush": flush, "speed": rng.uniform(0, 1, n)}
    W = renewal_interval(stall, 1, name, shape, **case)
    best = renewal_goodput(W, stall, 1, name, shape, **case)
    start = np.maximum(case["speed"] * flush, 1e-3)
    grid = start * (30 / start) ** np.linspace(0, 1, 800)[:, np.newaxis]
    scanned = renewal_goodput(grid, stall, 1, name, shape, **case).max(axis=0)
    reachable = np.isfinite(W)
    assert np.all(scanned[reachable] <= best[reachable] * (1 + 1e-12))
    assert np.all(scanned[~reachable] < 1e-100)


def test_the_highest_of_several_maxima():
    """Failures almost every 1,000 s: one long period just before them beats Young's two shorter ones."""
    case = (300, 1000, LawName.WEIBULL, 12.0)
    W = float(renewal_interval(*case, strike=Strike.SAFE))
    grid = np.linspace(1, 1200, 4000)
    goodput = renewal_goodput(grid, *case, strike=Strike.SAFE)
    maxima = grid[1:-1][(goodput[1:-1] > goodput[:-2]) & (goodput[1:-1] > goodput[2:])]
    assert maxima.size > 1
    assert pytest.approx(grid[np.argmax(goodput)], abs=0.3) == W
    assert abs(W - np.sqrt(2 * 300 * 1000)) > 100


@pytest.mark.parametrize("strike", Strike)
def test_the_slope_vanishes(strike):
    """Goodput falls by the same amount on both sides of the optimum, which a flat maximum hides from a minimiser."""
    case = {"restart": 600, "downtime": 60, "strike": strike}
    law = (LawName.LOGNORMAL, 1.5)
    W = renewal_interval(60, 10000, *law, **case)
    step = 1e-3
    low, mid, high = (renewal_goodput(W * f, 60, 10000, *law, **case) for f in (1 - step, 1.0, 1 + step))
    assert abs(high - low) / (2 * mid - low - high) < 2 * step  # the third derivative is all that is left


def test_recovery_moves_the_optimum_only_if_the_law_has_a_memory():
    """After a recovery that the clock runs through, a falling hazard is lower: saves may be rarer."""
    short = renewal_interval(60, 10000, LawName.WEIBULL, 0.6, restart=600)
    assert short > renewal_interval(60, 10000, LawName.WEIBULL, 0.6, restart=600, strike=Strike.SAFE)


def test_without_a_stall_saving_costs_nothing():
    """Without a stall the best interval is the floor."""
    assert renewal_interval(0, 100, LawName.WEIBULL, 0.7) == 0
    assert renewal_interval(0, 100, LawName.WEIBULL, 0.7, flush=30, speed=1) == 30


@pytest.mark.parametrize("name", [LawName.EXPONENTIAL, LawName.WEIBULL])
def test_more_saves_in_flight_lower_the_floor(name):
    """One flush at a time holds the interval up; with buffers enough it is the best one for a flush of that length."""
    case = {"flush": 0.5, "speed": 0.95}
    W = renewal_interval(1e-4, 1, name, 0.7, in_flight=[1, 2, 40], **case)
    floor = interval_floor(0.5, 0.95, in_flight=[1, 2, 40], stall=1e-4)
    assert W[0] == floor[0] > W[1] >= W[2] > floor[2]
    assert W[1] >= floor[1]
    around = renewal_goodput(W[2] * np.array([0.99, 1.0, 1.01]), 1e-4, 1, name, 0.7, in_flight=40, **case)
    assert np.argmax(around) == 1


def test_recovery_of_many_mtbfs():
    """A recovery far beyond the MTBF still has a best interval, and one no gap survives has none."""
    W = renewal_interval(1, 100, LawName.WEIBULL, 1.0, restart=20_000)
    assert pytest.approx(float(exact_interval(1, 100)), rel=1e-9) == W
    assert np.isnan(renewal_interval(1, 100, LawName.WEIBULL, 2.0, restart=20_000))


def test_invalid_is_nan():
    """Input outside the domain gives nan, and leaves its neighbours alone."""
    W = renewal_interval(
        [60, -1, 60, 60, 60, np.nan], [1e4, 1e4, 0, np.inf, 1e4, 1e4], LawName.GAMMA, [2, 2, 2, 2, -1, 2]
    )
    assert np.isnan(W[1:]).all()
    assert W[0] == renewal_interval(60, 1e4, LawName.GAMMA, 2)
    assert np.isnan(renewal_interval(60, 1e4, LawName.WEIBULL, 0.7, flush=-1))
    assert np.isnan(renewal_interval(60, -1e4, LawName.EXPONENTIAL))
    assert renewal_interval([], 60, LawName.WEIBULL, 2.0).shape == (0,)

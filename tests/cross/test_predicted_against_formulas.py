"""Fault prediction and notice, simulated, against their first-order forms and, without either, the exact one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.notice import noticed_interruption_overhead
from ckptplan.interval.prediction import prediction_period, prediction_waste, predictor_worth
from ckptplan.simulate import standard_errors
from ckptplan.simulate.predicted import Predicted, simulate_predicted

LARGEST_Z = 4.0
PREDICTORS = pytest.mark.parametrize(("recall", "precision"), [(0.85, 0.82), (0.5, 0.3)])


def _plan(mtbf, recall, precision, **other):
    """The refined plan for saves of 60 s of both kinds, and its first-order waste."""
    predictor = {"recall": recall, "precision": precision, "proactive_stall": 60.0}
    W = float(prediction_period(60.0, mtbf, **predictor).interval_s)
    process = Predicted(W, 60.0, mtbf, recall, precision, 60.0, **other)
    return process, float(prediction_waste(W, 60.0, mtbf, **predictor, recovery=process.recovery_s))


def test_without_a_predictor():
    """Nothing predicted, or nothing trusted: goodput is that of the exact form, over a grid of intervals and saves."""
    z = []
    for seed, W in enumerate(np.geomspace(200, 20_000, 12)):
        for recall, trust_after in ((0.0, None), (0.7, np.inf)):
            process = Predicted(float(W), 100.0, 5000.0, recall, 0.5, 60.0, trust_after, 300.0)
            run = simulate_predicted(process, failures=200_000, seed=seed + 50 * (recall > 0))
            exact = exact_goodput(W, 100, 5000, restart=300, strike=Strike.SAFE)
            z.append(standard_errors(run.goodput, run.goodput_error, float(exact)))
    low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], len(z))
    assert np.max(np.abs(z)) <= LARGEST_Z
    assert low <= np.sum(np.square(z)) <= high


@PREDICTORS
def test_waste_is_of_first_order(recall, precision):
    """The first-order waste is too high by about d/M: relative to it, an error that falls with sqrt(d/M)."""
    scaled = []
    for n, a in enumerate((6e-3, 6e-4, 6e-5, 6e-6)):
        process, predicted = _plan(60.0 / a, recall, precision)
        run = simulate_predicted(process, failures=12_000_000 if a < 1e-5 else 2_000_000, seed=n)
        excess = predicted - (1 - run.goodput)
        scaled.append((excess / a, run.goodput_error / a))
        # 1.1 d/M over a waste of at least sqrt(2 d/M) times 0.39: below 2 sqrt(d/M), which is 0.5 % at d/M = 6e-6.
        assert excess / predicted < 2 * np.sqrt(a) + LARGEST_Z * run.goodput_error / predicted
    for value, error in scaled:
        assert value - LARGEST_Z * error > 0.0
        assert value + LARGEST_Z * error < 2.5
    # From one scale to the next the coefficient tends to its limit: the first three are known to 3 % and better.
    assert scaled[2][0] == pytest.approx(scaled[1][0], rel=0.1, abs=LARGEST_Z * scaled[2][1])
    assert scaled[1][0] == pytest.approx(scaled[0][0], rel=0.1, abs=LARGEST_Z * scaled[1][1])


def test_waste_at_any_period():
    """Off the best period too, and with recoveries, the waste is right to first order."""
    M = 1e7
    for n, W in enumerate((5e3, 3e4, 2e5)):
        process = Predicted(W, 60.0, M, 0.85, 0.5, 120.0, recovery_s=600.0)
        run = simulate_predicted(process, failures=1_000_000, seed=n)
        waste = prediction_waste(W, 60, M, recall=0.85, precision=0.5, proactive_stall=120, recovery=600)
        # Second order: products of the terms d/P, P/M, and recovery/M.
        second = (60 / W + W / M + 600 / M) ** 2
        assert abs(1 - run.goodput - float(waste)) < second + LARGEST_Z * run.goodput_error


@PREDICTORS
def test_what_a_predictor_is_worth(recall, precision):
    """The simulated goodput with the predictor exceeds that without it by the gain, to first order."""
    M = 1e6
    worth = predictor_worth(60, M, recall=recall, precision=precision, proactive_stall=60)
    process, _ = _plan(M, recall, precision)
    without, _ = _plan(M, 0.0, 1.0)
    run, alone = (simulate_predicted(p, failures=1_000_000, seed=7) for p in (process, without))
    error = LARGEST_Z * np.hypot(run.goodput_error, alone.goodput_error)
    assert abs(run.goodput - alone.goodput - float(worth.gain)) < 60 / M + error
    assert 60 / M + error < 0.05 * float(worth.gain)


def test_rule_of_trust():
    """Trust from C_p/p on does better than trust at any time and than trust from three times that on."""
    process, _ = _plan(1e5, 0.85, 0.1)
    assert process.interval_s > 3 * 600
    best, early, late = (
        simulate_predicted(process._replace(trust_after_s=after), failures=500_000, seed=9) for after in (600, 60, 1800)
    )
    assert best == simulate_predicted(process, failures=500_000, seed=9)._replace(process=best.process)
    for other in (early, late):
        # The same failures and predictions: the difference is known better than either.
        assert best.goodput - other.goodput > LARGEST_Z * best.goodput_error


@pytest.mark.parametrize("flush", [0.0, 300.0])
def test_notice(flush):
    """Interruptions with notice add (d + F + R)/M_i to the overhead, at the interval that is best for the failures."""
    M, M_i, d, R = 2e6, 5e5, 60.0, 600.0
    W = np.sqrt(2 * d * M)
    both = 1 / (1 / M + 1 / M_i)
    # The last save of a job that flushes beside training loses d + F, all of which is progress.
    process = Predicted(float(W), d, both, both / M_i, 1.0, d + flush, recovery_s=R)
    run = simulate_predicted(process, failures=2_000_000, seed=3)
    alone = 1 / float(exact_goodput(W, d, M, restart=R, strike=Strike.SAFE)) - 1
    added = 1 / run.goodput - 1 - alone
    predicted = float(noticed_interruption_overhead(d, R, M_i, flush=flush).overhead)
    # Second order: a share (d + F)/P of the last saves is not needed, and both overheads multiply.
    second = predicted * ((d + flush + R) / W + 2 * alone + W / M_i)
    error = LARGEST_Z * run.goodput_error / run.goodput**2
    assert abs(added - predicted) < second + error
    assert second + error < 0.2 * predicted
    # The interval is best for the failures: twice and half of it do worse.
    for factor in (0.5, 2.0):
        other = simulate_predicted(process._replace(interval_s=float(factor * W)), failures=2_000_000, seed=3)
        assert other.goodput < run.goodput

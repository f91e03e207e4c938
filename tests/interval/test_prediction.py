from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

from ckptplan.interval.prediction import prediction_period, prediction_waste, predictor_worth
from ckptplan.interval.young import young_interval

REFERENCE = {"recall": 0.85, "precision": 0.82, "proactive_stall": 60}
GRID = list(itertools.product((0.05, 0.5, 0.85, 1.0), (0.02, 0.3, 1.0), (10.0, 60.0, 200.0)))


def _published(P, d, M, r, p, C_p, recovery):
    """The published first-order waste, term by term, for a period above C_p/p."""
    b = C_p / p
    return d / P + ((1 - r) * P / 2 + recovery + (r / p) * C_p * (1 - b / P) + r * b * b / (2 * P)) / M


def test_reference_values():
    """Periods, rule of trust and waste equal the reference; the interval is the period less the save."""
    plan = prediction_period(60, 1e6, **REFERENCE)
    np.testing.assert_allclose(plan, (28284.27125, 28283.73492, 28223.73492, 73.17073171), rtol=2e-10)
    waste = prediction_waste(plan.interval_s, 60, 1e6, **REFERENCE, recovery=600)
    assert waste == pytest.approx(0.00490475536, rel=1e-9)
    assert predictor_worth(60, 1e6, **REFERENCE, recovery=600).waste_with == pytest.approx(0.00490475536, rel=1e-9)


@pytest.mark.parametrize(("r", "p", "C_p"), GRID)
def test_published_waste(r, p, C_p):
    """The waste is the published sum above C_p/p, and that without a predictor below."""
    P = np.geomspace(61, 1e6, 400)
    waste = prediction_waste(P - 60, 60, 1e6, recall=r, precision=p, proactive_stall=C_p, recovery=600)
    without = 60 / P + (P / 2 + 600) / 1e6
    expected = np.where(C_p / p < P, _published(P, 60, 1e6, r, p, C_p, 600), without)
    np.testing.assert_allclose(waste, expected, rtol=1e-12)


@pytest.mark.parametrize(("r", "p", "C_p"), GRID)
def test_refined_period_wastes_least(r, p, C_p):
    """No other period wastes less, whether or not any prediction is worth its save."""
    predictor = {"recall": r, "precision": p, "proactive_stall": C_p}
    plan, worth = prediction_period(60, 1e6, **predictor), predictor_worth(60, 1e6, **predictor, recovery=600)
    best = prediction_waste(plan.interval_s, 60, 1e6, **predictor, recovery=600)
    W = np.concatenate([np.geomspace(1, 1e8, 2000), plan.interval_s * np.array([0.99, 1.01])])
    others = prediction_waste(W, 60, 1e6, **predictor, recovery=600)
    assert others.min() >= best * (1 - 1e-14)
    assert best == pytest.approx(float(worth.waste_with), rel=1e-12)
    assert np.isinf(plan.refined_s) or others[-2:].min() > best * (1 + 1e-7)


@pytest.mark.parametrize(("r", "p", "C_p"), GRID)
def test_worth(r, p, C_p):
    """The gain is the difference of both wastes at 40 digits, also where they nearly agree."""
    for d in (0.03, 2.0, 60.0, 600.0):
        worth = predictor_worth(d, 1e6, recall=r, precision=p, proactive_stall=C_p)
        with mpmath.workdps(40):
            y, rate = mpmath.sqrt(2 * mpmath.mpf(d) * 10**6), mpmath.mpf(10) ** -6
            b, R = mpmath.mpf(C_p) / mpmath.mpf(p), mpmath.mpf(r)
            gain = (y - R * b - mpmath.sqrt((1 - R) * (y * y - R * b * b))) * rate if b < y else mpmath.mpf(0)
        assert float(worth.gain) == pytest.approx(float(gain), rel=1e-11, abs=0.0)
        assert worth.waste_without - worth.waste_with == pytest.approx(float(worth.gain), abs=1e-15)


def test_switch():
    """At C_p/p = sqrt(2 d M) a predictor stops paying: the periods meet, the gain vanishes as a square."""
    y = np.sqrt(2 * 60 * 1e6)
    C_p = y * (1 + np.array([-1e-3, -1e-4, 0, 0.1]))
    predictor = {"recall": 0.6, "precision": 1, "proactive_stall": C_p}
    worth = predictor_worth(60, 1e6, **predictor)
    assert worth.gain[0] / worth.gain[1] == pytest.approx(100, rel=1e-2)
    np.testing.assert_array_equal(worth.gain[2:], 0)
    plan = prediction_period(60, 1e6, **predictor)
    np.testing.assert_allclose(plan.refined_s / y, [1, 1, 1, 1], rtol=2e-3)
    np.testing.assert_array_equal(plan.refined_s[2:], y)
    assert (plan.trust_after_s[2:] >= plan.refined_s[2:]).all()  # which says: never


def test_no_predictor_and_a_perfect_one():
    """Without recall it is Young's rule, read as a period; with all failures predicted there are no periodic saves."""
    plan = prediction_period(60, 1e6, recall=[0, 1], precision=0.5, proactive_stall=30)
    young = young_interval(60, 1e6)
    np.testing.assert_allclose(plan.refined_s, [young, np.inf], rtol=1e-15)
    np.testing.assert_allclose(plan.interval_s, [young - 60, np.inf], rtol=1e-15)
    worth = predictor_worth(60, 1e6, recall=[0, 1], precision=0.5, proactive_stall=30, recovery=600)
    np.testing.assert_allclose(worth.waste_with, [np.sqrt(120e-6) + 600e-6, 660e-6], rtol=1e-14)
    np.testing.assert_allclose(worth.gain, [0, np.sqrt(120e-6) - 60e-6], rtol=1e-12)
    waste = prediction_waste(np.inf, 60, 1e6, recall=[0.5, 1], precision=0.5, proactive_stall=30, recovery=600)
    np.testing.assert_allclose(waste, [np.inf, 660e-6], rtol=1e-14)


def test_what_a_better_predictor_is_worth():
    """More recall, more precision and a shorter proactive save each waste less."""
    base = predictor_worth(60, 1e6, recall=0.6, precision=0.5, proactive_stall=60).waste_with
    for better in ({"recall": 0.7}, {"precision": 0.6}, {"proactive_stall": 50}):
        assert (
            predictor_worth(60, 1e6, **{"recall": 0.6, "precision": 0.5, "proactive_stall": 60} | better).waste_with
            < base
        )


def test_broadcast_and_invalid():
    """Arrays broadcast; input outside the domain is nan beside valid neighbours."""
    recall, precision = [0.85, 1.1, -0.1, 0.85, 0.85, 0.85], [0.82, 0.82, 0.82, 0, 1.1, 0.82]
    stall = [60, 60, 60, 60, 60, -60]
    predictor = {"recall": recall, "precision": precision, "proactive_stall": 60}
    plan, worth = prediction_period(stall, 1e6, **predictor), predictor_worth(stall, 1e6, **predictor)
    waste = prediction_waste(1000, stall, 1e6, **predictor)
    for values in (*plan, *worth, waste):
        np.testing.assert_array_equal(np.isnan(values), [False, True, True, True, True, True])
    assert np.isnan(prediction_waste([0, -1], 60, 1e6, **REFERENCE)).all()
    assert np.isnan(prediction_period(60, [0, -1, np.nan], **REFERENCE).refined_s).all()
    assert np.isnan(prediction_period(1000, 50, **REFERENCE).interval_s)  # the period is shorter than the save
    assert prediction_period([[60], [30]], [1e5, 1e6], **REFERENCE).refined_s.shape == (2, 2)

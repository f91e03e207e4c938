from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import (
    exact_goodput,
    exact_shares,
    first_order_shares,
    gross_shares,
    lost_per_failure,
)
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.young import young_interval

M = 11135.0835322


def _tuple(shares):
    return tuple(float(x) for x in (shares.useful, shares.save, shares.rework, shares.restart))


@pytest.mark.parametrize(
    ("W", "d", "mtbf", "R", "D", "strike", "expected"),
    [
        (1156, 60, M, 600, 0, "safe", (0.8536942216, 0.04430938866, 0.05086765275, 0.05112873703)),
        (1156, 60, M, 600, 0, "DR", (0.852498522, 0.04424732813, 0.05079640659, 0.05245774324)),
        (300, 60, M, 600, 300, "DR", (0.7562707371, 0.1512541474, 0.01482963556, 0.07764547989)),
        (400, 30, 1824.4, 400, 120, "safe", (0.6419405728, 0.04814554296, 0.08810873152, 0.2218051527)),
        (400, 30, 1824.4, 400, 120, "DR", (0.6203283035, 0.04652462276, 0.08514236716, 0.2480047066)),
        (0.001, 1e-9, 1e9, 0, 0, "DR", (0.999999, 9.99999e-07, 5.000005e-13, 0.0)),
    ],
)
def test_reference_shares(W, d, mtbf, R, D, strike, expected):
    """The shares of synchronous saves equal the reference."""
    shares = exact_shares(W, d, mtbf, downtime=D, restart=R, strike=Strike(strike))
    assert _tuple(shares) == pytest.approx(expected, rel=1e-9)


def test_reference_gross_shares():
    """The ledger that books aborted saves under save equals the reference."""
    shares = gross_shares(1156, 60, M, restart=600, strike=Strike.SAFE)
    assert _tuple(shares) == pytest.approx((0.8536942216, 0.04442898116, 0.05074806025, 0.05112873703), rel=1e-9)


@pytest.mark.parametrize(
    ("W", "d", "F", "om", "mtbf", "R", "strike", "expected", "lost"),
    [
        (
            *(1156, 5, 120, 0.95, 11135, 600, "safe"),
            (0.882451843, 0.008397033108, 0.05802202293, 0.05112910098),
            690.6930484,
        ),
        (
            *(1156, 5, 120, 0.95, 11135, 600, "DR"),
            (0.8812158468, 0.008385271899, 0.05794075504, 0.05245812626),
            690.6930484,
        ),
        (
            *(346, 3, 99, 0.98, 1824.4, 400, "safe"),
            (0.695281972, 0.01000723763, 0.1148870177, 0.1798237727),
            259.4503678,
        ),
        (
            *(346, 3, 99, 0.98, 1824.4, 400, "DR"),
            (0.6808236835, 0.009799138566, 0.1124979587, 0.1968792192),
            259.4503678,
        ),
    ],
)
def test_reference_asynchronous_shares(W, d, F, om, mtbf, R, strike, expected, lost):
    """The shares of asynchronous saves and the time lost per failure equal the reference."""
    shares = exact_shares(W, d, mtbf, restart=R, strike=Strike(strike), flush=F, speed=om)
    assert _tuple(shares) == pytest.approx(expected, rel=1e-9)
    assert lost_per_failure(W, d, mtbf, flush=F, speed=om) == pytest.approx(lost, rel=1e-9)


@pytest.mark.parametrize(
    ("stall", "restart", "first_order", "safe", "struck"),
    [(5, 600, 0.91615, 0.9207, 0.9194), (60, 600, 0.84231, None, None)],
)
def test_published_goodputs(stall, restart, first_order, safe, struck):
    """The published 91.6 % for a stall of 5 s is the first-order value; exact are 92.07 and 91.94 %."""
    W, best = young_interval(stall, M), exact_interval(stall, M)
    assert first_order_shares(W, stall, M, restart=restart).goodput == pytest.approx(first_order, abs=6e-6)
    if safe is not None:
        assert exact_goodput(best, stall, M, restart=restart, strike=Strike.SAFE) == pytest.approx(safe, abs=5e-5)
        assert exact_goodput(best, stall, M, restart=restart) == pytest.approx(struck, abs=5e-5)


def test_first_order_lies_between_exact_waste_and_exact_overhead():
    """At the optimum of the published run: waste 10.025 %, first order 10.381 %, overhead 11.142 %."""
    shares = exact_shares(exact_interval(60, M), 60, M)
    assert 1 - shares.goodput == pytest.approx(0.10025, abs=5e-6)
    assert shares.overhead == pytest.approx(0.11142, abs=5e-6)
    assert first_order_shares(young_interval(60, M), 60, M).overhead == pytest.approx(0.103811, abs=5e-7)


@pytest.mark.parametrize("strike", list(Strike))
def test_shares_are_the_textbook_formula(strike):
    """Where nothing cancels, the stable forms equal the formulas as they are printed."""
    W, d, F, om, mtbf = 700.0, 40.0, 300.0, 0.8, 1500.0
    P = W + d + (1 - om) * F
    n = np.exp(-om * F / mtbf) / np.expm1(P / mtbf)
    A = 1 / (1 - exact_shares(W, d, mtbf, downtime=90, restart=200, strike=strike).restart)
    shares = exact_shares(W, d, mtbf, downtime=90, restart=200, strike=strike, flush=F, speed=om)
    printed = (
        n * W / (A * mtbf),
        n * (d + (1 - om) * F) / (A * mtbf),
        (mtbf - n * P) / (A * mtbf),
        (A - 1) / A,
    )
    assert _tuple(shares) == pytest.approx(printed, rel=1e-13)
    p = np.exp(-(P + om * F) / mtbf)
    assert lost_per_failure(W, d, mtbf, flush=F, speed=om) == pytest.approx(
        mtbf - W * p - P * p / np.expm1(P / mtbf), rel=1e-13
    )


def test_gross_ledger_moves_only_aborted_saves():
    """Both ledgers agree on useful work and restarts, and on the sum of save and rework."""
    W, d = np.geomspace(1e-3, 1e6, 40), np.array([[0.0], [1e-6], [30.0], [5000.0]])
    kept, gross = exact_shares(W, d, 2000.0, restart=100.0), gross_shares(W, d, 2000.0, restart=100.0)
    np.testing.assert_allclose(kept.useful, gross.useful, rtol=4e-16)
    np.testing.assert_array_equal(kept.restart, gross.restart)
    np.testing.assert_allclose(gross.save + gross.rework, kept.save + kept.rework, rtol=1e-12)
    assert (gross.save >= kept.save * (1 - 1e-12)).all()


def test_very_long_intervals():
    """An interval of thousands of MTBFs has goodput 0 and all time in rework, without overflow."""
    shares = exact_shares([7e2, 1e3, 1e9, np.inf], 1.0, 1.0)
    assert shares.goodput[0] == pytest.approx(700 * np.exp(-701.0), rel=1e-12)
    np.testing.assert_allclose(shares.rework, 1.0, rtol=1e-12)
    assert (shares.overhead > 1e290).all()


def test_no_failures():
    """With an infinite MTBF only the saves cost, in both ledgers."""
    for shares in (exact_shares(1000, 60, np.inf, restart=600), gross_shares(1000, 60, np.inf, restart=600)):
        assert _tuple(shares) == pytest.approx((1000 / 1060, 60 / 1060, 0, 0), rel=1e-15)


def test_free_saves():
    """Saving without a stall all the time loses nothing but restarts."""
    assert exact_goodput(exact_interval(0, 100), 0, 100) == 1.0
    assert _tuple(gross_shares(0, 0, 100)) == (1.0, 0.0, 0.0, 0.0)
    assert first_order_shares(0, 0, 100).overhead == 0.0


def test_below_the_floor_is_nan():
    """An interval that would start a save before the last one is durable has no shares."""
    assert np.isnan(exact_goodput(99, 1, 1000, flush=100, speed=1))
    assert exact_goodput(100 * (1 - 1e-12), 1, 1000, flush=100, speed=1) > 0


def test_first_order_above_one_is_no_goodput():
    """Where the first-order sum exceeds one there is no goodput; the sum itself is still shown."""
    shares = first_order_shares(100, 60, 100, restart=1000)
    assert np.isnan(shares.goodput)
    assert shares.overhead == pytest.approx(0.6 + 0.5 + 10)


@pytest.mark.parametrize(
    "bad",
    [
        {"interval": -1},
        {"stall": -1},
        {"mtbf": 0},
        {"mtbf": np.nan},
        {"downtime": -1},
        {"restart": -1},
        {"flush": -1},
        {"speed": 1.1},
        {"speed": -0.1},
    ],
)
def test_invalid_is_nan(bad):
    """Input outside its domain gives nan in every share, without exception or warning."""
    arguments = {"interval": 100, "stall": 1, "mtbf": 1000, **bad}
    shares = exact_shares(arguments.pop("interval"), arguments.pop("stall"), arguments.pop("mtbf"), **arguments)
    assert np.isnan(_tuple(shares)).all()

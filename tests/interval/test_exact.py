from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval import exact
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.exact import exact_attempt, exact_interval, exact_work_fraction
from ckptplan.interval.young import young_interval
from tests.interval import fit_exact_start


@pytest.mark.parametrize(
    ("stall", "mtbf", "restart", "interval", "goodput"),
    [
        (60, 11135.0835322, 600, 1116.296368, 0.8525507844),
        (5, 11135.0835322, 600, 330.3677503, 0.9194295441),
        (300, 86400, 600, 7001.4044, 0.9126056314),
    ],
)
def test_reference_optima(stall, mtbf, restart, interval, goodput):
    """The exact optimum and its goodput equal the reference, failures striking restarts."""
    W = exact_interval(stall, mtbf)
    assert pytest.approx(interval, rel=1e-9) == W
    assert exact_goodput(W, stall, mtbf, restart=restart) == pytest.approx(goodput, rel=1e-9)


@pytest.mark.parametrize(
    ("ratio", "u", "one_minus_u"),
    [
        (1e-12, 1.414212896e-06, 0.9999985858),
        (0.02, 0.1868948848, 0.8131051152),
        (10, 0.999983298, 1.670197974e-05),
    ],
)
def test_reference_fractions(ratio, u, one_minus_u):
    """Both u and 1 - u equal the reference, for small and for large stalls."""
    assert exact_work_fraction(ratio) == pytest.approx(u, rel=1e-9)
    assert np.exp(-exact_attempt(ratio)) == pytest.approx(one_minus_u, rel=1e-9)


@pytest.mark.parametrize(("hours", "minutes"), [(24, "116.69"), (6, "56.71"), (0.25, "9.17")])
def test_against_values_that_daly_printed(hours, minutes):
    """Daly's cases with a stall of 5 min: within 0.03 min of his 117, 57 and 9.1 min."""
    assert f"{exact_interval(300, hours * 3600) / 60:.2f}" == minutes


def test_against_arithmetic_of_110_digits():
    """Both u and 1 - u are right to 1e-13 for d/M from 1e-14 to 100.

    The Lambert form loses half its digits at the branch point and 44 digits of 1 - u at d/M = 100; 110 digits
    leave more than 40 everywhere.
    """
    ratios = np.concatenate([10.0 ** np.linspace(-14, 2, 321), np.linspace(1e-4, 2e-3, 80)])
    u, goodput = exact_work_fraction(ratios), np.exp(-exact_attempt(ratios))
    with mp.workdps(110):
        true = [mp.re(1 + mp.lambertw(-mp.exp(-1 - mp.mpf(float(a))))) for a in ratios]
        error_u = max(abs(mp.mpf(float(x)) / t - 1) for x, t in zip(u, true, strict=True))
        error_goodput = max(abs(mp.mpf(float(x)) / (1 - t) - 1) for x, t in zip(goodput, true, strict=True))
    assert error_u < 1e-13
    assert error_goodput < 1e-13


@pytest.mark.parametrize("ratio", [1e-3, 1e-6, 1e-9])
def test_expansion_for_small_stalls(ratio):
    """As d/M goes to 0, W is sqrt(2 d M) - (2/3) d + (d/9) sqrt(d/(2M)) + O(d^2/M)."""
    next_term = (2 * ratio) ** 2 / 270
    expansion = young_interval(ratio, 1.0) - ratio * 2 / 3 + ratio / 9 * np.sqrt(ratio / 2)
    assert exact_interval(ratio, 1.0) - expansion == pytest.approx(next_term, abs=0.1 * next_term + 1e-17)


@pytest.mark.parametrize("stall", [1e-20, 1e-3, 60.0, 1e5])
def test_satisfies_its_equation(stall):
    """The attempt x solves x + exp(-x) - 1 = d/M, evaluated at 60 digits."""
    x = float(exact_attempt(stall / 1e4))
    with mp.workdps(60):
        back = mp.mpf(x) + mp.expm1(-mp.mpf(x))
    assert float(back) == pytest.approx(stall / 1e4, rel=2e-13)


def test_restarts_do_not_move_the_optimum():
    """Neighbours of the optimum are worse under each rule of what failures may strike."""
    W = exact_interval(60, 3600)
    for strike in Strike:
        best, low, high = exact_goodput(
            W * np.array([1, 0.99, 1.01]), 60, 3600, downtime=600, restart=1800, strike=strike
        )
        assert best > max(low, high)


def test_extreme_magnitudes():
    """Ratios outside the range of doubles end in the first term or in the limit, never in a warning."""
    assert exact_interval(1e-300, 1e300) == pytest.approx(np.sqrt(2), rel=1e-15)
    assert exact_interval(1e300, 1e-300) == 1e-300
    assert exact_interval(1e-300, 1e-300) == pytest.approx(1e-300 * exact_work_fraction(1), rel=1e-15)
    assert exact_interval(1e300, 1e300) == pytest.approx(1e300 * exact_work_fraction(1), rel=1e-15)
    assert exact_interval(np.inf, 5.0) == 5.0


def test_coefficients_are_those_of_the_generator():
    """The committed coefficients are what the committed generator writes."""
    numerator, denominator = fit_exact_start.as_written()
    np.testing.assert_allclose(exact._NUMERATOR, numerator, rtol=1e-9)
    np.testing.assert_allclose(exact._DENOMINATOR, denominator, rtol=1e-9)

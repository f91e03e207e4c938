from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from ckptplan.cost.laws import (
    density,
    equilibrium_survival,
    hazard,
    integrated_survival,
    mean_residual,
    survival,
)
from ckptplan.cost.scenario import LawName
from ckptplan.cost.unit_laws import scale

LAWS = pytest.mark.parametrize(
    ("name", "shape"),
    [
        (LawName.EXPONENTIAL, 1.0),
        (LawName.WEIBULL, 0.5),
        (LawName.WEIBULL, 3.0),
        (LawName.GAMMA, 0.4),
        (LawName.GAMMA, 5.0),
        (LawName.LOGNORMAL, 0.4),
        (LawName.LOGNORMAL, 1.5),
    ],
)
AGES = np.array([1e-6, 0.01, 0.3, 1.0, 2.5, 8.0])
FUNCTIONS = (survival, density, hazard, integrated_survival, equilibrium_survival, mean_residual)


def _exact(name, shape):
    """Survival and density at 40 digits, as textbooks write them, with mean 1."""
    k = mp.mpf(shape)
    if name is LawName.GAMMA:
        return (
            lambda t: mp.gammainc(k, k * t, regularized=True),
            lambda t: k * (k * t) ** (k - 1) * mp.exp(-k * t) / mp.gamma(k),
        )
    if name is LawName.LOGNORMAL:
        mu = -k * k / 2
        return (
            lambda t: mp.erfc((mp.log(t) - mu) / (k * mp.sqrt(2))) / 2,
            lambda t: mp.exp(-(((mp.log(t) - mu) / k) ** 2) / 2) / (t * k * mp.sqrt(2 * mp.pi)),
        )
    eta = 1 / mp.gamma(1 + 1 / k)
    return lambda t: mp.exp(-((t / eta) ** k)), lambda t: k / eta * (t / eta) ** (k - 1) * mp.exp(-((t / eta) ** k))


@LAWS
def test_survival_density_and_hazard_at_40_digits(name, shape):
    """Survival, density and hazard equal the textbook forms in 40-digit arithmetic."""
    with mp.workdps(40):
        alive, dense = _exact(name, shape)
        for t in AGES:
            S, f = alive(mp.mpf(t)), dense(mp.mpf(t))
            assert survival(t, 1, name, shape) == pytest.approx(float(S), rel=2e-13)
            assert density(t, 1, name, shape) == pytest.approx(float(f), rel=2e-13)
            assert hazard(t, 1, name, shape) == pytest.approx(float(f / S), rel=2e-13)


@LAWS
def test_integrated_survival_is_the_integral(name, shape):
    """The closed form of the integral equals quadrature, and the equilibrium survival is the rest of the mean."""
    with mp.workdps(25):
        alive = _exact(name, shape)[0]
        for t in AGES:
            # Substituting t = e^u takes the singular slope at age 0 away from the quadrature.
            points = [-120, -60, -30, -15, -8, -4, -2, *[u for u in (-1, 0, 1) if u < np.log(t)], mp.log(t)]
            points = [u for u in points if u <= mp.log(t)]
            area = mp.quad(lambda u: mp.exp(u) * alive(mp.exp(u)), points)
            assert integrated_survival(t, 1, name, shape) == pytest.approx(float(area), rel=1e-12)
            assert equilibrium_survival(t, 1, name, shape) == pytest.approx(float(1 - area), rel=1e-9, abs=1e-15)


@LAWS
def test_the_mean_is_the_parameter(name, shape):
    """All of the integrated survival is the mean, and so is the residual life at age 0."""
    assert integrated_survival(np.inf, 7.0, name, shape) == pytest.approx(7.0, rel=1e-14)
    assert mean_residual(0.0, 7.0, name, shape) == pytest.approx(7.0, rel=1e-14)


@LAWS
def test_times_scale_with_the_mean(name, shape):
    """Only the ratio of age to mean counts."""
    assert survival(AGES * 50, 50, name, shape) == pytest.approx(survival(AGES, 1, name, shape), rel=1e-13)
    assert hazard(AGES * 50, 50, name, shape) * 50 == pytest.approx(hazard(AGES, 1, name, shape), rel=1e-13)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_shape_one_is_exponential(function):
    """Weibull of shape 1 is the exponential law; gamma of shape 1 is, to rounding."""
    wanted = function(AGES, 3.0, LawName.EXPONENTIAL)
    assert function(AGES, 3.0, LawName.WEIBULL, 1.0) == pytest.approx(wanted, rel=1e-14)
    assert function(AGES, 3.0, LawName.GAMMA, 1.0) == pytest.approx(wanted, rel=1e-13)


def test_at_age_zero():
    """At age 0 nothing has failed, and the hazard is infinite, finite or 0 by the shape."""
    for name, shape, wanted in [
        (LawName.WEIBULL, 0.5, np.inf),
        (LawName.GAMMA, 0.5, np.inf),
        (LawName.EXPONENTIAL, 1.0, 0.1),
        (LawName.WEIBULL, 2.0, 0.0),
        (LawName.GAMMA, 2.0, 0.0),
        (LawName.LOGNORMAL, 1.0, 0.0),
    ]:
        assert survival(0, 10, name, shape) == 1
        assert integrated_survival(0, 10, name, shape) == 0
        assert hazard(0, 10, name, shape) == density(0, 10, name, shape) == wanted


def test_far_in_the_tail():
    """Where survival underflows, the hazard keeps its digits and nothing becomes nan."""
    assert hazard(5000, 1, LawName.GAMMA, 3.0) == pytest.approx(3 - 2 / 5000, rel=1e-6)
    assert hazard(1e9, 1, LawName.LOGNORMAL, 0.5) > 0
    for name in (LawName.EXPONENTIAL, LawName.WEIBULL, LawName.GAMMA, LawName.LOGNORMAL):
        assert survival(1e30, 1, name, 2.0) == pytest.approx(0, abs=1e-200)
        assert density(1e30, 1, name, 2.0) == pytest.approx(0, abs=1e-200)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_invalid_is_nan(function):
    """A negative age, a mean or a shape that is not positive gives nan without a warning."""
    for name in (LawName.EXPONENTIAL, LawName.WEIBULL, LawName.GAMMA, LawName.LOGNORMAL):
        assert np.isnan(function([-1, 1, 1, np.nan], [1, 0, 1, 1], name, [1, 1, -1, 1])).all()


def test_recorded_has_no_parameters():
    """Recorded gaps are refused: they have no parametric law."""
    with pytest.raises(ValueError, match="recorded"):
        survival(1, 1, LawName.RECORDED)
    with pytest.raises(ValueError, match="recorded"):
        scale(LawName.RECORDED, 1)

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

from ckptplan.errors import InputError
from ckptplan.fit.laws import FAMILIES, best_law, fit_law, fit_laws
from tests.fit.laws_in_numbers import BEARINGS, SHAPED, TRUTHS, E, G, L, W, draw, scipy_law

AIRCONDITIONING = Path(__file__).parents[3] / "shared" / "data" / "failures" / "textbook" / "boot_aircondit.csv"


def failed(times) -> np.ndarray:
    """Every time ended in a failure."""
    return np.ones(len(times), dtype=bool)


def fit_of_scipy(name, time, ended) -> tuple[float, float]:
    """Shape and scale by scipy.stats, its simplex method continued to rounding error."""
    censored = stats.CensoredData(uncensored=time[ended], right=time[~ended])
    family = {E: stats.expon, W: stats.weibull_min, L: stats.lognorm, G: stats.gamma}[name]

    def simplex(function, start, args, disp):
        return optimize.fmin(function, start, args, xtol=1e-10, ftol=1e-13, maxiter=5000, maxfun=5000, disp=disp)

    *shape, _, scale = family.fit(censored, floc=0, optimizer=simplex)
    return (shape[0] if shape else 1.0), scale


@pytest.mark.parametrize(("name", "shape"), TRUTHS)
@pytest.mark.parametrize("number", [25, 400])
def test_agrees_with_scipy_to_six_digits(name, shape, number):
    """The fit is that of scipy.stats with right-censoring and location 0."""
    time, ended = draw(name, shape, number, np.random.default_rng(number))
    fit = fit_law(name, time, ended)
    with warnings.catch_warnings():  # scipy overflows on the way of its search
        warnings.simplefilter("ignore", RuntimeWarning)
        assert (fit.shape, fit.scale) == pytest.approx(fit_of_scipy(name, time, ended), rel=1e-6)
    law = scipy_law(name, fit.shape, fit.scale)
    assert fit.log_likelihood == pytest.approx(law.logpdf(time[ended]).sum() + law.logsf(time[~ended]).sum(), rel=1e-11)
    assert fit.mean == pytest.approx(law.mean(), rel=1e-11)
    assert fit.aic == pytest.approx(2 * fit.parameters - 2 * fit.log_likelihood)


def test_bearings_of_lieblein_and_zelen():
    """Weibull shape 2.102 and scale 81.88, as published; laws of two parameters are tied, the exponential is behind."""
    fits = fit_laws(BEARINGS, failed(BEARINGS))
    assert (fits[1].shape, fits[1].scale) == pytest.approx((2.1018, 81.875), rel=5e-5)
    choice = best_law(fits)
    assert {fit.name for fit in choice.tied} == {W, L, G}
    assert choice.best == choice.least


@pytest.mark.skipif(not AIRCONDITIONING.exists(), reason="the published records are not here")
def test_air_conditioning_of_davison_and_hinkley():
    """The exponential mean is 108.083 h, and it is chosen: the others are no better by 2."""
    hours = np.loadtxt(AIRCONDITIONING, skiprows=1)
    fits = fit_laws(hours, failed(hours))
    assert fits[0].mean == pytest.approx(108.083, abs=5e-4)
    choice = best_law(fits)
    assert choice.best.name is E
    assert len(choice.tied) == len(FAMILIES)


@pytest.mark.parametrize(("name", "shape"), SHAPED)
def test_many_whole_seconds(name, shape):
    """A large record in whole seconds, fitted on nodes, has the likelihood maximum: no neighbour is likelier."""
    rng = np.random.default_rng(8)
    law = scipy_law(name, shape, 4e4)
    gap, end = law.rvs(60_000, random_state=rng), rng.exponential(1e4, 60_000)
    time, ended = np.ceil(np.minimum(gap, end)), gap <= end
    fit = fit_law(name, time, ended)

    def value(log_shape, log_scale):
        other = scipy_law(name, fit.shape * np.exp(log_shape), fit.scale * np.exp(log_scale))
        return other.logpdf(time[ended]).sum() + other.logsf(time[~ended]).sum()

    h = 1e-3
    centre = value(0, 0)
    grid = np.array([[value(i * h, j * h) for j in (-1, 0, 1)] for i in (-1, 0, 1)])
    slope = np.array([grid[2, 1] - grid[0, 1], grid[1, 2] - grid[1, 0]]) / (2 * h)
    cross = (grid[2, 2] - grid[2, 0] - grid[0, 2] + grid[0, 0]) / 4
    second = np.array([[grid[2, 1] + grid[0, 1] - 2 * centre, cross], [cross, grid[1, 2] + grid[1, 0] - 2 * centre]])
    away = np.linalg.solve(second / h**2, slope)  # Newton's step from the fit to the maximum of the plain sum
    assert np.abs(away).max() < 1e-5
    assert fit.log_likelihood == pytest.approx(centre, rel=1e-10)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_time_does_not_matter(name, factor):
    """In another unit the scale follows and the shape stays."""
    time, ended = draw(W, 0.7, 60, np.random.default_rng(4))
    one, other = fit_law(name, time, ended), fit_law(name, factor * time, ended)
    assert other.shape == pytest.approx(one.shape, rel=1e-6)
    assert other.scale == pytest.approx(factor * one.scale, rel=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_no_failure_is_refused(name):
    """Without a failure there is no law, and the error says what the record is still good for."""
    with pytest.raises(InputError, match="no time ended in a failure") as error:
        fit_law(name, [5.0, 7.0], [False, False])
    assert "exposure" in error.value.render()


@pytest.mark.parametrize("name", [W, L, G])
@pytest.mark.parametrize(
    ("time", "ended"),
    [([5.0], [True]), ([5.0] * 9, [True] * 9), ([5.0, 3.0, 2.0], [True, False, False])],
)
def test_failures_at_one_time_have_no_likeliest_law(name, time, ended):
    """Where nothing outlived failures that are all alike the law is said not to be fitted, and is never chosen."""
    fit = fit_law(name, time, ended)
    assert not fit.converged
    assert np.isnan(fit.aic)
    assert "alike" in fit.note
    assert best_law(fit_laws(time, ended)).best.name is E


@pytest.mark.parametrize("name", FAMILIES)
def test_one_failure_among_many_is_fitted(name):
    """One failure and many times without one have a likeliest law, at which scipy finds no better neighbour."""
    time = np.concatenate([[40.0], np.linspace(1.0, 100.0, 200)])
    ended = np.arange(201) == 0
    fit = fit_law(name, time, ended)
    assert fit.converged
    assert ("one failure" in fit.note) == (name is not E)
    for a, b in ((1.01, 1.0), (0.99, 1.0), (1.0, 1.01), (1.0, 0.99)):
        law = scipy_law(name, fit.shape * a, fit.scale * b)
        assert name is E or law.logpdf(40.0) + law.logsf(time[1:]).sum() < fit.log_likelihood


def test_two_failures_almost_alike():
    """A spread of one part in a hundred thousand is fitted as that, not refused."""
    fit = fit_law(L, [1.0, 1.00002], [True, True])
    assert fit.shape == pytest.approx(0.5 * np.log(1.00002), rel=1e-5)


def test_extrapolated_mean_is_said():
    """A mean beyond the longest time seen is noted."""
    time, ended = draw(W, 0.7, 300, np.random.default_rng(5), seen=0.02)
    assert "beyond the longest" in fit_law(W, time, ended).note
    time, ended = draw(W, 0.7, 300, np.random.default_rng(5), seen=20.0)
    assert fit_law(W, time, ended).note == ""


def test_a_clear_winner_is_no_tie():
    """Many failures of a law with a falling hazard leave the exponential behind."""
    choice = best_law(fit_laws(*draw(W, 0.5, 2000, np.random.default_rng(6))))
    assert choice.best.name is W
    assert len(choice.tied) == 1

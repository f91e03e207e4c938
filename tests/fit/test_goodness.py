from __future__ import annotations

import numpy as np
import pytest

from ckptplan.fit.goodness import anderson_darling, goodness, quantile
from ckptplan.fit.goodness_cells import cells_test
from ckptplan.fit.laws import FAMILIES, LawFit, fit_law
from ckptplan.fit.likelihood import sample
from tests.fit.laws_in_numbers import BEARINGS, TRUTHS, E, G, L, W, draw, scipy_law, within

ONE_IN_TWENTY = 19  # bootstraps: the least p-value is 5 %


@pytest.mark.parametrize(("name", "shape"), TRUTHS)
def test_complete_sample_has_the_usual_statistic(name, shape):
    """Without censoring it is the statistic of Anderson and Darling in its textbook form."""
    t = np.sort(scipy_law(name, shape).rvs(40, random_state=1))
    law, i = scipy_law(name, shape), np.arange(1, 41)
    textbook = -40 - np.mean((2 * i - 1) * (law.logcdf(t) + law.logsf(t[::-1])))
    assert anderson_darling(name, shape, 1.0, sample(t, np.ones(40, dtype=bool))) == pytest.approx(textbook, rel=1e-9)


def test_censored_sample_by_quadrature():
    """With censoring it is the integral over the law up to the last time, by a plain sum over a fine grid."""
    time, ended = np.array([0.3, 0.5, 0.8, 1.0, 1.7]), np.array([True, False, True, True, False])
    u = (np.arange(2_000_000) + 0.5) / 2_000_000 * (1 - np.exp(-1.7))
    at = -np.log1p(-u)
    steps = np.array([0.0, 1 / 5, 1 - (4 / 5) * (2 / 3), 1 - (4 / 5) * (2 / 3) * (1 / 2)])
    f = steps[np.searchsorted([0.3, 0.8, 1.0], at, "right")]
    plain = 5 * np.mean((f - u) ** 2 / (u * (1 - u))) * (1 - np.exp(-1.7))
    assert anderson_darling(E, 1.0, 1.0, sample(time, ended)) == pytest.approx(plain, rel=1e-5)


@pytest.mark.parametrize(("name", "shape"), TRUTHS)
def test_quantiles_are_those_of_scipy(name, shape):
    """Samples are drawn from the law that was fitted."""
    p, fit = np.linspace(0.01, 0.99, 40), LawFit(name, shape, 5.0, np.nan, np.nan, 2, np.nan, True, "")
    np.testing.assert_allclose(quantile(fit, p), scipy_law(name, shape, 5.0).ppf(p), rtol=1e-10)


@pytest.mark.parametrize(("name", "shape", "records"), [(E, 1.0, 150), (W, 0.7, 150), (L, 1.5, 50), (G, 3.0, 30)])
def test_true_laws_of_small_samples_are_hardly_rejected(name, shape, records):
    """The bootstrap rejects a true law in no more than its 5 % of records of 40 times, a third censored."""
    rng = np.random.default_rng(20261130)
    rejected = 0
    for _ in range(records):
        time, ended = draw(name, shape, 40, rng)
        rejected += goodness(fit_law(name, time, ended), time, ended, rng, ONE_IN_TWENTY).p_value <= 0.05
    assert rejected / records <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / records)


@pytest.mark.parametrize(("name", "shape"), TRUTHS)
def test_true_laws_of_large_samples_are_rejected_at_the_level(name, shape):
    """Cells of time reject a true law in 5 % and in 50 % of 200 records of 600 times, as they should."""
    rng = np.random.default_rng(4)
    p = []
    for _ in range(200):
        time, ended = draw(name, shape, 600, rng, seen=1.0)
        p.append(cells_test(fit_law(name, time, ended), sample(time, ended))[2])
    assert within(np.mean(np.array(p) < 0.05), 0.05, 200)
    assert within(np.mean(np.array(p) < 0.5), 0.5, 200)


@pytest.mark.parametrize(
    ("fitted", "truth", "shape", "number"),
    [(E, W, 2.0, 50), (E, W, 0.5, 100), (W, L, 1.5, 2000), (E, W, 0.7, 600)],
)
def test_wrong_laws_are_found(fitted, truth, shape, number):
    """An exponential law for a hazard that changes, and Weibull for the log-normal, are rejected in 90 % of records."""
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(60):
        time, ended = draw(truth, shape, number, rng)
        found += goodness(fit_law(fitted, time, ended), time, ended, rng, ONE_IN_TWENTY).p_value <= 0.05
    assert found / 60 >= 0.9 - 4 * np.sqrt(0.9 * 0.1 / 60)  # less what chance takes from 60 records


def test_bearings():
    """The bearings reject the exponential law and none of the others."""
    ended = np.ones(BEARINGS.size, dtype=bool)
    p = {n: goodness(fit_law(n, BEARINGS, ended), BEARINGS, ended, np.random.default_rng(1)).p_value for n in FAMILIES}
    assert p[E] < 0.02
    assert min(p[W], p[L], p[G]) > 0.1


def test_same_generator_same_answer():
    """The p-value follows from the generator, and the method names the samples drawn."""
    time, ended = draw(W, 2.0, 60, np.random.default_rng(3))
    fit = fit_law(W, time, ended)
    first, second = (goodness(fit, time, ended, np.random.default_rng(9), 39) for _ in range(2))
    assert first == second
    assert first.method == "parametric bootstrap of 39 samples"


def test_too_few_failures_are_not_judged():
    """Two failures, fifteen less one among many times, and a law that was not fitted have no p-value, but a reason."""
    rng = np.random.default_rng(6)
    few = goodness(fit_law(E, [1.0, 2.0], [True, True]), [1.0, 2.0], [True, True], rng)
    alike = goodness(fit_law(W, [2.0] * 5, [True] * 5), [2.0] * 5, [True] * 5, rng)
    time, ended = np.linspace(1, 2, 1000), np.arange(1000) < 14
    many = goodness(fit_law(E, time, ended), time, ended, rng)
    for verdict in (few, alike, many):
        assert np.isnan(verdict.p_value)
        assert "few" in verdict.method

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from ckptplan.fit.laws import fit_law
from ckptplan.fit.profile import nodes, shape_interval
from tests.fit.laws_in_numbers import BEARINGS, SHAPED, E, W, draw, scipy_law, within

RECORDS = 150


@pytest.mark.parametrize(("name", "shape"), SHAPED)
def test_ends_are_where_the_profile_has_fallen(name, shape):
    """At both ends the best log-likelihood that any scale gives is 1.92 below the greatest, by a plain search."""
    time, ended = draw(name, shape, 80, np.random.default_rng(1))
    fit = fit_law(name, time, ended)
    for end in shape_interval(name, time, ended):

        def loss(log_scale, end=end):
            law = scipy_law(name, end, np.exp(log_scale))
            return -(law.logpdf(time[ended]).sum() + law.logsf(time[~ended]).sum())

        centre = np.log(fit.scale)
        best = optimize.minimize_scalar(loss, bounds=(centre - 3, centre + 3), method="bounded")
        assert fit.log_likelihood + best.fun == pytest.approx(stats.chi2.ppf(0.95, 1) / 2, rel=1e-6)


@pytest.mark.parametrize(("name", "shape"), SHAPED)
def test_coverage(name, shape):
    """Of 150 records of 200 times, a third censored, the 95 % interval holds the true shape as often as it says."""
    rng = np.random.default_rng(20261130)
    held = 0
    for _ in range(RECORDS):
        low, high = shape_interval(name, *draw(name, shape, 200, rng))
        held += low <= shape <= high
    assert within(held / RECORDS, 0.95, RECORDS)


def test_level_widens_the_interval():
    """A higher level gives a wider interval around the same estimate."""
    ended = np.ones(BEARINGS.size, dtype=bool)
    low, high = shape_interval(W, BEARINGS, ended, 0.8)
    lower, higher = shape_interval(W, BEARINGS, ended, 0.99)
    assert lower < low < fit_law(W, BEARINGS, ended).shape < high < higher


def test_without_a_maximum_there_is_no_interval():
    """No failure, and failures all at one time, have no interval; the exponential has the shape 1 by definition."""
    assert np.isnan(shape_interval(W, [1.0, 2.0], [False, False])).all()
    assert np.isnan(shape_interval(W, [2.0, 2.0], [True, True])).all()
    assert shape_interval(E, [1.0, 2.0], [True, True]) == (1.0, 1.0)


def test_one_failure_hardly_tells_the_shape():
    """One failure among many times without one leaves the shape open over more than a factor of thirty."""
    time = np.concatenate([[1.0], np.full(50, 100.0)])
    low, high = shape_interval(W, time, np.arange(51) == 0)
    assert 0.0 < 30.0 * low < high < np.inf


@pytest.mark.parametrize(("power", "error"), [(0.5, 1e-12), (1.0, 1e-12), (3.0, 1e-10)])
def test_nodes_keep_sums_of_smooth_functions(power, error):
    """Fifteen hundred nodes give the sums of a hundred thousand points over five decades."""
    rng = np.random.default_rng(3)
    x, weight = rng.uniform(0.0, np.log(1e5), 100_000), rng.random(100_000)
    few, of_few = nodes(x, weight)
    assert few.size == 1500
    assert of_few @ np.exp(power * few) == pytest.approx(weight @ np.exp(power * x), rel=error)
    assert of_few.sum() == pytest.approx(weight.sum(), rel=1e-13)

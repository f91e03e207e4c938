from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.fit.likelihood import log_density, log_likelihood, log_survival, log_upper_gamma, sample
from tests.fit.laws_in_numbers import TRUTHS, G, draw, scipy_law


@pytest.mark.parametrize(("name", "shape"), TRUTHS)
def test_density_and_survival_are_those_of_scipy(name, shape):
    """Every law is the one of scipy.stats with location 0."""
    t, law = np.geomspace(1e-3, 40.0, 60), scipy_law(name, shape, 3.0)
    np.testing.assert_allclose(log_density(name, shape, 3.0, t), law.logpdf(t), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(log_survival(name, shape, 3.0, t), law.logsf(t), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("shape", [0.05, 0.7, 3.0, 40.0])
@pytest.mark.parametrize("y", [500.0, 800.0, 5e3, 1e6])
def test_far_tail_of_gamma_against_40_digits(shape, y):
    """The logarithm of the upper tail keeps its digits where the tail itself underflows."""
    with mp.workdps(40):
        exact = float(mp.log(mp.gammainc(shape, y, mp.inf, regularized=True)))
    assert log_upper_gamma(shape, np.array([y]))[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(("name", "shape"), TRUTHS)
def test_weights_stand_for_repeated_times(name, shape):
    """The log-likelihood of a counted sample is the sum over all its times."""
    t, failed = draw(name, shape, 5000, np.random.default_rng(1))
    t = np.ceil(20.0 * t)
    s, law = sample(t, failed), scipy_law(name, shape, 15.0)
    assert s.time.size < 2000
    assert s.weight.sum() == t.size
    assert s.failures == failed.sum()
    plain = law.logpdf(t[failed]).sum() + law.logsf(t[~failed]).sum()
    assert log_likelihood(name, shape, 15.0, s) == pytest.approx(plain, rel=1e-11)


@pytest.mark.parametrize("step", [0.0, 0.25])
def test_counting_whole_seconds_and_sorting_agree(step):
    """Whole numbers, which are counted, and others, which are sorted, give every pair once, in order."""
    rng = np.random.default_rng(2)
    t, failed = rng.integers(1, 50, 4000) + step, rng.random(4000) < 0.3
    s = sample(t, failed)
    pairs = sorted((not f, value) for f, value in zip(failed.tolist(), t.tolist(), strict=True))
    assert list(zip((~s.failed).tolist(), s.time.tolist(), strict=True)) == sorted(set(pairs))
    assert s.weight.tolist() == [pairs.count(pair) for pair in sorted(set(pairs))]


@pytest.mark.parametrize(
    ("time", "failed", "words"),
    [
        ([1.0, 0.0], [True, True], "a time of 0"),
        ([1.0, -3.0], [True, True], "a time of -3"),
        ([np.nan], [True], "a time of nan"),
        ([np.inf], [False], "a time of inf"),
        ([1.0, 2.0], [True], "2 times and 1 marks"),
        ([], [], "no time"),
    ],
)
def test_what_is_no_time_is_refused(time, failed, words):
    """Times that are not positive and finite, none at all, and unequal numbers are errors that say so."""
    with pytest.raises(InputError, match=words):
        sample(time, failed)


def test_gamma_in_the_far_tail_falls_steadily():
    """Nothing jumps where the continued fraction takes over."""
    t = np.linspace(600.0, 700.0, 2001)
    slope = np.diff(log_survival(G, 2.5, 1.0, t))
    assert (np.diff(slope) < 1e-9).all()
    assert (slope < 0).all()

from __future__ import annotations

import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from ckptplan.fit.incomplete_gamma import inverse_regularized_gamma, regularized_gamma

SHAPES = [0.1, 0.5, 1, 1.5, 3, 9.5, 19.99, 20, 26, 100, 420.5, 1000]


def around(shape: float) -> np.ndarray:
    """Points over both tails, the switches between the methods among them."""
    x = np.concatenate(
        [shape + np.sqrt(shape) * np.linspace(-7, 7, 8), [1e-5, 0.5 * shape, shape, shape + 1, 2 * shape]]
    )
    return x[x > 0]


@pytest.mark.parametrize("shape", SHAPES)
def test_against_40_digits(shape):
    """The smaller tail agrees with 40-digit arithmetic to 1e-12."""
    x = around(shape)
    lower, upper = regularized_gamma(shape, x)
    with mp.workdps(40):
        exact = [[float(mp.gammainc(shape, *ends, regularized=True)) for ends in ((0, v), (v, mp.inf))] for v in x]
    small = np.argmin(exact, axis=1)
    np.testing.assert_allclose(np.where(small == 0, lower, upper), np.min(exact, axis=1), rtol=1e-12)


@pytest.mark.parametrize("shape", [1e4, 1e6, 1e7])
@pytest.mark.parametrize("deviations", [-6, -2, -0.3, 0.2, 2, 6])
def test_large_shapes_against_quadrature_of_the_density(shape, deviations):
    """A count of up to ten million keeps full precision far into both tails, where scipy loses its digits below."""
    x = shape + deviations * np.sqrt(shape)
    tail = regularized_gamma(shape, x)[int(deviations > 0)]
    with mp.workdps(30):
        a, end = mp.mpf(shape), mp.mpf(x)
        away = mp.sign(deviations) * mp.sqrt(a) / 2
        peak = mp.loggamma(a)
        points = [end + k * away for k in range(31)]
        exact = abs(mp.quad(lambda t: mp.exp((a - 1) * mp.log(t) - t - peak), points))
        assert float(abs(tail / exact - 1)) < 1e-13


def test_against_scipy():
    """Both tails agree with scipy on a grid of ordinary arguments."""
    shape, x = np.meshgrid(np.geomspace(0.1, 1e4, 40), np.geomspace(0.05, 3, 40))
    lower, upper = regularized_gamma(shape, shape * x)
    np.testing.assert_allclose(lower, special.gammainc(shape, shape * x), rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(upper, special.gammaincc(shape, shape * x), rtol=1e-11, atol=1e-15)


def test_inverse_against_scipy():
    """Quantiles agree with scipy, also in the far tails of small and large shapes."""
    shape, p = np.meshgrid(
        np.geomspace(0.1, 1e4, 30), [1e-9, 1e-5, 0.005, 0.025, 0.3, 0.5, 0.7, 0.975, 0.995, 1 - 1e-9]
    )
    np.testing.assert_allclose(inverse_regularized_gamma(shape, p), special.gammaincinv(shape, p), rtol=1e-11)


@given(st.floats(0.1, 1e7), st.floats(1e-6, 0.999))
def test_inverse_undoes_the_function(shape, p):
    """The probability below a quantile is the one asked for, up to the rounding of the quantile itself."""
    x = inverse_regularized_gamma(shape, p)
    # One rounding of x moves P by density times x times 1e-16: sqrt(a) of it in relative terms.
    assert regularized_gamma(shape, x)[0] == pytest.approx(p, rel=1e-12 + 3e-14 * np.sqrt(shape))


def test_ends_of_the_range():
    """At 0 and infinity the tails are 0 and 1, and so are the quantiles of 0 and 1."""
    lower, upper = regularized_gamma([0.5, 30.0, 0.5, 30.0], [0, 0, np.inf, np.inf])
    np.testing.assert_array_equal(lower, [0, 0, 1, 1])
    np.testing.assert_array_equal(upper, [1, 1, 0, 0])
    np.testing.assert_array_equal(inverse_regularized_gamma(3.0, [0, 1]), [0, np.inf])


def test_large_arrays_go_block_by_block():
    """More elements than a block give the same numbers as one at a time, in the broadcast shape."""
    shape, p = np.linspace(1, 50, 5000)[:, None], np.array([0.1, 0.9])
    x = inverse_regularized_gamma(shape, p)
    assert x.shape == (5000, 2)
    one = [[float(inverse_regularized_gamma(a, q)) for q in p] for a in shape[::500, 0]]
    np.testing.assert_allclose(x[::500], one, rtol=1e-14)
    assert regularized_gamma(np.ones((0, 2)), 1.0)[0].shape == (0, 2)


@pytest.mark.parametrize(("shape", "x"), [(0, 1), (-1, 1), (1, -1), (np.nan, 1), (1, np.nan), (np.inf, 1)])
def test_invalid_is_nan(shape, x):
    """Input outside the domain is nan, without a warning."""
    assert np.isnan(regularized_gamma(shape, x)).all()
    assert np.isnan(inverse_regularized_gamma(shape, x))


def test_no_scipy_is_loaded():
    """The module and the rate on top of it load numpy alone."""
    program = "import sys, ckptplan.fit.rate as r; r.mtbf_confidence(1.0, 3); sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("shape", [1960.0, 2500.0, 1e5, 1e7])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.625, 0.99])
def test_quantiles_of_large_shapes_are_as_exact(shape, p):
    """The iteration ends by its step in standard deviations, so that large shapes lose nothing."""
    x = inverse_regularized_gamma(shape, p)
    assert regularized_gamma(shape, x)[0] == pytest.approx(p, rel=1e-13 + 3e-16 * np.sqrt(shape) * 10)

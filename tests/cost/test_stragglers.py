from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.stragglers import Noise, expected_max, persistent_slowdown, slowdown, slowdown_from_cv

gpu_counts = st.floats(1, 1e15)
noises = st.sampled_from(Noise)


@pytest.mark.parametrize(
    ("gpus", "noise", "value"),
    [(1024, "normal", 3.248239601), (1024, "exponential", 7.509175672), (16384, "normal", 3.97135057)],
)
def test_reference(gpus, noise, value):
    """The expected maximum equals the reference to its ten digits."""
    assert expected_max(gpus, noise) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("gpus", [1.5, 2, 3, 10, 1024, 10**6, 10**9, 10**15])
def test_normal_against_forty_digits(gpus):
    """The trapezoid rule agrees with adaptive quadrature in 40 digits to rounding, from two ranks to 1e15."""
    with mpmath.workdps(40):
        power = mpmath.mpf(gpus) - 1

        def density(z):
            return z * gpus * mpmath.npdf(z) * mpmath.exp(power * mpmath.log(mpmath.ncdf(z)))

        exact = mpmath.quad(density, [-12, -4, -2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16])
        # The exponent (N - 1) log Phi, of size up to 37, is rounded: 1e-14 of the density.
        assert abs(expected_max(gpus) / exact - 1) < 1e-14


@pytest.mark.parametrize("gpus", [1, 1.5, 2, 9, 10, 11, 1000, 10**6, 10**15])
def test_exponential_against_forty_digits(gpus):
    """The harmonic number agrees with 40 digits to rounding, also between whole numbers."""
    with mpmath.workdps(40):
        assert abs(expected_max(gpus, "exponential") / mpmath.harmonic(mpmath.mpf(gpus)) - 1) < 1e-15


@pytest.mark.parametrize("count", [2, 3, 17, 400])
def test_harmonic_sum(count):
    """The maximum of n exponentials is the sum of 1/k."""
    assert expected_max(count, "exponential") == pytest.approx(sum(1 / k for k in range(1, count + 1)), rel=1e-15)


def test_few_normals():
    """One rank waits for nobody; two for 1/sqrt(pi), three for 1.5/sqrt(pi) standard deviations."""
    assert expected_max(1) == 0.0
    np.testing.assert_allclose(expected_max([2, 3]), np.array([1, 1.5]) / np.sqrt(np.pi), rtol=1e-15)


@pytest.mark.parametrize(("noise", "gpus"), [("normal", 8), ("exponential", 8), ("normal", 300)])
def test_simulated_steps(noise, gpus):
    """The mean step of simulated ranks agrees within four standard errors."""
    rng = np.random.default_rng(2)
    drawn = (rng.normal if noise == "normal" else rng.standard_exponential)(size=(20_000, gpus)).max(axis=1)
    steps = 6.0 + 0.2 * drawn
    error = steps.std() / np.sqrt(steps.size)
    assert abs(steps.mean() - 6.0 * slowdown(6.0, 0.2, gpus, noise)) < 4 * error


@given(gpu_counts, st.floats(1.001, 100), noises)
def test_more_ranks_wait_longer(gpus, factor, noise):
    """The slowest of more ranks is slower."""
    assert expected_max(min(gpus * factor, 1e15), noise) >= expected_max(gpus, noise) * (1 - 1e-14)


@given(st.floats(0, 1), gpu_counts, noises)
def test_cv_is_the_same_noise(cv, gpus, noise):
    """A coefficient of variation says the same as base and scale, up to what one rank counts as its mean."""
    base = 1.0 if noise is Noise.NORMAL else 1.0 - cv
    if base > 0.0:
        expected = base * slowdown(base, cv, gpus, noise)
        assert slowdown_from_cv(cv, gpus, noise) == pytest.approx(expected, rel=1e-12)


def test_many_counts_at_once():
    """An array longer than a block, of any shape, holds the same values as single calls."""
    N = np.geomspace(1, 1e6, 600).reshape(20, 30)
    np.testing.assert_allclose(
        expected_max(N)[::7, ::7], [[expected_max(n) for n in row[::7]] for row in N[::7]], rtol=1e-13
    )
    assert expected_max(np.empty((0, 3))).shape == (0, 3)


def test_a_slow_rank_without_noise_or_far_out():
    """Without noise the job is as slow as its slowest rank; a rank within the noise costs nothing in this bound."""
    assert persistent_slowdown(1.3, 6.0, 0.0, 1024) == pytest.approx(1.3, rel=1e-15)
    usual = slowdown(6.0, 0.1, 1024)
    assert persistent_slowdown(1.01, 6.0, 0.1, 1024) == 1.0
    assert persistent_slowdown(2.0, 6.0, 0.1, 1024) == pytest.approx(2.0 / usual, rel=1e-15)


@pytest.mark.parametrize(
    ("noise", "gpus", "most"),
    [("normal", 2, 0.5642), ("normal", 64, 0.57), ("exponential", 2, 0.82), ("exponential", 64, 0.82)],
)
def test_the_bound_of_a_slow_rank_is_close(noise, gpus, most):
    """The simulated step lies above the bound by at most the stated part of a standard deviation."""
    rng = np.random.default_rng(3)
    draw = rng.normal if noise == "normal" else rng.standard_exponential
    ranks = draw(size=(40_000, gpus))
    for shift in (0.0, 1.0, 2.0, 4.0, 8.0):
        steps = np.maximum(ranks[:, 1:].max(axis=1), ranks[:, 0] + shift)
        error = steps.std() / np.sqrt(steps.size)
        base = 20.0
        bound = persistent_slowdown(1 + shift / base, base, 1.0, gpus, noise) * slowdown(base, 1.0, gpus, noise)
        gap = steps.mean() - base * (bound - 1.0)
        assert -4 * error < gap < most + 4 * error
        if shift == 8.0:
            assert abs(gap) < 4 * error + 0.01


def test_invalid_is_nan():
    """Input outside the domain is nan beside valid neighbours; an unknown law of noise is refused."""
    for noise in Noise:
        np.testing.assert_array_equal(np.isnan(expected_max([0.5, 2, np.nan, 1e16], noise)), [True, False, True, True])
    np.testing.assert_array_equal(np.isnan(slowdown([0, 1, 1], [1, -1, 1], 8)), [True, True, False])
    np.testing.assert_array_equal(np.isnan(slowdown_from_cv([-1, 0.5, 1.5], 8, "exponential")), [True, False, True])
    np.testing.assert_array_equal(np.isnan(persistent_slowdown([0.9, 1.1], 1, 0.1, 8)), [True, False])
    with pytest.raises(ValueError, match="uniform"):
        expected_max(8, "uniform")

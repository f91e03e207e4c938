from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptplan.cost.scenario import Strike
from ckptplan.interval.scale import goodput_elasticity, gpus_at_peak
from ckptplan.interval.scale_price import gpus_of_least_cost, gpus_worth_adding, useful_gpus

M_GPU = 50677 * 3600.0

# Each example solves for a root and compares it with 442 sizes.
fewer = settings(max_examples=settings().max_examples // 4)

jobs = st.fixed_dictionaries(
    {
        "stall": st.floats(0.1, 1000),
        "restart": st.floats(0, 3000),
        "downtime": st.floats(0, 1000),
        "strike": st.sampled_from(Strike),
        "scaling_exponent": st.floats(0.5, 1) | st.just(1.0),
        "flush": st.floats(0, 2000),
        "speed": st.floats(0, 1),
    }
)


def throughput(N, stall, recovery, strike, gamma, reference):
    """U(N) of synchronous saves in 40 digits, from the Lambert form of the best goodput."""
    M = mpmath.mpf(M_GPU) / N
    u = 1 + mpmath.lambertw(-mpmath.exp(-1 - stall / M)).real
    A = mpmath.exp(recovery / M) if strike is Strike.DR else 1 + recovery / M
    return reference * (N / reference) ** gamma * (1 - u) / A


@pytest.mark.parametrize("strike", [Strike.SAFE, Strike.DR])
@pytest.mark.parametrize(("gamma", "reference"), [(1.0, 1.0), (0.9, 1024.0)])
@pytest.mark.parametrize("gpus", [64, 16384, 200_000, 500_000])
def test_marginal_gpus_in_forty_digits(strike, gamma, reference, gpus):
    """Throughput and its derivative agree with numeric differentiation in 40 digits."""
    done = useful_gpus(gpus, 60, 600, M_GPU, strike=strike, scaling_exponent=gamma, reference_gpus=reference)
    with mpmath.workdps(40):
        exact = [throughput(mpmath.mpf(gpus), 60, 600, strike, mpmath.mpf(gamma), reference)]
        exact.append(
            mpmath.diff(lambda N: throughput(N, 60, 600, strike, mpmath.mpf(gamma), reference), mpmath.mpf(gpus))
        )
        assert abs(done.useful_gpus / exact[0] - 1) < 1e-13
        # Relative to a GPU that loses nothing; beyond the peak the marginal one is near zero.
        assert abs(done.marginal - exact[1]) < 1e-13


@given(jobs, st.floats(1.5, 7))
def test_marginal_gpus_by_differences(job, log_gpus):
    """With flushes, floors and downtimes too, a small step in N changes U by the marginal GPUs."""
    N, h = 10.0**log_gpus, 1e-5
    at, below, above = (useful_gpus(n, mtbf_per_gpu=M_GPU, **job) for n in (N, N * (1 - h), N * (1 + h)))
    slope = float(above.useful_gpus - below.useful_gpus) / (2 * h * N)
    # The second difference bounds what the curvature, also a kink where the floor begins to bind, leaves.
    bend = abs(float(above.marginal - below.marginal))
    efficiency = float(at.useful_gpus) / N
    assert abs(slope - at.marginal) <= bend + 1e-10 * efficiency


def test_elasticity_of_a_known_case():
    """Free saves: the goodput exp(-R/M) has the elasticity R/M, and 1/(1 + R/M) has R/(M + R)."""
    assert goodput_elasticity(3600, 0, 600) == pytest.approx(600 / 3600, rel=1e-15)
    assert goodput_elasticity(3600, 0, 600, strike=Strike.SAFE) == pytest.approx(600 / 4200, rel=1e-15)
    # Young: g = 1 - sqrt(2 d/M) to first order, so the elasticity is half the overhead; kept to tiny stalls.
    assert goodput_elasticity(1.0, 1e-20, 0) == pytest.approx(np.sqrt(2e-20) / 2, rel=1e-9)


@pytest.mark.parametrize("ratio", [1e-6, 0.1, 0.5, 0.9, 0.999])
def test_closed_forms_without_saves(ratio):
    """Free saves: (1 - W0(e ratio)) M_gpu/R if restarts are struck, (1/sqrt(ratio) - 1) M_gpu/R if not."""
    with mpmath.workdps(40):
        r = mpmath.mpf(ratio)
        struck = (1 - mpmath.lambertw(r * mpmath.e)) * M_GPU / 600
        safe = (1 / mpmath.sqrt(r) - 1) * M_GPU / 600
        # dU/dN is rounded at 1, so 1 - dU/dN has 1e-16/(1 - ratio) left.
        assert abs(gpus_worth_adding(ratio, 0, 600, M_GPU) / struck.real - 1) < 1e-12
        assert abs(gpus_worth_adding(ratio, 0, 600, M_GPU, strike=Strike.SAFE) / safe - 1) < 1e-12


@fewer
@given(jobs, st.floats(0.001, 0.99))
def test_no_other_size_earns_more(job, ratio):
    """Worth less price, U(N) - ratio N, is largest at the number of GPUs worth adding."""
    rules = job | {"mtbf_per_gpu": M_GPU, "reference_gpus": 1000.0}
    N = float(gpus_worth_adding(ratio, **rules))
    grid = N * np.concatenate([np.geomspace(1e-4, 1e4, 401), np.linspace(0.9, 1.1, 41)])
    earned = useful_gpus(grid, **rules).useful_gpus - ratio * grid
    best = useful_gpus(N, **rules)
    assert best.marginal == pytest.approx(ratio, rel=1e-10)
    assert (earned <= (best.useful_gpus - ratio * N) + 1e-12 * best.useful_gpus).all()


@fewer
@given(jobs, st.floats(-2, 8), st.floats(0.5, 1.3))
def test_no_other_size_costs_less(job, log_equivalent, gamma):
    """Price of all GPU-hours and of the hours is least at the number of least cost."""
    rules = job | {"mtbf_per_gpu": M_GPU, "scaling_exponent": gamma}
    price, value = 2.5, 2.5 * 10.0**log_equivalent
    N = float(gpus_of_least_cost(price, value, **rules))
    grid = N * np.concatenate([np.geomspace(1e-4, 1e4, 401), np.linspace(0.9, 1.1, 41)])
    with np.errstate(all="ignore"):  # far beyond the peak nothing useful is left
        cost = (price * grid + value) / useful_gpus(grid, **rules).useful_gpus
    assert (cost >= (price * N + value) / useful_gpus(N, **rules).useful_gpus * (1 - 1e-12)).all()


def test_least_cost_in_closed_form():
    """Without saves and struck restarts the cost is that of an order quantity: N = sqrt(v M_gpu/(p R))."""
    N = gpus_of_least_cost(2, [10, 1e3, 1e5], 0, 600, M_GPU, strike=Strike.SAFE)
    np.testing.assert_allclose(N, np.sqrt(np.array([10, 1e3, 1e5]) * M_GPU / 2 / 600), rtol=1e-12)
    # Without any losses the exponent alone limits the size: N/(N + v/p) = gamma.
    assert gpus_of_least_cost(2, 1000, 0, 0, M_GPU, scaling_exponent=0.9) == pytest.approx(4500, rel=1e-12)
    assert gpus_worth_adding(0.5, 0, 0, M_GPU, scaling_exponent=0.9, reference_gpus=1000) == pytest.approx(
        1000 * (0.9 / 0.5) ** 10, rel=1e-12
    )


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("gamma", [1.0, 0.8])
def test_limits_are_the_peak_and_nothing(strike, gamma):
    """GPUs for nothing are worth adding up to the peak; time worth nothing wants the fewest."""
    job = {"stall": 60, "restart": 600, "mtbf_per_gpu": M_GPU, "strike": strike, "scaling_exponent": gamma}
    peak = gpus_at_peak(**job).gpus
    assert gpus_worth_adding(0, **job) == pytest.approx(peak, rel=1e-13)
    assert gpus_of_least_cost(0, 100, **job) == pytest.approx(peak, rel=1e-13)
    # The way to the peak is in proportion to the price.
    missing = peak - gpus_worth_adding([1e-7, 1e-6], **job)
    assert missing[1] / missing[0] == pytest.approx(10, rel=1e-3)
    missing = peak - gpus_of_least_cost([1e-7, 1e-6], peak, **job)
    assert missing[1] / missing[0] == pytest.approx(10, rel=1e-3)
    assert gpus_of_least_cost(2, 0, **job) == 0


def test_a_price_that_never_pays():
    """At the exponent 1 a useful GPU worth no more than its price adds nothing; below it the first few may."""
    np.testing.assert_array_equal(gpus_worth_adding([1, 2, np.inf], 60, 600, M_GPU), 0)
    ratio = np.array([1, 2, 1e3, 1e20, 1e40, np.inf])
    few = gpus_worth_adding(ratio, 60, 600, M_GPU, scaling_exponent=0.9, reference_gpus=1024)
    free = 1024 * (0.9 / ratio) ** 10
    assert (few[:2] < free[:2]).all()
    assert (few[:2] > 0.75 * free[:2]).all()
    np.testing.assert_allclose(few[2:], free[2:], rtol=1e-12)  # so few lose nothing


def test_dearer_gpus_are_fewer():
    """The number worth adding falls with their price, the number of least cost rises with the value of time."""
    assert (np.diff(gpus_worth_adding(np.linspace(0, 1, 300), 60, 600, M_GPU)) < 0).all()
    assert (np.diff(gpus_of_least_cost(2, np.geomspace(1, 1e6, 300), 60, 600, M_GPU)) > 0).all()


def test_where_more_is_always_better_is_nan():
    """A job that never loses anything has no size to stop at, unless its scaling sets one."""
    assert np.isnan(gpus_worth_adding(0.5, 0, 0, M_GPU))
    assert np.isnan(gpus_of_least_cost(2, 100, 0, 0, M_GPU))
    assert np.isnan(gpus_worth_adding(0, 0, 600, M_GPU, strike=Strike.SAFE))
    assert gpus_worth_adding(1e-6, 0, 600, M_GPU, strike=Strike.SAFE) > 0


def test_broadcast_and_invalid():
    """Arrays broadcast; input outside the domain is nan beside valid neighbours."""
    bad = [True, False, True, True, True]
    stall, M_gpu, gamma = [-1, 60, 60, 60, 60], [M_GPU, M_GPU, 0, M_GPU, M_GPU], [1, 1, 1, 0, np.nan]
    done = useful_gpus([[1024], [0]], stall, 600, M_gpu, scaling_exponent=gamma)
    np.testing.assert_array_equal(np.isnan(done.useful_gpus), [bad, [True] * 5])
    np.testing.assert_array_equal(np.isnan(done.marginal), [bad, [True] * 5])
    worth = gpus_worth_adding([[0.5], [-0.1], [2]], stall, 600, M_gpu, scaling_exponent=gamma)
    np.testing.assert_array_equal(np.isnan(worth), [bad, [True] * 5, bad])
    cost = gpus_of_least_cost([[2], [-2], [0]], [[100], [100], [0]], stall, 600, M_gpu, scaling_exponent=gamma)
    np.testing.assert_array_equal(np.isnan(cost), [bad, [True] * 5, [True] * 5])
    assert np.isnan(gpus_worth_adding(0.5, 60, 600, M_GPU, scaling_exponent=1.1))
    assert worth[0, 1] == gpus_worth_adding(0.5, 60, 600, M_GPU)
    np.testing.assert_array_equal(np.isnan(goodput_elasticity([0, 1], 1, [[1], [-1]])), [[True, False], [True, True]])

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from ckptplan.interval.asynchronous import asynchronous_interval
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.steps import whole_steps, whole_steps_first_order


@pytest.mark.parametrize(
    ("step", "stall", "mtbf", "first_order", "best", "continuous"),
    [
        (6, 60, 11135.0835322, 193, 186, 186.0493946),
        (760, 60, 11135, 2, 2, 1.468805307),
        (450, 60, 11135, 3, 3, 2.480648963),
    ],
)
def test_reference_steps(step, stall, mtbf, first_order, best, continuous):
    """Whole steps by both rules equal the reference, also where rounding would choose the other."""
    W = exact_interval(stall, mtbf)
    assert W / step == pytest.approx(continuous, rel=1e-9)
    assert whole_steps(W, step, stall, mtbf) == best
    assert whole_steps_first_order(step, stall, mtbf) == first_order


def test_reference_asynchronous_steps():
    """A flush of 900 s of full-speed training is 150 steps of 6 s, and not one step less."""
    W = asynchronous_interval(2, 900, 1, 11135.0835322)
    assert whole_steps(W, 6, 2, 11135.0835322, flush=900, speed=1) == 150
    assert whole_steps(1.0, 6, 2, 11135.0835322, flush=900, speed=1) == 150
    assert whole_steps(1.0, 6, 2, 11135.0835322, flush=900.1, speed=1) == 151


def test_floor_of_steps_that_are_no_binary_fraction():
    """A floor that is a whole number of steps up to rounding is not raised by a step."""
    step = 0.1
    flush = np.arange(1, 2000) * 3 * step
    least = whole_steps(0.0, step, 1e-12, 1e5, flush=flush, speed=1.0)
    np.testing.assert_array_equal(least, np.arange(1, 2000) * 3)


@pytest.mark.parametrize("ratio", [1e-14, 1e-10, 1e-6, 1e-3, 0.1, 1.0, 10.0])
def test_against_60_digit_goodput(ratio):
    """The choice between neighbours is that of the goodput at 60 digits, however flat the optimum."""
    rng = np.random.default_rng(3)
    W = float(exact_interval(ratio, 1.0))
    for step in W / rng.uniform(0.3, 300, 40):
        chosen = float(whole_steps(W, step, ratio, 1.0))
        with mp.workdps(60):
            low = max(1, int(mp.floor(mp.mpf(W) / mp.mpf(step))))

            def goodput(n, step=step):
                return n / mp.expm1(n * mp.mpf(step) + mp.mpf(ratio))

            best = low if goodput(low) > goodput(low + 1) or step > W else low + 1
        assert chosen == best


def test_given_interval_keeps_its_neighbours():
    """A given interval far from the optimum moves to the better of its own two neighbours."""
    assert whole_steps(3605, 10, 60, 11135) == 360
    assert whole_steps(105, 10, 60, 11135) == 11
    assert whole_steps(3600, 10, 60, 11135) == 360


def test_at_least_one_step():
    """A step longer than the best interval is still one step."""
    assert whole_steps(5, 1000, 60, 11135) == 1
    assert whole_steps_first_order(1e6, 60, 11135) == 1
    assert whole_steps_first_order(1, 0, 11135) == 1


def test_first_order_is_the_least_that_satisfies_its_condition():
    """n(n+1) >= 2dM/t^2 holds for n and not for n - 1, also when it holds with equality."""
    n = np.arange(1.0, 3000.0)
    np.testing.assert_array_equal(whole_steps_first_order(1.0, n * (n + 1) / 2, 1.0), n)
    np.testing.assert_array_equal(whole_steps_first_order(1.0, (n * (n + 1) + 1) / 2, 1.0), n + 1)


@pytest.mark.parametrize("bad", [(-1, 1, 1, 1), (1, 0, 1, 1), (1, 1, -1, 1), (1, 1, 1, 0), (np.nan, 1, 1, 1)])
def test_invalid_is_nan(bad):
    """Input outside its domain is nan."""
    assert np.isnan(whole_steps(*bad))

"""Weights: what sums to 1, what is refused, and what an exponential average is."""

import pytest

from ckptplan.checkpoint.average.weighting import exponential, given, uniform
from ckptplan.errors import InputError


def test_uniform_weights_are_equal() -> None:
    """A third each."""
    assert uniform(3) == ("uniform", (1 / 3, 1 / 3, 1 / 3))


def test_given_weights_must_sum_to_one() -> None:
    """Six digits are enough; anything further off is refused with what it could have been."""
    assert given([0.5, 0.3, 0.2], 3).weights == pytest.approx((0.5, 0.3, 0.2), abs=1e-15)
    assert sum(given([0.333333, 0.333333, 0.333334], 3).weights) == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(InputError, match="sum to 2, not to 1") as raised:
        given([1.0, 0.6, 0.4], 3)
    assert raised.value.problems[0].hint == "write for example 0.5,0.3,0.2"


@pytest.mark.parametrize("weights", [[0.5], [1.5, -0.5], [float("nan"), 1.0], [float("inf"), 0.0], [0.0, 0.0]])
def test_weights_that_are_none_are_refused(weights: list[float]) -> None:
    """Too few, negative, not numbers, or all zero."""
    with pytest.raises(InputError):
        given(weights, 2)


def test_exponential_weights_are_the_recursion_without_its_start() -> None:
    """The recursion m <- d m + (1 - d) x, divided by the weight it has gathered; the last counts most."""
    mean, weight = [0.0] * 4, 0.0
    for at in range(4):
        mean = [0.9 * value + 0.1 * (at == k) for k, value in enumerate(mean)]
        weight = 0.9 * weight + 0.1
    assert exponential(0.9, 4).weights == pytest.approx([value / weight for value in mean], rel=1e-14)
    for decay in (0.0, 1.0, -0.5, float("nan")):
        with pytest.raises(InputError, match="not between 0 and 1"):
            exponential(decay, 3)

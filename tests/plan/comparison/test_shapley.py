"""Dividing a difference among causes: by hand, by brute force over all orders, and its properties."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from ckptplan.plan.comparison.shapley import sampled_shapley, shapley


def _by_orders(values: np.ndarray, count: int) -> list[tuple[float, float, float]]:
    """Mean, least and most of what each cause adds, by walking every order."""
    added: list[list[float]] = [[] for _ in range(count)]
    for order in permutations(range(count)):
        changed = 0
        for cause in order:
            added[cause].append(values[changed | 1 << cause] - values[changed])
            changed |= 1 << cause
    return [(sum(one) / len(one), min(one), max(one)) for one in added]


def test_two_causes_by_hand() -> None:
    """0.5, with the first 0.7, with the second 0.6, with both 0.9: the parts are (0.2+0.3)/2 and (0.1+0.2)/2."""
    first, second = shapley([0.5, 0.7, 0.6, 0.9])
    assert first[:3] == pytest.approx((0.25, 0.2, 0.3), abs=1e-15)
    assert second[:3] == pytest.approx((0.15, 0.1, 0.2), abs=1e-15)


def test_the_glove_game() -> None:
    """One left glove, two right ones, a pair is worth 1: the published division is 2/3, 1/6, 1/6."""
    values = [float(s & 1 and s & 6 != 0) for s in range(8)]
    assert [part.value for part in shapley(values)] == pytest.approx([2 / 3, 1 / 6, 1 / 6], abs=1e-15)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_it_is_the_mean_over_all_orders(count: int) -> None:
    """Weights of sets give what walking every single order gives, least and most too."""
    values = np.random.default_rng(count).random(1 << count)
    found = shapley(values)
    for part, (mean, least, most) in zip(found, _by_orders(values, count), strict=True):
        assert part.value == pytest.approx(mean, abs=1e-14)
        assert part.least == pytest.approx(least, abs=1e-15)
        assert part.most == pytest.approx(most, abs=1e-15)
    assert sum(part.value for part in found) == pytest.approx(values[-1] - values[0], abs=1e-14)


def test_a_cause_that_never_matters_gets_nothing() -> None:
    """Values that do not depend on the second of three causes."""
    base = np.random.default_rng(5).random(4)
    values = [base[(s & 1) | (s >> 2) << 1] for s in range(8)]
    assert shapley(values)[1][:3] == (0.0, 0.0, 0.0)


def test_sampled_orders_add_up_and_lie_near_the_exact_parts() -> None:
    """The sum is the difference whatever was sampled; each part is within four of its standard errors."""
    values = np.random.default_rng(1).random(64)
    exact = shapley(values)
    found = sampled_shapley(6, lambda chosen: float(values[sum(1 << k for k in chosen)]), 400, seed=3)
    assert sum(part.value for part in found) == pytest.approx(values[-1] - values[0], abs=1e-13)
    for part, true in zip(found, exact, strict=True):
        assert part.standard_error is not None
        assert abs(part.value - true.value) < 4.0 * part.standard_error
        assert true.least <= part.least <= part.value <= part.most <= true.most


def test_additive_causes_need_one_order_only() -> None:
    """Where causes do not overlap, every order says the same and the standard error is nothing."""
    worth = (0.1, -0.2, 0.4)
    found = sampled_shapley(3, lambda chosen: sum(worth[k] for k in chosen), 4)
    assert [part.value for part in found] == pytest.approx(worth, abs=1e-15)
    assert max(part.standard_error or 0.0 for part in found) < 1e-15

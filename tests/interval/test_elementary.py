from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from ckptplan.interval.elementary import decay_deficit, decay_ratio, expm1_minus, expm1_minus_two

GRID = np.concatenate([10.0 ** np.linspace(-15, np.log10(600), 120), [0.4999999, 0.5, 0.9999999, 1.0]])


def _worst(values, truth):
    with mp.workdps(60):
        return max(abs(mp.mpf(float(v)) / truth(mp.mpf(float(x))) - 1) for v, x in zip(values, GRID, strict=True))


@pytest.mark.parametrize("sign", [1, -1])
def test_expm1_minus(sign):
    """exp(x) - 1 - x keeps its digits on both sides of zero."""
    assert _worst(expm1_minus(sign * GRID), lambda x: mp.expm1(sign * x) - sign * x) < 4e-15


@pytest.mark.parametrize("sign", [1, -1])
def test_expm1_minus_two(sign):
    """exp(x) - 1 - x - x^2/2 keeps its digits on both sides of zero."""

    def truth(x):
        return mp.expm1(sign * x) - sign * x - x * x / 2

    assert _worst(expm1_minus_two(sign * GRID), truth) < 4e-15


def test_decay_ratio():
    """x/(exp(x) - 1) keeps its digits from 1e-15 to 600.

    exp(-600) carries half a unit in the last place of 600 as a relative error, 6e-14.
    """
    assert _worst(decay_ratio(GRID), lambda x: x / mp.expm1(x)) < 1e-13


def test_decay_deficit():
    """1 - x/(exp(x) - 1) keeps its digits where it is small."""
    assert _worst(decay_deficit(GRID), lambda x: 1 - x / mp.expm1(x)) < 4e-15


def test_limits():
    """At 0 and at infinity the limits hold, without a warning from the caller's rules."""
    with np.errstate(all="ignore"):
        ends = np.array([0.0, 1e5, np.inf])
        np.testing.assert_array_equal(decay_ratio(ends), [1, 0, 0])
        np.testing.assert_array_equal(decay_deficit(ends), [0, 1, 1])

"""Numbers that print alike share a code, and nothing else does."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from ckptplan.sweep.alike import combined, decimals, significant, where

_POSITIVE = st.floats(1e-12, 1e12)


@given(st.lists(_POSITIVE, min_size=2, max_size=40), st.integers(2, 3), _POSITIVE)
@example([9.95, 9.949999, 99.5, 0.995, 100.0, 99.94999, 1.0], 2, 1.0)
def test_equal_codes_of_significant_digits_print_alike(values: list[float], digits: int, scale: float) -> None:
    """Two certain numbers of one code have one text, also beside the edges between two texts."""
    near = [scale * f for f in (1.0, 1.0 + 1e-15, 1.0 + 1e-9, 1.04, 1.0499999999, 1.05, 1.0500000001)]
    printed = significant(np.array([*values, *near]), digits)
    _agree(printed.codes, printed.certain, [f"{value:.{digits}g}" for value in (*values, *near)])
    assert np.all((printed.codes >= 0) & (printed.codes < printed.size))


@given(st.lists(st.floats(0.0, 100.0), min_size=2, max_size=40))
@example([0.05, 0.15, 0.25, 0.35, 99.95, 100.0, 0.0, 0.049999999999999996])
def test_equal_codes_of_decimals_print_alike(values: list[float]) -> None:
    """The same for digits behind the point."""
    printed = decimals(np.array(values), 1, 100.0)
    _agree(printed.codes, printed.certain, [f"{value:.1f}" for value in values])
    assert np.all((printed.codes >= 0) & (printed.codes < printed.size))


def _agree(codes: np.ndarray, certain: np.ndarray, printed: list[str]) -> None:
    found: dict[int, str] = {}
    for code, sure, text in zip(codes.tolist(), certain.tolist(), printed, strict=True):
        if sure:
            assert found.setdefault(code, text) == text


def test_what_is_not_certain_has_a_number_of_its_own() -> None:
    """Numbers that are none, infinite or at an edge share their key with no other point, unless they stay hidden."""
    values = np.array([math.nan, math.inf, 0.0, 1.25, 1.25, 3.0, 3.0])
    keys = combined([significant(values, 2)], (7,))
    assert len(set(keys.tolist())) == 6
    hidden = combined([where(values == 3.0, significant(values, 2))], (7,))
    assert len(set(hidden.tolist())) == 2


def test_many_parts_do_not_overflow() -> None:
    """Keys stay apart although the product of all sizes is above the largest whole number."""
    rng = np.random.default_rng(0)
    values = rng.lognormal(0.0, 3.0, (8, 300))
    keys = combined([significant(row, 3) for row in values], (300,))
    assert len(set(keys.tolist())) == 300
    doubled = combined([significant(np.tile(row, 2), 3) for row in values], (600,))
    certain = np.logical_and.reduce([significant(row, 3).certain for row in values])
    assert np.array_equal(doubled[:300] == doubled[300:], certain)

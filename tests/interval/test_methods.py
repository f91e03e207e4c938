from __future__ import annotations

import numpy as np
import pytest

from ckptplan.interval.methods import METHODS


def test_names():
    """The registry holds young, daly, exact and renewal, each under its own name."""
    assert list(METHODS) == ["young", "daly", "exact", "renewal"]
    assert all(name == method.name for name, method in METHODS.items())


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_texts_are_ascii_and_complete(method):
    """Every text can be printed in an ASCII locale, and none is missing."""
    for name, value in method._asdict().items():
        if name == "function":
            continue
        for text in value if isinstance(value, tuple) else (value,):
            assert text
            assert text.isascii()


def test_accounting():
    """Only the exact method is accounted exactly, and only the renewal method by the law of the failures."""
    assert {name: m.accounting for name, m in METHODS.items()} == {
        "young": "first order",
        "daly": "first order",
        "exact": "exact",
        "renewal": "law",
    }


def test_functions_agree_for_short_stalls():
    """All closed forms give the same interval, to (2/3) d, when the stall is short."""
    for method in METHODS.values():
        if method.function is None:
            continue
        assert method.function(1e-6, 1e6) == pytest.approx(np.sqrt(2), abs=1e-6)

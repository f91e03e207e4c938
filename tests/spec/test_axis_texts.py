"""Texts of axes, made when they are read."""

from __future__ import annotations

import pickle

import pytest

from ckptplan.spec import axis_texts
from ckptplan.spec.axis_texts import AxisTexts


def test_no_text_is_made_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million values are counted without one."""
    monkeypatch.setattr(axis_texts, "_texts", lambda *_: pytest.fail("a text was made"))
    assert len(AxisTexts(dict.fromkeys(map(float, range(1_000_000))), ("s",), "time")) == 1_000_000


def test_they_are_those_of_a_tuple() -> None:
    """Read one by one, in part, compared, printed and pickled."""
    found = AxisTexts({60.0: "s", 90.0: None, 120.0: "s"}, ("s",), "time")
    wanted = ("60 s", "90 s", "120 s")
    assert found == wanted
    assert (found[0], found[1:], list(found), repr(found)) == (wanted[0], wanted[1:], list(wanted), repr(wanted))
    assert hash(found) == hash(wanted)
    assert found != ("60 s",)
    copy = pickle.loads(pickle.dumps(found))  # noqa: S301 - made here
    assert type(copy) is tuple
    assert copy == wanted


def test_values_far_apart_keep_the_units_they_were_typed_with() -> None:
    """A second and a thousand days have no unit in common that anybody reads; a minute and two hours have."""
    far = AxisTexts({1.0: "s", 3600.0: "h", 86_400_000.0: "d"}, ("s", "h", "d"), "time")
    assert list(far) == ["1 s", "1 h", "1,000 d"]
    assert list(AxisTexts({60.0: "min", 7200.0: "h"}, ("min", "h"), "time")) == ["1 min", "120 min"]
    assert list(AxisTexts({1.0: "s", 2.0: None, 3.6e6: "h"}, ("s", "h"), "time")) == ["1 s", "2 s", "3,600,000 s"]

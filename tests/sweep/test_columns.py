"""Columns of parts, put one after another."""

from __future__ import annotations

import numpy as np

from ckptplan.sweep.columns import Labels, joined, length


def labels(*texts: str | None) -> Labels:
    """Texts in the order of their first use."""
    names = tuple(dict.fromkeys(text for text in texts if text is not None))
    codes = [-1 if text is None else names.index(text) for text in texts]
    return Labels(np.array(codes, dtype=np.int32), names)


def test_texts_of_parts_are_put_together_by_name() -> None:
    """Names are numbered anew in the order of their first use; none stays none."""
    first, second = labels("b", None, "a"), labels("c", "a", None)
    both = joined([{"x": first}, {"x": second}])["x"]
    assert isinstance(both, Labels)
    assert both.names == ("b", "a", "c")
    assert both.texts() == ["b", None, "a", "c", "a", None]
    assert both.codes.dtype == np.int32


def test_numbers_of_parts_keep_their_kind() -> None:
    """Whole numbers stay whole, nan stays nan, and the length is that of all parts."""
    parts = [{"n": np.array([1, 2]), "x": np.array([0.5, np.nan])}, {"n": np.array([3]), "x": np.array([1.5])}]
    both = joined(parts)
    assert np.array_equal(np.asarray(both["n"]), [1, 2, 3])
    assert np.asarray(both["n"]).dtype == np.int64
    assert np.array_equal(np.asarray(both["x"]), [0.5, np.nan, 1.5], equal_nan=True)
    assert length(both) == 3
    assert length({}) == 0
    assert length({"t": labels("a", "b")}) == 2
    assert joined([]) == {}

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.readers.records import growing


@given(st.lists(st.integers(0, 25), max_size=20))
def test_parts_come_back_in_order(sizes):
    """Whatever the sizes of the parts, the column is all of them, one after another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "_PIECE", 10)
        column = growing.GrowingColumn(np.int32)
        parts = [np.arange(sum(sizes[:k]), sum(sizes[: k + 1])) for k in range(len(sizes))]
        for part in parts:
            column.add(part)
        found = column.whole()
    assert found.tolist() == list(range(sum(sizes)))
    assert found.dtype == np.int32

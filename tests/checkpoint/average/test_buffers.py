"""Buffers are of the size that was asked for, and start at a large page."""

import numpy as np
import pytest

from ckptplan.checkpoint.average.buffers import buffer


@pytest.mark.parametrize("size", [0, 1, 4_096, (1 << 21) + 1, 5 << 21])
def test_buffers_start_at_a_large_page(size: int) -> None:
    """Sizes below, at and above a page; every byte can be written and is its own."""
    one, two = buffer(size), buffer(size)
    for held in (one, two):
        assert held.size == size
        assert held.ctypes.data % (1 << 21) == 0 or not size
        assert held.flags.c_contiguous
    one[:], two[:] = 1, 2
    np.testing.assert_array_equal(one, np.ones(size, np.uint8))

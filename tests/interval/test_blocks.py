from __future__ import annotations

import numpy as np
import pytest

from ckptplan.interval.blocks import BLOCK
from ckptplan.interval.daly import daly_interval
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.young import young_interval

ALL = pytest.mark.parametrize("method", [young_interval, daly_interval, exact_interval])


@ALL
def test_scalars_give_a_0d_array(method):
    """A scalar is a 0-d case."""
    assert method(60, 11135).shape == ()


@ALL
def test_broadcasting(method):
    """Stall and MTBF broadcast, and each element equals the scalar case."""
    stall, mtbf = np.array([[1.0], [60.0], [5e4]]), np.array([1e3, 1e4, 1e6, 1e9])
    table = method(stall, mtbf)
    assert table.shape == (3, 4)
    for i, d in enumerate(stall[:, 0]):
        for j, M in enumerate(mtbf):
            assert table[i, j] == pytest.approx(float(method(d, M)), rel=1e-13)


@ALL
def test_empty(method):
    """No scenario gives no interval."""
    assert method(np.empty((0, 3)), 1.0).shape == (0, 3)


@ALL
@pytest.mark.parametrize(
    ("stall", "mtbf"),
    [(-1, 1), (1, 0), (1, -1), (-1, -1), (0, -1), (0, 0), (-0.0, -1), (np.nan, 1), (1, np.nan), (-1, np.inf)],
)
def test_invalid_is_nan(method, stall, mtbf):
    """A negative stall, an MTBF that is not positive and nan give nan, without exception or warning."""
    assert np.isnan(method(stall, mtbf))


@ALL
def test_limits(method):
    """No stall: save all the time. No failures: never save, unless saving is free."""
    assert method(0, 100) == 0
    assert method(60, np.inf) == np.inf
    assert method(0, np.inf) == 0


@ALL
def test_a_bad_element_does_not_spoil_its_neighbours(method):
    """In the middle of several blocks, bad elements are nan and all others are as without them."""
    rng = np.random.default_rng(7)
    stall = 10.0 ** rng.uniform(-8, 1, 2 * BLOCK + 77)
    mtbf = 10.0 ** rng.uniform(-1, 1, stall.size)
    good = method(stall, mtbf)
    bad = np.array([3, BLOCK - 1, BLOCK, 2 * BLOCK + 5])
    stall[bad[:2]], mtbf[bad[2:]] = -1.0, -1.0
    mixed = method(stall, mtbf)
    assert np.isnan(mixed[bad]).all()
    others = np.setdiff1d(np.arange(stall.size), bad)
    np.testing.assert_allclose(mixed[others], good[others], rtol=1e-13)


@ALL
def test_inputs_are_not_changed(method):
    """The arguments are left alone, also when not contiguous."""
    stall, mtbf = np.arange(1.0, 41.0).reshape(4, 10)[:, ::2].T, np.arange(1.0, 21.0).reshape(5, 4)
    before = stall.copy(), mtbf.copy()
    result = method(stall, mtbf)
    np.testing.assert_array_equal(stall, before[0])
    np.testing.assert_array_equal(mtbf, before[1])
    assert result[2, 3] == pytest.approx(float(method(stall[2, 3], mtbf[2, 3])), rel=1e-13)

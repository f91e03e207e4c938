"""Columns that repeat over a grid: what they depend on, and their texts laid out over all rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ckptplan.render.sweep_grid import Grid, Piece, grid_of

A, B, C = np.meshgrid([1.0, 2.0], [1.0, 2.0, 3.0], [5.0, 7.0], indexing="ij")


def flat(values: np.ndarray) -> np.ndarray:
    """Row by row."""
    return values.reshape(-1)


@pytest.mark.parametrize(
    ("axes", "rows", "shape"),
    [
        ([flat(A), flat(B), flat(C)], 12, (2, 3, 2, 1)),
        ([np.repeat(flat(A), 2), np.repeat(flat(C), 2)], 24, (2, 6, 2)),  # two rows for each point
        ([flat(A)[1:], flat(B)[1:]], 11, (11, 1)),  # begins inside a block: no grid is seen
        ([flat(A)[:6], flat(C)[:6]], 6, (6, 1)),
        ([], 5, (5,)),
    ],
)
def test_a_grid_is_seen_by_its_axes(axes: list[np.ndarray], rows: int, shape: tuple[int, ...]) -> None:
    """The product of its lengths is the number of rows, whatever the rows are a part of."""
    grid = grid_of(rows, axes)
    assert grid.rows == rows
    assert grid.shape == shape


@pytest.mark.parametrize("values", [A, B, C, A * C, B + 0 * A, A * B * C, np.full_like(A, np.nan)], ids=range(7))
def test_what_a_column_repeats_is_left_out_and_comes_back(values: np.ndarray) -> None:
    """Reduced values, laid out over all rows, are the column."""
    grid = Grid(A.shape)
    reduced, pattern = grid.reduced(flat(values))
    assert reduced.size == grid.size(pattern)
    rows = grid.over(Piece(pa.array(reduced), pattern), grid.whole).to_numpy()
    assert np.array_equal(rows, flat(values), equal_nan=True)
    varies = [bool((np.ptp(values, axis=number) > 0).any()) for number in range(3)]
    assert list(pattern) == varies


def test_zeros_of_both_signs_are_not_alike() -> None:
    """They print differently."""
    reduced, pattern = Grid((2, 2)).reduced(np.array([0.0, -0.0, 0.0, -0.0]))
    assert pattern == (False, True)
    assert np.signbit(reduced).tolist() == [False, True]


def test_texts_side_by_side_change_where_one_of_them_does() -> None:
    """Two columns of different axes beside each other are the rows of both."""
    grid = Grid((2, 3))
    left, right = Piece(pa.array(["a", "b"]), (True, False)), Piece(pa.array(["x", "y", "z"]), (False, True))
    found = grid.joined(left, right)
    assert found.pattern == (True, True)
    assert found.texts.to_pylist() == ["a,x", "a,y", "a,z", "b,x", "b,y", "b,z"]

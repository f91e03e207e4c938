"""Ranges of elements as boxes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ckptplan.checkpoint.reshard.flat import as_boxes


@pytest.mark.parametrize("shape", [(), (7,), (3, 4), (2, 3, 4), (2, 1, 3, 2), (5, 1), (1, 6)])
def test_boxes_of_every_range_hold_its_elements_once_and_in_order(shape: tuple[int, ...]) -> None:
    """All ranges of some tensors: the numbers of the elements in the boxes, one after another, are the range."""
    number = math.prod(shape)
    whole = np.arange(number).reshape(shape)
    ranges = list(itertools.combinations(range(number + 1), 2))
    starts = np.array([a for a, _ in ranges])
    found = as_boxes(starts, np.array([b - a for a, b in ranges]), shape)
    elements: list[list[int]] = [[] for _ in ranges]
    for row, offset, size in zip(found.rows, found.offsets, found.sizes, strict=True):
        box = whole[tuple(slice(a, a + n) for a, n in zip(offset, size, strict=True))]
        elements[row] += box.ravel().tolist()
    assert elements == [list(range(a, b)) for a, b in ranges]
    assert np.bincount(found.rows).max() <= max(1, 2 * len(shape) - 1)


def test_empty_ranges_and_empty_tensors_have_no_boxes() -> None:
    """Nothing is cut where nothing is."""
    none = np.array([0, 3]), np.array([0, 0])
    assert len(as_boxes(*none, (2, 3)).rows) == 0
    assert len(as_boxes(np.array([0]), np.array([0]), (2, 0)).rows) == 0

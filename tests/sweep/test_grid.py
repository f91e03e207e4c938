"""Points of a grid: parts of it, and the blocks that parts are."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from ckptplan.sweep.grid import blocks, cuts

_SHAPES = st.lists(st.integers(1, 6), max_size=4)


@given(_SHAPES, st.data())
def test_blocks_are_the_points_of_a_part_in_order(shape: list[int], data: st.DataObject) -> None:
    """Ranges of all axes, multiplied out block after block, are the points from start to stop."""
    points = list(product(*(range(length) for length in shape)))
    start = data.draw(st.integers(0, len(points)))
    stop = data.draw(st.integers(start, len(points)))
    assert [point for block in blocks(shape, start, stop) for point in product(*block)] == points[start:stop]


@given(_SHAPES, st.integers(1, 50))
def test_cuts_are_few_and_each_is_one_block(shape: list[int], most: int) -> None:
    """Parts follow each other, are not above the size wanted, and need no more than one block each."""
    parts = list(cuts(shape, most))
    total = len(list(product(*(range(length) for length in shape))))
    assert [start for start, _ in parts] == [0, *(stop for _, stop in parts[:-1])]
    assert parts[-1][1] == total
    assert all(stop - start <= most for start, stop in parts)
    assert all(len(list(blocks(shape, start, stop))) == 1 for start, stop in parts)

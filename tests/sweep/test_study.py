"""Studies: how their points are counted, and that they travel."""

from __future__ import annotations

import pickle
from itertools import product
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from ckptplan.sweep.grid import blocks, cuts
from ckptplan.sweep.study import Axis, Study
from tests.sweep.studies import study

_SHAPES = st.lists(st.integers(1, 6), max_size=4)


def test_points_are_counted_spec_by_spec_and_the_last_axis_runs_fastest() -> None:
    """The values of a point are those of nested loops in the order of the axes."""
    asked = study("lab-64", {"a": (1, 2), "b": (1, 2, 3), "c": (1, 2)})
    asked = asked._replace(members=asked.members * 2)
    loops = list(product(range(2), range(3), range(2)))
    assert asked.points_each == 12
    assert asked.points == 24
    assert [asked.indices_of(point) for point in range(24)] == loops * 2
    assert Study(asked.members, (), ()).points == 2


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


def test_mappings_that_nobody_may_change_travel() -> None:
    """A read-only mapping arrives as one."""
    axis = Axis("a", (1.0,), ("1",))
    sent = pickle.dumps((axis, MappingProxyType({"load": 3.0})))
    assert pickle.loads(sent) == (axis, MappingProxyType({"load": 3.0}))  # noqa: S301 - made above

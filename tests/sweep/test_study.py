"""Studies: how their points are counted, and that they travel."""

from __future__ import annotations

import pickle
from itertools import product
from types import MappingProxyType

from ckptplan.sweep.study import Axis, Study
from tests.sweep.studies import study


def test_points_are_counted_spec_by_spec_and_the_last_axis_runs_fastest() -> None:
    """The values of a point are those of nested loops in the order of the axes."""
    asked = study("lab-64", {"a": (1, 2), "b": (1, 2, 3), "c": (1, 2)})
    asked = asked._replace(members=asked.members * 2)
    loops = list(product(range(2), range(3), range(2)))
    assert asked.points_each == 12
    assert asked.points == 24
    assert [asked.indices_of(point) for point in range(24)] == loops * 2
    assert Study(asked.members, (), ()).points == 2


def test_mappings_that_nobody_may_change_travel() -> None:
    """A read-only mapping arrives as one."""
    axis = Axis("a", (1.0,), ("1",))
    sent = pickle.dumps((axis, MappingProxyType({"load": 3.0})))
    assert pickle.loads(sent) == (axis, MappingProxyType({"load": 3.0}))  # noqa: S301 - made above

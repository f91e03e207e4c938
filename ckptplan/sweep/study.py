"""What a sweep asks: specs, axes of values, what to show of each point, and how its points are counted."""

from __future__ import annotations

import copyreg
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ckptplan.cost.scenario import Scenario

Rebuild = Callable[[Mapping[str, float]], Scenario]
Along = Callable[[Mapping[str, Any]], tuple[Scenario, Sequence[Any]]]

GPUS = "cluster.gpus"  # another number of GPUs: the failure rate of each one is held, and data parallelism follows
INTERVAL = "interval"  # no key of a spec: work between two saves that is given instead of the best one [s]


def _read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


def _reduced(mapping: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return _read_only, (dict(mapping),)


# Scenarios, and what was read for them, hold mappings that nobody may change: pickle knows no way for these itself.
copyreg.pickle(MappingProxyType, _reduced)


class Each(StrEnum):
    """What one row of the result is about."""

    POINT = "point"  # the best strategy of a point, by the method that knows most
    STRATEGY = "strategy"  # every strategy of a point, by that method
    METHOD = "method"  # every strategy of a point by every method


class Axis(NamedTuple):
    """One key and the values it takes, in SI, as in the spec read by the same rules.

    ``key`` is that of a spec with the index of a list in brackets (``save[1].stall``), `GPUS` or `INTERVAL`; ``unit``
    is that of the values (``s``, ``bytes/s``, empty for numbers); ``texts`` are the values as people read them.
    """

    key: str
    values: tuple[float | int, ...]
    texts: Sequence[str]
    unit: str = ""


class Member(NamedTuple):
    """One spec of a study. ``rebuild`` gives the scenario with other values of the keys of the axes; it pickles.

    ``along`` does so with arrays of several values each: numbers of the scenario are arrays then, and beside it stand
    arrays that are true where values are refused. It raises ValueError or TypeError where that cannot be.
    """

    name: str
    scenario: Scenario
    rebuild: Rebuild
    si: Mapping[str, object] = {}  # values in force, for the document
    along: Along | None = None


class Study(NamedTuple):
    """A sweep, complete. Points are counted spec by spec, and within one the last axis runs fastest.

    ``columns`` are names of `ckptplan.sweep.measures.MEASURES`, in the order asked for; those of the axes, and of the
    spec where there are several, always come first. ``runs`` above 0 simulates that many runs at each point.
    """

    members: tuple[Member, ...]
    axes: tuple[Axis, ...]
    columns: tuple[str, ...]
    each: Each = Each.POINT
    methods: tuple[str, ...] | None = None  # None: those that say something about the run
    gpu_hour_price: float | None = None
    runs: int = 0
    seed: int = 0

    @property
    def points_each(self) -> int:
        """Points of one spec."""
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def points(self) -> int:
        """Points of all specs."""
        return len(self.members) * self.points_each

    def member_of(self, point: int) -> Member:
        """The spec of a point."""
        return self.members[point // self.points_each]

    def indices_of(self, point: int) -> tuple[int, ...]:
        """Which value of each axis a point has."""
        left, found = point % self.points_each, []
        for axis in reversed(self.axes):
            left, index = divmod(left, len(axis.values))
            found.append(index)
        return tuple(reversed(found))

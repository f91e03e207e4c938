"""Parts of the scenarios of a block, each built once for every combination of the axes that it depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ckptplan.errors import InputError
from ckptplan.sweep.dependence import PARTS, axes_of, is_closed
from ckptplan.sweep.grid import Block
from ckptplan.sweep.points import at_scale, reason, rebuilt
from ckptplan.sweep.study import GPUS, Member, Study

# One object for each combination, None where there is none; one dimension for each axis, of length 1 where it has no
# influence, so that parts broadcast against each other.
Objects: TypeAlias = npt.NDArray[Any]


class Parts:
    """Parts of the scenarios of a block, as they are asked for."""

    def __init__(self, study: Study, member: Member, block: Block) -> None:
        self._axes, self._member, self._block = study.axes, member, block
        self._built: dict[tuple[int, ...], Objects] = {}
        self._refused: dict[tuple[int, ...], Objects] = {}

    def of(self, part: str) -> Objects:
        """A part of the scenarios, by its name in `Scenario`."""
        scenarios = self._scenarios(axes_of(part, self._axes, self._member.scenario))
        return each(lambda scenario: getattr(scenario, part), scenarios)

    def known(self) -> npt.NDArray[np.float64]:
        """Zero where every part could be built, also those that no cost depends on, else nan."""
        total = np.zeros(())
        for axes in dict.fromkeys(axes_of(part, self._axes, self._member.scenario) for part in PARTS):
            total = total + numbers(lambda _: 0.0, self._scenarios(axes))
        return total

    def refusals(self) -> Iterator[Objects]:
        """Why parts could not be built: a text where one was refused, None elsewhere."""
        yield from self._refused.values()

    def values(self, key: str) -> Objects | None:
        """The values of an axis in this block; None where there is no such axis."""
        for number, axis in enumerate(self._axes):
            if axis.key == key:
                found = np.empty(self._shape((number,)), dtype=object)
                found.reshape(-1)[:] = [axis.values[index] for index in self._block[number]]
                return found
        return None

    def clusters(self) -> tuple[Objects, Objects]:
        """The clusters at every number of GPUs, and what had to change for that: a text, or one that is empty."""
        clusters, gpus = self.of("cluster"), self.values(GPUS)
        if gpus is None:
            return clusters, each(lambda _: "", clusters)
        pairs = each(lambda cluster, count: at_scale(cluster, int(count)), clusters, gpus)
        return each(lambda pair: pair[0], pairs), each(lambda pair: pair[1] or "", pairs)

    def _shape(self, axes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(len(values) if number in axes else 1 for number, values in enumerate(self._block))

    def _scenarios(self, axes: tuple[int, ...]) -> Objects:
        """The scenarios with other values along some axes only."""
        if axes not in self._built:
            found = np.empty(self._shape(axes), dtype=object)
            for at in np.ndindex(found.shape):
                values = {self._axes[n].key: self._axes[n].values[self._block[n][at[n]]] for n in axes}
                try:
                    scenario = rebuilt(self._member, values)
                    found[at] = scenario if is_closed(scenario) else None
                except InputError as error:
                    self._refused.setdefault(axes, np.empty(found.shape, dtype=object))[at] = reason(error)
            self._built[axes] = found
        return self._built[axes]


def each(function: Callable[..., Any], *arrays: Objects) -> Objects:
    """A function of objects for every combination of them; None where one of them is, or where it is refused."""
    same = np.broadcast_arrays(*arrays) if len(arrays) > 1 else arrays
    found = np.empty(same[0].shape, dtype=object)
    flat = found.reshape(-1)
    for place, arguments in enumerate(zip(*(array.flat for array in same), strict=True)):
        if not any(argument is None for argument in arguments):
            try:
                flat[place] = function(*arguments)
            except InputError:
                continue
    return found


def numbers(function: Callable[[Any], float | None], objects: Objects) -> npt.NDArray[np.float64]:
    """A number of every object; nan where there is none."""
    found = (None if one is None else function(one) for one in objects.flat)
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64).reshape(objects.shape)

"""Parts of the scenarios of a block, built once for all values of the axes that they depend on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ckptplan.cost.layout import at_scale
from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.plan.scale.refusals import reason
from ckptplan.sweep.dependence import PARTS, axes_of, is_closed, takes_arrays
from ckptplan.sweep.grid import Block
from ckptplan.sweep.point import only_wanted, rebuilt
from ckptplan.sweep.stacked import Mixed, stacked
from ckptplan.sweep.study import GPUS, Member, Study

# One object for each combination, None where there is none; one dimension for each axis, of length 1 where it has no
# influence, so that parts broadcast against each other.
Objects: TypeAlias = npt.NDArray[Any]
Codes: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Axes: TypeAlias = tuple[int, ...]

FINE, UNSURE = -1, -2  # codes of what is not refused, and of what its own plan must say


class _Found(NamedTuple):
    """Scenarios along some axes. Those in ``scenarios`` hold arrays along the axes in which it has length 1."""

    scenarios: Objects
    refused: Codes


class Parts:
    """Parts of the scenarios of a block, as they are asked for."""

    def __init__(self, study: Study, member: Member, block: Block) -> None:
        self._axes, self._member, self._block = study.axes, member, block
        self._built: dict[Axes, _Found] = {}
        self._reasons: dict[str, int] = {}
        self._is_mixed = False
        self._arrays = self._at_once()

    @property
    def objects_at_most(self) -> int:
        """Scenarios or clusters that are built for one part, unless values cannot be taken at once after all."""
        gpus = [n for n, axis in enumerate(self._axes) if axis.key == GPUS]
        return self._most(lambda number: number not in self._arrays, gpus)

    @property
    def numbers_at_most(self) -> int:
        """Numbers that one array holds."""
        return self._most(lambda _: True, ())

    def _most(self, counts: Callable[[int], bool], gpus: Sequence[int]) -> int:
        sets = [*self._all_axes(), *((*axes, *gpus) for axes in self._all_axes() if gpus)]
        return max(math.prod(self._length(n) for n in axes if counts(n)) for axes in sets)

    def of(self, part: str) -> Any:
        """A part of the scenarios, by its name in `Scenario`: one whose numbers are arrays where they change."""
        axes = axes_of(part, self._axes, self._member.scenario)
        found = self._found(axes)
        places = [at for at in np.ndindex(found.scenarios.shape) if found.scenarios[at] is not None]
        if not places:
            return getattr(self._member.scenario, part)
        parts = [getattr(found.scenarios[at], part) for at in places]
        try:
            return stacked(parts, [_place(found, at) for at in places], found.refused.shape)
        except Mixed:
            self._is_mixed = True
            return parts[0]

    def objects(self, part: str) -> Objects:
        """A part of which no number can be an array, one for each combination."""
        found = self._found(axes_of(part, self._axes, self._member.scenario))
        return each(lambda scenario: getattr(scenario, part), found.scenarios)

    def known(self) -> Floats:
        """Zero where every part could be built, also those that no cost depends on, else nan.

        Asked last: of parts that do not stand side by side, each is planned by itself.
        """
        total = np.full((1,) * len(self._axes), np.nan if self._is_mixed else 0.0)
        for axes in self._all_axes():
            refused = self._found(axes).refused != FINE
            if refused.any():
                total = total + np.where(refused, np.nan, 0.0)
        return total

    def refusals(self) -> tuple[tuple[Codes, ...], tuple[str, ...]]:
        """Why parts could not be built: for each set of axes `FINE`, `UNSURE` or the place in texts; and the texts."""
        codes = [self._found(axes).refused for axes in self._all_axes()]
        return tuple(one for one in codes if (one != FINE).any()), tuple(self._reasons)

    def values(self, key: str) -> Floats | None:
        """The values of an axis in this block; None where there is no such axis."""
        for number, axis in enumerate(self._axes):
            if axis.key == key:
                return self._along(number)
        return None

    def clusters(self) -> tuple[Objects, Objects]:
        """The clusters at every number of GPUs, and what had to change for that: a text, or one that is empty."""
        clusters, gpus = self.objects("cluster"), self.values(GPUS)
        if gpus is None:
            return clusters, each(lambda _: "", clusters)
        pairs = each(lambda cluster, count: at_scale(cluster, int(count)), clusters, gpus)
        return each(lambda pair: pair[0], pairs), each(lambda pair: pair[1] or "", pairs)

    def _all_axes(self) -> Iterator[Axes]:
        yield from dict.fromkeys(axes_of(part, self._axes, self._member.scenario) for part in PARTS)

    def _length(self, number: int) -> int:
        return len(self._block[number])

    def _shape(self, axes: Axes) -> tuple[int, ...]:
        return tuple(self._length(number) if number in axes else 1 for number in range(len(self._block)))

    def _along(self, number: int) -> Floats:
        """The values of an axis, along it."""
        shape, taken = self._shape((number,)), self._block[number]
        return np.array(self._axes[number].values[taken.start : taken.stop], dtype=np.float64).reshape(shape)

    def _found(self, axes: Axes) -> _Found:
        """The scenarios with other values along some axes only."""
        if axes not in self._built:
            arrays = {number: self._along(number) for number in axes if number in self._arrays}
            found = self._with_arrays(axes, arrays) if arrays else None
            self._built[axes] = found if found is not None else self._one_by_one(axes)
        return self._built[axes]

    def _at_once(self) -> frozenset[int]:
        """The axes whose values can be taken at once: two of them are tried."""
        found = set()
        for number, axis in enumerate(self._axes):
            if self._length(number) > 1 and takes_arrays(axis.key) and self._member.along is not None:
                ends = np.array([axis.values[self._block[number][at]] for at in (0, -1)], dtype=np.float64)
                with suppress(ValueError, TypeError, InputError):
                    self._along_arrays({}, {number: ends})
                    found.add(number)
        return frozenset(found)

    def _value(self, number: int, at: int) -> float | int:
        return self._axes[number].values[self._block[number][at]]

    def _one_by_one(self, axes: Axes) -> _Found:
        scenarios = np.empty(self._shape(axes), dtype=object)
        refused = np.full(scenarios.shape, FINE, dtype=np.int32)
        for at in np.ndindex(scenarios.shape):
            values = {self._axes[n].key: self._value(n, at[n]) for n in axes}
            try:
                scenario = rebuilt(self._member, values)
                if is_closed(scenario):
                    scenarios[at] = scenario
                else:
                    refused[at] = UNSURE
            except InputError as error:
                refused[at] = self._code(reason(error))
        return _Found(scenarios, refused)

    def _code(self, text: str) -> int:
        return self._reasons.setdefault(text, len(self._reasons))

    def _with_arrays(self, axes: Axes, arrays: Mapping[int, Floats]) -> _Found | None:
        """The same with the values of some axes taken at once; None if they must be taken one by one."""
        others = tuple(number for number in axes if number not in arrays)
        scenarios = np.empty(self._shape(others), dtype=object)
        refused = np.full(self._shape(axes), FINE, dtype=np.int32)
        for at in np.ndindex(scenarios.shape):
            values = {self._axes[n].key: self._value(n, at[n]) for n in others}
            try:
                scenario, masks = self._along_arrays(values, arrays)
            except InputError:
                masks = [np.ones((), dtype=bool)]  # none of them makes a scenario
            except (ValueError, TypeError):
                return None
            else:
                scenarios[at] = scenario
            here = _place(_Found(scenarios, refused), at)
            for mask in masks:
                if not self._refuse(refused[here], mask, axes, at):
                    return None
        return _Found(scenarios, refused)

    def _along_arrays(self, values: Mapping[str, float], arrays: Mapping[int, Floats]) -> tuple[Scenario, list[Any]]:
        if self._member.along is None:
            raise TypeError("a spec that takes no arrays")
        taken = {self._axes[number].key: array for number, array in arrays.items()}
        scenario, masks = self._member.along({**values, **taken})
        if not is_closed(scenario):
            raise ValueError("not closed")
        return only_wanted(self._member, scenario), list(masks)

    def _refuse(self, refused: Codes, mask: npt.NDArray[np.bool_], axes: Axes, start: tuple[int, ...]) -> bool:
        """Note where values are refused, and why; whether the first and the last of them are refused in truth."""
        mask = np.broadcast_to(mask, refused.shape)
        places = np.flatnonzero(mask)
        if not places.size:
            return True
        texts = set()
        for place in {places[0], places[-1]}:
            at = np.add(start, np.unravel_index(place, refused.shape))
            try:
                rebuilt(self._member, {self._axes[n].key: self._value(n, int(at[n])) for n in axes})
            except InputError as error:
                texts.add(reason(error))
            else:
                return False
        code = self._code(texts.pop()) if len(texts) == 1 else UNSURE
        refused[mask] = np.where(refused[mask] == FINE, code, UNSURE)
        return True


def _place(found: _Found, at: tuple[int, ...]) -> tuple[slice, ...]:
    """Where the values are for which one of its scenarios stands."""
    lengths = zip(at, found.scenarios.shape, strict=True)
    return tuple(slice(None) if length == 1 else slice(index, index + 1) for index, length in lengths)


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


def numbers(function: Callable[[Any], float | None], objects: Objects) -> Floats:
    """A number of every object; nan where there is none."""
    found = (None if one is None else function(one) for one in objects.flat)
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64).reshape(objects.shape)

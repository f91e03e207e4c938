"""A spec as a member of a study: read with the axes in force, and rebuilt at each of their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError, Problem
from ckptplan.spec.assignments import label_of
from ckptplan.spec.axes import WrittenAxis
from ckptplan.spec.named_files import NamedFiles
from ckptplan.spec.overlay import LONE_PHASES, index_of
from ckptplan.spec.reading import Spec, read_spec
from ckptplan.spec.tree import ListNode, MapNode, Node
from ckptplan.sweep.study import GPUS, INTERVAL

_MOST_TRIED = 100
_APART = frozenset({GPUS, INTERVAL})  # a sweep applies these to the scenario


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Called with values of the axes, it gives the scenario; it pickles."""

    spec: Spec
    keys: tuple[tuple[str, str], ...]  # key of the axis, and of this spec, whose list may have another order
    strategies: tuple[str, ...] = ()  # only these; empty: all

    def __call__(self, values: Mapping[str, float]) -> Scenario:
        """The scenario with other values, in SI."""
        return self.only(self.spec.with_values({own: values[key] for key, own in self.keys if key in values}))

    def along(self, values: Mapping[str, Any]) -> tuple[Scenario, Sequence[Any]]:
        """The same with many values at once, as `Spec.with_arrays`."""
        scenario, refused = self.spec.with_arrays({own: values[key] for key, own in self.keys if key in values})
        return self.only(scenario), refused

    def only(self, scenario: Scenario) -> Scenario:
        """The scenario with the strategies that are wanted."""
        if not self.strategies:
            return scenario
        saves = tuple(save for save in scenario.saves if save.name in self.strategies)
        return replace(scenario, saves=saves, strategies=self.strategies)


def read_member(
    data: bytes,
    file: str,
    axes: Sequence[WrittenAxis],
    *,
    sets: Sequence[str],
    environment: Mapping[str, str],
    files: NamedFiles,
) -> tuple[Spec, tuple[str, ...]]:
    """The spec at the first point that makes one, and the keys of the axes with the index of a list in brackets.

    Raises
    ------
    InputError
        With every fault of the file and of what overrides it, at the first point; those of an axis are said to be of
        that axis.

    Notes
    -----
    Warnings are those of that point, and of the least and the greatest value of each axis beside it.
    """
    own = [axis for axis in axes if axis.axis.key not in _APART]

    def at(values: Sequence[float | int]) -> Spec:
        texts = [axis.as_set(value) for axis, value in zip(own, values, strict=True)]
        places = {label_of(text): axis for text, axis in zip(texts, own, strict=True)}
        try:
            spec = read_spec(data, file, sets=[*sets, *texts], environment=environment, files=files)
        except InputError as error:
            raise InputError([_of_axis(problem, places) for problem in error.problems]) from error
        return replace(spec, warnings=tuple(_of_axis(warning, places) for warning in spec.warnings))

    first: InputError | None = None
    for values in islice(product(*(_sampled(axis.axis.values) for axis in own)), _MOST_TRIED):
        try:
            spec = at(values)
        except InputError as error:
            first = first or error
            continue
        root = None if spec._fields is None else spec._fields.groups.get("")
        warnings = list(spec.warnings)
        for others in _outermost(own, values):
            with suppress(InputError):  # a fault of this value, which its rows say
                warnings += at(others).warnings
        spec = replace(spec, warnings=tuple(dict.fromkeys(warnings)))
        return spec, tuple(_with_indices(axis, root) for axis in axes)
    raise first or InputError("an axis has no values")


def _outermost(axes: Sequence[WrittenAxis], values: Sequence[float | int]) -> Iterator[tuple[float | int, ...]]:
    """The least and the greatest value of each axis, beside some values of the others."""
    for number, axis in enumerate(axes):
        for value in dict.fromkeys((min(axis.axis.values), max(axis.axis.values))):
            if value != values[number]:
                yield (*values[:number], value, *values[number + 1 :])


def _sampled(values: Sequence[float | int]) -> tuple[float | int, ...]:
    """The first value, the last, the middle one, and then those between: one of them may make a spec."""
    last = len(values) - 1
    places = dict.fromkeys((0, last, last // 2, *range(0, last + 1, max(1, last // 8))))
    return tuple(values[place] for place in places)


def _of_axis(problem: Problem, places: Mapping[str, WrittenAxis]) -> Problem:
    problem = replace(problem, hint=_of_phases(problem.hint, [axis.path for axis in places.values()]))
    axis = None if problem.place is None else places.get(problem.place.file)
    if axis is None and problem.key is not None:  # of a group, one value of which is an axis
        axis = next((one for one in places.values() if one.axis.key.startswith(f"{problem.key}.")), None)
    return problem if axis is None else replace(problem, place=axis.place)


def _of_phases(hint: str | None, paths: Sequence[tuple[str, ...]]) -> str | None:
    """A hint that lists all phases of a restart, without those that are axes: one cannot set them too."""
    if hint is None or not hint.startswith(LONE_PHASES):
        return hint
    before, brace, phases = hint.removeprefix(LONE_PHASES).partition("{")
    listed = phases.removesuffix("}'").split(", ")
    kept = ", ".join(phase for phase in listed if ("restart", phase.partition(":")[0]) not in paths)
    return f"make restart.total the axis, or give the other phases too: {before}{brace}{kept}}}'"


def _with_indices(axis: WrittenAxis, root: MapNode | None) -> str:
    node: Node | None = root
    text = ""
    for part in axis.path:
        if isinstance(node, ListNode):
            index = index_of(node, part, text)
            node = None if index is None else node.items[index]
            text = f"{text}[{part if index is None else index}]"
        else:
            node = node.child(part) if isinstance(node, MapNode) else None
            text = f"{text}.{part}".lstrip(".")
    return text

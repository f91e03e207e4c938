"""What a sweep draws: the values of one measure by spec and strategy, and which strategy is best where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.errors import InputError
from ckptplan.interval.blocks import Floats
from ckptplan.render.plots.lettering import distinct, shortened
from ckptplan.render.plots.scales import count
from ckptplan.render.plots.style import SMALL
from ckptplan.sweep.columns import Columns, Labels
from ckptplan.sweep.measures import MEASURES, Measure, default_columns
from ckptplan.sweep.study import Axis, Each, Study

_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
_BYTES = (("EB", 1e18), ("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))
_NAMING = ("spec", "strategy", "method")
_NAME = 2.4  # most that a name takes in a sentence [inch]
_MOST_STRETCHES = 4  # of a line whose best strategy changes


class Series(NamedTuple):
    """The values of one measure for one spec and strategy, with an axis for each that varies.

    ``best`` are the strategies that are best there, where that is known and a row does not name one; else it is empty.
    """

    name: str
    values: Floats
    best: npt.NDArray[np.object_]


def label(measure: Measure) -> str:
    """The name without its unit, which stands beside it."""
    return measure.name.removesuffix(f"_{measure.unit}") if measure.unit in ("s", "bytes") else measure.name


def measure_of(study: Study) -> Measure:
    """The first shown column that is a number; what is shown without being asked for is there for its goodput."""
    unasked = default_columns(study.each, simulated=study.runs > 0)
    if study.columns[: len(unasked)] == unasked:
        return MEASURES["goodput_typed"]
    for name in study.columns:
        if name in MEASURES and not MEASURES[name].text:
            return MEASURES[name]
    raise InputError("no column that is shown is a number", hint="add one to --show, for example goodput_typed")


def series_of(study: Study, columns: Columns, name: str) -> list[Series]:
    """The values by spec, strategy and method as far as rows are told apart by them; nan where there is no row."""
    naming = [one for one in _NAMING if one in columns and (one == "spec" or one in _told_apart(study))]
    groups = [columns[one] for one in naming]
    keys = list(zip(*(group.texts() for group in groups if isinstance(group, Labels)), strict=True))
    places = _places(study, columns)
    values = np.asarray(columns[name], dtype=np.float64)
    keys = keys or [()] * values.size
    shape = [len(axis.values) for axis in study.axes if len(axis.values) > 1]
    best = columns["strategy"] if study.each is Each.POINT and "strategy" in columns else None
    strategies = best.texts() if isinstance(best, Labels) else None
    found: dict[tuple[str | None, ...], Series] = {}
    for row, key in enumerate(keys):
        one = found.setdefault(key, Series("", np.full(shape, np.nan), np.full(shape, None)))
        place = tuple(place[row] for place in places)
        one.values[place] = values[row]
        if strategies is not None:
            one.best[place] = strategies[row]
    parts = [distinct([key[place] or "" for key in found], kind) for place, kind in enumerate(naming)]
    return [one._replace(name=_joined(key, parts)) for key, one in found.items()]


def _joined(key: Sequence[str | None], parts: Sequence[Mapping[str, str]]) -> str:
    """The name of a line: ``spec 2: ...``, or ``strategy 1: ...``, has the place of that name in the input."""
    return ", ".join(names[part] for part, names in zip(key, parts, strict=True) if part)


def _told_apart(study: Study) -> tuple[str, ...]:
    from ckptplan.sweep.measures import naming_columns

    return naming_columns(study.each)


def _places(study: Study, columns: Columns) -> list[list[int]]:
    """For each varying axis, which of its values each row has."""
    found = []
    for axis in study.axes:
        if len(axis.values) > 1:
            numbers = {float(value): place for place, value in enumerate(axis.values)}
            found.append([numbers[float(value)] for value in np.asarray(columns[axis.key]).tolist()])
    return found


def split(one: Series, axis: Axis) -> list[Series]:
    """A line for each value of the second axis."""
    return [
        Series(f"{axis.key} = {text}", one.values[:, place], one.best[:, place])
        for place, text in enumerate(axis.texts)
    ]


def changes_of(one: Series, order: npt.NDArray[np.intp]) -> list[tuple[int, str]]:
    """Where along a line, and to which strategy, the best one changes; its first point comes first."""
    found: list[tuple[int, str]] = []
    for place in order.tolist():
        name = one.best[place]
        if name is not None and np.isfinite(one.values[place]) and (not found or found[-1][1] != name):
            found.append((place, name))
    return found


def notes_of_best(series: Sequence[Series], changes: Sequence[list[tuple[int, str]]], axis: Axis) -> Iterator[str]:
    """Which strategy is best on each stretch of each line."""
    drawn = distinct([name for of_one in changes for _, name in of_one], "strategy")
    names = {name: shortened(text, _NAME, SMALL) for name, text in drawn.items()}
    if len(names) == 1:
        yield f"Best strategy throughout: {next(iter(names.values()))}."
        return
    for one, of_one in zip(series, changes, strict=True):
        if not of_one:
            continue
        texts = [names[of_one[0][1]], *(f"{names[name]} from {axis.texts[place]} on" for place, name in of_one[1:])]
        if len(texts) > _MOST_STRETCHES:
            texts = [*texts[:_MOST_STRETCHES], f"{len(texts) - _MOST_STRETCHES:,} more changes"]
        yield f"Best strategy{f' for {one.name}' if one.name else ''}: {', then '.join(texts)}."


def coinciding(series: Sequence[Series], resolution: float) -> Iterator[str]:
    """Lines that lie on one another, as far as a picture of that resolution shows them apart."""
    left = [one for one in series if np.isfinite(one.values).any()]
    while left:
        first, *others = left
        alike = [one for one in others if _is_alike(first.values, one.values, resolution)]
        left = [one for one in others if not any(one is other for other in alike)]
        if alike:
            *names, last = [shortened(one.name, _NAME, SMALL) for one in (first, *alike)]
            yield f"These lines lie on one another: {', '.join(names)} and {last}."


def _is_alike(first: Floats, second: Floats, resolution: float) -> bool:
    """Whether both are known at the same points, and nowhere further apart than is seen."""
    known = np.isfinite(first)
    same: bool = np.array_equal(known, np.isfinite(second))
    return same and bool(np.all(np.abs(first[known] - second[known]) <= resolution))


def counts_of_best(series: Sequence[Series]) -> Iterator[str]:
    """At how many points of all maps each strategy is best, the most frequent first."""
    best = [name for one in series for name in one.best.ravel().tolist() if name is not None]
    drawn = distinct(best, "strategy")
    names = {name: shortened(text, _NAME, SMALL) for name, text in drawn.items()}
    counted = sorted(((best.count(name), text) for name, text in names.items()), reverse=True)
    if len(counted) == 1:
        yield f"Best strategy throughout: {counted[0][1]}."
    elif counted:
        texts = ", ".join(f"{text} at {number:,}" for number, text in counted)
        yield f"Best strategy: {texts} of {len(best):,} points."


def text_of(measure: Measure, value: float) -> str:
    """A value as people read it."""
    from ckptplan.render.numbers import percent, seconds
    from ckptplan.units import format_size

    if measure.unit == "1":
        return percent(value)
    if measure.unit == "bytes":
        return format_size(value)
    return seconds(value) if measure.unit == "s" else f"{count(value)} {measure.unit}".strip()


def unit_of(unit: str, values: Floats, *, is_log: bool = False) -> tuple[float, str]:
    """What values are divided by to be read, and the unit they then have: the largest that suits the largest of them.

    On a logarithmic axis it suits the middle, from which both ends are equally far.
    """
    largest = float(np.sqrt(np.nanmin(values)) * np.sqrt(np.nanmax(values)) if is_log else np.nanmax(values))
    if unit in ("bytes", "bytes/s"):
        size, name = next((size, name) for name, size in _BYTES if largest >= size or size == 1.0)
        return size, f"{name}{unit.removeprefix('bytes')}"
    if unit != "s":
        return 1.0, "" if unit == "1" else unit
    return next((size, name) for name, size in _UNITS if largest >= 2.0 * size or size == 1.0)

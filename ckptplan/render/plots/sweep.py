"""A sweep as a picture: lines along one axis or for the values of a second one, else a heat map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ckptplan.errors import InputError
from ckptplan.interval.blocks import Floats
from ckptplan.render.plots.heat import heat_block
from ckptplan.render.plots.lettering import lettered
from ckptplan.render.plots.page import (
    LEFT,
    PAGE,
    RIGHT,
    Block,
    Key,
    Rect,
    axes,
    figure_of,
    heading,
    legend,
    lines,
    space,
)
from ckptplan.render.plots.scales import count, grid, in_percent, linear, log_count, log_time, plain
from ckptplan.render.plots.style import SMALL, Theme
from ckptplan.sweep.columns import Columns, Labels
from ckptplan.sweep.measures import MEASURES, Measure
from ckptplan.sweep.study import Axis, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH, _BELOW = 3.2, 0.5  # of the axes, and under them [inch]
MOST_POINTS = 40_000
_MOST_LINES = 8
_MOST_MARKERS = 40  # points of a line; more are drawn without
_MOST_VALUES = 6  # of a second axis that are drawn as lines
_MOST_MAPS = 6
_NAMING = ("spec", "strategy", "method")
_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
_LONG = 8.0  # ratio of the ends of an axis from which on it is logarithmic


class _Series(NamedTuple):
    """The values of one measure for one spec and strategy, with an axis for each that varies."""

    name: str
    values: Floats


def sweep_figure(study: Study, columns: Columns, theme: Theme) -> Figure:
    """The first measure that is shown, over the axes of a sweep that have several values.

    Raises
    ------
    InputError
        If there is no number to show, one point only, more than two axes, or too much for one picture.
    """
    refuse_undrawable(study)
    measure = measure_of(study)
    varying = [axis for axis in study.axes if len(axis.values) > 1]
    series = series_of(study, columns, measure.name)
    _refuse(varying, series)
    name = ", ".join(dict.fromkeys(member.name for member in study.members))
    title = f"{measure.name} over {' and '.join(axis.key for axis in varying)}"
    blocks = heading(theme, name, lettered(title))
    if len(varying) == 1:
        blocks += _lines(series, varying[0], measure, theme)
    elif len(series) == 1 and len(varying[1].values) <= _MOST_VALUES:
        blocks += _lines(_split(series[0], varying[1]), varying[0], measure, theme)
    else:
        blocks += _maps(series, varying, measure, theme)
    return figure_of(theme, blocks, f"{lettered(name)}: {title}", words(series, measure, title))


def measure_of(study: Study) -> Measure:
    """The first shown column that is a number."""
    for name in study.columns:
        if name in MEASURES and not MEASURES[name].text:
            return MEASURES[name]
    raise InputError("no column that is shown is a number", hint="add one to --show, for example goodput_typed")


def series_of(study: Study, columns: Columns, name: str) -> list[_Series]:
    """The values by spec, strategy and method as far as rows are told apart by them; nan where there is no row."""
    groups = [columns[one] for one in _NAMING if one in columns and (one == "spec" or one in _told_apart(study))]
    keys = list(zip(*(group.texts() for group in groups if isinstance(group, Labels)), strict=True))
    places = _places(study, columns)
    values = np.asarray(columns[name], dtype=np.float64)
    keys = keys or [()] * values.size
    shape = [len(axis.values) for axis in study.axes if len(axis.values) > 1]
    found: dict[tuple[str | None, ...], Floats] = {}
    for row, key in enumerate(keys):
        grid_of = found.setdefault(key, np.full(shape, np.nan))
        grid_of[tuple(place[row] for place in places)] = values[row]
    return [_Series(", ".join(lettered(part) for part in key if part), grid_of) for key, grid_of in found.items()]


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


def refuse_undrawable(study: Study) -> None:
    """What can be told before the sweep is carried out: the measure, the axes, the number of points.

    Raises
    ------
    InputError
        If there is no number to show, one point only, more than two axes, or too many points.
    """
    measure_of(study)
    varying = [axis for axis in study.axes if len(axis.values) > 1]
    if not varying:
        raise InputError("a sweep over one point has no picture", hint="give several values to --over")
    if len(varying) > 2:
        raise InputError(
            f"{len(varying)} axes are too many for one picture, which takes 2",
            hint=f"give one value to {varying[2].key}, and to every other axis but two",
        )
    if study.points > MOST_POINTS:
        raise InputError(
            f"{study.points:,} points are too many for one picture, which takes {MOST_POINTS:,}",
            hint="give fewer values to --over",
        )


def _refuse(varying: Sequence[Axis], series: Sequence[_Series]) -> None:
    most = _MOST_LINES if len(varying) == 1 else _MOST_MAPS
    if len(series) > most:
        raise InputError(
            f"{len(series)} strategies and specs are too many for one picture, which takes {most}",
            hint="choose some by --strategy, or sweep fewer specs",
        )
    if all(np.isnan(one.values).all() for one in series):
        raise InputError("no point of the sweep has this number", hint="show another column")


def words(series: Sequence[_Series], measure: Measure, title: str) -> str:
    """What the picture says, for those who do not see it."""
    ends = []
    for one in series:
        known = one.values[np.isfinite(one.values)]
        if known.size:
            name = f"{one.name}: " if one.name else ""
            ends.append(f"{name}{text_of(measure, float(known.min()))} to {text_of(measure, float(known.max()))}.")
    return f"{title}. {' '.join(ends)}"


def text_of(measure: Measure, value: float) -> str:
    """A value as people read it."""
    from ckptplan.render.numbers import percent, seconds

    if measure.unit == "1":
        return percent(value)
    return seconds(value) if measure.unit == "s" else f"{count(value)} {measure.unit}".strip()


def _split(one: _Series, axis: Axis) -> list[_Series]:
    return [_Series(f"{axis.key} = {text}", one.values[:, place]) for place, text in enumerate(axis.texts)]


def _lines(series: Sequence[_Series], axis: Axis, measure: Measure, theme: Theme) -> list[Block]:
    looks = [theme.look(number) for number in range(len(series))]
    keys = [Key(one.name, look, "both") for one, look in zip(series, looks, strict=True) if one.name]
    size, unit = unit_of(measure.unit, np.concatenate([one.values.ravel() for one in series]))
    caption = f"{measure.name}{f' [{unit}]' if unit else ''}"

    def draw(figure: Figure, place: Rect) -> None:
        inner = PAGE - LEFT - RIGHT
        axis_of = axes(figure, Rect(LEFT, place.bottom + _BELOW, inner, _HIGH))
        x = np.asarray(axis.values, dtype=np.float64)
        order = np.argsort(x, kind="stable")
        across = _horizontal(axis_of, axis, x[order], inner)
        for one, look in zip(series, looks, strict=True):
            axis_of.plot(
                x[order] / across,
                one.values[order] / size,
                color=look.colour,
                linestyle=look.dash,
                marker=look.marker if x.size <= _MOST_MARKERS else "",
                markersize=5.0,
                gid=f"series:{one.name}",
            )
        low, high = _ends([one.values / size for one in series])
        linear(axis_of, low, high, in_percent if measure.unit == "1" else plain, vertical=True, most=6)
        grid(axis_of, theme)

    above = [legend(theme, keys), space(0.05)] if keys else []
    return [*above, lines([caption], size=SMALL, colour=theme.muted), Block(0.08 + _HIGH + _BELOW, draw)]


def unit_of(unit: str, values: Floats) -> tuple[float, str]:
    """What values are divided by to be read, and the unit they then have: times in the largest that suits them."""
    if unit != "s":
        return 1.0, "" if unit == "1" else unit
    largest = float(np.nanmax(values))
    return next((size, name) for name, size in _UNITS if largest >= 2.0 * size or size == 1.0)


def _ends(values: Sequence[Floats]) -> tuple[float, float]:
    known = np.concatenate([one[np.isfinite(one)] for one in values])
    low, high = float(known.min()), float(known.max())
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return (0.0 if 0.0 <= low < 0.3 * high else low - margin), high + margin


def _horizontal(axis_of: Axes, axis: Axis, x: Floats, inner: float) -> float:
    """The horizontal axis, logarithmic where its values span much; returns what they are divided by."""
    low, high = float(x[0]), float(x[-1])
    size, unit = unit_of(axis.unit, x)
    if low > 0.0 and high >= _LONG * low:
        margin = (high / low) ** 0.02
        (log_time if axis.unit == "s" else log_count)(axis_of, low / margin, high * margin, inner)
        size, unit = 1.0, "" if axis.unit == "s" else unit
    else:
        margin = 0.02 * (high - low)
        linear(axis_of, (low - margin) / size, (high + margin) / size, plain, vertical=False)
    axis_of.set_xlabel(lettered(f"{axis.key}{f' [{unit}]' if unit else ''}"), labelpad=3)
    return size


def _maps(series: Sequence[_Series], varying: Sequence[Axis], measure: Measure, theme: Theme) -> Iterator[Block]:
    known = np.concatenate([one.values[np.isfinite(one.values)] for one in series])
    ends = (float(known.min()), float(known.max()))
    for one in series:
        if one.name:
            yield lines([one.name])
        yield heat_block(one.values, (varying[0], varying[1]), ends, lambda value: text_of(measure, value), theme)
        yield space(0.08)

"""A sweep as a picture: lines along one axis or for the values of a second one, else a heat map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

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
    footnotes,
    heading,
    legend,
    lines,
    right_of,
    ring,
    space,
)
from ckptplan.render.plots.scales import (
    beyond_counts,
    beyond_number,
    grid,
    in_percent,
    linear,
    log_count,
    log_time,
    plain,
)
from ckptplan.render.plots.style import SMALL, Look, Theme
from ckptplan.render.plots.sweep_series import (
    Series,
    changes_of,
    coinciding,
    counts_of_best,
    label,
    measure_of,
    notes_of_best,
    series_of,
    split,
    text_of,
    unit_of,
)
from ckptplan.sweep.columns import Columns
from ckptplan.sweep.measures import Measure
from ckptplan.sweep.study import Axis, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH, _BELOW = 3.2, 0.5  # of the axes, and under them [inch]
MOST_POINTS = 40_000
MOST_LINES = 8
_MOST_MARKERS = 40  # points of a line; more are drawn without
_MOST_VALUES = 6  # of a second axis that are drawn as lines
MOST_MAPS = 6
_LONG = 8.0  # ratio of the ends of a list of values from which on its axis is logarithmic
_SEEN = 0.005  # of the height: lines that are nearer than that lie on one another, each being 0.01 of it wide
_EVEN = 0.15  # spread of the steps of a range, over their mean: whole numbers are rounded


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
    title = f"{label(measure)} over {' and '.join(axis.key for axis in varying)}"
    blocks = heading(theme, name, lettered(title))
    if len(varying) == 1:
        blocks += _lines(series, varying[0], measure, theme)
    elif len(series) == 1 and len(varying[1].values) <= _MOST_VALUES:
        blocks += _lines(split(series[0], varying[1]), varying[0], measure, theme)
    else:
        blocks += _maps(series, varying, measure, theme)
    return figure_of(theme, blocks, f"{lettered(name)}: {title}", words(series, measure, title))


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


def _refuse(varying: Sequence[Axis], series: Sequence[Series]) -> None:
    most = MOST_LINES if len(varying) == 1 else MOST_MAPS
    if len(series) > most:
        raise InputError(
            f"{len(series)} strategies and specs are too many for one picture, which takes {most}",
            hint="choose some by --strategy, or sweep fewer specs",
        )
    if all(np.isnan(one.values).all() for one in series):
        raise InputError("no point of the sweep has this number", hint="show another column")


def words(series: Sequence[Series], measure: Measure, title: str) -> str:
    """What the picture says, for those who do not see it."""
    ends = []
    for one in series:
        known = one.values[np.isfinite(one.values)]
        if known.size:
            name = f"{one.name}: " if one.name else ""
            ends.append(f"{name}{text_of(measure, float(known.min()))} to {text_of(measure, float(known.max()))}.")
    return f"{title}. {' '.join(ends)}"


def _lines(series: Sequence[Series], axis: Axis, measure: Measure, theme: Theme) -> list[Block]:
    looks = [theme.look(number) for number in range(len(series))]
    keys = [Key(one.name, look, "both") for one, look in zip(series, looks, strict=True) if one.name]
    size, unit = unit_of(measure.unit, np.concatenate([one.values.ravel() for one in series]))
    caption = f"{label(measure)}{f' [{unit}]' if unit else ''}"
    x = np.asarray(axis.values, dtype=np.float64)
    order = np.argsort(x, kind="stable")
    changes = [changes_of(one, order) for one in series]
    if any(len(of_one) > 1 for of_one in changes):
        keys.append(Key("from here on another strategy is best", Look(theme.text, marker="o"), "ring"))

    def draw(figure: Figure, place: Rect) -> None:
        inner = _inner(axis, x[order])
        axis_of = axes(figure, Rect(LEFT, place.bottom + _BELOW, inner, _HIGH))
        across = _horizontal(axis_of, axis, x[order], inner)
        for one, look in zip(series, looks, strict=True):
            axis_of.plot(
                x[order] / across,
                one.values[order] / size,
                color=look.colour,
                linestyle=look.dash,
                marker=look.marker if x.size <= _MOST_MARKERS else "",
                markersize=5.0,
                clip_on=False,
                gid=f"series:{one.name}",
            )
        for one, of_one in zip(series, changes, strict=True):
            at = [place for place, _ in of_one[1:]]
            marks = (x[at] / across).tolist(), (one.values[at] / size).tolist()
            if at:
                axis_of.add_line(ring(theme, *marks, name=f"change:{one.name}"))
        low, high = _ends([one.values / size for one in series])
        text = in_percent if measure.unit == "1" else plain
        last = 1.0 if measure.unit == "1" and max(np.nanmax(one.values) for one in series) <= 1.0 else np.inf
        linear(axis_of, low, high, text, vertical=True, most=6, last=last)
        grid(axis_of, theme)

    above = [legend(theme, keys), space(0.05)] if keys else []
    low, high = _ends([one.values for one in series])
    alike = coinciding(series, _SEEN * (high - low))
    notes = footnotes(theme, [*alike, *notes_of_best(series, changes, axis)])
    return [*above, lines([caption], size=SMALL, colour=theme.muted), Block(0.08 + _HIGH + _BELOW, draw), notes]


def _ends(values: Sequence[Floats]) -> tuple[float, float]:
    known = np.concatenate([one[np.isfinite(one)] for one in values])
    low, high = float(known.min()), float(known.max())
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return (0.0 if 0.0 <= low < 0.3 * high else low - margin), high + margin


def _is_log(x: Floats) -> bool:
    """Whether values in order are those of a logarithmic range; a list that is neither is judged by its ends."""
    if not x[0] > 0.0:
        return False
    if x.size > 2:
        uneven = [float(np.ptp(steps) / steps.mean()) for steps in (np.diff(x), np.diff(np.log(x)))]
        if min(uneven) < _EVEN:
            return uneven[1] < uneven[0]
    return bool(x[-1] >= _LONG * x[0])


def _widened(low: float, high: float) -> tuple[float, float]:
    margin = (high / low) ** 0.02
    return low / margin, high * margin


def _inner(axis: Axis, x: Floats) -> float:
    """Width of the axes, so that the last label of the horizontal axis is there whole. [inch]."""
    if not _is_log(x):
        return PAGE - LEFT - right_of(beyond_number(float(x[-1]) / unit_of(axis.unit, x)[0]))
    inner = PAGE - LEFT - RIGHT
    if axis.unit == "s":
        return inner
    low, high = _widened(x[0], x[-1])
    size, _ = unit_of(axis.unit, x, is_log=True)
    return PAGE - LEFT - right_of(beyond_counts(low / size, high / size, inner))


def _horizontal(axis_of: Axes, axis: Axis, x: Floats, inner: float) -> float:
    """The horizontal axis, spaced as its values are; returns what they are divided by."""
    low, high = float(x[0]), float(x[-1])
    is_log = _is_log(x)
    size, unit = unit_of(axis.unit, x, is_log=is_log)
    if is_log and axis.unit == "s":
        log_time(axis_of, *_widened(low, high), inner)
        size, unit = 1.0, ""
    elif is_log:
        log_count(axis_of, *_widened(low / size, high / size), inner)
    else:
        margin = 0.02 * (high - low)
        linear(axis_of, (low - margin) / size, (high + margin) / size, plain, vertical=False)
    axis_of.set_xlabel(lettered(f"{axis.key}{f' [{unit}]' if unit else ''}"), labelpad=3)
    return size


def _maps(series: Sequence[Series], varying: Sequence[Axis], measure: Measure, theme: Theme) -> Iterator[Block]:
    known = np.concatenate([one.values[np.isfinite(one.values)] for one in series])
    ends = (float(known.min()), float(known.max()))
    for one in series:
        if one.name:
            yield lines([one.name])
        yield heat_block(one.values, (varying[0], varying[1]), ends, lambda value: text_of(measure, value), theme)
        yield space(0.08)
    yield footnotes(theme, list(counts_of_best(series)))

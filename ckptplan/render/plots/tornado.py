"""What each lever gains, ranked, with the pairs that overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ckptplan.plan.levers.lever import Lever
from ckptplan.plan.levers.record import Levers, Overlap
from ckptplan.plan.levers.wording import gain, large
from ckptplan.render.numbers import percent, whole
from ckptplan.render.plots.lettering import height, lettered, shortened, width
from ckptplan.render.plots.page import (
    EDGE,
    PAGE,
    Block,
    Key,
    Rect,
    axes,
    figure_of,
    footnotes,
    heading,
    legend,
    lines,
    write,
)
from ckptplan.render.plots.scales import grid, linear, plain
from ckptplan.render.plots.style import SMALL, Look, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _BAR = 0.44, 0.24  # height of a row, and of the bar in it [inch]
_NAME = 3.35  # most that a title takes [inch]
_BELOW = 0.55  # for the axis [inch]
_APART = 0.14
_PAIRS = 3  # that are named at most


def tornado_figure(levers: Levers, theme: Theme) -> Figure:
    """Points of goodput that each lever gains, the one to do first on top."""
    title = "What each change would gain"
    now = f"goodput now {percent(levers.goodput)} on {whole(levers.gpus)} GPUs"
    blocks = heading(theme, levers.name, f"{title}, each at its own best interval; {now}")
    if levers.levers:
        keys = list(_keys(levers, theme))
        blocks += [*([legend(theme, keys)] if len(keys) > 1 else []), _rows(levers, theme)]
    blocks += [lines([lettered(levers.first)]), footnotes(theme, list(_notes(levers)))]
    return figure_of(theme, blocks, f"{lettered(levers.name)}: {title}", words(levers))


def words(levers: Levers) -> str:
    """What the picture says, for those who do not see it."""
    gains = [f"{lettered(one.title)}: {gain(one.gained)}." for one in levers.levers]
    return " ".join([f"{lettered(levers.first)}.", *gains, *_notes(levers)])


def _keys(levers: Levers, theme: Theme) -> Iterator[Key]:
    yield Key("gains", _look(theme, gains=True, own=False), "patch")
    if any(one.gained < 0.0 for one in levers.levers):
        yield Key("does harm", _look(theme, gains=False, own=False), "patch")
    if any(one.own for one in levers.levers):
        yield Key("a change of your own", _look(theme, gains=True, own=True), "patch")


def _look(theme: Theme, *, gains: bool, own: bool) -> Look:
    return Look(theme.series[0 if gains else 1].colour, hatch="////" if own else "" if gains else "xxxx")


def _notes(levers: Levers) -> Iterator[str]:
    titles = {one.key: lettered(one.title) for one in levers.levers}
    for pair in _overlapping(levers.overlaps):
        one, other = titles.get(pair.first, pair.first), titles.get(pair.second, pair.second)
        yield (
            f"{one} and {other}: together {gain(pair.joint)}, {gain(pair.overlap).lstrip('+')} less than apart "
            f"({gain(pair.first_gained)} and {gain(pair.second_gained)})."
        )
    if levers.all_together is not None and len(levers.levers) > 1:
        yield f"All that go together: {gain(levers.all_together)}."


def _overlapping(overlaps: Sequence[Overlap]) -> list[Overlap]:
    """The pairs of gaining levers that share most of what they gain."""
    gaining = [one for one in overlaps if min(one.first_gained, one.second_gained) > 0.0 and one.overlap > 5e-5]
    return sorted(gaining, key=lambda one: -one.overlap)[:_PAIRS]


def _numbers(one: Lever) -> list[str]:
    hours = "" if one.gpu_hours_saved is None else f"{large(one.gpu_hours_saved)} GPU-hours"
    return [gain(one.gained), hours]


def _rows(levers: Levers, theme: Theme) -> Block:
    rows = levers.levers
    named = max(
        max(width(shortened(lettered(one.title), _NAME)), width(shortened(lettered(one.change), _NAME, SMALL), SMALL))
        for one in rows
    )
    numbered = max(width(text, bold=True) for one in rows for text in _numbers(one))
    left, right = EDGE + named + _APART, PAGE - EDGE - numbered - _APART
    high = len(rows) * _ROW

    def draw(figure: Figure, place: Rect) -> None:
        at = Rect(left, place.bottom + _BELOW, right - left, high)
        _bars(axes(figure, at), rows, theme)
        for number, one in enumerate(rows):
            middle = at.bottom + high - (number + 0.5) * _ROW
            shift = 0.5 * height(SMALL) if one.change else 0.0
            write(figure, EDGE, middle + shift, shortened(lettered(one.title), _NAME), bold=False)
            change = shortened(lettered(one.change), _NAME, SMALL)
            write(figure, EDGE, middle - shift, change, size=SMALL, colour=theme.muted)
            points, hours = _numbers(one)
            shift = 0.5 * height(SMALL) if hours else 0.0
            write(figure, PAGE - EDGE, middle + shift, points, align="right", bold=True)
            write(figure, PAGE - EDGE, middle - shift, hours, size=SMALL, align="right", colour=theme.muted)

    return Block(high + _BELOW, draw)


def _bars(axis_of: Axes, rows: Sequence[Lever], theme: Theme) -> None:
    gains = [100.0 * one.gained for one in rows]
    for number, (one, value) in enumerate(zip(rows, gains, strict=True)):
        look = _look(theme, gains=one.gained >= 0.0, own=one.own)
        (bar,) = axis_of.barh(number, value, height=_BAR / _ROW, facecolor=look.colour)
        bar.set(hatch=look.hatch, edgecolor=theme.background, linewidth=0.6, gid=f"lever:{lettered(one.key)}")
    axis_of.set_ylim(len(rows) - 0.5, -0.5)
    axis_of.set_yticks([])
    low, high = min(*gains, 0.0), max(*gains, 0.0)
    margin = 0.06 * (high - low) or 1.0
    linear(axis_of, low - (margin if low < 0.0 else 0.0), high + margin, plain, vertical=False, most=4)
    axis_of.axvline(0.0, color=theme.muted, linewidth=1.0)
    grid(axis_of, theme, y=False)
    axis_of.tick_params(labelsize=SMALL)
    axis_of.spines["left"].set_visible(False)
    axis_of.set_xlabel("points of goodput", fontsize=SMALL, labelpad=2)

"""What each lever gains, ranked, with the pairs that overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.plan.levers.lever import Lever
from ckptplan.plan.levers.record import Levers, Overlap
from ckptplan.plan.levers.wording import gain, large
from ckptplan.render.numbers import percent, quantity
from ckptplan.render.plots.lettering import distinct, height, lettered, lettered_sentence, shortened, width, wrapped
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
from ckptplan.render.plots.style import BODY, SMALL, Look, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _BAR = 0.44, 0.24  # least height of a row, and of the bar in it [inch]
_BETWEEN = 0.08  # rows of words [inch]
_MOST_LINES = 4  # of a change
_LEAST = 5e-6  # of goodput: what is printed as 0.001 points
_NAME = 3.35  # most that a title takes [inch]
_BELOW = 0.55  # for the axis [inch]
_APART = 0.14
_PAIRS = 3  # that are named at most


def tornado_figure(levers: Levers, theme: Theme) -> Figure:
    """Points of goodput that each lever gains, the one that is worth most on top."""
    title = "What each change would gain"
    now = f"goodput now {percent(levers.goodput)} on {quantity(levers.gpus, 'GPU')}"
    blocks = heading(theme, levers.name, f"{title}, each at its own best interval; {now}")
    if levers.levers:
        keys = list(_keys(levers, theme))
        blocks += [*([legend(theme, keys)] if len(keys) > 1 else []), _rows(levers, theme)]
    blocks += [lines([lettered_sentence(levers.first)]), footnotes(theme, list(_notes(levers)))]
    return figure_of(theme, blocks, f"{lettered(levers.name)}: {title}", words(levers))


def words(levers: Levers) -> str:
    """What the picture says, for those who do not see it."""
    names = distinct([one.title for one in levers.levers], "change")
    gains = [f"{names[one.title]}: {gain_text(one.gained)}." for one in levers.levers]
    return " ".join([f"{lettered_sentence(levers.first)}.", *gains, *_notes(levers)])


def _keys(levers: Levers, theme: Theme) -> Iterator[Key]:
    yield Key("gains", _look(theme, gains=True, own=False), "patch")
    if any(one.gained < 0.0 for one in levers.levers):
        yield Key("does harm", _look(theme, gains=False, own=False), "patch")
    if any(one.own for one in levers.levers):
        yield Key("a change of your own", _look(theme, gains=True, own=True), "patch")


def _look(theme: Theme, *, gains: bool, own: bool) -> Look:
    return Look(theme.series[0 if gains else 1].colour, hatch="////" if own else "" if gains else "xxxx")


def _notes(levers: Levers) -> Iterator[str]:
    if any(_differs(one) for one in levers.levers):
        yield (
            "Ranked by what each gains at equal GPU-hours: GPUs that a change adds, such as nodes that stand by, are "
            "paid for out of its gain. One that costs GPU-hours gains goodput, but less than its GPUs would do."
            if any((one.gpu_hours_saved or 0.0) < 0.0 < one.gained for one in levers.levers)
            else "Ranked by what each gains at equal GPU-hours: GPUs that a change adds are paid for out of its gain."
        )
    drawn = distinct([one.title for one in levers.levers], "change")
    titles = {one.key: shortened(drawn[one.title], _NAME, SMALL) for one in levers.levers}
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


def gain_text(share: float) -> str:
    """Points that are gained; what is not nothing does not read as nothing."""
    if share and abs(share) < _LEAST:
        return "below 0.001 points" if share > 0.0 else "loses below 0.001 points"
    return gain(share)


def _hours(one: Lever) -> str:
    if one.gpu_hours_saved is None or one.gpu_hours_saved == 0.0:
        return ""
    size = abs(one.gpu_hours_saved)
    return f"{'saves' if one.gpu_hours_saved > 0.0 else 'costs'} {large(size) if size >= 0.01 else '< 0.01'} GPU-hours"


def _under(one: Lever) -> list[str]:
    """What is written under the points that are gained."""
    return [text for text in (_hours(one), f"ranks by {gain_text(one.worth)}" if _differs(one) else "") if text]


class _Words(NamedTuple):
    """What is written left of a bar, line by line."""

    titles: list[str]
    changes: list[str]

    @property
    def height(self) -> float:
        return len(self.titles) * height(BODY) + len(self.changes) * height(SMALL)


def _words_of(levers: Levers) -> list[_Words]:
    titles = distinct([one.title for one in levers.levers], "change")
    return [
        _Words(
            _cut(list(wrapped(titles[one.title], _NAME)), 2, BODY),
            _cut(list(wrapped(lettered_sentence(one.change), _NAME, SMALL)), _MOST_LINES, SMALL),
        )
        for one in levers.levers
    ]


def _cut(broken: list[str], most: int, size: float) -> list[str]:
    """The first lines, the last with an ellipsis if some are left out."""
    if len(broken) <= most:
        return broken
    return [*broken[: most - 1], shortened(f"{broken[most - 1]} {broken[most]}", _NAME, size)]


def _rows(levers: Levers, theme: Theme) -> Block:
    rows, words_of = levers.levers, _words_of(levers)
    named = max(
        max((width(text, size) for text in texts), default=0.0)
        for one in words_of
        for texts, size in ((one.titles, BODY), (one.changes, SMALL))
    )
    numbered = max(
        max(width(gain_text(one.gained), bold=True), *(width(text, SMALL) for text in ("", *_under(one))))
        for one in rows
    )
    left, right = EDGE + named + _APART, PAGE - EDGE - numbered - _APART
    lines_of = max(len(_under(one)) for one in rows)
    each = max(_ROW, max(one.height for one in words_of) + _BETWEEN, height(BODY) + lines_of * height(SMALL) + _BETWEEN)
    high = len(rows) * each

    def draw(figure: Figure, place: Rect) -> None:
        at = Rect(left, place.bottom + _BELOW, right - left, high)
        _bars(axes(figure, at), rows, theme, each)
        for number, one in enumerate(rows):
            middle = at.bottom + high - (number + 0.5) * each
            _write_words(figure, theme, words_of[number], middle)
            _write_numbers(figure, theme, one, middle)

    return Block(high + _BELOW, draw)


def _write_words(figure: Figure, theme: Theme, found: _Words, middle: float) -> None:
    y = middle + 0.5 * found.height
    for texts, size, colour in ((found.titles, BODY, theme.text), (found.changes, SMALL, theme.muted)):
        for text in texts:
            write(figure, EDGE, y - 0.5 * height(size), text, size=size, colour=colour)
            y -= height(size)


def _write_numbers(figure: Figure, theme: Theme, one: Lever, middle: float) -> None:
    y = middle + 0.5 * len(_under(one)) * height(SMALL)
    write(figure, PAGE - EDGE, y, gain_text(one.gained), align="right", bold=True)
    for place, text in enumerate(_under(one), start=1):
        write(figure, PAGE - EDGE, y - place * height(SMALL), text, size=SMALL, align="right", colour=theme.muted)


def _differs(one: Lever) -> bool:
    """Whether it ranks by another number than the points that it gains."""
    return abs(one.worth - one.gained) >= _LEAST


def _bars(axis_of: Axes, rows: Sequence[Lever], theme: Theme, each: float) -> None:
    gains = [100.0 * one.gained for one in rows]
    for number, (one, value) in enumerate(zip(rows, gains, strict=True)):
        look = _look(theme, gains=one.gained >= 0.0, own=one.own)
        (bar,) = axis_of.barh(number, value, height=_BAR / each, facecolor=look.colour)
        bar.set(hatch=look.hatch, edgecolor=theme.background, linewidth=0.6, gid=f"lever:{lettered(one.key)}")
    axis_of.set_ylim(len(rows) - 0.5, -0.5)
    axis_of.set_yticks([])
    low, high = min(*gains, 0.0), max(*gains, 100.0 * _LEAST)
    margin = 0.06 * (high - low)
    linear(axis_of, low - (margin if low < 0.0 else 0.0), high + margin, plain, vertical=False, most=4)
    axis_of.axvline(0.0, color=theme.muted, linewidth=1.0)
    grid(axis_of, theme, y=False)
    axis_of.tick_params(labelsize=SMALL)
    axis_of.spines["left"].set_visible(False)
    axis_of.set_xlabel("points of goodput", fontsize=SMALL, labelpad=2)

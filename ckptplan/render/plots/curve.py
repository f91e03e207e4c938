"""Goodput against the interval: every strategy, what each method recommends, how flat it is, what the user has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ckptplan.plan.curve import GoodputCurve
from ckptplan.plan.progress import LEAST_GOODPUT
from ckptplan.plan.record import TIERS, Plan, Record
from ckptplan.render.numbers import percent, points, seconds, whole
from ckptplan.render.plots.flags import Flag, draw_flags, room, rows_of
from ckptplan.render.plots.given import NAME, given_notes, given_of, names_of
from ckptplan.render.plots.lettering import beside, distinct, lettered, shortened
from ckptplan.render.plots.page import (
    LEFT,
    PAGE,
    RIGHT,
    ROOM,
    Block,
    Key,
    Rect,
    axes,
    figure_of,
    footnotes,
    heading,
    legend,
    lines,
    space,
)
from ckptplan.render.plots.page import marker as marker_of
from ckptplan.render.plots.scales import grid, in_percent, linear, log_time
from ckptplan.render.plots.style import SMALL, Look, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH = 3.1  # of the axes [inch]
_BELOW = 0.5  # for the numbers and the name of the horizontal axis [inch]
_MARKERS = MappingProxyType({"young": "^", "daly": "D", "exact": "o", "renewal": "P"})
_TYPED = "s"  # marker of whole steps, where they are apart from the best interval
_APART = 0.08  # from which distance on they are [inch]
_EDGE = 1.05  # ratio by which the horizontal axis goes on beyond what is shown
_NAMES = MappingProxyType({"young": "Young", "daly": "Daly", "exact": "exact", "renewal": "renewal"})
_FEWEST_POINTS = 0.004  # of goodput, that the vertical axis spans


class _View(NamedTuple):
    """What part of the plane is shown."""

    low_s: float
    high_s: float
    bottom: float
    top: float


def curve_figure(plan: Plan, curve: GoodputCurve, theme: Theme) -> Figure:
    """Goodput against the interval, at the planned scale."""
    title = "Goodput against the interval between saves"
    head = heading(theme, plan.name, f"{title}, {gpus_of(plan)}")
    return figure_of(theme, [*head, *curve_blocks(plan, curve, theme)], f"{lettered(plan.name)}: {title}", words(curve))


def gpus_of(plan: Plan) -> str:
    """``16,384 GPUs``."""
    return f"{whole(plan.gpus)} GPU{'' if plan.gpus == 1 else 's'}"


def words(curve: GoodputCurve) -> str:
    """What the picture says, for those who do not see it."""
    texts, names = [], distinct([line.strategy for line in curve.lines], "strategy")
    for line in curve.lines:
        best = int(np.nanargmax(line.goodput)) if not np.isnan(line.goodput).all() else 0
        texts.append(
            f"{names[line.strategy]} rises to {percent(float(line.goodput[best]))} at about "
            f"{seconds(float(curve.interval_s[best]))} and falls on both sides."
        )
    return " ".join([*texts, *([] if curve.flat is None else [flat_text(curve)])])


def flat_text(curve: GoodputCurve) -> str:
    """Where the optimum is flat, in one sentence."""
    if curve.flat is None:
        return ""
    low, high = seconds(curve.flat.low_s), seconds(curve.flat.high_s)
    if low == high:
        return f"Only {low} is within {100.0 * curve.flat.within_fraction:g} point of the best."
    return f"Anything from {low} to {high} is within {100.0 * curve.flat.within_fraction:g} point of the best."


def curve_blocks(plan: Plan, curve: GoodputCurve, theme: Theme) -> list[Block]:
    """Legend and axes, for a figure of several parts."""
    most = max((float(np.nanmax(line.goodput, initial=0.0)) for line in curve.lines), default=0.0)
    if not most > LEAST_GOODPUT:
        return [lines([f"There is no curve: no interval has a goodput above {percent(most)}."])]
    looks = looks_of(curve, theme)
    strategies = [Key(_strategy(plan, curve, line.strategy), looks[line.strategy]) for line in curve.lines]
    kinds = dict.fromkeys(record.method for record in _marked(plan))
    keys = [Key(_NAMES[method], Look(theme.text, marker=_MARKERS[method]), "marker") for method in kinds]
    typed = typed_apart(plan, _view(plan, curve))
    if typed:
        keys.append(Key("whole steps, as typed", Look(theme.text, marker=_TYPED), "marker"))
    if curve.flat is not None:
        what = "what is typed" if typed else "the best"
        keys.append(Key(f"within {100.0 * curve.flat.within_fraction:g} point of {what}", Look(theme.shade), "patch"))
    if plan.given():
        keys.append(Key("given", Look(theme.accent, marker="X"), "marker"))
    above = [*(legend(theme, [key]) for key in strategies), legend(theme, keys)]
    caption = lines(["goodput: useful share of wall time"], size=SMALL, colour=theme.muted)
    return [*above, space(0.05), caption, _axes(plan, curve, theme), footnotes(theme, given_notes(plan))]


def looks_of(curve: GoodputCurve, theme: Theme) -> dict[str, Look]:
    """The look of each strategy: the best one comes first."""
    names = sorted((line.strategy for line in curve.lines), key=lambda name: name != curve.best)
    return {name: theme.look(number) for number, name in enumerate(names)}


def _marked(plan: Plan) -> list[Record]:
    return [r for r in plan.records if not r.given and r.gpus == plan.gpus]


def _strategy(plan: Plan, curve: GoodputCurve, name: str) -> str:
    records = [record for record in _marked(plan) if record.strategy == name]
    intervals = ", ".join(f"{_NAMES[record.method]} {seconds(record.interval_s)}" for record in records)
    if name == TIERS:
        intervals = f"{seconds(records[0].interval_s)} between saves to any tier" if records else ""
    goodput = max((record.goodput_typed for record in records), default=math.nan)
    best = " (best)" if name == curve.best and len(curve.lines) > 1 else ""
    for record in typed_apart(plan, _view(plan, curve)):
        if record.strategy == name:
            intervals += f", typed {seconds(record.typed_interval_s(plan.step_time_s))}"
            goodput = record.goodput_typed
    return beside(names_of(plan)[name], f"{best}: {intervals}; goodput {percent(goodput)}", ROOM)


def typed_apart(plan: Plan, view: _View) -> list[Record]:
    """The optima whose whole steps lie apart from them: steps are long, or the curve has jumps."""
    if plan.step_time_s is None:
        return []
    least = _APART / (PAGE - LEFT - RIGHT) * math.log(view.high_s / view.low_s)
    pairs = [(record, record.typed_interval_s(plan.step_time_s)) for record in plan.optima()]
    return [r for r, typed_s in pairs if r.interval_s > 0.0 and abs(math.log(typed_s / r.interval_s)) > least]


def _view(plan: Plan, curve: GoodputCurve) -> _View:
    """Around the optima and what is given: far enough to see them fall, near enough to tell them apart."""
    seen = [r.goodput_exact for r in plan.records if r.gpus == plan.gpus]
    high, low = max(seen), min(seen)
    span = max(1.6 * (high - low), 1.2 * (1.0 - high), _FEWEST_POINTS)
    bottom, top = max(high - span, 0.0), high + 0.06 * span  # room for a mark at 100 %
    with np.errstate(invalid="ignore"):
        shown = np.flatnonzero(np.any([line.goodput >= bottom for line in curve.lines], axis=0))
    ends = curve.interval_s[[shown[0], shown[-1]] if shown.size else [0, -1]]
    low_s, high_s = (float(v) for v in np.clip(ends * (1.0 / _EDGE, _EDGE), *curve.interval_s[[0, -1]]))
    return _View(low_s, high_s, bottom, top)


def _axes(plan: Plan, curve: GoodputCurve, theme: Theme) -> Block:
    view = _view(plan, curve)
    inner = PAGE - LEFT - RIGHT
    placed = rows_of(list(_flags(plan, curve, theme)), view[:2], Rect(LEFT, 0.0, inner, _HIGH), log=True)
    above = room(placed) + 0.04

    def draw(figure: Figure, place: Rect) -> None:
        at = Rect(LEFT, place.bottom + _BELOW, inner, _HIGH)
        axis_of = axes(figure, at)
        log_time(axis_of, view.low_s, view.high_s, inner)
        linear(axis_of, view.bottom, view.top, in_percent, vertical=True, last=1.0)
        grid(axis_of, theme)
        axis_of.set_xlabel("interval: work between two saves", labelpad=3)
        _draw(axis_of, plan, curve, theme)
        draw_flags(figure, axis_of, theme, placed, at)

    return Block(above + _HIGH + _BELOW, draw)


def _draw(axis_of: Axes, plan: Plan, curve: GoodputCurve, theme: Theme) -> None:
    looks = looks_of(curve, theme)
    if curve.flat is not None:
        axis_of.axvspan(curve.flat.low_s, curve.flat.high_s, color=theme.shade, linewidth=0.0, zorder=0.5, gid="flat")
    for line in curve.lines:
        look = looks[line.strategy]
        best = line.strategy == curve.best
        axis_of.plot(
            curve.interval_s,
            line.goodput,
            color=look.colour,
            linestyle=look.dash,
            linewidth=2.2 if best else 1.6,
            gid=f"curve:{lettered(line.strategy)}",
        )
    for record in _marked(plan):
        look = Look(looks[record.strategy].colour, marker=_MARKERS[record.method])
        _mark(axis_of, theme, look, record, f"{record.method}:{lettered(record.strategy)}")
    for record in typed_apart(plan, _view(plan, curve)):
        at = record._replace(interval_s=record.typed_interval_s(plan.step_time_s), goodput_exact=record.goodput_typed)
        look = Look(looks[record.strategy].colour, marker=_TYPED)
        _mark(axis_of, theme, look, at, f"typed:{lettered(record.strategy)}")
    for record in given_of(plan):
        _mark(axis_of, theme, Look(theme.accent, marker="X"), record, f"given:{lettered(record.strategy)}")


def _mark(axis_of: Axes, theme: Theme, look: Look, record: Record, name: str) -> None:
    made = marker_of(theme, look, [record.interval_s], [record.goodput_exact])
    made.set(gid=name, zorder=4.0 if record.method in ("exact", "renewal") else 3.5)
    axis_of.add_line(made)


def _flags(plan: Plan, curve: GoodputCurve, theme: Theme) -> Iterator[Flag]:
    if curve.flat is not None:
        dash = (0, (1.2, 1.4))
        low, high = seconds(curve.flat.low_s), seconds(curve.flat.high_s)
        if low == high:
            yield Flag(curve.flat.low_s, f"{low} alone", theme.muted, dash)
        else:
            yield Flag(curve.flat.low_s, f"from {low}", theme.muted, dash)
            yield Flag(curve.flat.high_s, f"to {high}", theme.muted, dash)
    for record in given_of(plan):
        if record.strategy == curve.best:
            which = f" with {shortened(names_of(plan)[curve.best], NAME, SMALL)}" if len(curve.lines) > 1 else ""
            text = f"given {seconds(record.interval_s)}: loses {points(record.lost_goodput)}{which}"
            yield Flag(record.interval_s, text, theme.accent)

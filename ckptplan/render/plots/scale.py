"""Goodput and useful GPUs against the number of GPUs, with the planned size, the peak and the limit of pay."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ckptplan.plan.scale.lines import ScaleLine
from ckptplan.plan.scale.scaling import Scaling
from ckptplan.render.numbers import percent, whole
from ckptplan.render.plots.flags import Flag, draw_flags, room, rows_of
from ckptplan.render.plots.lettering import beside, distinct, height, lettered
from ckptplan.render.plots.page import (
    EDGE,
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
    marker,
    right_of,
    space,
    write,
)
from ckptplan.render.plots.scales import beyond_counts, grid, in_percent, linear, log_count, plain
from ckptplan.render.plots.style import SMALL, Look, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH, _BELOW, _BETWEEN = 2.0, 0.5, 0.4  # of the two axes, under the lower one, and between them [inch]
_WIDEN = 1.15  # of the horizontal axis beyond its values
_APART = 0.1  # between two marks of a line, which would hide it if they touched [inch]


def scale_figure(scaling: Scaling, drawn: Sequence[ScaleLine], theme: Theme) -> Figure:
    """Goodput above, useful GPUs below, each strategy a line with marks at the sizes of the table."""
    title = "Goodput and useful GPUs against the number of GPUs"
    keys = [Key(_name(scaling, name), look, "both") for name, look in _looks(scaling, theme).items()]
    marks = [Key("peak: more GPUs stop helping", Look(theme.text, marker="*"), "marker")]
    if any(peak.paying is not None for peak in scaling.peaks):
        marks.append(Key("limit of pay: more GPUs stop paying", Look(theme.text, marker="P"), "marker"))
    blocks = [
        *heading(theme, scaling.name, title),
        *(legend(theme, [key]) for key in keys),
        legend(theme, marks),
        space(0.05),
        _axes(scaling, drawn, theme),
        footnotes(theme, _notes(scaling)),
    ]
    return figure_of(theme, blocks, f"{lettered(scaling.name)}: {title}", words(scaling))


def _looks(scaling: Scaling, theme: Theme) -> dict[str, Look]:
    """The look of each strategy: the best one comes first."""
    names = sorted(scaling.strategies, key=lambda name: name != scaling.best)
    return {name: theme.look(number) for number, name in enumerate(names)}


def _name(scaling: Scaling, name: str) -> str:
    peak = next(one.peak for one in scaling.peaks if one.strategy == name)
    best = " (best)" if name == scaling.best and len(scaling.strategies) > 1 and scaling.makes_progress else ""
    if peak.gpus is None:
        text = "no peak up to 1e9 GPUs"
    elif peak.gpus == 0:
        text = "gets nowhere at any size"
    else:
        text = f"peak of {whole(peak.useful_gpus)} useful GPUs at {whole(peak.gpus)}"
    return beside(distinct(scaling.strategies, "strategy")[name], f"{best}: {text}", ROOM)


def words(scaling: Scaling) -> str:
    """What the picture says, for those who do not see it."""
    texts = [
        f"{lettered(name)} at the planned {whole(scaling.gpus)} GPUs: goodput "
        f"{percent(scaling.planned(name).goodput)}, {whole(scaling.planned(name).useful_gpus)} useful GPUs."
        for name in scaling.strategies
    ]
    return " ".join([*texts, *(f"{_name(scaling, name)}." for name in scaling.strategies), *_notes(scaling)])


def _notes(scaling: Scaling) -> list[str]:
    """What the lines and marks leave out."""
    found, listed, marked = [], {record.gpus for record in scaling.records}, _marked(scaling)
    if scaling.batch is not None:
        batch = whole(scaling.batch.global_batch)
        found.append(
            f"Between sizes that divide the global batch of {batch} evenly the lines are straight; what lies there "
            "does less, as replicas wait for the busiest one."
        )
    if len(marked) < len(listed):
        found.append(f"Marks are {whole(len(marked))} of the {whole(len(listed))} sizes, as more would touch.")
    return found


def _marked(scaling: Scaling) -> set[int]:
    """Sizes that have marks: as many of the table as are seen apart, the planned and the largest one above all."""
    low, high = _span(scaling)
    inch = math.log(high / low) / _inner(scaling)
    listed = sorted({record.gpus for record in scaling.records})
    kept: list[int] = []
    for gpus in (scaling.gpus, listed[-1], *listed):
        if gpus in listed and all(abs(math.log(gpus / one)) >= _APART * inch for one in kept):
            kept.append(gpus)
    return set(kept)


def _inner(scaling: Scaling) -> float:
    """How wide the axes are. [inch]."""
    return PAGE - LEFT - right_of(beyond_counts(*_span(scaling), PAGE - LEFT - RIGHT))


def _axes(scaling: Scaling, drawn: Sequence[ScaleLine], theme: Theme) -> Block:
    low, high = _span(scaling)
    inner = _inner(scaling)
    flags = list(_flags(scaling, theme))
    placed = rows_of(flags, (low, high), Rect(LEFT, 0.0, inner, _HIGH), log=True)
    caption = height(SMALL)
    above = caption + room(placed) + 0.04

    def draw(figure: Figure, place: Rect) -> None:
        lower = Rect(LEFT, place.bottom + _BELOW, inner, _HIGH)
        upper = Rect(LEFT, lower.bottom + _HIGH + _BETWEEN, inner, _HIGH)
        for at, field in ((upper, "goodput"), (lower, "useful_gpus")):
            axis_of = axes(figure, at)
            log_count(axis_of, low, high, inner)
            _draw(axis_of, scaling, drawn, theme, field)
            grid(axis_of, theme)
            if at is upper:
                axis_of.tick_params(labelbottom=False)
                draw_flags(figure, axis_of, theme, placed, at)
            else:
                axis_of.set_xlabel("number of GPUs", labelpad=3)
                for one in placed:
                    axis_of.axvline(one.flag.at, color=one.flag.colour, linestyle=one.flag.dash, linewidth=1.2)
        write(figure, EDGE, place.bottom + place.height - 0.5 * caption, "goodput", size=SMALL, colour=theme.muted)
        text = "useful GPUs: as many would do the same work without saves and failures"
        write(figure, EDGE, lower.bottom + _HIGH + 0.5 * _BETWEEN, text, size=SMALL, colour=theme.muted)

    return Block(above + 2.0 * _HIGH + _BETWEEN + _BELOW, draw)


def _span(scaling: Scaling) -> tuple[float, float]:
    turns = [turn for peak in scaling.peaks for turn in (peak.peak, peak.paying) if turn is not None]
    sizes = [record.gpus for record in scaling.records] + [turn.gpus for turn in turns if turn.gpus]
    return min(sizes) / _WIDEN, max(sizes) * _WIDEN


def _draw(axis_of: Axes, scaling: Scaling, drawn: Sequence[ScaleLine], theme: Theme, field: str) -> None:
    looks = _looks(scaling, theme)
    highest, marked = 0.0, _marked(scaling)
    for peak, line in zip(scaling.peaks, drawn, strict=True):
        look, values = looks[peak.strategy], getattr(line, field)
        listed = {r.gpus for r in scaling.records if r.strategy == peak.strategy and r.gpus in marked}
        axis_of.plot(
            line.gpus,
            values,
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
            markersize=5.0,
            markevery=[place for place, gpus in enumerate(line.gpus) if gpus in listed],
            clip_on=False,
            gid=f"{field}:{lettered(peak.strategy)}",
        )
        for turn, sign in ((peak.peak, "*"), (peak.paying, "P")):
            value = None if turn is None or not turn.gpus else getattr(turn, field)
            if turn is None or turn.gpus is None or value is None:
                continue
            made = marker(theme, Look(look.colour, marker=sign), [turn.gpus], [value])
            made.set(zorder=4.0, gid=f"{'peak' if sign == '*' else 'paying'}:{lettered(peak.strategy)}")
            axis_of.add_line(made)
        highest = max(highest, *(value for value in values if not math.isnan(value)))
    linear(axis_of, 0.0, 1.08 * highest or 1.0, in_percent if field == "goodput" else plain, vertical=True, most=5)


def _flags(scaling: Scaling, theme: Theme) -> Iterator[Flag]:
    yield Flag(scaling.gpus, f"planned: {whole(scaling.gpus)}", theme.muted, (0, (1.2, 1.4)))
    best = next(peak for peak in scaling.peaks if peak.strategy == scaling.best)
    colour = _looks(scaling, theme)[scaling.best].colour
    if best.peak.gpus:
        yield Flag(best.peak.gpus, f"peak: {whole(best.peak.gpus)}", colour)
    if best.paying is not None and best.paying.gpus:
        yield Flag(best.paying.gpus, f"limit of pay: {whole(best.paying.gpus)}", colour, (0, (7, 2, 1.2, 2)))

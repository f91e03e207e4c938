"""A heat map: a cell for each pair of values, with its number where that fits, and the scale of the colours below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ckptplan.interval.blocks import Floats
from ckptplan.render.plots.lettering import height, lettered, shortened, width
from ckptplan.render.plots.page import EDGE, PAGE, RIGHT, Block, Rect, axes, write
from ckptplan.render.plots.style import SMALL, Theme
from ckptplan.sweep.study import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = "cividis"  # its lightness rises from end to end, for every eye and in grey
_TALLEST, _CELL, _LOWEST = 4.2, 0.34, 0.04  # of the map, and of a cell at most and at least [inch]
_LABEL = 1.5  # most that the label of a row takes [inch]
_GAP = 0.1
_BAR = 0.14  # of the scale of the colours [inch]
_MOST_NUMBERS = 400  # cells with a number in each
_DARK = 0.45  # luminance below which text on a cell is white


def heat_block(
    values: Floats,
    both: tuple[Axis, Axis],
    ends: tuple[float, float],
    text: Callable[[float], str],
    theme: Theme,
) -> Block:
    """One map: the first axis runs to the right, the second upwards. ``ends`` are those of the colours."""
    across, up = both
    labels = [shortened(lettered(name), _LABEL, SMALL) for name in up.texts]
    left = EDGE + max(width(name, SMALL) for name in labels) + _GAP
    inner = PAGE - RIGHT - left
    each = min(_CELL, max(_TALLEST / len(labels), _LOWEST))
    high = each * len(labels)
    line = height(SMALL)
    below = 2.0 * line + 0.1 + _BAR + line + 0.08

    def draw(figure: Figure, place: Rect) -> None:
        at = Rect(left, place.bottom + below, inner, high)
        axis_of = axes(figure, at)
        _cells(axis_of, values, ends)
        top = at.bottom + high
        write(figure, EDGE, top + 0.5 * line + 0.03, lettered(up.key), size=SMALL, colour=theme.muted)
        _row_labels(figure, labels, at, each)
        _column_labels(figure, [lettered(name) for name in across.texts], at, line)
        middle = at.bottom - 1.5 * line - 0.03
        write(figure, left + 0.5 * inner, middle, lettered(across.key), align="center", size=SMALL, colour=theme.muted)
        levels = () if _numbers(figure, values, at, ends, text) else _levels(ends)
        _contours(axis_of, values, ends, levels)
        _scale(figure, theme, Rect(left, place.bottom + line + 0.06, inner, _BAR), ends, levels=levels, text=text)

    return Block(line + 0.05 + high + below, draw)


def _cells(axis_of: Axes, values: Floats, ends: tuple[float, float]) -> None:
    low, high = ends
    axis_of.pcolormesh(
        np.arange(values.shape[0] + 1),
        np.arange(values.shape[1] + 1),
        np.ma.masked_invalid(values.T),
        cmap=_COLOURS,
        vmin=low,
        vmax=high if high > low else low + 1.0,
        edgecolors="none",
        rasterized=False,
        gid="heat",
    )
    axis_of.set_xticks([])
    axis_of.set_yticks([])
    for spine in axis_of.spines.values():
        spine.set_visible(False)


def _every(count: int, room: float, needed: float) -> int:
    """Of how many labels one is written, so that each has the room it needs."""
    return next(step for step in range(1, count + 1) if step == count or room * step / count >= needed)


def _row_labels(figure: Figure, labels: Sequence[str], at: Rect, each: float) -> None:
    step = _every(len(labels), at.height, height(SMALL))
    for place in range(0, len(labels), step):
        y = at.bottom + (place + 0.5) * each
        write(figure, at.left - 0.06, y, labels[place], size=SMALL, align="right")


def _column_labels(figure: Figure, labels: Sequence[str], at: Rect, line: float) -> None:
    widest = max(width(name, SMALL) for name in labels) + _GAP
    step = _every(len(labels), at.width, widest)
    each = at.width / len(labels)
    for place in range(0, len(labels), step):
        name = shortened(labels[place], each * step - _GAP, SMALL) if step < len(labels) else labels[place]
        half = 0.5 * width(name, SMALL)
        x = min(max(at.left + (place + 0.5) * each, EDGE + half), PAGE - EDGE - half)
        write(figure, x, at.bottom - 0.5 * line - 0.02, name, size=SMALL, align="center")


def _numbers(figure: Figure, values: Floats, at: Rect, ends: tuple[float, float], text: Callable[[float], str]) -> bool:
    """The number of every cell, if all fit; whether they do."""
    wide, high = at.width / values.shape[0], at.height / values.shape[1]
    if values.size > _MOST_NUMBERS or high < height(SMALL):
        return False
    texts = np.array([["-" if np.isnan(v) else text(float(v)) for v in row] for row in values])
    if max(width(one, SMALL) for one in texts.ravel()) > wide - 0.06:
        return False
    for (x, y), value in np.ndenumerate(values):
        colour = None if np.isnan(value) else _on_cell(float(value), ends)
        middle = (at.left + (x + 0.5) * wide, at.bottom + (y + 0.5) * high)
        write(figure, *middle, str(texts[x, y]), size=SMALL, align="center", colour=colour)
    return True


def _levels(ends: tuple[float, float]) -> tuple[float, ...]:
    """Round values between the ends, for contour lines."""
    from matplotlib.ticker import MaxNLocator

    low, high = ends
    return tuple(float(v) for v in MaxNLocator(nbins=6).tick_values(low, high) if low < v < high)


def _contours(axis_of: Axes, values: Floats, ends: tuple[float, float], levels: Sequence[float]) -> None:
    """A line along each level, black where it is light and white where it is dark."""
    known = values[np.isfinite(values)]
    within = [level for level in levels if known.min() < level < known.max()]
    if not within or min(values.shape) < 2:
        return
    x, y = (np.arange(count) + 0.5 for count in values.shape)
    colours = [_on_cell(level, ends) for level in within]
    axis_of.contour(x, y, np.ma.masked_invalid(values.T), levels=within, colors=colours, linewidths=0.9)


def _on_cell(value: float, ends: tuple[float, float]) -> str:
    """Black on light cells, white on dark ones."""
    from matplotlib import colormaps

    low, high = ends
    red, green, blue, _ = colormaps[_COLOURS](0.0 if high <= low else (value - low) / (high - low))
    return "#FFFFFF" if 0.3 * red + 0.59 * green + 0.11 * blue < _DARK else "#000000"


def _scale(
    figure: Figure,
    theme: Theme,
    at: Rect,
    ends: tuple[float, float],
    *,
    levels: Sequence[float],
    text: Callable[[float], str],
) -> None:
    """The colours with their values; where there are contour lines, theirs are marked in it."""
    low, high = ends
    if not high > low:
        write(figure, at.left, at.bottom, f"everywhere {text(low)}", size=SMALL, colour=theme.muted)
        return
    axis_of = axes(figure, at)
    axis_of.imshow(
        np.linspace(0.0, 1.0, 256)[None, :],
        aspect="auto",
        cmap=_COLOURS,
        interpolation="nearest",
        extent=(low, high, 0.0, 1.0),
    )
    axis_of.set_axis_off()
    for level in levels:
        axis_of.axvline(level, color=_on_cell(level, ends), linewidth=0.9)
    y, until = at.bottom - 0.5 * height(SMALL) - 0.02, -np.inf
    last = PAGE - EDGE - width(text(high), SMALL)
    for value in (low, *(levels or (0.5 * (low + high),)), high):
        wide = width(text(value), SMALL)
        left = max(at.left + (value - low) / (high - low) * at.width - 0.5 * wide, EDGE)
        left = last if value == high else left
        if left > until and (value == high or left + wide + _GAP < last):
            write(figure, left, y, text(value), size=SMALL)
            until = left + wide + _GAP

"""Vertical marks with their labels above the axes, in as many rows as it takes for no two to touch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ckptplan.render.plots.lettering import height, shortened, width
from ckptplan.render.plots.page import EDGE, LEFT, PAGE, Rect, write
from ckptplan.render.plots.style import SMALL, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GAP = 0.12  # between labels of a row [inch]
_MOST_ROWS, _FEW = 5, 7  # up to which places are sought at which labels also keep off the marks of others
_MOST_TRIES = 3000
_BESIDE, _CLEAR = 0.06, 0.02  # from a mark to a label beside it, and to one that is not to lie on it [inch]


class Flag(NamedTuple):
    """A value of the horizontal axis with its label."""

    at: float
    text: str
    colour: str
    dash: Any = (0, (4, 2))


class Placed(NamedTuple):
    """A flag with the row of its label (0 is the lowest) and where the label begins. [inch]."""

    flag: Flag
    row: int
    left: float
    x: float


def rows_of(flags: Sequence[Flag], span: tuple[float, float], place: Rect, *, log: bool) -> list[Placed]:
    """Rows for all labels: none touches another, and where that can be had none lies on the mark of another.

    ``span`` are the ends of the axis, ``place`` is where the axes are. [inch]
    """
    wanted = []
    for flag in sorted(flags, key=lambda one: one.at):
        text = shortened(flag.text, PAGE - EDGE - LEFT, SMALL)
        wanted.append((flag._replace(text=text), place.left + position(flag.at, span, log=log) * place.width))
    for rows in range(1, _MOST_ROWS + 1):
        found = _apart(wanted, rows) if len(wanted) <= _FEW else None
        if found is not None:
            return found
    return _one_by_one(wanted)


def _places(number: int, wanted: Sequence[tuple[Flag, float]], rows: int) -> Iterator[Placed]:
    """Where a label may stand, the best place first: over its mark, or beside it on the side that is free."""
    flag, x = wanted[number]
    wide = width(flag.text, SMALL)
    reach = wide + _GAP
    left = number > 0 and x - wanted[number - 1][1] < reach
    right = number + 1 < len(wanted) and wanted[number + 1][1] - x < reach
    over, before, after = x - 0.5 * wide, x - wide - _BESIDE, x + _BESIDE
    starts = (over, after, before) if left is right else (after, over, before) if left else (before, over, after)
    for row in range(rows):
        for start in starts:
            yield Placed(flag, row, min(max(start, LEFT), PAGE - EDGE - wide), x)


def _apart(wanted: Sequence[tuple[Flag, float]], rows: int) -> list[Placed] | None:
    """Places in so many rows at which no label touches another or lies on a mark; None if there are none."""
    tries = 0

    def extended(found: list[Placed]) -> list[Placed] | None:
        nonlocal tries
        tries += 1
        if len(found) == len(wanted) or tries > _MOST_TRIES:
            return found if len(found) == len(wanted) else None
        for one in _places(len(found), wanted, rows):
            if not any(_meet(other, one) for other in found):
                whole = extended([*found, one])
                if whole is not None:
                    return whole
        return None

    return extended([])


def _one_by_one(wanted: Sequence[tuple[Flag, float]]) -> list[Placed]:
    """Places for many labels, each in the lowest row in which it touches no other."""
    found: list[Placed] = []
    for number in range(len(wanted)):
        places = _places(number, wanted, len(wanted))
        found.append(next(one for one in places if not any(_touch(other, one) for other in found)))
    return found


def position(value: float, span: tuple[float, float], *, log: bool) -> float:
    """Share of the axis at which a value lies. [1]."""
    low, high = span
    return math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)


def _touch(other: Placed, one: Placed) -> bool:
    """Whether two labels would touch."""
    here, there = width(one.flag.text, SMALL), width(other.flag.text, SMALL)
    apart = one.left >= other.left + there + _GAP or other.left >= one.left + here + _GAP
    return one.row == other.row and not apart


def _meet(other: Placed, one: Placed) -> bool:
    """The same, or one would lie on the line that leads to the other."""
    lower, upper = sorted((one, other), key=lambda placed: placed.row)
    ends = (lower.left - _CLEAR, lower.left + width(lower.flag.text, SMALL) + _CLEAR)
    return _touch(other, one) or (lower.row < upper.row and ends[0] < upper.x < ends[1])


def room(placed: Sequence[Placed]) -> float:
    """Height of the rows. [inch]."""
    return height(SMALL) * (max((one.row for one in placed), default=-1) + 1)


def draw_flags(figure: Figure, axis_of: Axes, theme: Theme, placed: Sequence[Placed], place: Rect) -> None:
    """The marks from the axis up to their labels, which stand above the axes."""
    from matplotlib.lines import Line2D

    wide, high = figure.get_size_inches()
    top = place.bottom + place.height
    for one in placed:
        axis_of.axvline(one.flag.at, color=one.flag.colour, linestyle=one.flag.dash, linewidth=1.2, zorder=2.5)
        y = top + (one.row + 0.5) * height(SMALL)
        if one.row:
            ends = (top / high, (top + one.row * height(SMALL) + 0.02) / high)
            figure.add_artist(Line2D((one.x / wide, one.x / wide), ends, color=one.flag.colour, linewidth=0.7))
        write(figure, one.left, y, one.flag.text, size=SMALL, colour=one.flag.colour)

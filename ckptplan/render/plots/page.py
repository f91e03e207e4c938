"""A picture as a stack of blocks, laid out in inches before it is drawn: nothing is placed where something is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.render.plots.lettering import ELLIPSIS, height, lettered, shortened, width, wrapped
from ckptplan.render.plots.style import BODY, DPI, HEAD, SMALL, Look, Theme, applied

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

PAGE = 8.0  # width of every picture [inch]
EDGE = 0.12  # left free around it [inch]
LEFT, RIGHT = 0.78, 0.2  # of axes: room for the numbers of the vertical axis [inch]
_KEY = 0.3  # of a legend: the sample before its text [inch]
ROOM = PAGE - 2.0 * EDGE - _KEY  # for the text of a legend [inch]
_HOLLOW = {"^": 14.0, "D": 8.5}  # sizes [pt]
_POINTED = {"*": 11.0, "P": 8.5}  # those that have little area for their size [pt]
_SPARE = 0.04  # beyond the last label of a horizontal axis [inch]
_APART = 0.22  # between entries of a legend [inch]


class Rect(NamedTuple):
    """A place in a figure, from its lower left corner. [inch]."""

    left: float
    bottom: float
    width: float
    height: float


class Block(NamedTuple):
    """A part of a picture that is as wide as the page. ``draw`` gets the figure and the place. [inch]."""

    height: float
    draw: Callable[[Figure, Rect], None]


class Key(NamedTuple):
    """One entry of a legend: a line, a marker alone, or a patch."""

    text: str
    look: Look
    kind: str = "line"  # or "marker", "both", "patch", "ring"


def figure_of(theme: Theme, blocks: Sequence[Block], title: str, words: str) -> Figure:
    """A figure of blocks from the top down; ``title`` and ``words`` are its alternative text."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    total = sum(block.height for block in blocks) + 2.0 * EDGE
    with applied(theme):
        figure = Figure(figsize=(PAGE, total), dpi=DPI)
        FigureCanvasAgg(figure)
        top = total - EDGE
        for block in blocks:
            block.draw(figure, Rect(0.0, top - block.height, PAGE, block.height))
            top -= block.height
    figure.set_label(f"{title}\n{words}")
    return figure


def space(inches: float) -> Block:
    """Nothing."""
    return Block(inches, lambda figure, place: None)


def write(
    figure: Figure,
    x: float,
    y: float,
    text: str,
    *,
    size: float = BODY,
    colour: str | None = None,
    bold: bool = False,
    align: str = "left",
) -> None:
    """One line of text, its middle at a height from the bottom of the figure. [inch]."""
    if not text:
        return
    wide, high = figure.get_size_inches()
    words = figure.text(x / wide, y / high, text, size=size, ha=align, va="center_baseline")
    words.set_fontweight("bold" if bold else "normal")
    if colour is not None:
        words.set_color(colour)


def right_of(beyond: float) -> float:
    """Room to the right of axes whose last label reaches so far over them. [inch]."""
    return max(RIGHT, beyond + _SPARE)


def axes(figure: Figure, place: Rect) -> Axes:
    """Axes at a place."""
    wide, high = figure.get_size_inches()
    return figure.add_axes((place.left / wide, place.bottom / high, place.width / wide, place.height / high))


def lines(
    texts: Sequence[str],
    *,
    size: float = BODY,
    colour: str | None = None,
    bold: bool = False,
    most: int = 3,
) -> Block:
    """Paragraphs, each wrapped to the page and cut after some lines."""
    found: list[str] = []
    room = PAGE - 2.0 * EDGE
    for text in texts:
        broken = list(wrapped(text, room, size, bold=bold))
        if len(broken) > most:
            last = shortened(broken[most - 1], room - 2.0 * width(ELLIPSIS, size, bold=bold), size, bold=bold)
            broken = [*broken[: most - 1], last.rstrip(ELLIPSIS) + ELLIPSIS]
        found += broken
    each = height(size)

    def draw(figure: Figure, place: Rect) -> None:
        for number, text in enumerate(found):
            y = place.bottom + place.height - (number + 0.5) * each
            write(figure, EDGE, y, text, size=size, colour=colour, bold=bold)

    return Block(each * len(found), draw)


def heading(theme: Theme, name: str, subtitle: str) -> list[Block]:
    """The name of what is shown, and what the picture says of it."""
    title = shortened(lettered(name), PAGE - 2.0 * EDGE, HEAD, bold=True)
    return [
        lines([title], size=HEAD, bold=True, most=1),
        lines([subtitle], colour=theme.muted),
        space(0.06),
    ]


def footnotes(theme: Theme, texts: Sequence[str]) -> Block:
    """Small remarks under a picture."""
    return lines(texts, size=SMALL, colour=theme.muted)


def legend(theme: Theme, keys: Sequence[Key], *, left: float = EDGE) -> Block:
    """Samples with their texts, in as many rows as they need."""
    room = PAGE - EDGE - left
    rows: list[list[tuple[float, Key]]] = [[]]
    x = 0.0
    for key in keys:
        text = shortened(key.text, room - _KEY)
        wide = _KEY + width(text)
        if rows[-1] and x + wide > room:
            rows.append([])
            x = 0.0
        rows[-1].append((x, key._replace(text=text)))
        x += wide + _APART
    each = height(BODY)

    def draw(figure: Figure, place: Rect) -> None:
        for number, row in enumerate(rows):
            y = place.bottom + place.height - (number + 0.5) * each
            for x, key in row:
                sample(figure, theme, key, Rect(left + x, y - 0.05, _KEY - 0.07, 0.1))
                write(figure, left + x + _KEY, y, key.text)

    return Block(each * len(rows), draw)


def sample(figure: Figure, theme: Theme, key: Key, place: Rect) -> None:
    """What a key of a legend looks like."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    wide, high = figure.get_size_inches()
    middle = (place.bottom + 0.5 * place.height) / high
    look = key.look
    if key.kind == "patch":
        corner = (place.left / wide, place.bottom / high)
        box = Rectangle(corner, place.width / wide, place.height / high, transform=figure.transFigure)
        box.set(facecolor=look.colour, edgecolor=theme.background, hatch=look.hatch, linewidth=0.0)
        figure.add_artist(box)
        return
    if key.kind in ("line", "both"):
        ends = (place.left / wide, (place.left + place.width) / wide)
        figure.add_artist(Line2D(ends, (middle, middle), color=look.colour, linestyle=look.dash))
    if key.kind == "ring":
        figure.add_artist(ring(theme, [(place.left + 0.5 * place.width) / wide], [middle]))
    if key.kind in ("marker", "both"):
        centre = (place.left + 0.5 * place.width) / wide
        figure.add_artist(marker(theme, look, [centre], [middle], hollow=key.kind == "marker"))


def marker(theme: Theme, look: Look, x: Sequence[float], y: Sequence[float], *, hollow: bool = True) -> Line2D:
    """Points that are seen on lines and on shades; triangles and diamonds may be hollow: a circle may lie in them."""
    from matplotlib.lines import Line2D

    hollow = hollow and look.marker in _HOLLOW
    return Line2D(
        x,
        y,
        linestyle="none",
        marker=look.marker,
        markersize=_HOLLOW[look.marker] if hollow else _POINTED.get(look.marker, 7.0),
        markerfacecolor="none" if hollow else look.colour,
        markeredgecolor=look.colour if hollow else theme.background,
        markeredgewidth=1.3 if hollow else 0.8,
        clip_on=False,  # one at the edge of the axes is seen whole
    )


def ring(theme: Theme, x: Sequence[float], y: Sequence[float], *, name: str = "") -> Line2D:
    """Rings around points that have markers of their own."""
    from matplotlib.lines import Line2D

    made = Line2D(x, y, linestyle="none", marker="o", markersize=11.0, markerfacecolor="none", clip_on=False)
    made.set(markeredgecolor=theme.text, markeredgewidth=1.1, gid=name, zorder=4.0)
    return made

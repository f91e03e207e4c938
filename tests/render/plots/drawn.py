"""What a figure really draws: its texts with their boxes, and its artists by name."""

from __future__ import annotations

from typing import Any, NamedTuple

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from ckptplan.render.plots.style import LIGHT, applied


class DrawnText(NamedTuple):
    """One text as the renderer got it; the box in pixels of the figure."""

    text: str
    box: Bbox
    is_math: Any


def texts_of(figure: Figure) -> list[DrawnText]:
    """Every text that is drawn."""
    found: list[DrawnText] = []
    with applied(LIGHT):
        renderer = FigureCanvasAgg(figure).get_renderer()

        def record(
            gc: Any, x: float, y: float, s: str, prop: Any, angle: float, ismath: Any = False, mtext: Any = None
        ):
            found.append(DrawnText(s, mtext.get_window_extent(renderer), ismath))

        renderer.draw_text = record  # type: ignore[method-assign]
        figure.draw(renderer)
    return found


def clashes(figure: Figure) -> list[str]:
    """Pairs of texts that overlap, and texts that leave the figure."""
    texts = texts_of(figure)
    wide, high = figure.get_size_inches() * figure.dpi
    outside = [
        f"{one.text!r} leaves the figure"
        for one in texts
        if one.box.x0 < 0.0 or one.box.y0 < 0.0 or one.box.x1 > wide or one.box.y1 > high
    ]
    pairs = [
        f"{one.text!r} and {other.text!r}"
        for place, one in enumerate(texts)
        for other in texts[:place]
        if min(one.box.x1, other.box.x1) > max(one.box.x0, other.box.x0)
        and min(one.box.y1, other.box.y1) > max(one.box.y0, other.box.y0)
    ]
    return outside + pairs


def named(figure: Figure, name: str) -> Any:
    """The one artist of that name."""
    (found,) = figure.findobj(lambda artist: artist.get_gid() == name)
    return found


def names(figure: Figure) -> list[str]:
    """The names of all artists that have one."""
    return [artist.get_gid() for artist in figure.findobj() if artist.get_gid()]

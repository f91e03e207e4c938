"""The pictures of a report, each in both themes; each SVG holds a text that says what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.plan.curve import GoodputCurve
from ckptplan.plan.progress import LEAST_GOODPUT
from ckptplan.plan.record import Plan
from ckptplan.render.page.blocks import Picture
from ckptplan.render.plots import breakdown, curve
from ckptplan.render.plots.scale import scale_figure
from ckptplan.render.plots.style import THEMES, Theme
from ckptplan.render.plots.tornado import tornado_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ckptplan.plan.levers.record import Levers
    from ckptplan.plan.scale.lines import ScaleLine
    from ckptplan.plan.scale.scaling import Scaling


class Pictures(NamedTuple):
    """What is drawn; None where there is nothing to draw."""

    breakdown: Picture
    curve: Picture | None = None
    scale: Picture | None = None
    tornado: Picture | None = None


def pictures(
    plan: Plan,
    goodputs: GoodputCurve,
    scaling: tuple[Scaling, Sequence[ScaleLine]] | None,
    levers: Levers | None,
) -> Pictures:
    """The pictures of a plan; a scaling comes with its lines."""
    lost = _picture(lambda theme: breakdown.breakdown_figure(plan, theme), "What every strategy loses, and to what")
    by_interval = by_size = tornado = None
    if any((line.goodput > LEAST_GOODPUT).any() for line in goodputs.lines):
        caption = "Goodput by the interval, on a logarithmic axis"
        by_interval = _picture(lambda theme: curve.curve_figure(plan, goodputs, theme), caption)
    if scaling is not None:
        caption = "Goodput and useful GPUs by the number of GPUs"
        by_size = _picture(lambda theme: scale_figure(*scaling, theme), caption)
    if levers is not None and levers.levers and levers.goodput > LEAST_GOODPUT:
        tornado = _picture(lambda theme: tornado_figure(levers, theme), "What each lever gains")
    return Pictures(lost, by_interval, by_size, tornado)


def _picture(draw: Callable[[Theme], Figure], caption: str) -> Picture:
    from ckptplan.render.plots.saving import svg_text

    return Picture(caption, svg_text(draw(THEMES["light"])), svg_text(draw(THEMES["dark"])))

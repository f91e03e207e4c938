"""The picture of a plan: goodput against the interval, and below it where wall time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckptplan.plan.curve import GoodputCurve
from ckptplan.plan.record import Plan
from ckptplan.render.plots import breakdown, curve
from ckptplan.render.plots.lettering import lettered
from ckptplan.render.plots.page import figure_of, heading, lines, space
from ckptplan.render.plots.style import Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def optimize_figure(plan: Plan, goodputs: GoodputCurve, theme: Theme) -> Figure:
    """Both parts in one figure, as ``optimize --plot`` draws it."""
    title = "Goodput against the interval between saves"
    blocks = [
        *heading(theme, plan.name, f"{title}, {curve.gpus_of(plan)}"),
        *curve.curve_blocks(plan, goodputs, theme),
        space(0.12),
        lines(["Where wall time goes, by the best interval of each strategy"], colour=theme.muted),
        *breakdown.breakdown_blocks(plan, theme),
    ]
    words = f"{curve.words(goodputs)} {breakdown.words(plan)}"
    return figure_of(theme, blocks, f"{lettered(plan.name)}: {title}, and where wall time goes", words)

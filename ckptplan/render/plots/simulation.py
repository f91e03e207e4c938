"""How long simulated runs took: their distribution, its mean and quantiles, and the prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.errors import InputError, printable
from ckptplan.plan.distribution import Distribution
from ckptplan.plan.simulation import Simulation
from ckptplan.render.numbers import duration, seconds
from ckptplan.render.plots.flags import Flag, draw_flags, room, rows_of
from ckptplan.render.plots.lettering import lettered, shortened
from ckptplan.render.plots.page import (
    LEFT,
    PAGE,
    Block,
    Rect,
    axes,
    figure_of,
    footnotes,
    heading,
    lines,
    right_of,
    space,
)
from ckptplan.render.plots.scales import beyond_number, grid, linear, plain
from ckptplan.render.plots.style import SMALL, Theme, paler

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME = 2.4  # most that a name takes in a sentence [inch]
_HIGH, _BELOW = 2.8, 0.5  # of the axes, and under them [inch]
_PALER = 0.65  # share of the background in the bars, on which lines must be seen
_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
_NEAR = 0.02  # marks that are nearer than the width of one are one mark [inch]
_MEAN = "mean"


class _Mark(NamedTuple):
    """A time that is marked. [s]."""

    at_s: float
    name: str


def simulation_figure(made: Simulation, theme: Theme) -> Figure:
    """The distribution of the wall time of all runs.

    Raises
    ------
    InputError
        If all runs took the same time: there is nothing to draw.
    """
    if made.distribution is None:
        took = duration(made.wall_s.mean)
        raise InputError(
            f"{printable(made.name)}: all simulated runs took {took}, so there is no distribution",
            hint=_how_to_spread(made),
        )
    title = "Distribution of the finishing time"
    strategy = shortened(lettered(made.strategy), _NAME)
    about = f"{title}: {made.runs:,} runs of {strategy}, a save every {seconds(made.interval_s)}"
    blocks = [
        *heading(theme, made.name, about),
        lines(["simulated runs in each bin"], size=SMALL, colour=theme.muted),
        _axes(made, made.distribution, theme),
        footnotes(theme, [f"{lettered(made.source)}, seed {made.seed}; {duration(made.work_s)} of work"]),
        space(0.02),
    ]
    return figure_of(theme, blocks, f"{lettered(made.name)}: {title}", words(made))


def _how_to_spread(made: Simulation) -> str:
    """What would let the runs differ: failures, of which they have met none, or more of them."""
    if made.runs > 1 and made.failures.mean == 0.0:
        return f"none of {made.runs:,} runs met a failure: raise --runs, until some do"
    return "simulate several runs: raise --runs, or add --resample to --replay"


def words(made: Simulation) -> str:
    """What the picture says, for those who do not see it."""
    wall = made.wall_s
    return (
        f"{made.runs:,} simulated runs took {duration(wall.mean)} on average; 5 % took less than {duration(wall.p5)}, "
        f"half less than {duration(wall.p50)}, 95 % less than {duration(wall.p95)}; predicted were "
        f"{duration(predicted_s(made))}."
    )


def predicted_s(made: Simulation) -> float:
    """The predicted wall time: of this run where that is known, else by the goodput in the long run. [s]."""
    return made.work_s / made.predicted_goodput if made.predicted_wall_s is None else made.predicted_wall_s


def _axes(made: Simulation, found: Distribution, theme: Theme) -> Block:
    marks = list(_marks(made))
    ends = [found.edges_s[0], found.edges_s[-1], *(mark.at_s for mark in marks)]
    margin = 0.03 * (max(ends) - min(ends))
    low, high = min(ends) - margin, max(ends) + margin
    unit, size = next((u, s) for u, s in _UNITS if high >= 2.0 * s or s == 1.0)
    inner = PAGE - LEFT - right_of(beyond_number(high / size))
    flags = [_flag(group, theme) for group in _groups(marks, _NEAR / inner * (high - low))]
    placed = rows_of(flags, (low, high), Rect(LEFT, 0.0, inner, _HIGH), log=False)

    def draw(figure: Figure, place: Rect) -> None:
        at = Rect(LEFT, place.bottom + _BELOW, inner, _HIGH)
        axis_of = axes(figure, at)
        colour, edges = theme.series[0].colour, [edge / size for edge in found.edges_s]
        axis_of.stairs(found.runs, edges, fill=True, color=paler(colour, theme, _PALER), gid="runs")
        axis_of.stairs(found.runs, edges, color=colour, linewidth=1.0)
        linear(axis_of, low / size, high / size, plain, vertical=False, most=7)
        linear(axis_of, 0.0, 1.05 * max(found.runs), plain, vertical=True, most=5, counts=True)
        grid(axis_of, theme, x=False)
        axis_of.set_xlabel(f"wall time of the run [{unit}]", labelpad=3)
        shown = [one._replace(flag=one.flag._replace(at=one.flag.at / size)) for one in placed]
        draw_flags(figure, axis_of, theme, shown, at)

    return Block(room(placed) + 0.04 + _HIGH + _BELOW, draw)


def _marks(made: Simulation) -> Iterator[_Mark]:
    wall = made.wall_s
    yield from (_Mark(value, name) for name, value in (("5 %", wall.p5), ("median", wall.p50), ("95 %", wall.p95)))
    yield _Mark(wall.mean, _MEAN)
    yield _Mark(predicted_s(made), "predicted" if made.predicted_wall_s is not None else "predicted for the long run")


def _groups(marks: Sequence[_Mark], near_s: float) -> Iterator[list[_Mark]]:
    """Marks of the runs that would lie on one another, together; the prediction, which is not of them, by itself."""
    *of_runs, predicted = marks
    group: list[_Mark] = []
    for mark in sorted(of_runs, key=lambda one: one.at_s):  # stable: names of equal times stay in their order
        if group and mark.at_s - group[0].at_s > near_s:
            yield group
            group = []
        group.append(mark)
    yield group
    yield [predicted]


def _flag(group: Sequence[_Mark], theme: Theme) -> Flag:
    """One label for all: each time once, after the names of what it is."""
    named: dict[str, list[str]] = {}
    for mark in group:
        named.setdefault(duration(mark.at_s), []).append(mark.name)
    text = "; ".join(f"{', '.join(names)}: {time}" for time, names in named.items())
    at_s = sum(mark.at_s for mark in group) / len(group)
    if group[0].name.startswith("predicted"):
        return Flag(at_s, text, theme.accent, (0, (5, 2)))
    return Flag(at_s, text, theme.text, "-" if any(mark.name == _MEAN for mark in group) else (0, (1.2, 1.4)))

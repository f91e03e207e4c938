"""Survival of running times: what the record shows, with its band, and the laws that were fitted to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckptplan.cost.laws import survival
from ckptplan.errors import InputError
from ckptplan.fit.fitting import FEWEST_FOR_A_LAW, Fitted, Laws
from ckptplan.fit.incomplete_gamma import Floats
from ckptplan.fit.laws import LawFit
from ckptplan.render.numbers import percent
from ckptplan.render.plots.lettering import lettered
from ckptplan.render.plots.page import (
    LEFT,
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
    right_of,
    space,
)
from ckptplan.render.plots.scales import beyond_number, clock, grid, in_percent, linear, plain
from ckptplan.render.plots.style import SMALL, Look, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH, _BELOW = 3.1, 0.5  # of the axes, and under them [inch]
_POINTS = 301  # of a fitted curve
_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
_NAMES = {"exponential": "exponential", "weibull": "Weibull", "lognormal": "log-normal", "gamma": "gamma"}


def survival_figure(fitted: Fitted, theme: Theme) -> Figure:
    """Fitted survival against that of the record.

    Raises
    ------
    InputError
        If the record has too few failures for a law.
    """
    laws = fitted.laws
    if laws is None:
        raise InputError(
            f"{lettered(fitted.record.file)}: fewer than {FEWEST_FOR_A_LAW} different times to a failure tell no law, "
            "so there is nothing to draw",
            hint="give a longer record, or leave --plot out",
        )
    lives = fitted.exposure.lives
    title = f"How long {_WHAT.get(lives.of, lives.of)} goes on before an interruption"
    about = f"{title}: {int(lives.failed.sum()):,} interruptions in {lives.time_s.size:,} times"
    blocks = [
        *heading(theme, fitted.record.file, about),
        *_legends(laws, fitted.rate.level, theme),
        space(0.05),
        lines(["still running"], size=SMALL, colour=theme.muted),
        _axes(laws, theme),
        footnotes(theme, [_agreement(laws)]),
    ]
    return figure_of(theme, blocks, f"{lettered(fitted.record.file)}: {title}", words(fitted, laws))


_WHAT = {"run": "a run", "node": "a node", "job": "the job"}


def words(fitted: Fitted, laws: Laws) -> str:
    """What the picture says, for those who do not see it."""
    curve = laws.survival
    half = np.flatnonzero(curve.survival <= 0.5)
    median = f"half are interrupted by {clock(float(curve.time[half[0]]))}" if half.size else "more than half go on"
    return f"By the record {median}. {_agreement(laws)} {fitted.rate.failures:,} failures."


def _agreement(laws: Laws) -> str:
    tied = [_NAMES[one.name] for one in laws.choice.tied if one.name is not laws.choice.best.name]
    text = f"Chosen: {_NAMES[laws.choice.best.name]}"
    return f"{text}; the record does not tell it from {', '.join(tied)}." if tied else f"{text}."


def _ordered(laws: Laws) -> list[LawFit]:
    """The chosen law, then the others that have a fit."""
    best = laws.choice.best
    return [best, *(one for one in laws.fits if one.name is not best.name and one.converged and one.mean < np.inf)]


def _text(one: LawFit, *, chosen: bool) -> str:
    shape = "" if one.parameters == 1 else f" {'sigma' if one.name == 'lognormal' else 'shape'} {one.shape:.3g},"
    return f"{_NAMES[one.name]}:{shape} mean {clock(one.mean)}" + (" (chosen)" if chosen else "")


def _legends(laws: Laws, level: float, theme: Theme) -> list[Block]:
    record = Key(f"record (Kaplan-Meier) with its {percent(level).replace('.00', '')} band", Look(theme.text), "line")
    keys = [Key(_text(one, chosen=number == 0), theme.look(number)) for number, one in enumerate(_ordered(laws))]
    return [legend(theme, [record]), legend(theme, keys)]


def _axes(laws: Laws, theme: Theme) -> Block:
    last_s = float(laws.survival.time[-1])
    unit, size = next((u, s) for u, s in _UNITS if last_s >= 2.0 * s or s == 1.0)
    inner = PAGE - LEFT - right_of(beyond_number(last_s / size))

    def draw(figure: Figure, place: Rect) -> None:
        axis_of = axes(figure, Rect(LEFT, place.bottom + _BELOW, inner, _HIGH))
        _draw_record(axis_of, laws, theme, size)
        times_s = np.linspace(0.0, last_s, _POINTS)
        for number, one in enumerate(_ordered(laws)):
            look = theme.look(number)
            values = survival(times_s, one.mean, one.name, one.shape)
            wide = 2.2 if number == 0 else 1.4
            axis_of.plot(
                times_s / size, values, color=look.colour, linestyle=look.dash, linewidth=wide, gid=f"law:{one.name}"
            )
        linear(axis_of, 0.0, 1.02 * last_s / size, plain, vertical=False, most=7)
        linear(axis_of, 0.0, 1.0, in_percent, vertical=True, most=5)
        grid(axis_of, theme)
        axis_of.set_xlabel(f"time to an interruption [{unit}]", labelpad=3)

    return Block(0.06 + _HIGH + _BELOW, draw)


def _draw_record(axis_of: Axes, laws: Laws, theme: Theme, size: float) -> None:
    curve = laws.survival
    start = _after_start(curve.time / size, 0.0)
    low, high = _after_start(curve.low, 1.0), _after_start(curve.high, 1.0)
    axis_of.fill_between(start, low, high, step="post", color=theme.shade, linewidth=0.0, gid="band")
    axis_of.step(start, _after_start(curve.survival, 1.0), where="post", color=theme.text, linewidth=1.4, gid="record")


def _after_start(values: Floats, first: float) -> Floats:
    """Steps that begin at time 0 with nothing failed yet."""
    return np.concatenate([[first], values])

"""Where wall time goes, by strategy: a bar of what is lost, and every part as a number beside it."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.plan.record import Plan, Record
from ckptplan.render.bars import PARTS, basis, recommended_rows
from ckptplan.render.numbers import hundredths, percent
from ckptplan.render.plots.given import names_of
from ckptplan.render.plots.lettering import height, lettered, shortened, width
from ckptplan.render.plots.page import EDGE, PAGE, Block, Key, Rect, axes, figure_of, footnotes, heading, sample, write
from ckptplan.render.plots.scales import grid, in_percent, linear
from ckptplan.render.plots.style import BODY, SMALL, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FIELDS = MappingProxyType({part.name: part.key for part in PARTS})
_USEFUL = "useful"
_WIDEN = 1.04  # of the axis beyond the longest bar
_OFTEN_ZERO = ("slow", "waiting")
_ROW, _BAR = 0.32, 0.2  # height of a row, and of the bar in it [inch]
_NAME = 1.9  # most that a name takes [inch]
_BELOW = 0.55  # for the axis [inch]
_KEY = 0.2  # of a head of a column: the sample before its word [inch]
_APART = 0.16  # between columns [inch]


class _Columns(NamedTuple):
    """Where the names end, the bars lie and each number ends. [inch]."""

    names: float
    left: float
    right: float
    ends: dict[str, float]


def breakdown_figure(plan: Plan, theme: Theme) -> Figure:
    """Where wall time goes by the best interval of each strategy."""
    title = "Where wall time goes"
    head = heading(theme, plan.name, f"{title}, by the best interval of each strategy")
    return figure_of(theme, [*head, *breakdown_blocks(plan, theme)], f"{lettered(plan.name)}: {title}", words(plan))


def parts_of(record: Record) -> dict[str, float]:
    """Shares of wall time: what is lost, then what is useful."""
    return {
        **{name: getattr(record, field) for name, field in _FIELDS.items()},
        _USEFUL: record.goodput or 0.0,
    }


def words(plan: Plan) -> str:
    """What the picture says, for those who do not see it."""
    texts, names = [], names_of(plan)
    for record in recommended_rows(plan):
        parts = parts_of(record)
        lost = ", ".join(f"{name} {percent(value)}" for name, value in parts.items() if value)
        texts.append(f"{names[record.strategy]}: {lost}.")
    return " ".join([*texts, *_notes(plan)])


def _notes(plan: Plan) -> list[str]:
    text = basis(plan, names_of(plan))
    return [text] if text else []


def breakdown_blocks(plan: Plan, theme: Theme) -> list[Block]:
    """Heads of columns, a row for each strategy, and the axis below."""
    records = recommended_rows(plan)
    names = [name for name in (*_FIELDS, _USEFUL) if name not in _OFTEN_ZERO or _is_there(records, name)]
    titles = [shortened(names_of(plan)[record.strategy], _NAME, bold=True) for record in records]
    columns = _columns(records, titles, names)
    rows = len(records) * _ROW

    def draw(figure: Figure, place: Rect) -> None:
        top = place.bottom + place.height
        _heads(figure, theme, columns, top - 0.5 * height(BODY))
        at = Rect(columns.left, top - height(BODY) - rows, columns.right - columns.left, rows)
        _bars(axes(figure, at), theme, records, names)
        for number, record in enumerate(records):
            y, bold = at.bottom + rows - (number + 0.5) * _ROW, plan.is_best(record)
            write(figure, EDGE, y, titles[number], bold=bold)
            _numbers(figure, record, columns, y, bold=bold)

    return [Block(height(BODY) + rows + _BELOW, draw), footnotes(theme, _notes(plan))]


def _is_there(records: Sequence[Record], name: str) -> bool:
    return any(getattr(record, _FIELDS[name]) >= 5e-6 for record in records)


def _columns(records: Sequence[Record], titles: Sequence[str], names: Sequence[str]) -> _Columns:
    named = max(width(text, bold=True) for text in titles)
    ends, x = {}, PAGE - EDGE
    for name in reversed(names):
        ends[name] = x
        numbers = max(width(f"{hundredths(parts_of(record)[name])} %", bold=True) for record in records)
        x -= max(_KEY + width(name), numbers) + _APART
    return _Columns(named, EDGE + named + 0.14, x, ends)


def _heads(figure: Figure, theme: Theme, columns: _Columns, y: float) -> None:
    for name, end in columns.ends.items():
        if name != _USEFUL:  # it has no bar
            left = end - width(name) - _KEY
            sample(figure, theme, Key(name, theme.parts[name], "patch"), Rect(left, y - 0.05, _KEY - 0.06, 0.11))
        write(figure, end, y, name, align="right")


def _numbers(figure: Figure, record: Record, columns: _Columns, y: float, *, bold: bool) -> None:
    for part, value in parts_of(record).items():
        if part in columns.ends:
            write(figure, columns.ends[part], y, f"{hundredths(value)} %", align="right", bold=bold)


def _bars(axis_of: Axes, theme: Theme, records: Sequence[Record], names: Sequence[str]) -> None:
    """What is lost from the left on, all on one scale."""
    names = [name for name in names if name != _USEFUL]
    lost = max(sum(parts_of(record)[name] for name in names) for record in records)
    limit = max(_WIDEN * lost, 0.001)
    for number, record in enumerate(records):
        start, parts = 0.0, parts_of(record)
        for name in names:
            look = theme.parts[name]
            (bar,) = axis_of.barh(number, parts[name], height=_BAR / _ROW, left=start, facecolor=look.colour)
            bar.set(
                hatch=look.hatch, edgecolor=theme.background, linewidth=0.6, gid=f"{name}:{lettered(record.strategy)}"
            )
            start += parts[name]
    axis_of.set_ylim(len(records) - 0.5, -0.5)
    axis_of.set_yticks([])
    linear(axis_of, 0.0, limit, in_percent, vertical=False, most=4, last=1.0)
    grid(axis_of, theme, y=False)
    axis_of.tick_params(labelsize=SMALL)
    axis_of.spines["left"].set_visible(False)
    axis_of.set_xlabel("share of wall time that is lost", fontsize=SMALL, labelpad=2)

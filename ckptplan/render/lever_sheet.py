"""The tables of ``ckptplan levers``: the ranking, the pairs, the elasticities."""

from __future__ import annotations

from typing import Any

from ckptplan.plan.levers.record import Lever, Levers
from ckptplan.plan.levers.wording import MONEY_DIGITS, first_of, large, money_of
from ckptplan.render.numbers import hundredths, seconds, signed, whole
from ckptplan.render.sheet import Column, Sheet

_LIST = "; "
_SHOWN_AT_ALL = 5e-5  # of goodput: half of the last digit in the table


def amount(value: float | None) -> str:
    """GPU-hours that are saved."""
    return "-" if value is None else large(value)


def money(value: float | None) -> str:
    """The same of money, with the digits that the product of a price has."""
    return "-" if value is None else large(value, MONEY_DIGITS)


_SPARED = ("goodput", "interval_s")  # first where the screen is too narrow
_SHOWN: dict[str, Column] = {
    "title": Column("title", "lever", right=False),
    "gained": Column("gained", "points", signed),
    "worth": Column("worth", "worth", signed),
    "goodput": Column("goodput", "goodput %", hundredths),
    "gpu_hours_saved": Column("gpu_hours_saved", "GPU-hours", amount),
    "money_saved": Column("money_saved", "money", money),
    "interval_s": Column("interval_s", "interval", seconds),
    "interval_steps": Column("interval_steps", "steps", whole),
    "strategy": Column("strategy", "saved by", right=False),
}


def lever_sheet(made: Levers) -> Sheet:
    """Every lever under the machine names, the best first; notes are one text."""
    columns = tuple(Column(key) for key in ("spec", *Lever._fields))
    return Sheet(columns, tuple((made.name, *_flat(one)) for one in made.levers))


def _flat(one: Lever) -> tuple[Any, ...]:
    return tuple(one._replace(notes=_LIST.join(one.notes)))  # type: ignore[arg-type]


def ranking_sheet(made: Levers, width: int | None = None) -> Sheet | None:
    """The ranking as people read it; columns of which nothing is known, or that say one thing, are left out.

    Where ``width`` is too narrow, so are the goodput (that of the run and the points say it) and then the interval in
    seconds (steps say it); where that is not enough, nothing more is, since it becomes a list.
    """
    if not made.levers:
        return None
    keys = [key for key in _SHOWN if any(getattr(one, key) is not None for one in made.levers)]
    said = {"worth": not has_worth(made), "strategy": saved_alike(made) is not None}
    keys = [key for key in keys if not said.get(key)]
    every = _ranking(made, keys)
    narrow = every
    for spared in _SPARED if width is not None else ():
        if _wide(narrow) > (width or 0) and (spared != "interval_s" or "interval_steps" in keys):
            keys = [key for key in keys if key != spared]
            narrow = _ranking(made, keys)
    return every if width is not None and _wide(narrow) > width else narrow


def _ranking(made: Levers, keys: list[str]) -> Sheet:
    shown = [one._replace(money_saved=money_of(one)) for one in made.levers]
    rows = tuple(tuple(getattr(one, key) for key in keys) for one in shown)
    first = first_of(made.levers)
    stressed = {number for number, one in enumerate(made.levers) if first is not None and one.key == first.key}
    return Sheet(tuple(_SHOWN[key] for key in keys), rows, frozenset(stressed))


def _wide(sheet: Sheet) -> int:
    """Cells that a table of it takes: two between columns, one on either side."""
    columns, rows = sheet.cells()
    widest = [max(len(cell) for cell in (c.title, *cells)) for c, *cells in zip(columns, *rows, strict=True)]
    return sum(widest) + 2 * len(widest)


def has_worth(made: Levers) -> bool:
    """Whether the rank is another one than that of the points: GPUs stand by, or there are other GPUs or steps."""
    return any(abs(one.worth - one.gained) >= _SHOWN_AT_ALL for one in made.levers)


def saved_alike(made: Levers) -> str | None:
    """The way of saving, if it is the same under every lever."""
    ways = {one.strategy for one in made.levers}
    return ways.pop() if len(ways) == 1 else None


def overlap_sheet(made: Levers) -> Sheet | None:
    """Pairs of levers: what each gains, both together, and what they share."""
    if not made.overlaps:
        return None
    titles = {one.key: one.title for one in made.levers}
    columns = (
        Column("first", "lever", right=False),
        Column("second", "and lever", right=False),
        Column("sum", "sum", signed),
        Column("joint", "together", signed),
        Column("overlap", "overlap", hundredths),
    )
    rows = tuple(
        (titles[one.first], titles[one.second], one.first_gained + one.second_gained, one.joint, one.overlap)
        for one in made.overlaps
    )
    return Sheet(columns, rows)


def elasticity_sheet(made: Levers) -> Sheet | None:
    """What the optimum depends on, the strongest first."""
    if not made.elasticities:
        return None
    columns = (
        Column("title", "input", right=False),
        Column("value_text", "now"),
        Column("elasticity", "elasticity", _three),
        Column("goodput_for_10_percent", "10 % more: points", signed),
    )
    rows = tuple((o.title, o.value_text, o.elasticity, o.goodput_for_10_percent) for o in made.elasticities)
    return Sheet(columns, rows)


def _three(value: float) -> str:
    return f"{value:+.3f}" if abs(value) >= 0.0005 else f"{value:+.1g}"

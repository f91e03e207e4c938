"""Every column that a sweep can show, for people to choose from."""

from __future__ import annotations

from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Column, Sheet
from ckptplan.sweep.measures import MEASURES
from ckptplan.sweep.titles import GROUPS, title_of


def columns_listed(screen: Screen) -> str:
    """Names with their titles in tables, units and meanings, and the groups."""
    columns = tuple(Column(name, name, str, right=False) for name in ("name", "in a table", "unit", "meaning"))
    rows = tuple((one.name, title_of(one.name), one.unit, one.about) for one in MEASURES.values())
    groups = "".join(
        screen.paragraph(f"{name}: {', '.join(names)}", indent="  ", first="") + "\n" for name, names in GROUPS.items()
    )
    return f"{screen.table(Sheet(columns, rows))}\nGroups:\n{groups}"

"""What to change, as blocks of a report: the ranking of levers, how they go together, what the optimum depends on."""

from __future__ import annotations

from collections.abc import Iterator

from ckptplan.errors import printable
from ckptplan.plan.levers.record import Levers
from ckptplan.render import lever_report
from ckptplan.render.lever_sheet import elasticity_sheet, overlap_sheet, ranking_sheet
from ckptplan.render.page.blocks import Block, Points, Text, table
from ckptplan.render.page.pictures import Pictures
from ckptplan.render.sheet import Column, Sheet


def levers(found: Levers | None, refused: str, pictures: Pictures | None) -> Iterator[Block]:
    """Every lever, the best first; the answer has named it already."""
    if found is None:
        yield Text(f"Not known: {printable(refused)}")
        return
    if pictures is not None and pictures.tornado is not None:
        yield pictures.tornado
    ranking = ranking_sheet(found)
    if ranking is not None:
        yield table(ranking, "Levers, the best first")
        yield table(_changes(found), "What changes, and what must be true", folded=True)
    pairs = overlap_sheet(found)
    if pairs is not None:
        yield Text(lever_report.together(found).rstrip(":"))
        yield table(pairs, "Two levers together", folded=True)
    inputs = elasticity_sheet(found)
    if inputs is not None:
        yield table(inputs, "What the optimum depends on: percent of lost time per percent of the input")
    for texts, caption in ((found.apart, "Pairs that do not go together"), (found.left, "Levers that do not apply")):
        if texts:
            yield table(_reasons([(one.title, one.why) for one in texts]), caption, folded=True)
    if found.assumptions:
        yield Points(tuple(map(printable, found.assumptions)))


def _changes(found: Levers) -> Sheet:
    columns = [Column(key, title, printable, right=False) for key, title in _CHANGES]
    rows = tuple((one.title, one.change, "; ".join(one.notes)) for one in found.levers)
    return Sheet(tuple(columns), rows)


_CHANGES = (("title", "lever"), ("change", "before and after"), ("notes", "what must be true"))


def _reasons(texts: list[tuple[str, str]]) -> Sheet:
    columns = (Column("title", "lever", printable, right=False), Column("why", "why not", printable, right=False))
    return Sheet(columns, tuple(texts))

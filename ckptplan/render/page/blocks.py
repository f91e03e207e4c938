"""What a report is made of: plain data, without a mark-up. Every text in it is made printable before it comes here."""

from typing import NamedTuple, TypeAlias

from ckptplan.render.sheet import Sheet


class Text(NamedTuple):
    """A paragraph."""

    text: str
    kind: str = "text"


class Points(NamedTuple):
    """A list of sentences."""

    items: tuple[str, ...]
    kind: str = "points"


class Numbers(NamedTuple):
    """What stands in large type at the top: what it is, the number, what belongs to it."""

    items: tuple[tuple[str, str, str], ...]
    kind: str = "numbers"


class Head(NamedTuple):
    """A column of a table."""

    title: str
    right: bool


class Table(NamedTuple):
    """Cells as people read them; the first column names its row. ``notes`` are the footnotes [1], [2] and so on."""

    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
    stressed: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    folded: bool = False  # long: its reader opens it
    kind: str = "table"


class Picture(NamedTuple):
    """One picture in two themes, as SVG elements with a title and a description. Its numbers stand in a table too."""

    caption: str
    light: str
    dark: str
    kind: str = "picture"


class Formula(NamedTuple):
    """One method: its equation, what it takes for granted, where it holds, who published it."""

    name: str
    title: str
    equation: str
    assumptions: tuple[str, ...]
    validity: str
    source: str
    kind: str = "formula"


Block: TypeAlias = Text | Points | Numbers | Table | Picture | Formula


class Section(NamedTuple):
    """A part of the report; ``key`` is its anchor."""

    key: str
    title: str
    blocks: tuple[Block, ...]


class Page(NamedTuple):
    """The whole report. ``documents`` are named JSON texts for machines; ``date`` is as the user gave it."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    documents: tuple[tuple[str, str], ...]
    version: str
    date: str | None = None


def table(sheet: Sheet, caption: str, *, notes: tuple[str, ...] = (), folded: bool = False) -> Table:
    """A sheet as a table of a report: the columns that people see."""
    columns, rows = sheet.cells()
    heads = tuple(Head(column.title, column.right) for column in columns)
    return Table(caption, heads, tuple(map(tuple, rows)), sheet.emphasis, notes, folded)

"""The report as GitHub Markdown, for pull requests and wikis: the same content without its pictures."""

from __future__ import annotations

from collections.abc import Iterator

from ckptplan.render.marking import escaped
from ckptplan.render.page.blocks import Block, Formula, Numbers, Page, Picture, Points, Section, Table, Text


def markdown(page: Page) -> str:
    """The whole text."""
    lines = [f"# {escaped(page.title)}", f"{escaped(page.subtitle)}{_dated(page.date)}"]
    for section in page.sections:
        lines += _section(section)
    lines.append(f"Made by ckptplan {page.version}{'' if page.date is None else f' on {page.date}'}.")
    return "\n\n".join(lines) + "\n"


def _dated(date: str | None) -> str:
    return "" if date is None else f", {date}"


def _section(section: Section) -> Iterator[str]:
    yield f"## {escaped(section.title)}"
    for block in section.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Text():
            yield f"**{escaped(block.text)}**" if block.kind == "lead" else escaped(block.text)
        case Points():
            yield _list(block.items)
        case Numbers():
            yield _list([f"{name}: {number} ({more})" for name, number, more in block.items])
        case Table():
            yield from _table(block)
        case Picture():
            return  # a table beside it has its numbers
        case Formula():
            yield from _formula(block)


def _list(items: tuple[str, ...] | list[str]) -> str:
    return "\n".join(f"- {escaped(item)}" for item in items)


def _table(block: Table) -> Iterator[str]:
    """The table under its caption, behind a line to click if it is long."""
    lines = [_row([head.title for head in block.heads])]
    lines.append("| " + " | ".join("---:" if head.right else "---" for head in block.heads) + " |")
    for number, row in enumerate(block.rows):
        lines.append(_row(row, stressed=number in block.stressed))
    text = "\n".join(lines)
    if block.folded:
        yield f"<details>\n<summary>{escaped(block.caption)}</summary>"
        yield text
        yield "</details>"
    else:
        yield f"{escaped(block.caption)}:"
        yield text
    if block.notes:
        yield _list([f"[{number}] {note}" for number, note in enumerate(block.notes, start=1)])


def _row(cells: tuple[str, ...] | list[str], *, stressed: bool = False) -> str:
    mark = "**" if stressed else ""
    return "| " + " | ".join(f"{mark}{escaped(cell)}{mark}" if cell.strip() else "" for cell in cells) + " |"


def _formula(block: Formula) -> Iterator[str]:
    yield f"### {escaped(block.name)}: {escaped(block.title)}"
    yield escaped(block.equation)
    yield _list(
        [*(f"assumes: {one}" for one in block.assumptions), f"holds for: {block.validity}", f"source: {block.source}"]
    )

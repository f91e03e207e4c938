"""Where text for people goes: its width, its colours, and the table drawn to fit. Uses rich, imported when needed."""

from __future__ import annotations

import io
import os
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from ckptplan.render.sheet import Sheet

if TYPE_CHECKING:
    from rich.table import Table

_UNBOUNDED = 100_000  # a pipe has no width: nothing is wrapped or cut


class Screen(NamedTuple):
    """``width`` None means a pipe or a file: every line as long as it needs to be."""

    width: int | None = None
    colour: bool = False
    unicode: bool = True

    @classmethod
    def of(cls, stream: TextIO) -> Screen:
        """What a stream can show. ``COLUMNS`` sets a width for a pipe too; ``NO_COLOR`` takes the colours away."""
        terminal = stream.isatty()
        asked = os.environ.get("COLUMNS", "")
        width = shutil.get_terminal_size().columns if terminal or asked.isdecimal() else None
        colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        unicode = (stream.encoding or "ascii").lower().startswith("utf")
        return cls(max(20, width) if width else None, colour, unicode)

    def table(self, sheet: Sheet) -> str:
        """The sheet as a table, or as a list of its rows where the table would not fit: no digit is ever cut."""
        drawn = self._draw(sheet)
        if self.width is not None and widest(drawn) > self.width:
            return self._stack(sheet)
        return drawn

    def _draw(self, sheet: Sheet) -> str:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        columns, rows = sheet.cells()
        table = Table(box=box.SIMPLE_HEAD if self.unicode else box.ASCII2, pad_edge=False, padding=(0, 1, 0, 0))
        for column in columns:
            table.add_column(Text(column.title), justify="right" if column.right else "left", no_wrap=True)
        for number, row in enumerate(rows):
            style = "bold" if number in sheet.emphasis else None
            table.add_row(*(Text(cell) for cell in row), style=style)
        return self.drawn(table)

    def drawn(self, table: Table) -> str:
        """A table of rich, as long as it is, without blank lines and blanks at the ends of lines."""
        from rich.console import Console

        out = io.StringIO()
        console = Console(
            file=out,
            width=_UNBOUNDED,
            color_system="standard" if self.colour else None,
            force_terminal=self.colour,
        )
        console.print(table, crop=False, overflow="ignore")
        lines = [line.rstrip() for line in out.getvalue().splitlines()]
        return "\n".join(line for line in lines if line) + "\n"

    def _stack(self, sheet: Sheet) -> str:
        """One block per row: text cells as a heading, then ``name value`` pairs, broken between pairs only."""
        columns, rows = sheet.cells()
        numbers = [column for column in columns if column.right]
        blocks = []
        for row in rows:
            cells = list(zip(columns, row, strict=True))
            texts = [f"{c.title} {cell}" if c.named else cell for c, cell in cells if not c.right and cell]
            pairs = [_pair(column.title, cell) for column, cell in cells if column.right and cell not in ("", "-")]
            # A sheet of texts has no names worth repeating: its first cell is the heading of the others.
            heading, body = (", ".join(texts), pairs) if numbers else (texts[0], texts[1:])
            blocks += [self.paragraph(heading, indent="  ", first=""), self._run(body)]
        return "\n".join(block for block in blocks if block) + "\n"

    def _run(self, parts: Sequence[str]) -> str:
        """Parts one after another, none of them broken unless it is wider than the screen by itself."""
        glued = "  ".join(part.replace(" ", "\0") if len(part) < (self.width or 0) - 2 else part for part in parts)
        return self.paragraph(glued, indent="  ").replace("\0", " ") if parts else ""

    def paragraph(self, text: str, *, indent: str = "", first: str | None = None) -> str:
        """A text wrapped to the width, if there is one."""
        lead = indent if first is None else first
        if self.width is None:
            return lead + text
        return textwrap.fill(
            text,
            self.width,
            initial_indent=lead,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def lines(self, texts: Iterable[str]) -> str:
        """One text after another, continuation lines indented."""
        return "".join(self.paragraph(text, indent="  ", first="") + "\n" for text in texts)

    def bullets(self, title: str, texts: Sequence[str] | Iterable[str]) -> str:
        """A titled list, or nothing if it is empty."""
        lines = [self.paragraph(text, indent="    ", first="  - ") for text in texts]
        return "\n".join([title, *lines]) + "\n" if lines else ""


def _pair(title: str, cell: str) -> str:
    """``save %`` and ``5.19`` read as ``save 5.19 %``."""
    name, _, unit = title.partition(" ")
    return f"{name} {cell} %" if unit == "%" else f"{title} {cell}"


def widest(text: str) -> int:
    """Cells that the longest line takes, colours aside."""
    from rich.text import Text

    return max((Text.from_ansi(line).cell_len for line in text.splitlines()), default=0)

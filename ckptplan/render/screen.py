"""Where text for people goes: its width, its colours, and the table drawn to fit. Uses rich, imported when needed."""

from __future__ import annotations

import io
import os
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TextIO

from ckptplan.render.sheet import Sheet

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
        if self.width is not None and _widest(drawn) > self.width:
            return self._stack(sheet)
        return drawn

    def _draw(self, sheet: Sheet) -> str:
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        columns, rows = sheet.cells()
        table = Table(box=box.SIMPLE_HEAD if self.unicode else box.ASCII2, pad_edge=False)
        for column in columns:
            table.add_column(Text(column.title), justify="right" if column.right else "left", no_wrap=True)
        for number, row in enumerate(rows):
            style = "bold" if number in sheet.emphasis else None
            table.add_row(*(Text(cell) for cell in row), style=style)
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
        """One block per row: its leading text cells as a heading, then ``name value`` pairs, broken between pairs."""
        columns, rows = sheet.cells()
        blocks = []
        for row in rows:
            texts = [cell for column, cell in zip(columns, row, strict=True) if not column.right and cell]
            pairs = [
                f"{column.title} {cell}".replace(" ", "\0")
                for column, cell in zip(columns, row, strict=True)
                if column.right and cell not in ("", "-")
            ]
            blocks.append(", ".join(texts) + "\n" + self.paragraph("  ".join(pairs), indent="  ").replace("\0", " "))
        return "\n".join(blocks) + "\n"

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

    def bullets(self, title: str, texts: Sequence[str] | Iterable[str]) -> str:
        """A titled list, or nothing if it is empty."""
        lines = [self.paragraph(text, indent="    ", first="  - ") for text in texts]
        return "\n".join([title, *lines]) + "\n" if lines else ""


def _widest(text: str) -> int:
    from rich.text import Text

    return max((Text.from_ansi(line).cell_len for line in text.splitlines()), default=0)

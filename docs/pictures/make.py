"""Make the pictures of the README: what a terminal shows, and the plot of goodput against the interval.

``python docs/pictures/make.py`` rewrites them; the tests call the same functions and compare.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.render.plan_report import report
from ckptplan.render.screen import Screen

HERE = Path(__file__).resolve().parent
COLUMNS = 100
CURVE = ("optimize", "llama3-405b", "--interval", "1h")
END = "\nTo the end of the run"  # the picture stops here: what follows is in the text of the README

# A panel of its own colour reads on white pages and on dark ones. The inks are those of Okabe and Ito (2008), lighter
# where the panel needs it; each block has a texture of its own too.
PANEL, EDGE, TEXT = "#161b22", "#3d444d", "#e6edf3"
INKS = {94: "#56b4e9", 33: "#f0c000", 31: "#e8743b", 39: TEXT, 90: "#9da7b3"}
CELL, LINE, SIZE, MARGIN = 8.4, 18, 14, 18  # [px]; lines and margins are whole repeats of a texture
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
TEXTURES = {
    "█": '<rect width="6" height="6" fill="{ink}"/>',
    "░": '<path d="M-1 4L4 -1M2 7L7 2" stroke="{ink}" stroke-width="1.3"/>',
    "▓": '<rect width="6" height="6" fill="{ink}"/><path d="M0 3H6" stroke="{panel}" stroke-width="1.6"/>',
    "▚": '<rect width="3" height="3" fill="{ink}"/><rect x="3" y="3" width="3" height="3" fill="{ink}"/>',
    "═": '<path d="M0 1.5H6M0 4.5H6" stroke="{ink}" stroke-width="1"/>',
}
SGR = re.compile("\x1b\\[([0-9;]*)m")
WORDS = re.compile(r"\S+(?: \S+)*")


class Run(NamedTuple):
    """Characters of one line that look alike."""

    column: int
    text: str
    ink: str
    bold: bool


def terminal_text(config: str) -> str:
    """What ``ckptplan optimize`` shows on a terminal with colours: the answer, the table, the bars."""
    text = report(plan(load(config).scenario), Screen(COLUMNS, colour=True))
    head, end, _ = text.partition(END)
    if not end:
        raise ValueError(f"the report has no line {END.strip()!r}: where should its picture end?")
    return f"$ ckptplan optimize {config}\n{head}"


def runs(line: str) -> Iterator[Run]:
    """The runs of one line; codes for colours and bold are read, and there are no others."""
    ink, bold, column = TEXT, False, 0
    for number, part in enumerate(SGR.split(line)):
        if number % 2:
            codes = [int(code) for code in part.split(";") if code]
            plain = not codes or 0 in codes
            bold = 1 in codes or (bold and not plain)
            ink = next((INKS[code] for code in codes if code in INKS), TEXT if plain else ink)
        elif part:
            yield Run(column, part, ink, bold)
            column += len(part)


def drawn(run: Run, row: int) -> Iterator[str]:
    """A run as SVG: blocks are rectangles with a texture, rules are lines, words stand where their cells are."""
    top = MARGIN + row * LINE
    for found in re.finditer(f"([{''.join(TEXTURES)}─])\\1*", run.text):
        x, width = MARGIN + CELL * (run.column + found.start()), CELL * len(found[0])
        if found[1] == "─":
            yield f'<path d="M{x:.1f} {top + LINE / 2:.1f}h{width:.1f}" stroke="{EDGE}"/>'
        else:
            fill = f"url(#{texture(found[1], run.ink)})"
            yield f'<rect x="{x:.1f}" y="{top + 2}" width="{width:.1f}" height="{LINE - 4}" fill="{fill}"/>'
    rest = re.sub(f"[{''.join(TEXTURES)}─]", " ", run.text)
    for found in WORDS.finditer(rest):
        x, width = MARGIN + CELL * (run.column + found.start()), CELL * len(found[0])
        look = ' font-weight="bold"' if run.bold else ""
        yield (
            f'<text x="{x:.1f}" y="{top + SIZE}" textLength="{width:.1f}" fill="{run.ink}"{look}>'
            f"{escape(found[0], quote=False)}</text>"
        )


def texture(block: str, ink: str) -> str:
    """The name of a pattern."""
    return f"p{ord(block):x}-{ink[1:]}"


def terminal_svg(text: str, title: str) -> str:
    """A terminal's text as one SVG without fonts, scripts or links: the same bytes on every machine."""
    lines = text.rstrip("\n").split("\n")
    all_runs = [(row, run) for row, line in enumerate(lines) for run in runs(line)]
    width, height = round(2 * MARGIN + CELL * COLUMNS), 2 * MARGIN + LINE * len(lines)
    used = dict.fromkeys((block, run.ink) for _, run in all_runs for block in TEXTURES if block in run.text)
    patterns = [
        f'<pattern id="{texture(block, ink)}" width="6" height="6" patternUnits="userSpaceOnUse">'
        f"{TEXTURES[block].format(ink=ink, panel=PANEL)}</pattern>"
        for block, ink in used
    ]
    plain = SGR.sub("", text)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="title text">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="text">{escape(plain.strip())}</desc>',
            f"<defs>{''.join(patterns)}</defs>",
            f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{PANEL}" stroke="{EDGE}"/>',
            f'<g font-family="{FONTS}" font-size="{SIZE}">',
            *(element for row, run in all_runs for element in drawn(run, row)),
            "</g>",
            "</svg>\n",
        ]
    )


def optimize_svg() -> str:
    """The terminal's picture."""
    return terminal_svg(terminal_text("llama3-405b"), "Output of ckptplan optimize llama3-405b")


def curve_svg() -> str:
    """The plot, by the command that the README names, and at its end the version of the library that drew it."""
    from matplotlib import __version__

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "curve.svg"
        command = [sys.executable, "-m", "ckptplan", *CURVE, "--plot", str(path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return f"{path.read_text(encoding='utf-8').rstrip()}\n<!-- drawn with matplotlib {__version__} -->\n"


def main() -> None:
    """Rewrite both."""
    (HERE / "optimize.svg").write_text(optimize_svg(), encoding="utf-8")
    (HERE / "curve.svg").write_text(curve_svg(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The pictures of the README are what their script makes, show what the README says, and can be read by all."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.render.numbers import percent, points, seconds
from tests.render.colour_vision import EYES, contrast, nearest

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"
_spec = importlib.util.spec_from_file_location("pictures_make", PICTURES / "make.py")
assert _spec is not None
assert _spec.loader is not None
make = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make)


def test_the_picture_of_the_terminal_is_fresh() -> None:
    """A rerun of the script gives the same bytes."""
    assert make.optimize_svg() == (PICTURES / "optimize.svg").read_text(encoding="utf-8"), (
        "run python docs/pictures/make.py"
    )


def shown() -> list[str]:
    """The lines of the picture, read back from the places of its words and blocks."""
    root = ElementTree.parse(PICTURES / "optimize.svg").getroot()  # noqa: S314 - our own file
    cells: dict[int, dict[int, str]] = {}
    blocks = {make.texture(block, ink): block for block in make.TEXTURES for ink in make.INKS.values()}
    for element in root.iter():
        if element.tag == f"{SVG}text":
            text, top = element.text or "", float(element.attrib["y"]) - make.SIZE
        elif element.tag == f"{SVG}rect" and element.attrib["fill"].startswith("url(#"):
            block, count = blocks[element.attrib["fill"][5:-1]], float(element.attrib["width"]) / make.CELL
            text, top = block * round(count), float(element.attrib["y"]) - 2
        else:
            continue
        row = cells.setdefault(round((top - make.MARGIN) / make.LINE), {})
        column = round((float(element.attrib["x"]) - make.MARGIN) / make.CELL)
        assert row.keys().isdisjoint(range(column, column + len(text))), f"{text!r} lies over other text"
        row |= dict(enumerate(text, start=column))
    rows = (cells.get(number, {}) for number in range(max(cells) + 1))
    return ["".join(row.get(i, " ") for i in range(max(row, default=-1) + 1)) for row in rows]


def test_the_picture_shows_what_the_readme_prints() -> None:
    """Word for word and cell for cell, the picture is the head of the README's first output."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme.partition("```console\n$ ckptplan optimize llama3-405b\n")[2].partition(make.END)[0]
    lines = ["$ ckptplan optimize llama3-405b", *block.rstrip("\n").split("\n")]
    assert shown() == [re.sub(" ?─+", "", line) for line in lines]


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    """No font, script, style or address but the name of the format; a title and a text for those who do not see it."""
    text = (PICTURES / "optimize.svg").read_text(encoding="utf-8")
    assert re.findall("[a-z]+://[^\"' ]*", text) == ["http://www.w3.org/2000/svg"]
    root = ElementTree.fromstring(text)  # noqa: S314 - our own file
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags == {"svg", "title", "desc", "defs", "pattern", "path", "rect", "g", "text"}
    assert root.attrib["aria-labelledby"].split() == [root[0].attrib["id"], root[1].attrib["id"]]


@pytest.mark.parametrize("eye", EYES)
def test_colours_of_shares_stay_apart(eye: str) -> None:
    """Any two colours are 20 steps of CIE L*a*b* apart or more, some ten times what is just seen, for each eye."""
    assert nearest(make.INKS.values(), eye) >= 20.0


def test_text_and_blocks_stand_out_from_the_panel() -> None:
    """WCAG 2.2: 4.5 for text, 3 for graphics; and the panel has an edge on a page of its own colour."""
    assert contrast(make.TEXT, make.PANEL) >= 4.5
    assert min(contrast(ink, make.PANEL) for ink in make.INKS.values()) >= 3.0


def test_each_block_has_a_texture_of_its_own() -> None:
    """In grey print too the shares can be told apart."""
    assert len(set(make.TEXTURES.values())) == len(make.TEXTURES)


def test_the_readme_shows_the_pictures() -> None:
    """Each stands there once, with a text that says what is seen."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    texts = {target: text for text, target in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", readme)}
    assert set(texts) == {f"docs/pictures/{path.name}" for path in PICTURES.glob("*.svg")}
    assert all(len(text.split()) >= 8 for text in texts.values())


def words(svg: str) -> list[str]:
    """All texts of a picture, in the order of the file: title, description, labels, numbers."""
    named = (element.text or "" for element in ElementTree.fromstring(svg).iter())  # noqa: S314 - our own file
    return [text.strip() for text in named if text.strip()]


def test_the_plot_is_fresh() -> None:
    """A rerun gives the same bytes with the matplotlib that drew it, and the same words and numbers with any other.

    Releases of matplotlib place ticks and write paths in ways of their own, so that bytes can be promised for one
    release alone.
    """
    kept, made = (PICTURES / "curve.svg").read_text(encoding="utf-8"), make.curve_svg()
    if kept.splitlines()[-1] == made.splitlines()[-1]:
        assert made == kept, "run python docs/pictures/make.py"
    assert words(made) == words(kept), "run python docs/pictures/make.py"


def test_the_plot_holds_the_numbers_of_the_answer() -> None:
    """The optimum, its goodput, and what an hour loses against it stand in the picture as the command prints them."""
    written = " ".join(words((PICTURES / "curve.svg").read_text(encoding="utf-8")))
    for record in plan(load("llama3-405b").scenario, intervals_s=[3600.0], whole_run=False).records:
        if record.method == "exact":
            number = points(record.lost_goodput) if record.given else percent(record.goodput_typed)
            assert seconds(record.interval_s) in written
            assert number in written

"""The report on paper: no table is cut, nothing that is folded is missing, light colours."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import pypdf
import pytest

from tests.browser.cells import BEYOND, TABLES
from tests.browser.conftest import Shown
from tests.browser.long_names import SPECS

# A4 less the margins of the style sheet, in CSS pixels.
PAPER_PX = round((210 - 2 * 12) / 25.4 * 96)
Paper: TypeAlias = Callable[..., bytes]
PRINTED = ("llama3-405b", "spectrum-16384", "one_tier", "tiers")


def _packed(text: str) -> str:
    """Without blanks, which a line that is broken between two words has or has not; ligatures as their letters."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


@pytest.fixture(scope="module")
def paper(page: Shown) -> Paper:
    """A report as PDF, printed once for all tests."""

    @cache
    def printed(name: str, *, dark: bool = False) -> bytes:
        return page(name, dark=dark).pdf()

    return printed


@pytest.mark.parametrize("name", [*PRINTED, *SPECS])
def test_every_cell_of_every_table_is_on_paper(page: Shown, paper: Paper, name: str) -> None:
    """Printed to PDF, each cell is found in its text and within the page, folded tables and names of 80 letters too."""
    texts, outside = _read(paper(name))
    printed = "".join(map(_packed, texts))
    assert outside == ()
    for table in page(name).ask(TABLES):
        for row in table["rows"]:
            for cell in row:
                assert _packed(_as_drawn(cell)) in printed, (table["caption"], cell)


@pytest.mark.parametrize("name", PRINTED)
def test_who_prefers_dark_prints_the_same(paper: Paper, name: str) -> None:
    """Every drawing instruction of every page is that of a light screen, so that nothing else need be looked at."""
    light, dark = (_drawn(paper(name, dark=dark)) for dark in (False, True))
    assert len(light) > 3
    assert light == dark


def _drawn(pdf: bytes) -> list[bytes]:
    """The content of each page."""
    return [sheet.get_contents().get_data() for sheet in pypdf.PdfReader(io.BytesIO(pdf)).pages]


@pytest.mark.parametrize("name", PRINTED)
def test_no_page_is_nearly_empty(paper: Paper, name: str) -> None:
    """What made the report stands on the first page, not alone on the last; what is for machines is not printed."""
    sheets, _ = _read(paper(name))
    assert "Made by ckptplan" in sheets[0]
    assert sum("Made by ckptplan" in sheet for sheet in sheets) == 1
    assert "application/json" not in "".join(sheets)
    assert min(len(_packed(sheet)) for sheet in sheets) > 200, [len(_packed(sheet)) for sheet in sheets]


@cache
def _read(pdf: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The text of each page, and what lies beyond their edges."""
    outside: list[str] = []
    sheets = pypdf.PdfReader(io.BytesIO(pdf)).pages
    return tuple(_text_within(sheet, outside) for sheet in sheets), tuple(outside)


def _as_drawn(cell: str) -> str:
    """What is found again in a PDF: of letters from right to left, or without a font here, only what stands after."""
    return re.split(r"[^\x00-\x7f]", cell)[-1]


def _text_within(sheet: pypdf.PageObject, outside: list[str]) -> str:
    """The text of a page; what begins beyond its edges goes to ``outside``."""

    def visit(text: str, of_user: list[float], of_text: list[float], *_: object) -> None:
        x = of_text[4] * of_user[0] + of_user[4]
        if text.strip() and not 0 <= x <= float(sheet.mediabox.width):
            outside.append(text)

    return sheet.extract_text(visitor_text=visit)


@pytest.mark.parametrize("name", [*PRINTED, *SPECS])
def test_nothing_is_wider_than_the_paper(page: Shown, name: str) -> None:
    """As it is laid out for print, on the width of the paper, no element goes beyond its edge."""
    tab = page(name, width=PAPER_PX, media="print")
    assert tab.ask(BEYOND) == []
    assert tab.ask("document.documentElement.scrollWidth") == PAPER_PX


def test_what_is_folded_is_printed(page: Shown) -> None:
    """A folded table is not seen on the screen, and is seen on paper."""
    visible = "[...document.querySelectorAll('details table')].map(one => one.checkVisibility())"
    tab = page("llama3-405b", width=PAPER_PX)
    assert len(tab.ask(visible)) > 1
    assert not any(tab.ask(visible))
    tab.look(width=PAPER_PX, media="print")
    assert all(tab.ask(visible))


def test_a_table_that_spans_pages_has_its_head_on_each(page: Shown, paper: Paper) -> None:
    """The heads of the inputs stand on every page that has some of them."""
    inputs = next(table for table in page("spectrum-16384").ask(TABLES) if table["caption"].startswith("Given"))
    sheets = [_packed(sheet) for sheet in _read(paper("spectrum-16384"))[0]]
    having = [sheet for sheet in sheets if "spectrum-16384.yaml:" in sheet]
    assert len(having) > 1
    assert all(_packed("".join(inputs["heads"])) in sheet for sheet in having)


def test_paper_is_white(page: Shown) -> None:
    """Who prefers dark screens still prints on white."""
    tab = page("llama3-405b", dark=True, media="print")
    assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.ask("getComputedStyle(document.body).color") == "rgb(27, 36, 48)"

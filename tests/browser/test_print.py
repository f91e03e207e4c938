"""The report on paper: no table is cut, nothing that is folded is missing, light colours."""

from __future__ import annotations

import io
import re
import unicodedata

import pypdf
import pytest

from tests.browser.cells import BEYOND, TABLES
from tests.browser.chromium import Chromium
from tests.browser.conftest import Report

# A4 less the margins of the style sheet, in CSS pixels.
PAPER_PX = round((210 - 2 * 12) / 25.4 * 96)
PRINTED = ("llama3-405b", "spectrum-16384", "one_tier", "tiers")


def _packed(text: str) -> str:
    """Without blanks, which a line that is broken between two words has or has not; ligatures as their letters."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_cell_of_every_table_is_on_paper(browser: Chromium, report: Report, name: str, dark: bool) -> None:
    """Printed to PDF, each cell is found in its text and within the page, those of folded tables too."""
    with browser.tab(dark=dark) as tab:
        tab.open(report(name).as_uri())
        tables, pdf = tab.ask(TABLES), pypdf.PdfReader(io.BytesIO(tab.pdf()))
    outside: list[str] = []
    texts = [_text_within(page, outside) for page in pdf.pages]
    printed = "".join(map(_packed, texts))
    assert outside == []
    for table in tables:
        for row in table["rows"]:
            for cell in row:
                assert _packed(_as_drawn(cell)) in printed, (table["caption"], cell)


def _as_drawn(cell: str) -> str:
    """What is found again in a PDF: of letters from right to left, or without a font here, only what stands after."""
    return re.split(r"[^\x00-\x7f]", cell)[-1]


def _text_within(page: pypdf.PageObject, outside: list[str]) -> str:
    """The text of a page; what begins beyond its edges goes to ``outside``."""

    def visit(text: str, of_user: list[float], of_text: list[float], *_: object) -> None:
        x = of_text[4] * of_user[0] + of_user[4]
        if text.strip() and not 0 <= x <= float(page.mediabox.width):
            outside.append(text)

    return page.extract_text(visitor_text=visit)


@pytest.mark.parametrize("name", PRINTED)
def test_nothing_is_wider_than_the_paper(browser: Chromium, report: Report, name: str) -> None:
    """As it is laid out for print, on the width of the paper, no element goes beyond its edge."""
    with browser.tab(width=PAPER_PX, media="print") as tab:
        tab.open(report(name).as_uri())
        assert tab.ask(BEYOND) == []
        assert tab.ask("document.documentElement.scrollWidth") == PAPER_PX


def test_what_is_folded_is_printed(browser: Chromium, report: Report) -> None:
    """A folded table is not seen on the screen, and is seen on paper."""
    visible = "[...document.querySelectorAll('details table')].map(one => one.checkVisibility())"
    with browser.tab(width=PAPER_PX) as tab:
        tab.open(report("llama3-405b").as_uri())
        assert not any(tab.ask(visible))
        tab.look(width=PAPER_PX, media="print")
        assert all(tab.ask(visible))


def test_a_table_that_spans_pages_has_its_head_on_each(browser: Chromium, report: Report) -> None:
    """The heads of the inputs stand on every page that has some of them."""
    with browser.tab() as tab:
        tab.open(report("spectrum-16384").as_uri())
        inputs = next(table for table in tab.ask(TABLES) if table["caption"].startswith("Given"))
        pages = [_packed(page.extract_text()) for page in pypdf.PdfReader(io.BytesIO(tab.pdf())).pages]
    having = [page for page in pages if "spectrum-16384.yaml:" in page]
    assert len(having) > 1
    assert all(_packed("".join(inputs["heads"])) in page for page in having)


def test_paper_is_white(browser: Chromium, report: Report) -> None:
    """Who prefers dark screens still prints on white."""
    with browser.tab(dark=True, media="print") as tab:
        tab.open(report("llama3-405b").as_uri())
        assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert tab.ask("getComputedStyle(document.body).color") == "rgb(27, 36, 48)"

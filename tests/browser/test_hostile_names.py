"""Names that try to be mark-up, scripts, templates or formulas stay names, in a real browser."""

from __future__ import annotations

import pytest

from ckptplan.errors import printable
from tests.browser.cells import TABLES
from tests.browser.chromium import Chromium
from tests.browser.conftest import Report
from tests.render.page.hostile import NAMES, UNPRINTABLE

PARTS = {
    "one_tier": ("run", "blocking", "background", "state", "loss"),
    "tiers": ("run", "background", "class", "tier"),
}


@pytest.mark.parametrize("name", list(PARTS))
def test_names_stay_text(browser: Chromium, report: Report, name: str) -> None:
    """No script, no dialog, no request, no element that a name asks for; each cell reads as the spec has it."""
    path = report(name)
    with browser.tab() as tab:
        tab.open(path.as_uri())
        assert tab.complaints == []
        assert tab.requests == [path.as_uri()]
        assert tab.ask("[...document.scripts].every(one => one.type === 'application/json')")
        assert tab.ask("document.querySelectorAll('img, iframe, object, embed, form, base, math, video').length") == 0
        assert tab.ask("document.querySelectorAll('link').length") == 1
        assert tab.ask("[...document.links].every(one => one.getAttribute('href').startsWith('#'))")
        handlers = "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(a => /^on/.test(a))"
        assert tab.ask(handlers) == []
        assert tab.ask("document.querySelector('h1').textContent") == NAMES["run"]
        assert tab.ask("document.title") == " ".join(NAMES["run"].split())
        cells = {cell for table in tab.ask(TABLES) for row in table["rows"] for cell in row}
    for part in PARTS[name]:
        assert NAMES[part] in cells, part


def test_what_cannot_be_printed_is_a_question_mark(browser: Chromium, report: Report) -> None:
    """Reversed and hidden letters, escapes and NUL of a title are ?, so that it reads as it is."""
    title = f"plan {UNPRINTABLE.replace(chr(0), '')}"  # no command line can hold NUL
    with browser.tab() as tab:
        tab.open(report("llama3-405b", "--title", title).as_uri())
        assert tab.ask("document.querySelector('h1').textContent") == printable(title)
        assert "?gnp.exe" in printable(title)
        assert tab.complaints == []


def test_templates_in_names_are_not_evaluated(browser: Chromium, report: Report) -> None:
    """{{7*7}} is never 49."""
    with browser.tab() as tab:
        tab.open(report("one_tier", "--title", "{{7*7}}${7*7}<%= 7*7 %>").as_uri())
        assert tab.ask("document.querySelector('h1').textContent") == "{{7*7}}${7*7}<%= 7*7 %>"

"""Names of users in pictures: never read as mathematics, never steering anything, never wider than their place."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from ckptplan.render.plots.curve import curve_figure
from ckptplan.render.plots.lettering import ELLIPSIS, lettered, shortened, width, wrapped
from ckptplan.render.plots.optimize import optimize_figure
from ckptplan.render.plots.saving import png_bytes, svg_bytes
from ckptplan.render.plots.style import THEMES
from tests.render.plots.drawn import clashes, texts_of
from tests.render.plots.results import plan_of

HOSTILE = [
    "cost $x_1^{2}$ and \\frac{1}{2} $",
    "<script>alert(1)</script> & \"quotes\" 'too'",
    "bell \a escape \x1b[31m null \0 newline \n tab \t",
    "\u202eright to left \u2066 and \ufeff zero width",
    "emoji \U0001f680 and \u6f22\u5b57 and \ud800",
    "w" * 5000,
    "many words " * 500,
    "",
    "%s {0} %(x)d",
]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_text_in_its_place(name: str, theme: str) -> None:
    """As the name of a spec and of all strategies; both files are made, and nothing overlaps."""
    made, curve = plan_of("llama3-405b")
    renamed = {one.strategy: f"{name}{place}" for place, one in enumerate(made.optima())}
    made = made._replace(
        name=name,
        records=tuple(r._replace(strategy=renamed[r.strategy]) for r in made.records),
        best=made.best._replace(strategy=renamed[made.best.strategy]),
    )
    curve = curve._replace(
        lines=tuple(line._replace(strategy=renamed[line.strategy]) for line in curve.lines), best=renamed[curve.best]
    )
    figure = optimize_figure(made, curve, THEMES[theme])
    assert clashes(figure) == []
    assert not any(one.is_math for one in texts_of(figure))
    root = ET.fromstring(svg_bytes(figure))  # noqa: S314 - our own
    assert all(text.isprintable() for element in root.iter() for text in (element.text or "").split("\n"))
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert png_bytes(figure).startswith(b"\x89PNG")


def test_a_dollar_sign_is_drawn() -> None:
    """What matplotlib would read as a formula is written as it is."""
    made, curve = plan_of("lab-64")
    figure = curve_figure(made._replace(name="a $b$ c"), curve, THEMES["light"])
    assert "a $b$ c" in [one.text for one in texts_of(figure)]


def test_letters_that_the_font_has_not_are_question_marks() -> None:
    """Line breaks are blanks, control characters and unknown letters ?, accents and Greek stay."""
    assert lettered("\u00e9\u00df \u03c3 \u0416 \u2264") == "\u00e9\u00df \u03c3 \u0416 \u2264"
    assert lettered("a\x1b[0mb") == "a?[0mb"
    assert lettered("\u6f22\U0001f680") == "??"
    assert lettered("  two   words ") == "two words"


def test_a_text_is_cut_where_its_place_ends() -> None:
    """The longest beginning that fits with its ellipsis is kept, a text that fits is not touched."""
    assert shortened("short", 2.0) == "short"
    cut = shortened("x" * 300, 1.0)
    assert cut.endswith(ELLIPSIS)
    assert width(cut) <= 1.0 < width("x" * len(cut) + ELLIPSIS)
    assert shortened("anything", 0.0) == ELLIPSIS


def test_lines_are_broken_between_words() -> None:
    """Each line fits, no word is lost, and one that is too long by itself is cut."""
    words = "one two three four five six seven eight"
    broken = list(wrapped(words, 1.2))
    assert " ".join(broken) == words
    assert all(width(line) <= 1.2 for line in broken)
    assert next(wrapped("w" * 200, 1.0)).endswith(ELLIPSIS)
    assert list(wrapped("", 1.0)) == []

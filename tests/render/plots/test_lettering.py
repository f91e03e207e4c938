"""Names of users in pictures: never read as mathematics, never steering anything, never wider than their place."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from ckptplan.render.plots.curve import curve_figure
from ckptplan.render.plots.lettering import (
    ELLIPSIS,
    beside,
    distinct,
    lettered,
    lettered_sentence,
    lost_letters,
    noting_lost_letters,
    shortened,
    width,
    wrapped,
)
from ckptplan.render.plots.optimize import optimize_figure
from ckptplan.render.plots.saving import png_bytes, svg_bytes
from ckptplan.render.plots.style import LIGHT, THEMES
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
    "\u062d\u0641\u0638 \u05e9\u05de",
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
    texts = [text.replace("\u200e", "") for element in root.iter() for text in (element.text or "").split("\n")]
    assert all(text.isprintable() for text in texts)
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


def test_words_that_lost_letters_are_noted_once() -> None:
    """In the order in which they are drawn, without the marks around them; control characters are no letters."""
    lettered("\u6f22")
    with noting_lost_letters() as lost:
        for name in ("run (\u6f22\u5b57), 3", "plain", "a\x1b[0mb ?", "\u6f22\u5b57: \U0001f680", "\u6f22\u5b57"):
            lettered(name)
    lettered("\u5b57")
    assert list(lost) == ["\u6f22\u5b57", "\U0001f680"]
    (said,) = lost_letters(lost, "a.svg")
    assert said == "a.svg shows ? for letters that its font (DejaVu Sans) lacks: \u6f22\u5b57, \U0001f680"
    assert lost_letters([], "a.svg") == []


def test_what_is_said_of_lost_letters_is_short() -> None:
    """Five words, the rest counted, and of a long one its beginning."""
    (said,) = lost_letters([str(n) + "\u6f22" * 500 for n in range(9)], "a.svg")
    assert said.endswith(", and 4 more")
    assert len(said) < 320


def test_a_name_from_right_to_left_leaves_the_numbers_beside_it_alone() -> None:
    """It stands between two left-to-right marks, which take no room, also where it is cut: the rest keeps its order."""
    name = lettered("\u05e9\u05de\u05d9\u05e8\u05d4")
    assert (name[0], name[-1]) == ("\u200e", "\u200e")
    assert width(name) == pytest.approx(width(name.strip("\u200e")), abs=1e-9)
    assert shortened(lettered("\u05e9\u05de " * 80), 1.0)[-2:] == f"{ELLIPSIS}\u200e"
    assert "\u200e" not in lettered("left to right, 1 \u03c3")


def test_strategies_with_names_from_right_to_left_keep_their_numbers_in_order() -> None:
    """In the pixels: 'name: 1' draws the digit to the right of the name, where the renderer knows both directions."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = []
    for text in (lettered("\u05e9\u05e9"), lettered("\u05e9\u05e9") + ": 1", lettered("\u05e9\u05e9") + ":"):
        figure = Figure(figsize=(2.0, 0.5), dpi=100)
        canvas = FigureCanvasAgg(figure)
        figure.text(0.1, 0.5, text, family=["DejaVu Sans"])
        canvas.draw()
        drawn.append(np.asarray(canvas.buffer_rgba())[..., 0] < 128)
    name, whole, colon = drawn
    last = int(np.flatnonzero(name.any(axis=0))[-1])
    assert (whole[:, : last + 1] == name[:, : last + 1]).all()
    assert np.flatnonzero(whole.any(axis=0))[-1] > np.flatnonzero(colon.any(axis=0))[-1]


def test_names_that_look_alike_are_numbered() -> None:
    """Two that the font cannot show, two that are cut to one beginning; a name alone or of its own has no number."""
    long = "a very long name of a strategy " * 5
    names = ["\u6f22\u5b57", "plain", "\u4fdd\u5b58", f"{long}one", f"{long}two"]
    drawn = distinct(names, "strategy")
    assert drawn["\u6f22\u5b57"] == "strategy 1: ??"
    assert drawn["plain"] == "plain"
    assert drawn["\u4fdd\u5b58"] == "strategy 3: ??"
    assert drawn[names[3]].startswith("strategy 4: a very")
    assert drawn[names[4]].startswith("strategy 5: a very")
    assert distinct(["\u6f22"], "strategy") == {"\u6f22": "?"}
    assert distinct(["why?", "how?"], "strategy") == {"why?": "why?", "how?": "how?"}


def test_a_long_name_never_hides_its_numbers() -> None:
    """The name is cut, what is said of it is there whole, and all of it fits."""
    text = beside("w" * 160, ": exact 330 s; goodput 91.92 %", 4.0)
    assert text.endswith(f"{ELLIPSIS}: exact 330 s; goodput 91.92 %")
    assert width(text) <= 4.0
    made, curve = plan_of("llama3-405b")
    name = "x" * 160
    made = made._replace(
        records=tuple(r._replace(strategy=name) if r.strategy == "asynchronous" else r for r in made.records),
        best=made.best._replace(strategy=name),
    )
    lines = tuple(line._replace(strategy=name) if line.strategy == "asynchronous" else line for line in curve.lines)
    texts = [one.text for one in texts_of(curve_figure(made, curve._replace(lines=lines, best=name), LIGHT))]
    assert any(text.startswith("xxx") and text.endswith("goodput 91.92 %") for text in texts)
    assert sum("given" in text and f"{ELLIPSIS}" in text for text in texts) == 3


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


def test_words_from_right_to_left_leave_the_numbers_of_a_sentence_in_place() -> None:
    """Each run of such words has a mark on either side; a sentence without any has none."""
    mark = "\N{LEFT-TO-RIGHT MARK}"
    one, other = "\u05e9\u05dc\u05d5\u05dd", "\u05e0\u05ea\u05d5\u05df"
    told = lettered_sentence(f"{one} {other} 7 100 s to 50 s, {other} 2 s")
    assert told == f"{mark}{one} {other}{mark} 7 100 s to 50 s, {mark}{other}{mark} 2 s"
    assert lettered_sentence("stall 60 s to 30 s") == "stall 60 s to 30 s"

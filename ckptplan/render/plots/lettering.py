"""Words of a picture: names made harmless, and how wide a text will be before anything is drawn."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from ckptplan.errors import printable
from ckptplan.render.plots.importing import import_matplotlib
from ckptplan.render.plots.style import BODY, FONT

if TYPE_CHECKING:
    from matplotlib.font_manager import FontProperties

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_POINTS_AN_INCH = 72.0
_TO_THE_RIGHT = "\N{LEFT-TO-RIGHT MARK}"  # no width; the numbers beside a name from right to left stay where they are
_TO_THE_LEFT = frozenset(("R", "AL", "AN"))
_LEAST = 0.5  # of a name that is cut [inch]
_TOLD_APART = 1.3  # of two names: in the narrowest place for one [inch]
_LOST: ContextVar[dict[str, None] | None] = ContextVar("lost", default=None)
_MOST_LOST, _LONGEST_LOST, _AROUND = 5, 40, ".,:;()"


def lettered(name: str) -> str:
    """A name of the user's as the font can show it: ? for control characters and for what it has no letter for."""
    whole = " ".join(printable(name).split())
    text = "".join(c if _has(c) else "?" for c in whole)
    lost = _LOST.get()
    if lost is not None:
        lost.update((word.strip(_AROUND), None) for word in whole.split() if not all(map(_has, word)))
    return f"{_TO_THE_RIGHT}{text}{_TO_THE_RIGHT}" if _is_to_the_left(text) else text


def lettered_sentence(text: str) -> str:
    """A sentence that names what the user named: words from right to left leave the numbers beside them in place."""
    words = lettered(text).strip(_TO_THE_RIGHT).split(" ")
    runs = ((to_the_left, " ".join(run)) for to_the_left, run in groupby(words, _is_to_the_left))
    return " ".join(f"{_TO_THE_RIGHT}{run}{_TO_THE_RIGHT}" if to_the_left else run for to_the_left, run in runs)


def _is_to_the_left(text: str) -> bool:
    return any(unicodedata.bidirectional(c) in _TO_THE_LEFT for c in text)


@contextmanager
def noting_lost_letters() -> Iterator[dict[str, None]]:
    """The words drawn meanwhile that the font had not all letters for, in their order."""
    found: dict[str, None] = {}
    token = _LOST.set(found)
    try:
        yield found
    finally:
        _LOST.reset(token)


def lost_letters(words: Iterable[str], where: str) -> list[str]:
    """One warning of the words that lost letters in the picture ``where``; none if there are none."""
    found = [word if len(word) <= _LONGEST_LOST else word[:_LONGEST_LOST] + ELLIPSIS for word in words]
    if not found:
        return []
    more = f", and {len(found) - _MOST_LOST:,} more" if len(found) > _MOST_LOST else ""
    return [f"{where} shows ? for letters that its font ({FONT}) lacks: {', '.join(found[:_MOST_LOST])}{more}"]


def distinct(names: Sequence[str], word: str) -> dict[str, str]:
    """Names as they are drawn; those that could not be told apart, or have lost letters, have a number before them.

    ``strategy 2: ????`` is the second name, whatever it is: two names that the font cannot show look alike, and so do
    two that are cut to one beginning.
    """
    every = {name: lettered(name) for name in dict.fromkeys(names)}
    beginnings = [shortened(text, _TOLD_APART, bold=True) for text in every.values()]
    return {
        name: f"{word} {number}: {text}"
        if len(every) > 1 and (beginnings.count(beginning) > 1 or text.count("?") > name.count("?"))
        else text
        for number, ((name, text), beginning) in enumerate(zip(every.items(), beginnings, strict=True), start=1)
    }


def beside(name: str, text: str, most: float, size: float = BODY) -> str:
    """A name with what is said of it, the name cut so that all of the rest is there. [inch]."""
    return shortened(name, max(most - width(text, size), _LEAST), size) + text


@lru_cache(maxsize=1024)
def _has(character: str) -> bool:
    import_matplotlib()
    from matplotlib.font_manager import findfont, get_font

    return character == " " or get_font(findfont(_font(BODY, bold=False))).get_char_index(ord(character)) != 0


def _font(size: float, *, bold: bool) -> FontProperties:
    import_matplotlib()
    from matplotlib.font_manager import FontProperties

    return FontProperties(family=[FONT], size=size, weight="bold" if bold else "normal")


@lru_cache(maxsize=4096)
def width(text: str, size: float = BODY, *, bold: bool = False) -> float:
    """Width of one line. [inch]."""
    from matplotlib.textpath import text_to_path

    points, _, _ = text_to_path.get_text_width_height_descent(text, _font(size, bold=bold), ismath=False)
    return float(points) / _POINTS_AN_INCH


def height(size: float = BODY) -> float:
    """Room that one line takes, with what is between lines. [inch]."""
    return 1.5 * size / _POINTS_AN_INCH


def shortened(text: str, most: float, size: float = BODY, *, bold: bool = False) -> str:
    """The beginning of a text that fits a width, with an ellipsis where something is left out. [inch]."""
    if width(text, size, bold=bold) <= most:
        return text
    low, high = 0, min(len(text), 500)
    while low < high:
        middle = (low + high + 1) // 2
        fits = width(text[:middle].rstrip() + ELLIPSIS, size, bold=bold) <= most
        low, high = (middle, high) if fits else (low, middle - 1)
    return text[:low].rstrip() + ELLIPSIS + (_TO_THE_RIGHT if text.startswith(_TO_THE_RIGHT) else "")


def wrapped(text: str, most: float, size: float = BODY, *, bold: bool = False) -> Iterator[str]:
    """The lines of a text, broken between words; a word that is too long by itself is shortened. [inch]."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if line and width(longer, size, bold=bold) > most:
            yield shortened(line, most, size, bold=bold)
            longer = word
        line = longer
    if line:
        yield shortened(line, most, size, bold=bold)

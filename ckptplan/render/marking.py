"""Text in Markdown that stays text: names of the user's, and words of the program, are no mark-up."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ckptplan.errors import printable

# Between these and what follows stands an empty comment: a mention would notify somebody, and a reference or a link
# would leave a trace in another place, which no backslash prevents.
_REACHES_OUT = re.compile(r"[@#]|://|\bwww\.|\bgh-(?=\d)", re.IGNORECASE)
_MARKS = re.compile(r"([\\`*_{}\[\]|~])")
_OPENS_BLOCK = re.compile(r"^([-+=](?=[-+=\s]|$)|\d+[.)](?=\s|$))")
_EMOJI = re.compile(r":(?=(?:100|1234|[+\-]1|[a-z0-9+\-\\_]*[a-z][a-z0-9+\-\\_]*):)")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "<span>$</span>"}
# What none of these is found in, as in most cells of a large table, is as it was.
_SPECIAL = re.compile(r"[^\w .,%/()+=?!'\"-]|_|[wW]{3}\.|[gG][hH]-")


def escaped(text: str) -> str:
    """A text that stays what it is: no mark-up, no HTML, no mention, no reference, no mathematics, no emoji."""
    return _OPENS_BLOCK.sub(lambda found: f"{found[1][:-1]}\\{found[1][-1]}", within(text))


def within(text: str) -> str:
    """The same where no block can begin: in a cell of a table, or behind other words of the line."""
    shown = text if text.isprintable() else printable(text)
    if _SPECIAL.search(shown) is None:
        return shown
    shown = _MARKS.sub(r"\\\1", shown)
    shown = "".join(_HTML.get(letter, letter) for letter in shown)
    shown = _REACHES_OUT.sub(lambda found: f"{found[0][:1]}<!-- -->{found[0][1:]}", shown)
    return _EMOJI.sub(":<!-- -->", shown)


def heading(text: str, level: int = 2) -> str:
    """A heading, and the end of its line."""
    return f"{'#' * level} {escaped(text)}\n"


def sentences(texts: Iterable[str]) -> list[str]:
    """Paragraphs, each with the end of its line."""
    return [f"{escaped(text)}\n" for text in texts]


def bullets(texts: Iterable[str]) -> str:
    """A list, one line for each text."""
    return "".join(f"- {escaped(text)}\n" for text in texts)


def notes(texts: Iterable[str]) -> str:
    """What the numbers in brackets of a table refer to."""
    return "".join(f"- [{number}] {within(text)}\n" for number, text in enumerate(texts, start=1))

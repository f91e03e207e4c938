"""The report as one HTML file that needs nothing else: no script, no network, and plain ASCII."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ckptplan.errors import printable
from ckptplan.render.page.blocks import Page

if TYPE_CHECKING:
    from jinja2 import Environment

# Within <script> nothing is decoded: what could end the element, or begin a comment in it, is written as JSON escapes.
_IN_SCRIPT = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}

# Between a number and its unit no line ends.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|(?:s|ms|us|min|h|d|[kMGTPE]?i?B|[kMGT]?W)\b))")

_IN_A_LINE = 24  # letters of a cell
_FEW_COLUMNS = 5  # of a table that has room for long words on paper


def html(page: Page) -> str:
    """The whole file.

    All texts are escaped by the template engine, and what is not printable is ?, wherever a template shows it. Letters
    beyond ASCII are character references: no mail program or server can spoil them.
    """
    text: str = _environment().get_template("page.html.j2").render(page=page)
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ckptplan.render.page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    environment.filters["as_script"] = _as_script
    environment.filters["as_drawing"] = _as_drawing
    environment.filters["as_class"] = _as_class
    environment.filters["as_head"] = _as_head
    environment.filters["as_line"] = _as_line
    return environment


def _finalize(value: Any) -> Any:
    """Names of the user's must not steer a page either: reversed or hidden letters are ?."""
    return printable(value) if type(value) is str else value


def _as_class(cell: str, columns: int) -> str:
    """How a cell may be broken: ``short`` stays in one line, ``text`` breaks between words, ``long`` within them."""
    if len(cell) <= _IN_A_LINE:
        return "short"
    longest = max(map(len, cell.split()), default=0)
    return "text" if longest <= (_IN_A_LINE if columns > _FEW_COLUMNS else 2 * _IN_A_LINE) else "long"


def _as_head(title: str) -> str:
    """A head whose sign of percent does not stand alone in a line."""
    from markupsafe import Markup, escape

    shown = escape(printable(title))
    return shown.removesuffix(" %") + Markup("&nbsp;%") if title.endswith(" %") else shown


def _as_line(text: str) -> str:
    """A sentence whose numbers stay with their units."""
    from markupsafe import Markup, escape

    return Markup(_BEFORE_UNIT.sub("&nbsp;", str(escape(printable(text)))))  # noqa: S704 - escaped


def _as_script(json: str) -> str:
    """JSON as the content of a script element: the same document, unable to end the element."""
    from markupsafe import Markup

    return Markup(json.translate(_IN_SCRIPT))  # noqa: S704 - nothing in it can begin a tag


def _as_drawing(svg: str) -> str:
    """An SVG element, which the library that wrote it has escaped."""
    from markupsafe import Markup

    return Markup(svg)  # noqa: S704 - serialised by an XML library

"""HTML of a report, read again by the parser of the standard library."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from ckptplan.errors import printable
from ckptplan.render.page.blocks import Block, Formula, Head, Numbers, Page, Picture, Points, Section, Table, Text
from ckptplan.render.page.html import html
from tests.render.page.hostile import NAMES, UNPRINTABLE

_VOID = {"meta", "link", "br", "img"}


class _Read(HTMLParser):
    """Texts of elements by their tag, attributes, and whether every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self.attributes: list[tuple[str, str, str | None]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in _VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        """Note its end."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note its text."""
        if self.open:
            self.texts[self.open[-1]][-1] += data


def _page(*blocks: Block, title: str = "run", document: str = "{}") -> Page:
    return Page(title, "sub", (Section("one", "One", blocks),), (("optimize", document),), "1.0")


TEXTS = [*NAMES.values(), UNPRINTABLE, "a & b &amp; c", "\ud800 half", "caf\u00e9 \u6570 \U0001f600"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_the_same_text_wherever_it_stands(text: str) -> None:
    """In title, paragraph, list, numbers, table, note, summary and formula; what is not printable is ?."""
    table = Table(text, (Head(text, False), Head("n", True)), ((text, text),), frozenset({0}), (text,))
    read = _Read(
        html(
            _page(
                Text(text),
                Points((text,)),
                Numbers(((text, text, text),)),
                table,
                table._replace(folded=True),
                Formula(text, text, text, (text,), text, text),
                Picture(text, "<svg/>", "<svg/>"),
                title=text,
            )
        )
    )
    shown = printable(text)
    assert read.open == []
    for tag in ("title", "h1", "p", "li", "dt", "strong", "th", "td", "summary", "dd", "figcaption"):
        assert any(shown in found for found in read.texts[tag]), tag
    assert set(read.texts) <= _TAGS
    assert not [name for _, name, _ in read.attributes if name.startswith("on")]


_TAGS = {
    *("html", "head", "title", "style", "body", "header", "h1", "p", "div", "nav", "ul", "li", "a", "main", "section"),
    *("h2", "h3", "dl", "dt", "dd", "strong", "span", "table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("details", "summary", "figure", "figcaption", "svg", "code", "script", "footer"),
}


def test_a_sign_of_percent_stays_with_its_word() -> None:
    """A head in percent is not broken before the sign; a name in it is text as everywhere."""
    table = Table("c", (Head("<b> %", False), Head("a % b", True)), (("x", "y"),))
    text = html(_page(table))
    assert '<th scope="col">&lt;b&gt;&nbsp;%</th>' in text
    assert '<th scope="col" class="number">a % b</th>' in text


def test_a_number_stays_with_its_unit() -> None:
    """No line of a paragraph, list or note ends between them; words that begin like a unit are words, and < is text."""
    note = Table("c", (Head("a", False),), (("x",),), frozenset(), ("3 GB <now>",))
    text = html(_page(Text("5.38 % of 12 s, 2 TB/s; 4 steps, 3 saves, 7 days"), Points(("1,024 GPUs, 90 d",)), note))
    assert "<p>5.38&nbsp;% of 12&nbsp;s, 2&nbsp;TB/s; 4 steps, 3 saves, 7 days</p>" in text
    assert "<li>1,024 GPUs, 90&nbsp;d</li>" in text
    assert "<li>[1] 3&nbsp;GB &lt;now&gt;</li>" in text


@pytest.mark.parametrize("text", TEXTS)
def test_json_cannot_end_its_element(text: str) -> None:
    """The script element holds the same document, whatever its strings are."""
    document = json.dumps({"name": text, text: [text]})
    read = _Read(html(_page(document=document)))
    assert read.open == []
    assert [json.loads(found) for found in read.texts["script"]] == [json.loads(document)]
    assert "<" not in read.texts["script"][0]


def test_a_page_is_ascii_and_stable() -> None:
    """Letters beyond ASCII are references; the same content gives the same bytes."""
    page = _page(Text("\u6570\u636e \u2028"), title="\u00e9")
    assert html(page).isascii()
    assert html(page) == html(page)


def test_every_section_is_in_the_contents() -> None:
    """The navigation links to each heading, and each heading has its anchor."""
    page = _page()._replace(sections=tuple(Section(f"k{i}", f"T{i}", (Text("x"),)) for i in range(3)))
    read = _Read(html(page))
    links = [value for tag, name, value in read.attributes if (tag, name) == ("a", "href")]
    assert links == ["#main", "#k0", "#k1", "#k2", "#machines"]
    anchors = {value for _, name, value in read.attributes if name == "id"}
    assert {str(link)[1:] for link in links} <= anchors

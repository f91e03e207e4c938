"""Text in Markdown: what a name holds is text on GitHub too."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.errors import printable
from ckptplan.render.marking import bullets, escaped, heading, notes, sentences, within

_BARE = re.compile(r"(?<!\\)(?:\\\\)*[`*_{}\[\]|~]")


def _read(text: str) -> str:
    """What people see: escapes undone, comments and marks around a dollar taken away."""
    seen = re.sub(r"<!-- -->|</?span>", "", text)
    return html.unescape(re.sub(r"\\(.)", r"\1", seen))


@given(st.text(max_size=40))
def test_every_text_reads_as_it_is(text: str) -> None:
    """Undone, the escapes give the text again, what is not printable as ?."""
    assert _read(escaped(text)) == printable(text)


@given(st.text(alphabet="`*_[]|~\\<>&@#$:/-+=.0a ", max_size=30))
def test_no_mark_is_left_bare(text: str) -> None:
    """No mark-up, HTML, mention, reference or mathematics survives."""
    shown = escaped(text)
    assert not _BARE.search(shown)
    assert not re.search(r"<(?!!-- -->|span>|/span>)", shown)
    assert not re.search(r"[@#](?!<!-- -->)", shown)
    assert not re.search(r"\$(?!</span>)", shown)
    assert "://" not in shown


@given(st.text(alphabet="abcGHhw .1,%()\"'!?-+=:_", max_size=12))
def test_plain_text_takes_the_short_way_only_if_it_comes_out_the_same(text: str) -> None:
    """Behind a mark, which takes the long way, every text is escaped as it is alone."""
    assert within(f"* {text}") == f"\\* {within(text)}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("- item", "\\- item"),
        ("1. one", "1\\. one"),
        ("85.26", "85.26"),
        ("-0.027", "-0.027"),
        ("+ plus", "\\+ plus"),
        ("=====", "\\====="),
        ("run.yaml:20:3: at 10:30:15", "run.yaml:20:3: at 10:30:15"),
        (":+1: and :100:", ":<!-- -->+1: and :<!-- -->100:"),
        (":heavy_check_mark:", ":<!-- -->heavy\\_check\\_mark:"),
        (":smile: 10:30", ":<!-- -->smile: 10:30"),
        ("www.example.org", "w<!-- -->ww.example.org"),
        ("GH-12", "G<!-- -->H-12"),
        ("a.yaml:16", "a.yaml:16"),
    ],
)
def test_what_opens_a_block_or_reaches_out(text: str, shown: str) -> None:
    """Marks at the start of a line are escaped, numbers are not; links and emoji are broken."""
    assert escaped(text) == shown


def test_lines_are_escaped_once() -> None:
    """Headings, paragraphs, lists and notes, each with the end of its line."""
    assert heading("*a*", 3) == "### \\*a\\*\n"
    assert sentences(["- a", "b_c"]) == ["\\- a\n", "b\\_c\n"]
    assert bullets(["[a](b)", "2. c"]) == "- \\[a\\](b)\n- 2\\. c\n"
    assert notes(["<b>", "- c"]) == "- [1] &lt;b&gt;\n- [2] - c\n"

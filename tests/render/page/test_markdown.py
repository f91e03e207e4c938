"""Markdown of a report: what a name holds is text on GitHub too."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.errors import printable
from ckptplan.render.page.blocks import Head, Page, Points, Section, Table
from ckptplan.render.page.markdown import escaped, markdown

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


def test_a_page_in_markdown() -> None:
    """Title, sections, lists, tables with notes, folded tables, the version and the date."""
    heads = (Head("name", False), Head("n", True))
    table = Table("Caption", heads, (("a|b", "1"), ("best", "2")), frozenset({1}), ("a note",))
    page = Page(
        "T*",
        "sub",
        (Section("s", "One", (Points(("x", "y")), table, table._replace(folded=True, notes=()))),),
        (),
        "1.0",
        "2026-01-31",
    )
    assert markdown(page) == (
        "# T\\*\n\nsub, 2026-01-31\n\n## One\n\n- x\n- y\n\nCaption:\n\n"
        "| name | n |\n| --- | ---: |\n| a\\|b | 1 |\n| **best** | **2** |\n\n- \\[1\\] a note\n\n"
        "<details>\n<summary>Caption</summary>\n\n"
        "| name | n |\n| --- | ---: |\n| a\\|b | 1 |\n| **best** | **2** |\n\n</details>\n\n"
        "Made by ckptplan 1.0 on 2026-01-31.\n"
    )

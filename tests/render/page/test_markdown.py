"""Markdown of a report."""

from __future__ import annotations

from ckptplan.render.page.blocks import Head, Page, Points, Section, Table
from ckptplan.render.page.markdown import markdown


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

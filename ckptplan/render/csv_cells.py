"""Texts as cells of CSV, which a spreadsheet shows and does not carry out."""

from __future__ import annotations

from ckptplan.errors import printable

# What makes a formula of a cell (OWASP, CSV Injection); the wide ones are read like the others in some languages.
_BEGINNINGS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001 - these are meant


def csv_text(text: str) -> str:
    """A text as a cell, before quoting: an apostrophe stands before what a spreadsheet would take for a formula.

    Control characters, tabs and line breaks among them, are ?, as in tables. Numbers are no texts, and stay numbers.
    """
    shown = printable(text)
    return f"'{shown}" if shown.startswith(_BEGINNINGS) else shown

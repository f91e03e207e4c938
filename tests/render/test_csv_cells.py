"""Texts as cells of CSV."""

from __future__ import annotations

import csv
import io

import pytest

from ckptplan.render.csv_cells import csv_text
from ckptplan.render.sheet import Column, Sheet, to_csv

FORMULAS = ("=1+1", "+1", "-2+3", "@SUM(A1)", '=HYPERLINK("http://a.b","c")', "＝1+1", "-")  # noqa: RUF001 - meant


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_a_text(text):
    """An apostrophe stands before it, and nothing else changes."""
    assert csv_text(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "asynchronous", "a=b", "1+1", "'=1", " =1", "[red]", "über"])
def test_other_texts_stay_as_they_are(text):
    """Signs count at the beginning only."""
    assert csv_text(text) == text


@pytest.mark.parametrize("text", ["\t=1+1", "\r=1+1", "\n=1+1", "\x00=1+1"])
def test_control_characters_cannot_hide_a_formula(text):
    """They are ?, as in tables."""
    assert csv_text(text) == "?=1+1"


def test_numbers_of_a_sheet_stay_numbers():
    """Of texts alone a cell is changed, and a reader of CSV finds it whole."""
    sheet = Sheet((Column("name"), Column("x"), Column("n")), (('=cmd|"/c calc"!A1', -1.5, -2), ("plain", 1e-9, 3)))
    rows = list(csv.reader(io.StringIO(to_csv([sheet]))))
    assert rows == [["name", "x", "n"], ['\'=cmd|"/c calc"!A1', "-1.5", "-2"], ["plain", "1e-09", "3"]]

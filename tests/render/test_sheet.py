"""Sheets: one list of columns serves every format."""

from __future__ import annotations

import json

import pytest

from ckptplan.render.numbers import percent, points, seconds, whole
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Column, Sheet, to_csv, to_json, to_markdown

SHEET = Sheet(
    (
        Column("name", "name", str, right=False),
        Column("interval_s", "interval", seconds),
        Column("hidden", show=None),
    ),
    (("plain", 1116.2963, None), ('a|b\x1b[31m,"q"', float("nan"), 3)),
)


def test_csv_quotes_and_keeps_full_precision() -> None:
    """CSV holds the raw values under the machine names; what is not a finite number is empty."""
    lines = to_csv([SHEET]).splitlines()
    assert lines[0] == "name,interval_s,hidden"
    assert lines[1] == "plain,1116.2963,"
    assert lines[2].endswith('""q""",,3')


def test_csv_has_one_line_for_each_row_whatever_names_hold() -> None:
    """Control characters, line breaks and halves of characters are ?, as in tables; numbers and letters stay."""
    rows = (("\x1b[2J\x07\ra\nb\tc\x9b\ud800\u00e9", 1.0, None),)
    text = to_csv([SHEET._replace(rows=rows)])
    assert text == "name,interval_s,hidden\n?[2J??a?b?c??\u00e9,1.0,\n"


def test_json_is_strict() -> None:
    """JSON has null for nan and is ASCII."""
    text = to_json({"rows": SHEET.records()})
    assert json.loads(text)["rows"][1]["interval_s"] is None
    assert text.isascii()


def test_markdown_escapes_pipes_and_control_characters() -> None:
    """A cell cannot break the table or steer a terminal."""
    text = to_markdown(SHEET)
    assert "a\\|b?\\[31m" in text
    assert "\x1b" not in text
    assert "hidden" not in text


def test_table_falls_back_to_blocks_when_narrow() -> None:
    """A table wider than the screen becomes one block per row with every number whole."""
    wide = Screen().table(SHEET)
    narrow = Screen(width=20).table(SHEET)
    assert "interval" in wide.splitlines()[0]
    assert "interval 1,116 s" in narrow
    assert max(map(len, narrow.splitlines())) <= 20


def test_ascii_screen_draws_ascii() -> None:
    """A screen without Unicode gets lines drawn in ASCII."""
    assert Screen(unicode=False).table(SHEET).isascii()
    assert not Screen(unicode=True).table(SHEET).isascii()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1116.2963, "1,116 s"),
        (999.6, "1,000 s"),
        (330.37, "330 s"),
        (99.96, "100 s"),
        (24.5, "24.5 s"),
        (5.0, "5 s"),
        (0.0772, "77.2 ms"),
        (2.5e-5, "25 us"),
        (0.0, "0 s"),
        (None, "-"),
        (1e18, "1e+18 s"),
        (3e-9, "3e-09 s"),
    ],
)
def test_seconds(value: float | None, text: str) -> None:
    """Times of saves are printed in seconds, the small ones in milliseconds."""
    assert seconds(value) == text


def test_shares() -> None:
    """Percent has two decimals, and a small share is not rounded to nothing."""
    assert percent(0.052) == "5.20 %"
    assert percent(1e-6) == "0.0001 %"
    assert percent(None) == "-"
    assert points(0.0653) == "6.53 points"
    assert whole(16384) == "16,384"
    assert whole(None) == "-"

"""The bar of a sweep."""

from __future__ import annotations

import io
import re

import pytest

from ckptplan.render.sweep_progress import PlainLine, SweepBar


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(steps: list[tuple[float, int, bool]], points: int, monkeypatch: pytest.MonkeyPatch, columns: int = 60) -> str:
    """The last line that a bar shows after steps of time, points, and whether they were resumed."""
    monkeypatch.setenv("COLUMNS", str(columns))
    now_s = 100.0
    stream = _Terminal()
    with SweepBar(stream, points, lambda: now_s) as update:
        for passed_s, count, resumed in steps:
            now_s += passed_s
            update(count, resumed)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).replace("\r", "\n").split("\n")
    return [line for line in lines if "points" in line][-1].rstrip()


def test_rate_and_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter in 90 s: the rate, and three times as long to go."""
    line = shown([(45.0, 100_000, False), (45.0, 150_000, False)], 1_000_000, monkeypatch)
    assert line.endswith("250,000 of 1,000,000 points, 2,778/s, 0:04:30 left")


def test_resumed_points_are_done_but_not_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points of a journal count as done; the rate, and with it the time left, is that of the others."""
    line = shown([(0.0, 900, True), (10.0, 50, False)], 1000, monkeypatch)
    assert line.endswith("950 of 1,000 points, 5.0/s, 0:00:10 left")


def test_nothing_is_promised_before_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """While all that is done was resumed, there is no rate."""
    assert shown([(5.0, 900, True)], 1000, monkeypatch).endswith("900 of 1,000 points")


def test_long_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours go on beyond a day."""
    line = shown([(3600.0, 10, False)], 1000, monkeypatch, 80)
    assert line.endswith("99:00:00 left")


def test_it_clears_itself() -> None:
    """At the end its line is gone."""
    stream = _Terminal()
    with SweepBar(stream, 10) as update:
        update(10, False)
    assert stream.getvalue().endswith("\x1b[2K")


def test_a_plain_line_has_no_escape_codes() -> None:
    """It is written over itself, a few times per second only, and blanked at the end."""
    now_s, stream = 100.0, _Terminal()
    with PlainLine(stream, 1000, lambda: now_s) as update:
        for _ in range(100):
            now_s += 0.125
            update(5, False)
    assert "\x1b" not in stream.getvalue()
    lines = stream.getvalue().split("\r")
    assert lines[1].rstrip() == "5 of 1,000 points, 40/s, 0:00:25 left"
    assert sum("points" in line for line in lines) == 50
    assert lines[-2].strip() == lines[-1] == ""
    assert len(lines[-2]) >= len(lines[-3].rstrip())

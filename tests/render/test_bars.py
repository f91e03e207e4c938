"""Bars of lost time on a terminal: whole cells that add up, readable without colour, never wider than the screen."""

from __future__ import annotations

import functools
import itertools
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from ckptplan.load import load, shipped_configs
from ckptplan.plan import Plan, plan
from ckptplan.plan.record import TIERS
from ckptplan.render.bars import PARTS, apportion, basis, gain_bar, loss_bars, recommended_rows
from ckptplan.render.numbers import hundredths, percent
from ckptplan.render.plan_report import report
from ckptplan.render.plots.breakdown import breakdown_figure
from ckptplan.render.plots.style import LIGHT
from ckptplan.render.screen import Screen
from tests.cli.harness import ckptplan
from tests.render.colour_vision import EYES, nearest
from tests.render.plots.drawn import texts_of

SHARES = st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1.0)), min_size=len(PARTS), max_size=len(PARTS)).filter(any)
BAR = re.compile("([█░▓▚═]+)")
CONFIGS = sorted(config.name for config in shipped_configs())


@functools.cache
def planned(config: str, *, hours: float = 1.0) -> Plan:
    """The plan of a shipped config, with an interval of so many hours beside the optimum."""
    return plan(load(config).scenario, intervals_s=[3600.0 * hours], whole_run=False)


def rows(text: str) -> list[str]:
    """The lines below the title: those that a bar is in; a legend has single glyphs before names only."""
    return [line for line in text.splitlines() if BAR.search(line) and not re.search("█ save", line)]


@given(SHARES, st.integers(len(PARTS), 200))
def test_cells_add_up_and_no_share_is_lost(shares: list[float], cells: int) -> None:
    """Cells sum to the length of the bar; a share of zero has none, any other one or more, a larger one never fewer."""
    made = apportion(shares, cells)
    assert sum(made) == cells
    assert [count == 0 for count in made] == [share == 0.0 for share in shares]
    for (share, count), (other, fewer) in itertools.permutations(zip(shares, made, strict=True), 2):
        assert share <= other or count >= fewer


@given(st.lists(st.integers(1, 40), min_size=3, max_size=3), st.integers(3, 14))
def test_cells_are_the_nearest_to_the_shares(shares: list[int], cells: int) -> None:
    """Where each share is worth a cell, no other whole cells are nearer to the shares, by trying all of them."""
    quotas = [cells * share / sum(shares) for share in shares]
    if min(quotas) < 1.0:
        return
    made = apportion(shares, cells)
    every = (parts for parts in itertools.product(range(cells + 1), repeat=3) if sum(parts) == cells)
    best = min(sum(abs(n - q) for n, q in zip(parts, quotas, strict=True)) for parts in every)
    assert sum(abs(n - q) for n, q in zip(made, quotas, strict=True)) == pytest.approx(best, abs=1e-9)
    assert all(abs(n - q) < 1.0 for n, q in zip(made, quotas, strict=True))


@pytest.mark.parametrize(("shares", "cells"), [([0.0, 0.0], 5), ([], 5), ([0.2, 0.1], 1)])
def test_what_cannot_be_apportioned_is_refused(shares: list[float], cells: int) -> None:
    """No shares at all, or fewer cells than shares, are a mistake of the caller."""
    with pytest.raises(ValueError, match="cells for the shares"):
        apportion(shares, cells)


@pytest.mark.parametrize("width", [60, 79, 80, 100, 120, 200])
@pytest.mark.parametrize("config", CONFIGS)
def test_each_strategy_of_each_shipped_config_has_its_bar(config: str, width: int) -> None:
    """One bar per strategy and given interval, to one scale, within the width; each share is in it and beside it."""
    made = planned(config)
    text = loss_bars(made, Screen(width))
    drawn = rows(text)
    records = [r for r in made.records if r.method in ("exact", "renewal")]
    assert len(drawn) == len({(r.strategy, r.given) for r in records})
    assert max(map(len, text.splitlines())) <= width
    lengths = [len(BAR.search(line).group()) for line in drawn]  # type: ignore[union-attr]
    lost = {r: 1.0 - r.goodput for r in records if r.goodput is not None}
    most = max(lost.values())
    for line, length in zip(drawn, lengths, strict=True):
        record = _of(line, drawn, records)
        shares = [getattr(record, part.key) for part in PARTS]
        there = {part.block for part, share in zip(PARTS, shares, strict=True) if share > 0.0}
        assert set(BAR.search(line).group()) == there  # type: ignore[union-attr]
        assert length == max(round(max(lengths) * lost[record] / most), len(there))
        if "goodput" in text:
            numbers = [hundredths(share) for i, share in enumerate(shares) if f" {PARTS[i].name}  " in text]
            assert line.split()[-len(numbers) - 1 :] == [*numbers, hundredths(record.goodput)]
        else:
            assert line.endswith(f" {hundredths(lost[record])} %")


def _of(line: str, drawn: list[str], records: list) -> object:
    """The record that a line is about: a given interval stands below its strategy."""
    name = next(one for one in reversed(drawn[: drawn.index(line) + 1]) if not one.startswith("   "))
    strategy = BAR.split(name)[0].strip()
    found = [r for r in records if r.strategy == strategy and r.given == line.startswith("   given")]
    return max(found, key=lambda r: (r.method == "renewal", r.goodput_typed))


@given(st.integers(20, 210), st.booleans())
def test_no_width_wraps_or_cuts_a_bar(width: int, unicode: bool) -> None:
    """Whatever the width, no line is wider, and there are as many bars as strategies, or none."""
    made = planned("spectrum-16384")
    lines = loss_bars(made, Screen(width, unicode=unicode)).splitlines()
    assert all(len(line) <= width for line in lines)
    labelled = [line for line in lines if re.match(" (file system|tiers|  given)", line)]
    assert len(labelled) == (4 if lines else 0)


def test_shares_of_another_interval_than_the_typed_one_say_so() -> None:
    """Where whole steps, or the method, make goodput another number, both are told apart; else nothing is said."""
    coarse = plan(load("llama3-405b", sets=["training.step_time=300 s"]).scenario, whole_run=False)
    text = " ".join(loss_bars(coarse, Screen(100)).split())
    assert "before it is rounded to whole steps" in text
    for record in coarse.optima():
        assert f"{percent(record.goodput_typed)} with {record.strategy}" in text
        assert percent(record.goodput) != percent(record.goodput_typed)
    first_order = plan(load("llama3-405b").scenario, methods=["young"], whole_run=False)
    assert "as the method accounts for it" in basis(first_order)
    assert basis(planned("llama3-405b")) == ""
    assert "what is typed" not in loss_bars(planned("llama3-405b"), Screen(100))


def test_the_rows_of_a_plan_of_many_sizes_are_those_of_the_planned_one() -> None:
    """One record for each strategy, that of all tiers last, no given one: the notes and the picture have the same."""
    made = plan(load("spectrum-16384").scenario, intervals_s=[3600.0], gpus=[8192], whole_run=False)
    of_tiers = [r for r in made.records if r.strategy == TIERS]
    assert len(of_tiers) > 1
    found = recommended_rows(made)
    assert [r.strategy for r in found] == [*(r.strategy for r in made.optima()), TIERS]
    assert {(r.gpus, r.given) for r in found} == {(made.gpus, False)}
    texts = [one.text for one in texts_of(breakdown_figure(made, LIGHT))]
    for record in found:
        assert texts.count(record.strategy) == 1
        assert f"{hundredths(record.goodput or 0.0)} %" in texts


def test_narrow_terminals_get_shorter_bars() -> None:
    """At 60 columns a bar stands beside the sum alone; at 20 there is none."""
    made = planned("llama3-405b")
    narrow, wide = (max(len(BAR.findall(line)[0]) for line in rows(loss_bars(made, Screen(w)))) for w in (60, 160))
    assert 10 <= narrow < wide
    assert "goodput" not in loss_bars(made, Screen(60))
    assert loss_bars(made, Screen(20)) == ""


def test_a_pipe_and_the_machine_formats_have_no_bars() -> None:
    """Without a width there is nothing to scale a bar to; formats for machines and Markdown are as they were."""
    made = planned("llama3-405b")
    assert loss_bars(made, Screen()) == ""
    assert "Where the lost time goes" not in report(made, Screen())
    for format_ in ("json", "csv", "markdown"):
        assert "Where the lost" not in ckptplan("optimize", "llama3-405b", "-f", format_, env={"COLUMNS": "100"}).out


def test_bars_follow_the_table_that_accounts_for_every_hour() -> None:
    """They come after the table and its footnotes and before everything else."""
    text = report(planned("llama3-405b"), Screen(100))
    at = [text.index(part) for part in ("goodput 85.26 %", "[1] first order", "Where the lost time goes", "What binds")]
    assert at == sorted(at)


def test_colour_adds_nothing_but_colour() -> None:
    """Without its colours the text is the same, and each share has a glyph of its own."""
    made = planned("spectrum-16384")
    coloured, plain = (loss_bars(made, Screen(100, colour)) for colour in (True, False))
    assert "\x1b" in coloured
    assert "\x1b" not in plain
    assert "\n".join(Text.from_ansi(line).plain.rstrip() for line in coloured.splitlines()) == plain.rstrip("\n")
    assert len({part.block for part in PARTS}) == len({part.letter for part in PARTS}) == len(PARTS)
    assert len({part.style for part in PARTS}) == len(PARTS)


# Defaults of xterm (XTerm-col.ad) on light and on dark ground, and of the dark terminal of Visual Studio Code
# (terminalColorRegistry.ts).
_NAMES = ("bright_blue", "yellow", "red", "default", "bright_black")
PALETTES = {
    "xterm on white": ("#5c5cff", "#cdcd00", "#cd0000", "#000000", "#7f7f7f"),
    "xterm on black": ("#5c5cff", "#cdcd00", "#cd0000", "#ffffff", "#7f7f7f"),
    "vscode": ("#3b8eea", "#e5e510", "#cd3131", "#cccccc", "#666666"),
}


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("palette", PALETTES)
def test_terminal_colours_stay_apart(palette: str, eye: str) -> None:
    """In common palettes, for each eye: shares that touch are far apart, others still more than what is just seen.

    Some 2.3 steps of CIE L*a*b* are just seen (Mahy and others, 1994). Text and yellow of one palette are 17 apart for
    tritanopia and never touch: their glyphs and places tell them apart too.
    """
    shown = dict(zip(_NAMES, PALETTES[palette], strict=True))
    colours = [shown[part.style] for part in PARTS]
    assert min(nearest(pair, eye) for pair in itertools.pairwise(colours)) >= 20.0
    assert nearest(colours, eye) >= 10.0


@pytest.mark.parametrize("config", CONFIGS)
def test_ascii_terminals_get_ascii(config: str) -> None:
    """Where the terminal has no Unicode, letters stand for blocks, one for one."""
    made = planned(config)
    blocks, letters = (loss_bars(made, Screen(90, unicode=unicode)) for unicode in (True, False))
    assert letters.isascii()
    assert letters == blocks.translate({ord(part.block): part.letter for part in PARTS})


def test_names_of_a_spec_cannot_steer_or_widen() -> None:
    """Control characters are ?, markup stays text, wide characters count twice, and a name too long leaves no bar."""
    made = planned("llama3-405b")

    def named(name: str) -> Plan:
        return made._replace(records=tuple(r._replace(strategy=name) for r in made.records))

    text = loss_bars(named("\x1b[2J[red]\n"), Screen(100))
    assert "?[2J[red]?" in text
    assert "\x1b" not in text
    wide = loss_bars(named("保存" * 8), Screen(80))
    assert max(Text(line).cell_len for line in wide.splitlines()) <= 80
    assert "保存" in wide
    assert loss_bars(named("x" * 90), Screen(100)) == ""


def test_other_numbers_of_gpus_have_bars_to_the_same_scale() -> None:
    """With --gpus, each size stands below its strategy; fewer GPUs lose less."""
    made = plan(load("llama3-405b").scenario, gpus=[1, 100_000], whole_run=False)
    lines = rows(loss_bars(made, Screen(100)))
    assert [BAR.split(line)[0].strip() for line in lines[:3]] == ["synchronous", "at 1 GPU", "at 100,000 GPUs"]
    own, fewer, more = (len(BAR.findall(line)[0]) for line in lines[:3])
    assert fewer < own < more


def test_an_account_that_does_not_add_up_has_no_bar() -> None:
    """A first-order sum above one is not valid: its row is left out; where no row is left there are no bars."""
    made = plan(load("spot-24").scenario, methods=["young"], intervals_s=[3600.0], whole_run=False)
    assert any(record.goodput is None for record in made.records)
    assert len(rows(loss_bars(made, Screen(100)))) == 2
    given_alone = tuple(record for record in made.records if record.goodput is None)
    assert loss_bars(made._replace(records=given_alone), Screen(100)) == ""


def test_nothing_lost_is_no_bar() -> None:
    """Where no share is above zero there is nothing to draw."""
    made = planned("llama3-405b")
    free = [record._replace(**dict.fromkeys((part.key for part in PARTS), 0.0)) for record in made.records]
    assert loss_bars(made._replace(records=tuple(free)), Screen(100)) == ""


@given(st.floats(-20.0, 20.0), st.floats(1e-3, 20.0), st.integers(1, 80), st.booleans())
def test_gain_bars_are_in_proportion(points: float, most: float, width: int, unicode: bool) -> None:
    """Within half a step of points / most of the width, never longer than the width, never nothing but for zero."""
    bar = gain_bar(points, most, width, unicode=unicode)
    assert len(bar) <= width
    assert (bar == "") == (points == 0.0)
    step = 1 / 8 if unicode and points > 0.0 else 1
    partial = {glyph: eighths / 8 for eighths, glyph in enumerate("▏▎▍▌▋▊▉", start=1)}
    drawn = sum(partial.get(glyph, 1.0) for glyph in bar)
    true = width * min(abs(points) / most, 1.0)
    assert abs(drawn - true) <= (step / 2 if true >= step / 2 else step) + 1e-9
    assert unicode or bar.isascii()


def test_a_gain_and_a_loss_look_different() -> None:
    """A change for the worse is drawn with another glyph, and what is not a number is not drawn."""
    assert gain_bar(1.0, 2.0, 10) == "█████"
    assert gain_bar(-1.0, 2.0, 10) == "░░░░░"
    assert gain_bar(-1.0, 2.0, 10, unicode=False) == "-----"
    assert gain_bar(3.0, 2.0, 10) == "█" * 10
    assert gain_bar(math.nan, 2.0, 10) == gain_bar(1.0, math.inf, 10) == gain_bar(1.0, 2.0, 0) == ""


def test_a_picture_has_its_own_names_in_the_sentence() -> None:
    """Names that a picture numbers are numbered in what it says of them too."""
    made = planned("palm-540b")
    assert "what is typed yields 90.66 % with synchronous." in basis(made)
    assert "what is typed yields 90.66 % with strategy 1: ?." in basis(made, {"synchronous": "strategy 1: ?"})

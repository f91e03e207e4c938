"""How a comparison is shown: signs, figures that neither run has, and lines of files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptplan.load import load
from ckptplan.plan.comparison.comparing import compare
from ckptplan.plan.comparison.inputs import Input, Side
from ckptplan.plan.comparison.record import Comparison, Outcome
from ckptplan.render.comparison_report import Compared, answers, markdown, report
from ckptplan.render.comparison_sheet import ROWS, causes_sheet, flat_sheet, inputs_sheet, price, results_sheet
from ckptplan.render.numbers import signed
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import to_csv


@pytest.fixture(scope="module")
def made() -> Comparison:
    """Two shipped runs of different sizes."""
    return compare(load("rsc-1").scenario, load("rsc-2").scenario, gpu_hour_price=2.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0421, "+4.21"), (-0.003, "-0.30"), (0.0, "0.00"), (-2e-7, ">-0.01"), (3e-6, "<0.01"), (1.0, "+100.00")],
)
def test_points_have_a_sign(value: float, text: str) -> None:
    """What is for B has a plus; what is too small for two digits is not rounded to nothing."""
    assert signed(value) == text


def test_money_of_any_size() -> None:
    """Whole units for large sums, cents for small ones."""
    assert [price(v) for v in (None, 0.5, 999.994, 1234.5)] == ["-", "0.50", "999.99", "1,234"]


def test_every_figure_of_an_outcome_has_a_row() -> None:
    """Nothing that a run comes to is left out of the table by mistake."""
    assert {row.key for row in ROWS} | {"name"} == set(Outcome._fields)


def test_figures_that_neither_has_are_left_out(made: Comparison) -> None:
    """No row of flushes for blocking saves, of slow nodes without classes."""
    titles = [row[0] for row in results_sheet(made).rows]
    assert "goodput" in titles
    assert not {"flush", "lost to slow nodes", "lost to waiting"} & set(titles)


def test_differences_are_those_of_the_figures(made: Comparison) -> None:
    """Shares differ by points, counts by counts, what is equal is the same, texts have no difference."""
    cells = {row[0]: row[1:] for row in results_sheet(made).rows}
    assert cells["GPUs"] == ("12,000", "4,096", "-7,904")
    assert cells["goodput"] == ("92.15 %", "97.94 %", "+5.78 points")
    assert cells["restart"][2] == "same"
    assert cells["best strategy"][2] == ""


def test_the_last_row_of_the_causes_is_their_sum(made: Comparison) -> None:
    """It is stressed, and is the difference."""
    sheet = causes_sheet(made)
    assert sheet.rows[-1][:2] == ("all of it", "+5.78")
    assert sheet.emphasis == {len(sheet.rows) - 1}


def test_lines_are_those_of_the_file_of_their_side() -> None:
    """A place in the file of the spec is a line; what follows from a key has that key; what is missing is not given."""
    one = Input("x", Side("x", 1.0, "", "1", "a.yaml:3"), Side("x", 2.0, "", "2", "--set"))
    other = Input("y", None, Side("y", 2.0, "", "2", "preset llama (b.yaml:4)"))
    third = Input("z", Side("z", 1, "", "1", "follows from x"), Side("f.until", "time", "", "time", "default"))
    rows = inputs_sheet([one, other, third], ("a.yaml", "b.yaml")).rows
    assert rows[2] == ("z", "1", "a fixed time", "x", "default")
    assert rows[0] == ("x", "1", "2", "line 3", "--set")
    assert rows[1] == ("y", "not given", "2", "-", "preset llama (b.yaml:4)")


def test_the_side_that_loses_less_is_named_whichever_it_is(made: Comparison) -> None:
    """The other way round A is the better one, with the same numbers."""
    back = compare(load("rsc-2").scenario, load("rsc-1").scenario)
    lines = answers(Compared(back, ("b", "a"), ({}, {}), (), 0))
    assert lines[0] == "A loses less: goodput 97.94 % against 92.15 %, 5.78 points more"
    assert lines[1].startswith("largest cause: cluster, -2.96 points for B")
    assert lines[2].endswith("B does more, although it loses a larger part")
    assert answers(Compared(made, ("a", "b"), ({}, {}), (), 0))[0].startswith("B loses less")


def test_names_with_control_characters_do_not_steer_the_terminal() -> None:
    """A run and a strategy that no spec file may call so, but a program may: ? stands for what cannot be printed."""
    first = load("rsc-1").scenario
    saves = (first.saves[0], replace(first.saves[1], name="\x1b[31mred\r\n\u2028"))
    second = replace(first, name="B\x1b]0;title\x07\nB", saves=saves)
    side = Side("save[1].name", saves[1].name, "", saves[1].name, "x\x1by")
    inputs = (Input(f"save[{side.si}].name", None, side),)
    compared = Compared(compare(first, second), ("a\nb", "c"), ({}, {}), inputs, 1)
    for text in (report(compared, Screen()), report(compared, Screen(60)), markdown(compared)):
        assert "?[31mred" in text.replace("\\[", "[")
        assert all(c.isprintable() or c == "\n" for c in text)
    csv_ = to_csv([flat_sheet(compared.made, compared.inputs)])
    assert all(c.isprintable() or c == "\n" for c in csv_)
    assert len(csv_.splitlines()) == 1 + 1 + len(ROWS) + 5 + len(compared.made.causes)

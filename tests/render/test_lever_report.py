"""The report of levers: what stands in it where little is known, and names that must not steer a terminal."""

from __future__ import annotations

import json

import jsonschema
import pytest

from ckptplan.plan.levers.ranking import levers
from ckptplan.plan.levers.record import Left, Levers
from ckptplan.render.lever_document import lever_document
from ckptplan.render.lever_report import markdown, report
from ckptplan.render.lever_sheet import amount, lever_sheet, ranking_sheet
from ckptplan.render.numbers import signed
from ckptplan.render.schemas import output_schema
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import to_csv, to_json
from tests.plan.levers.shipped import NAMES, levers_of, scenario_of

_EVIL = "\x1b]0;owned\x07\n| a |"


def _evil() -> Levers:
    made = levers_of("llama3-405b")
    first = made.levers[0]._replace(title=_EVIL, change=_EVIL, notes=(_EVIL,), strategy=_EVIL)
    return made._replace(
        name=_EVIL,
        strategy=_EVIL,
        first=_EVIL,
        levers=(first, *made.levers[1:]),
        left=(Left("x", _EVIL, _EVIL),),
        apart=(Left("x", _EVIL, _EVIL),),
    )


def test_hostile_names_steer_nothing() -> None:
    """In every text form each control character and line break of a name is a ?."""
    made = _evil()
    for text in (report(made, Screen()), report(made, Screen(60)), markdown(made), to_csv([lever_sheet(made)])):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "?]0;owned??" in text.replace("\n  ", " ").replace("\n", " ").replace("\\]", "]")


def test_a_cell_with_a_bar_stays_one_cell() -> None:
    """Markdown tables escape it."""
    rows = [line for line in markdown(_evil()).splitlines() if line.startswith(r"| ?\]0;owned")]
    assert rows
    assert all(r"\| a \|" in row for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_documents_hold_against_the_schema(name: str) -> None:
    """On every shipped config."""
    document = json.loads(to_json(lever_document(levers_of(name), {})))
    jsonschema.validate(document, output_schema("levers"))


@pytest.mark.parametrize("name", NAMES)
def test_sixty_columns_are_enough(name: str) -> None:
    """No line is longer, and every lever is there."""
    text = report(levers_of(name), Screen(60))
    assert max(map(len, text.splitlines())) <= 60
    assert all(one.title in " ".join(text.split()) for one in levers_of(name).levers)


def test_columns_of_which_nothing_is_known_are_left_out() -> None:
    """Without work no GPU-hours, without steps no steps."""
    made = levers_of("llama3-405b")
    bare = tuple(one._replace(gpu_hours_saved=None, interval_steps=None) for one in made.levers)
    sheet = ranking_sheet(made._replace(levers=bare))
    assert sheet is not None
    assert [column.key for column in sheet.columns] == ["title", "gained", "goodput", "interval_s"]


def test_the_way_of_saving_is_a_column_where_levers_change_it() -> None:
    """Else it is said once, below the table."""
    sheet = ranking_sheet(levers_of("rsc-1"))
    assert sheet is not None
    assert sheet.columns[-1].key == "strategy"
    assert "under every lever" not in report(levers_of("rsc-1"), Screen())
    assert "\nunder every lever the run saves by asynchronous\n" in report(levers_of("llama3-405b"), Screen())
    assert "\nunder every lever the run saves to several tiers\n" in report(levers_of("spectrum-16384"), Screen())


def test_the_key_of_the_rank_is_a_column_where_it_is_not_the_points() -> None:
    """A lever for which GPUs stand by is worth less than it gains, which the table and a line below it say."""
    text = report(levers_of("lab-64"), Screen())
    (row,) = [line for line in text.splitlines() if line.startswith(" keep nodes standing by")][:1]
    (one,) = [one for one in levers_of("lab-64").levers if one.key == "spares"]
    assert row.split()[4:6] == [signed(one.gained), signed(one.worth)]
    assert signed(one.worth).startswith("-")
    assert "ranked by worth: " in text
    assert "The 5 that gain points, save GPU-hours and can be combined, together: " in text
    assert "  worth  " not in report(levers_of("llama3-405b"), Screen())


@pytest.mark.parametrize("name", NAMES)
def test_the_ranking_is_a_table_at_a_hundred_columns(name: str) -> None:
    """With a price too: the goodput, which the points say, then the interval, which the steps say, are left out."""
    priced = levers(scenario_of(name), gpu_hour_price=2.5)
    sheet, whole = ranking_sheet(priced, 100), ranking_sheet(priced)
    assert sheet is not None
    assert whole is not None
    drawn = Screen(100).table(sheet)
    assert drawn.startswith(" lever ")
    assert max(map(len, drawn.splitlines())) <= 100
    left = {column.key for column in whole.columns} - {column.key for column in sheet.columns}
    assert left <= {"goodput", "interval_s"}
    assert not left or max(map(len, Screen().table(whole).splitlines())) > 96
    assert "interval_s" not in left or {"goodput"} < left


def test_the_lever_to_do_first_is_stressed() -> None:
    """Not the one that gains most, where nobody can simply do that."""
    made = levers_of("llama3-405b")
    sheet = ranking_sheet(made)
    assert sheet is not None
    assert made.levers[0].key == "failures"
    assert [made.levers[row].key for row in sheet.emphasis] == ["restart"]


def test_a_list_has_every_column() -> None:
    """Where not even the narrow table fits, nothing is left out."""
    made = levers_of("llama3-405b")
    assert ranking_sheet(made, 40) == ranking_sheet(made)


def test_a_run_without_levers_says_so() -> None:
    """No ranking, no pairs; what is left says why."""
    made = levers_of("llama3-405b")
    empty = made._replace(levers=(), overlaps=(), elasticities=(), all_together=None, first="Do first: nothing")
    text = report(empty, Screen())
    assert "Do first: nothing" in text
    assert "What changes" not in text
    assert "Levers that this run does not have" in text
    assert ranking_sheet(empty) is None
    assert "##" in markdown(empty)


def test_the_sentence_of_all_together_counts_them() -> None:
    """Their joint gain and their sum."""
    made = levers_of("llama3-405b")
    text = report(made, Screen())
    assert made.all_together is not None
    assert (
        f"All {len(made.together)} that gain together: +{100 * made.all_together:.2f} points, their sum +6.70." in text
    )


@pytest.mark.parametrize(
    ("value", "text"), [(0.0336, "+3.36"), (-0.0002, "-0.02"), (0.0, "0.00"), (1e-6, "<0.01"), (None, "-")]
)
def test_gains_have_their_sign(value: float | None, text: str) -> None:
    """In points, the smallest not rounded to nothing."""
    assert signed(value) == text
    assert amount(None) == "-"

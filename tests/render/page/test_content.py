"""Sections of a report: what a run has something to say in, and where each number came from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.curve import goodput_curve
from ckptplan.plan.levers.ranking import levers
from ckptplan.render.page.blocks import Page, Points, Table, Text
from ckptplan.render.page.content import Gathered, page
from ckptplan.render.page.ground import Input

ALWAYS = ["answer", "breakdown", "strategies", "curve", "levers", "sure"]


def _made(name: str, *sets: str, **changes: object) -> Gathered:
    loaded = load(name, sets=sets, environment={})
    made = plan(loaded.scenario)
    gathered = Gathered(
        plan=made,
        scenario=loaded.scenario,
        inputs=tuple(Input(v.key, v.text, "", v.origin) for v in loaded.values),
        assumed=("a default",),
        warnings=(),
        scaling=None,
        scale_refused="",
        levers=levers(loaded.scenario),
        levers_refused="",
        goodputs=goodput_curve(loaded.scenario, made),
        pictures=None,
        documents=(),
    )
    return gathered._replace(**changes)


def _blocks(made: Page, key: str) -> tuple:
    return next((section.blocks for section in made.sections if section.key == key), ())


def test_a_section_that_has_nothing_to_say_is_left_out() -> None:
    """No tiers, classes, warnings or sizes where the run has none."""
    made = _made("tinyllama-16")
    assert made.levers is not None
    made = made._replace(levers=made.levers._replace(warnings=()))
    keys = [section.key for section in page(made).sections]
    assert keys[:1] == ["answer"]
    assert set(ALWAYS) <= set(keys)
    assert not {"tiers", "classes", "warnings", "scale"} & set(keys)


def test_warnings_of_reading_and_of_planning_are_in_one_place() -> None:
    """Both, those of the spec first."""
    made = _made("tinyllama-16", warnings=("of the spec",), levers=None)
    made = made._replace(plan=made.plan._replace(warnings=("of the plan",)))
    assert _blocks(page(made), "warnings") == (Points(("of the spec", "of the plan")),)


def test_warnings_of_other_parts_name_them_and_are_said_once() -> None:
    """A warning of levers stands with the others, under the name of its section; one that the plan has does not."""
    made = _made("tinyllama-16")
    assert made.levers is not None
    made = made._replace(
        plan=made.plan._replace(warnings=("of the plan",)),
        levers=made.levers._replace(warnings=("of the plan", "of a lever")),
    )
    shown = page(made)
    assert _blocks(shown, "warnings") == (Points(("of the plan", "What to change: of a lever")),)
    assert not any("of a lever" in str(block) for block in _blocks(shown, "levers"))


@pytest.mark.parametrize(("bandwidth", "has_dash"), [("20 GB/s", True), ("50 GB/s", False)])
def test_a_dash_is_explained_where_one_stands(bandwidth: str, has_dash: bool) -> None:
    """The caption of the curve says what - means if a cell is one, and nothing of it otherwise."""
    made = _made("llama3-405b", f"storage.write_bandwidth={bandwidth}")
    table = next(block for block in _blocks(page(made), "curve") if isinstance(block, Table))
    assert any(cell == "-" for row in table.rows for cell in row) is has_dash
    assert ("(-: the flush takes longer)" in table.caption) is has_dash


def test_two_goodputs_are_told_apart() -> None:
    """Where the answer, in whole steps, differs from the shares of the best interval, a sentence says so."""
    made = _made("palm-540b")
    table, *after = (block for block in _blocks(page(made), "breakdown") if block.kind != "picture")
    assert table.rows[0][1:4] == ("1,906 s", "108", "90.67")
    assert [block.text for block in after] == [
        "These shares are those of the best interval before it is rounded to whole steps; what is typed yields "
        "90.66 % with synchronous."
    ]
    assert "90.66 %" in str(_blocks(page(made), "answer"))
    assert len(_blocks(page(_made("llama3-405b")), "breakdown")) == 1


def test_sizes_that_cannot_be_had_say_why() -> None:
    """A report of this size is worth having without others."""
    made = page(_made("tinyllama-16", scale_refused="no price of anything"))
    assert _blocks(made, "scale") == (Text("Not known: no price of anything"),)


def test_levers_that_cannot_be_had_say_why() -> None:
    """The answer then names none, and the section gives the reason."""
    made = page(_made("tinyllama-16", levers=None, levers_refused="nothing useful is left"))
    assert _blocks(made, "levers") == (Text("Not known: nothing useful is left"),)
    assert not [block for block in _blocks(made, "answer") if block.kind == "lead"]


def test_inputs_are_all_there_with_their_origin() -> None:
    """What the spec gives is open, what is left to defaults folded; together every value in force."""
    made = _made("llama3-405b")
    given, left = (block for block in _blocks(page(made), "inputs") if isinstance(block, Table))
    assert not given.folded
    assert left.folded
    assert {row[0] for row in given.rows + left.rows} == {value.key for value in made.inputs}
    assert {row[3] for row in left.rows} == {"default"}
    assert ("model.parameters", "405e9", "", "llama3-405b.yaml:13") in given.rows


@pytest.mark.parametrize(("name", "said"), [("tinyllama-16", "1 copy of the"), ("llama3-405b", "128 copies of the")])
def test_one_copy_is_no_copies(name: str, said: str) -> None:
    """How often the weights are held is counted as people say it."""
    (points, *_) = _blocks(page(_made(name)), "ledger")
    assert said in " ".join(points.items)


def test_points_of_the_curve_hold_the_flat_region() -> None:
    """The table of the curve has the goodput of the plan, and the sentence the ends of the flat region."""
    made = _made("llama3-405b")
    sentence, table = _blocks(page(made), "curve")
    assert sentence.text == "With asynchronous, any interval from 252 s to 433 s yields within 0.1 point of the best."
    best = max(float(row[2]) for row in table.rows if row[2] != "-")
    assert abs(best - 100 * made.plan.best.goodput_exact) < 0.1
    assert len(table.rows) == 13


def test_guards_of_a_single_tier_say_so_beside_classes_of_all_tiers() -> None:
    """A slow node takes another share in the table than in the sentence below it: both say of which way they are."""
    made = _made("spectrum-16384")
    classes, title, guards = _blocks(page(made), "classes")
    assert "with tiers" in classes.caption
    assert title.text == "What guards the run, with file system alone:"
    slow = next(row for row in classes.rows if row[0] == "slow node")
    told = next(text for text in guards.items if text.startswith("slow node: finding and evicting takes "))
    assert not told.startswith(f"slow node: finding and evicting takes {slow[-1]} %")
    assert any(f"goodput {100 * made.plan.best.goodput_typed:.2f} %" in text for text in guards.items)
    alone = plan(replace(made.scenario, strategies=("file system alone",)), whole_run=False)
    _, title, _ = _blocks(page(made._replace(plan=alone)), "classes")
    assert title.text == "What guards the run:"


def test_every_interval_by_the_count_of_failures_names_its_way_beside_tiers() -> None:
    """The intervals that failures tell are of one tier; where the plan is over several, each sentence says of which."""
    none = "failures={interruptions: {count: 0, over: 540 d, gpus: 16384}, prior: {shape: 1, mtbf_per_gpu: 50_000 h}}"
    for sets in ((), (none,)):
        (block, *_) = _blocks(page(_made("spectrum-16384", *sets)), "sure")
        told = [text for text in block.items if "save every" in text or ", interval " in text]
        assert len(told) == 2
        assert all(" with file system alone" in text for text in told)
    (block, *_) = _blocks(page(_made("llama3-405b")), "sure")
    assert "66 steps; not knowing" in block.items[1]


def test_a_restart_that_is_a_mean_over_classes_says_so() -> None:
    """Where several classes stop the run; slow nodes do not, so that one class beside them has the restart itself."""
    for sets, ends in (
        ((), "Restart 599 s (5.38 % of the MTBF; mean over the classes)."),
        (("failures.classes=[{kind: slow node, every: 3 d, slowdown: 6 %, detect: 1 h}]",), "of the MTBF)."),
    ):
        made = _made("spectrum-16384", *sets)
        facts = next(block.items[-1] for block in _blocks(page(made), "answer") if isinstance(block, Points))
        assert facts.endswith(ends)
    facts = next(block.items[-1] for block in _blocks(page(_made("lab-64")), "answer") if isinstance(block, Points))
    assert facts.endswith(" of the MTBF).")


def test_the_row_of_the_plan_is_stressed_beside_given_ones() -> None:
    """With several tiers and a given interval, the stressed row is the recommended one, not the last."""
    loaded = load("spectrum-16384", environment={})
    made = _made("spectrum-16384")
    made = made._replace(plan=plan(loaded.scenario, intervals_s=[3600.0], whole_run=False))
    table = next(block for block in _blocks(page(made), "strategies") if isinstance(block, Table))
    (stressed,) = (table.rows[number] for number in table.stressed)
    assert stressed[:2] == ("tiers", "exact")


def test_title_and_name() -> None:
    """A title of the user's own stands first, and the name of the run below it."""
    made = _made("tinyllama-16")
    assert page(made).title == made.plan.name
    own = page(made, title="For the board", date="2026-01-31")
    assert own.title == "For the board"
    assert made.plan.name in own.subtitle
    assert own.date == "2026-01-31"

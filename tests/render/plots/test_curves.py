"""Curves of plans: marks on their lines and whole, whole steps told from the best interval, nothing where none is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ckptplan.load import load
from ckptplan.plan import Plan, plan
from ckptplan.plan.curve import GoodputCurve, goodput_curve
from ckptplan.render.plots.curve import curve_figure
from ckptplan.render.plots.given import given_notes
from ckptplan.render.plots.optimize import optimize_figure
from ckptplan.render.plots.style import LIGHT
from tests.render.plots.drawn import clashes, named, names, texts_of
from tests.render.plots.results import CONFIGS, plan_of

SPEC = """
name: recorded gaps
model: {parameters: 6_738_415_616, state: adam-14}
cluster: {gpus: 64, gpus_per_node: 8}
failures: {law: {name: recorded, file: gaps.txt}}
storage: {write_bandwidth: 10 GB/s}
save:
  - {name: synchronous, mode: sharded}
restart: {total: 2 min}
training: {step_time: 5 s, duration: 3 d}
"""


@cache
def recorded(folder: Path) -> tuple[Plan, GoodputCurve]:
    """The plan of 60 recorded gaps, whose goodput jumps from interval to interval."""
    gaps = np.random.default_rng(3).weibull(0.8, 60) * 3000.0
    (folder / "gaps.txt").write_text("gap_s\n" + "\n".join(f"{gap:.1f}" for gap in gaps) + "\n")
    (folder / "run.yaml").write_text(SPEC)
    scenario = load(str(folder / "run.yaml")).scenario
    made = plan(scenario, intervals_s=[3600.0], whole_run=False)
    return made, goodput_curve(scenario, made)


@pytest.fixture(scope="module")
def of_record(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, GoodputCurve]:
    """One for all tests."""
    return recorded(tmp_path_factory.mktemp("recorded"))


def test_a_curve_of_recorded_gaps_meets_its_marks(of_record: tuple[Plan, GoodputCurve]) -> None:
    """Each interval of the plan, best, typed and given, is a point of the curve, with the goodput it really has."""
    made, curve = of_record
    x, y = named(curve_figure(made, curve, LIGHT), "curve:synchronous").get_data()
    for record in made.records:
        (place,) = np.flatnonzero(x == record.interval_s)
        assert y[place] == pytest.approx(record.goodput_exact, rel=1e-12)
    assert len(x) > 3000  # four to a pixel


def test_whole_steps_apart_from_the_best_interval_are_marked(of_record: tuple[Plan, GoodputCurve]) -> None:
    """The flat region is theirs: their mark is in it, the legend gives them and their goodput."""
    made, curve = of_record
    figure = curve_figure(made, curve, LIGHT)
    typed_s = made.best.typed_interval_s(made.step_time_s)
    (x,), (y,) = named(figure, "typed:synchronous").get_data()
    assert (x, y) == (typed_s, made.best.goodput_typed)
    assert curve.flat is not None
    assert curve.flat.low_s <= x <= curve.flat.high_s
    texts = " ".join(one.text for one in texts_of(figure))
    assert f"typed {typed_s:.0f} s; goodput {100 * made.best.goodput_typed:.2f} %" in texts
    assert "point of what is typed" in texts
    assert clashes(figure) == []


def test_steps_that_make_no_difference_are_not_marked() -> None:
    """Where the whole number of steps is next to the best interval there is one mark."""
    made, curve = plan_of("lab-64")
    assert not [name for name in names(curve_figure(made, curve, LIGHT)) if name.startswith("typed:")]


@pytest.mark.parametrize("config", CONFIGS)
def test_marks_are_seen_whole(config: str) -> None:
    """Each lies within the axes with room above it, also at 100 %, and is not cut at their edge."""
    made, curve = plan_of(config)
    figure = curve_figure(made, curve, LIGHT)
    (axis_of,) = figure.axes
    marks = [line for line in axis_of.lines if (line.get_gid() or "").partition(":")[0] in ("given", "exact", "young")]
    assert marks
    for mark in marks:
        (x,), (y,) = mark.get_data()
        left, right = axis_of.get_xlim()
        bottom, top = axis_of.get_ylim()
        assert not mark.get_clip_on()
        assert left <= x <= right
        assert bottom <= y < top
    assert max(axis_of.get_yticks()) <= 1.0 + 1e-12


def test_where_nothing_is_useful_a_sentence_stands_for_the_curve() -> None:
    """A step of a million seconds never ends: there is no curve, and no crash."""
    scenario = load("llama3-405b", sets=["training={step_time: 1e6 s}"]).scenario
    made = plan(scenario, whole_run=False)
    figure = optimize_figure(made, goodput_curve(scenario, made), LIGHT)
    texts = " ".join(one.text for one in texts_of(figure))
    assert "There is no curve" in texts
    assert "before it is rounded to whole steps" in texts
    assert clashes(figure) == []


def test_a_note_on_a_given_interval_is_never_cut() -> None:
    """Of many strategies it names some and counts the others, so that the end of the sentence is there."""
    name = "a rather long name of a strategy"
    several = ", ".join(f"{{name: {name} {n}, mode: sharded, stall: {n + 1} s}}" for n in range(9))
    scenario = load("lab-64", sets=[f"save=[{several}]"], environment={}).scenario
    made = plan(scenario, intervals_s=(3600.0,))
    (note,) = given_notes(made)
    assert note.startswith("A save every 3,600 s loses ")
    assert note.count(" with ") == 4
    assert note.endswith(" (and 5 more), each against the best interval of the same strategy.")
    texts = [one.text for one in texts_of(curve_figure(made, goodput_curve(scenario, made), LIGHT))]
    assert any(text.endswith("same strategy.") for text in texts)

"""The columns that a sweep can show."""

from __future__ import annotations

import math

import pytest

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.render.plan_sheet import plan_sheet
from ckptplan.sweep.columns import Columns
from ckptplan.sweep.measures import MEASURES, Source, default_columns, naming_columns, sources_of
from ckptplan.sweep.study import INTERVAL, Each
from tests.sweep.studies import differing, member, numbers, point_by_point, study, swept, texts


def test_measures_have_the_words_of_the_sheet_of_a_plan() -> None:
    """Every column of a plan is a measure, but for those that name the spec and tell given intervals apart."""
    sheet = plan_sheet(plan(load("lab-64", environment={}).scenario))
    assert {column.key for column in sheet.columns} - set(MEASURES) == {"spec", "given"}


def test_measures_are_described_by_one_sentence_and_their_unit() -> None:
    """Names carry their unit, texts have none, and each is listed under its own name."""
    endings = {"s": "_s", "bytes": "_bytes"}
    for name, one in MEASURES.items():
        assert one.name == name
        assert one.about.endswith(".")
        assert not one.text or one.unit == ""
        assert name.endswith(endings.get(one.unit, "")), name


def test_default_columns_tell_the_rows_of_a_point_apart() -> None:
    """What is shown by default holds the names of the rows, the interval, the goodput and the status."""
    for each in Each:
        columns = default_columns(each)
        assert set(columns) <= set(MEASURES)
        assert set(naming_columns(each)) <= set(columns)
        assert sources_of(columns) == {Source.RECORD}
    assert sources_of(default_columns(Each.POINT, simulated=True)) == {Source.RECORD, Source.SIMULATION}


@pytest.mark.parametrize(
    ("name", "sets"),
    [
        ("lab-64", ()),
        ("lab-64", ("failures.law={name: weibull, shape: 0.7}",)),
        ("llama3-405b-causes", ()),
        ("spectrum-16384", ()),
    ],
)
def test_money_follows_from_gpu_hours(name: str, sets: tuple[str, ...]) -> None:
    """The price of a run is that of its GPU-hours, which are those of `optimize`, simulated or by a closed form."""
    columns = (
        "gpus",
        "goodput_typed",
        "lost_fraction",
        "useful_gpus",
        "gpu_hours",
        "gpu_hours_lost",
        "money",
        "money_lost",
    )
    found = swept(study(member(name, sets), {}, columns, gpu_hour_price=2.0, seed=5))
    gpus, typed, lost, useful, hours, wasted, money, money_lost = (float(found[name][0]) for name in columns)  # type: ignore[index]
    run = plan(load(name, sets=sets, environment={}).scenario, seed=5).run
    assert run is not None
    assert lost == 1.0 - typed
    assert useful == pytest.approx(gpus * typed, rel=1e-14)
    assert (hours, wasted) == (run.gpu_hours, run.gpu_hours_lost)
    assert (money, money_lost) == (2.0 * hours, 2.0 * wasted)


def _values(found: Columns, *names: str) -> list[list[float]]:
    return [numbers(found, name) for name in names]


def test_lost_hours_are_the_difference_of_two_runs() -> None:
    """By the closed form to the last digits: the hours of the run at a given interval less those at the best one."""
    for each in (Each.STRATEGY, Each.POINT):
        given = swept(study("spot-24", {INTERVAL: (20.0, 319.0, 2548.0)}, _LOST, each, gpu_hour_price=2.0))
        best = dict(zip(*_hours(each), strict=True))
        goodput, lost, hours, lost_hours, money = _values(given, *_LOST[:-1])
        for place, strategy in enumerate(texts(given, "strategy")):
            most, least_hours = best[strategy if each is Each.STRATEGY else "all"]
            assert lost[place] == pytest.approx(most - goodput[place], abs=1e-15)
            assert lost_hours[place] == pytest.approx(hours[place] - least_hours, rel=1e-9)
            assert money[place] == 2.0 * lost_hours[place]


_LOST = ("goodput_exact", "lost_goodput", "gpu_hours", "lost_gpu_hours", "lost_money", "strategy")


def _hours(each: Each) -> tuple[list[str], list[tuple[float, float]]]:
    found = swept(study("spot-24", {}, ("goodput_typed", "gpu_hours", "strategy"), each))
    pairs = list(zip(*_values(found, "goodput_typed", "gpu_hours"), strict=True))
    return (texts(found, "strategy"), pairs) if each is Each.STRATEGY else (["all"], pairs)


@pytest.mark.parametrize(
    ("name", "sets"), [("spectrum-16384", ()), ("spot-24", ("failures.law={name: weibull, shape: 0.7}",))]
)
def test_one_row_for_a_point_is_held_against_the_best_of_all(name: str, sets: tuple[str, ...]) -> None:
    """Also where points are planned one by one, and where the best one saves to several tiers."""
    spec = member(name, sets)
    (most,) = numbers(swept(study(spec, {}, ("goodput_typed",))), "goodput_typed")
    found = swept(study(spec, {INTERVAL: (130.0, 270.0, 900.0)}, (*_LOST, "goodput_typed")))
    goodput, lost, lost_hours = _values(found, "goodput_exact", "lost_goodput", "lost_gpu_hours")
    assert lost == pytest.approx([most - one for one in goodput], abs=1e-12)
    training, gpus = spec.scenario.training, spec.scenario.cluster.gpus
    work = (training.work_s or 0.0) * gpus / 3600.0
    assert lost_hours == pytest.approx([work / one - work / most for one in goodput], rel=1e-9)


def test_nothing_is_known_of_the_hours_of_a_run_that_never_ends() -> None:
    """Neither of all nor of those that are lost; as arrays and planned one by one."""
    asked = study("spot-24", {"cluster.gpus": (24, 300, 5000), INTERVAL: (900.0, 7200.0)}, _LOST, Each.STRATEGY)
    found = swept(asked)
    assert differing(found, point_by_point(asked)) == []
    hours, lost_hours = _values(found, "gpu_hours", "lost_gpu_hours")
    assert [math.isnan(one) for one in hours] == [math.isnan(one) for one in lost_hours]
    assert {math.isnan(one) for one in hours} == {True, False}
    assert all(lost < all_ for lost, all_ in zip(lost_hours, hours, strict=True) if not math.isnan(all_))

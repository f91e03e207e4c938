"""The columns that a sweep can show."""

from __future__ import annotations

import pytest

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.render.plan_sheet import plan_sheet
from ckptplan.sweep.measures import MEASURES, Source, default_columns, naming_columns, sources_of
from ckptplan.sweep.study import Each
from tests.sweep.studies import member, study, swept


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

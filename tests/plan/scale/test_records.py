"""Rows of sizes at which a run gets nowhere, or does not end: what they leave out, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptplan.cost.scenario import Law, LawName
from ckptplan.load import load
from ckptplan.plan.progress import LEAST_GOODPUT
from ckptplan.plan.scale.records import ScaleRecord
from ckptplan.plan.scale.scaling import scaling

POWER = "cluster.power={compute: 1.1 kW, save: 600 W, restart: 300 W}"


def rows(name: str, gpus: int, *sets: str) -> list[ScaleRecord]:
    """Every way of saving at one size."""
    scenario = load(name, sets=[*sets, POWER], environment={}).scenario
    return [one for one in scaling(scenario, gpus=[gpus], energy=True).records if one.gpus == gpus]


@pytest.mark.parametrize(("name", "gpus"), [("lab-64", 10_000_000), ("spectrum-16384", 100_000_000)])
def test_without_progress_no_interval_is_recommended(name: str, gpus: int) -> None:
    """Neither for time nor for energy, by no way of saving; the status says what must go by without a failure."""
    for row in rows(name, gpus):
        assert row.goodput < LEAST_GOODPUT
        assert (row.interval_s, row.interval_steps, row.energy_interval_s, row.wall_s) == (None, None, None, None)
        assert row.status.startswith("no progress: the restart of ")
        assert " times the MTBF of " in row.status


def test_a_save_that_outlasts_every_gap_is_named() -> None:
    """Of restart and save the longer one is why: here the save, of a million seconds."""
    (row,) = [one for one in rows("lab-64", 100_000, "save[0].stall=1000000 s") if one.strategy == "synchronous"]
    assert row.interval_s is None
    assert row.status.startswith("no progress: one save of ")


def test_recorded_gaps_that_are_too_short_are_named() -> None:
    """Gaps of a second leave no time for a restart: that is another reason than a rate."""
    scenario = load("llama3-405b", environment={}).scenario
    law = Law(LawName.RECORDED, gaps_s=(1.0,) * 200)
    scenario = replace(scenario, failures=replace(scenario.failures, law=law))
    for row in scaling(scenario, gpus=[1_000_000_000]).records:
        if row.gpus == 1_000_000_000:
            assert row.interval_s is None
            assert row.status.startswith("no progress: no gap between failures is long enough for a restart")


def test_a_little_progress_keeps_its_interval() -> None:
    """A goodput of some hundredths of a percent is little, and still highest at one interval."""
    for row in rows("lab-64", 60_000):
        assert LEAST_GOODPUT < row.goodput < 1e-3
        assert row.interval_s is not None


@pytest.mark.parametrize("law", [(), ("failures.law={name: weibull, shape: 0.8, of: job}",)])
def test_a_run_of_ten_thousand_years_is_said_not_to_end(law: tuple[str, ...]) -> None:
    """No time and no cost, and the status says that and why; at a size where it ends sooner there are both."""
    sets = ("training.duration=10000000 d", *law)
    scenario = load("lab-64", sets=sets, environment={}).scenario
    for row in scaling(scenario, gpus=[1000, 80_000], gpu_hour_price=2.0).records:
        ends = row.gpus == 1000  # 64 GPUs take too long for so much work, and 80,000 fail too often
        assert (row.wall_s is not None, row.money is not None) == (ends, ends)
        said = "the run would take more than 10,000 years: neither its time nor its cost is given" in row.status
        assert said is not ends


def test_a_run_of_unknown_work_is_not_said_to_be_endless() -> None:
    """Without training.duration there is no time at any size, and no remark."""
    scenario = load("lab-64", environment={}).scenario
    scenario = replace(scenario, training=replace(scenario.training, duration_s=None, steps=None))
    for row in scaling(scenario, gpus=[128]).records:
        assert (row.wall_s, row.status) == (None, "ok")

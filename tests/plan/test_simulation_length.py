"""How long a simulation takes, told before it begins."""

from __future__ import annotations

import pytest

from ckptplan.errors import InputError
from ckptplan.load import load
from ckptplan.plan.case import cases_of
from ckptplan.plan.simulation import simulate_plan
from ckptplan.plan.simulation_length import expected_failures, length_of, spectrum_length_of

_SETS = ("failures.mtbf=200 s", "training.duration=2 h")


@pytest.mark.parametrize("law", [(), ("failures.law={name: weibull, shape: 0.8}",)])
def test_the_failures_that_are_expected_are_played(law: tuple[str, ...]) -> None:
    """Within four standard errors by a closed form, within a few percent where only the goodput is known."""
    scenario = load("llama3-405b", sets=[*_SETS, *law]).scenario
    case = next(case for case in cases_of(scenario) if case.save.name == "synchronous")
    told = expected_failures(case, scenario.training.work_s or 0.0, 100.0)
    played = simulate_plan(scenario, strategy="synchronous", interval_s=100.0, runs=400).failures
    near = 4.0 * played.standard_error if not law else 0.05 * told
    assert abs(played.mean - told) < near


def test_time_grows_with_the_failures_and_is_shared_by_processes() -> None:
    """Ten times the work takes ten times as long; runs beyond a chunk are played by several processes at once."""
    run = load("llama3-405b", sets=["failures.mtbf=200 s"]).scenario
    tenth = load("llama3-405b", sets=["failures.mtbf=200 s", "training.duration=5.4 d"]).scenario
    asked = {"strategy": "asynchronous", "interval_s": 40.0}
    long, short = (length_of(one, **asked, runs=1000) for one in (run, tenth))
    assert long.seconds == pytest.approx(10.0 * short.seconds, rel=0.01)
    alone, shared = (length_of(run, **asked, runs=8192, jobs=jobs) for jobs in (1, 2))
    assert alone.seconds == pytest.approx(2.0 * shared.seconds)


def test_an_ordinary_run_takes_no_time_to_speak_of() -> None:
    """Published runs are played in less than a second, and one that gets nowhere is seen at once."""
    ordinary = length_of(load("llama3-405b").scenario, strategy="asynchronous", interval_s=330.0, runs=1000)
    assert ordinary.seconds < 1.0
    lost = load("llama3-405b", sets=["failures.mtbf=1 s"]).scenario
    assert length_of(lost, strategy="asynchronous", interval_s=5.0, runs=1000).seconds == 0.0


def test_a_run_that_would_be_given_up_is_refused_before_it_begins() -> None:
    """Half a thousand million failures are named, and none of them is played."""
    scenario = load("llama3-405b", sets=["failures.mtbf=70 s"]).scenario
    for refused in (length_of, simulate_plan):
        with pytest.raises(InputError, match=r"about 5.5e\+08 failures, more than 10,000,000"):
            refused(scenario, strategy="asynchronous", interval_s=20.0, runs=1000)


@pytest.mark.parametrize(("name", "strategy"), [("llama3-405b-causes", "asynchronous"), ("spectrum-16384", "tiers")])
def test_classes_and_tiers_are_told_too(name: str, strategy: str) -> None:
    """A huge cluster of little goodput takes minutes, and by fewer runs less; the published run takes seconds."""
    huge = load(name, sets=["cluster.gpus=600000", "cluster.layout={}"]).scenario
    asked = {"strategy": strategy, "interval_s": 60.0}
    many, few = (spectrum_length_of(huge, **asked, runs=runs).seconds for runs in (1000, 10))
    assert many > 120.0
    assert few < 0.5 * many
    assert spectrum_length_of(load(name).scenario, **asked, runs=1000).seconds < 10.0

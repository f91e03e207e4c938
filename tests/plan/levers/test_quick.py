"""The one lever with which ``optimize`` ends."""

from __future__ import annotations

import pytest

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.levers.outcome import outcome_of
from ckptplan.plan.levers.pattern import at_best, kept_by
from ckptplan.plan.levers.wording import do_first, first_of
from tests.plan.levers.shipped import NAMES, levers_of, scenario_of


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_first_of_the_ranking(name: str) -> None:
    """The one to do first of the full ranking, with the same numbers where no tiers are chosen again."""
    made = plan(scenario_of(name)).lever
    first = first_of(levers_of(name).levers)
    assert made is not None
    assert first is not None
    assert levers_of(name).first.startswith(do_first(made).partition(";")[0].partition(",")[0])
    assert made.key == first.key
    if name == "spectrum-16384":
        assert made.goodput == pytest.approx(first.goodput, abs=1e-4)
    else:
        assert made == first._replace(notes=made.notes, change=made.change)


@pytest.mark.parametrize("name", ["llama3-405b", "spectrum-16384"])
def test_a_plan_of_the_interval_alone_does_without(name: str) -> None:
    """It belongs to the account of the whole run."""
    assert plan(scenario_of(name), whole_run=False).lever is None


def test_a_price_makes_it_money() -> None:
    """GPU-hours at the given price."""
    made = plan(scenario_of("llama3-405b"), gpu_hour_price=2.5).lever
    assert made is not None
    assert made.gpu_hours_saved is not None
    assert made.money_saved == 2.5 * made.gpu_hours_saved


@pytest.mark.parametrize("law", ["{name: weibull, shape: 0.7}", "{name: gamma, shape: 2}"])
def test_other_laws_have_one_too(law: str) -> None:
    """By the renewal formulas, one case at a time."""
    scenario = load("llama3-405b", sets=[f"failures.law={law}"], environment={}).scenario
    made = plan(scenario).lever
    assert made is not None
    assert made.in_hand
    assert made.gained > 0.01


def test_a_kept_pattern_at_its_own_interval_is_the_plan() -> None:
    """Without a change, the narrow search finds the interval and the goodput of the plan over all tiers."""
    scenario = scenario_of("spectrum-16384")
    now = outcome_of(scenario)
    kept = kept_by(scenario, now.case, 1.7 * now.interval_s)
    found = at_best(scenario, now.case, kept, in_steps=True)
    assert found.interval_s == now.interval_s
    assert found.goodput == pytest.approx(now.goodput, rel=1e-12)
    assert found.lost == pytest.approx(1.0 - found.goodput, abs=1e-12)


def test_the_narrow_search_goes_beyond_its_first_grid() -> None:
    """From a start that is far off it still finds the best interval."""
    scenario = scenario_of("spectrum-16384")
    now = outcome_of(scenario)
    far = at_best(scenario, now.case, kept_by(scenario, now.case, 5.0 * now.interval_s), in_steps=False)
    near = at_best(scenario, now.case, kept_by(scenario, now.case, now.interval_s), in_steps=False)
    assert far.goodput == pytest.approx(near.goodput, abs=1e-7)

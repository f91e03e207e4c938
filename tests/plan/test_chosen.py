"""The way of saving that is recommended, without the plan: that of the plan, with the goodput that the plan types."""

from __future__ import annotations

import math

import pytest

from ckptplan.errors import InputError
from ckptplan.load import load, shipped_configs
from ckptplan.plan import plan
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.chosen import best_case, chosen
from ckptplan.plan.comparison.mixes import goodput_of

CONFIGS = sorted(config.name for config in shipped_configs())


@pytest.mark.parametrize("config", CONFIGS)
def test_a_case_yields_what_its_row_of_the_plan_types(config: str) -> None:
    """Every way of saving to one tier, and the best one of all, of every shipped config."""
    scenario = load(config, environment={}).scenario
    made = plan(scenario, whole_run=False)
    cases = cases_of(scenario)
    assert [case.typed_goodput for case in cases] == [record.goodput_typed for record in made.optima()]
    best, goodput = best_case(cases)
    assert (best.save.name, goodput) == (made.best.strategy, made.best.goodput_typed)
    way, tiering = chosen(scenario)
    assert way.save.name == best.save.name
    assert (tiering is not None) == made.tiers_are_best
    assert goodput_of(scenario, cases) == made.best_goodput


class _Endless(Case):
    """A way of saving that has no interval."""

    def optimum(self, method: str) -> float:
        """None, by any method."""
        return math.nan


def test_a_way_without_an_interval_is_never_the_best() -> None:
    """Wherever it stands, the others are told apart without it; alone, it is an error and not a crash."""
    cases = cases_of(load("llama3-405b", environment={}).scenario)
    endless = _Endless(*cases[0])
    assert math.isnan(endless.typed_goodput)
    for order in ([endless, *cases], [*cases, endless]):
        assert best_case(order) == best_case(cases)
    with pytest.raises(InputError, match="no way of saving has an interval"):
        best_case([endless])

"""Levers together: pairs add up, the order does not matter, and what excludes each other is listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations

import pytest

from ckptplan.cost.scenario import Restart, Scenario
from ckptplan.errors import InputError
from ckptplan.load import load
from ckptplan.plan.levers.outcome import goodputs_of, outcome_of
from ckptplan.plan.levers.own import Own, clash
from ckptplan.plan.levers.ranking import levers
from ckptplan.plan.levers.together import pulled
from tests.plan.levers.shipped import NAMES, levers_of, scenario_of


@pytest.mark.parametrize("name", NAMES)
def test_parts_less_overlap_are_the_joint_change(name: str) -> None:
    """The sum of what two levers gain, less their overlap, is what a plan with both of them gains."""
    made, scenario = levers_of(name), scenario_of(name)
    gains = {one.key: one.gained for one in made.levers}
    assert made.overlaps
    for pair in made.overlaps[:4]:
        both = outcome_of(pulled(scenario, (pair.first, pair.second), (), None))
        assert pair.joint == pytest.approx(both.goodput - made.goodput, abs=1e-12)
        assert gains[pair.first] + gains[pair.second] - pair.overlap == pytest.approx(pair.joint, abs=1e-12)
        assert (pair.first_gained, pair.second_gained) == (gains[pair.first], gains[pair.second])


@pytest.mark.parametrize("name", NAMES)
def test_every_pair_of_the_paired_levers_is_there(name: str) -> None:
    """All pairs of the best ones, the largest overlap first; closed forms leave none out."""
    made = levers_of(name)
    wanted = {frozenset(pair) for pair in combinations([one.key for one in made.levers[: made.paired]], 2)}
    assert {frozenset((one.first, one.second)) for one in made.overlaps} == wanted
    overlaps = [one.overlap for one in made.overlaps]
    assert overlaps == sorted(overlaps, reverse=True)
    assert made.paired == len(made.levers) or name in ("spectrum-16384", "llama3-405b-causes")


@pytest.mark.parametrize("name", NAMES)
def test_all_together_gain_more_than_the_best_one(name: str) -> None:
    """And no more than the whole that is lost."""
    made = levers_of(name)
    assert made.all_together is not None
    assert max(one.gained for one in made.levers) < made.all_together < 1.0 - made.goodput
    together = outcome_of(pulled(scenario_of(name), made.together, (), None))
    assert made.all_together == pytest.approx(together.goodput - made.goodput, abs=1e-12)


@pytest.mark.parametrize("name", ["lab-64", "spot-24", "opt-175b"])
def test_runs_that_failures_strike_differently_are_each_as_by_itself(name: str) -> None:
    """A change of what a failure strikes beside others that leave it: goodputs to the last digit."""
    of_each = [
        load(name, sets=[f"assume.failures_strike={one}"], environment={}).scenario for one in ("safe", "R", "DR")
    ]
    several = [*of_each, scenario_of(name), *reversed(of_each)]
    assert goodputs_of(several) == [outcome_of(one).goodput for one in several]


@pytest.mark.parametrize("name", ["opt-175b", "glm-130b", "llama3-405b-causes"])
def test_the_order_of_keys_does_not_matter(name: str) -> None:
    """Whatever order three levers are named in, the same run comes out."""
    keys = [one.key for one in levers_of(name).levers[:3]]
    made = [pulled(scenario_of(name), order, (), None) for order in permutations(keys)]
    assert all(one == made[0] for one in made)


def test_arrays_say_what_one_by_one_says() -> None:
    """Goodputs of many closed scenarios at once are those of each by itself, to the last digit."""
    scenarios = [scenario_of(name) for name in NAMES if not scenario_of(name).has_spectrum]
    assert len(scenarios) > 10
    strikes = {scenario.failures_strike for scenario in scenarios}
    assert len(strikes) == 1
    assert goodputs_of(scenarios) == [outcome_of(scenario).goodput for scenario in scenarios]


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (("restart.total",), ("restart.total",), "both set restart.total"),
        (("restart",), ("restart.total",), "both set restart.total"),
        (("save[0].stall",), ("save",), "both set save[0].stall"),
        (("save[0].stall",), ("save[1].stall",), None),
        (("storage.write_bandwidth",), ("storage.write_bandwidth_per_node",), None),
    ],
)
def test_changes_of_one_key_clash(first: tuple[str, ...], second: tuple[str, ...], why: str | None) -> None:
    """Two changes that set the same key, or a group and a key of it, do not go together."""
    assert clash(Own("change 1", "a", "", first), Own("change 2", "b", "", second)) == why


def test_clashing_changes_are_listed_and_the_better_one_counts() -> None:
    """The pair is not tried, and of the two only the better one is among all that go together."""
    scenario = scenario_of("llama3-405b")
    own = [Own("change 1", "five", "", ("restart.total",)), Own("change 2", "two", "", ("restart.total",))]
    totals = {0: 300.0, 1: 120.0}
    made = levers(
        scenario,
        own=own,
        build=lambda indices: replace(scenario, restart=Restart(total_s=totals[indices[-1]])),
    )
    (apart,) = made.apart
    assert apart.why == "both set restart.total"
    assert "change 2" in made.together
    assert "change 1" not in made.together
    assert not any({one.first, one.second} == {"change 1", "change 2"} for one in made.overlaps)


def test_what_costs_more_gpu_hours_than_it_saves_is_not_pulled_with_the_others() -> None:
    """Nodes that stand by for a short replacement gain points on a small run and cost GPU-hours; a note says so."""
    made = levers(load("lab-64", environment={}).scenario)
    (spares,) = [one for one in made.levers if one.key == "spares"]
    assert spares.gained > 0.0 > spares.worth
    assert "spares" not in made.together
    assert all(one.key in made.together for one in made.levers if one.worth > 0.0)
    assert any("costs more GPU-hours than it saves" in note for note in spares.notes)


def test_goodputs_of_other_gpus_are_not_added_up() -> None:
    """A change of the GPUs is ranked, and is not among all that go together, though its goodput is higher."""
    scenario = scenario_of("llama3-405b")
    layout = replace(scenario.cluster.layout, data=64)
    smaller = replace(scenario, cluster=replace(scenario.cluster, gpus=8192, layout=layout))
    made = levers(scenario, own=[Own("change 1", "half", "", ("cluster.gpus",))], build=lambda _: smaller)
    (one,) = [one for one in made.levers if one.own]
    assert one.gained > 0.0
    assert one.worth > 0.0
    assert "change 1" not in made.together


def test_changes_that_the_spec_does_not_take_at_once_spoil_nothing() -> None:
    """The better of two that cannot be written together stays; the pair is listed with why."""
    scenario = scenario_of("llama3-405b")
    own = [Own("change 1", "one", "", ("restart.total",)), Own("change 2", "other", "", ("restart.load",))]

    def build(indices: Sequence[int]) -> Scenario:
        if len(indices) > 1:
            raise InputError("a total and a phase")
        return replace(scenario, restart=Restart(total_s=(300.0, 200.0)[indices[0]]))

    made = levers(scenario, own=own, build=build)
    assert [key for key in made.together if key.startswith("change")] == ["change 2"]
    assert made.all_together is not None
    assert [one.why for one in made.apart] == ["a total and a phase"]

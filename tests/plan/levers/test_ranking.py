"""Levers as they are ranked: their direction on all shipped configs, and what ``optimize`` says of the same change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ckptplan.cost.scenario import Restart, Scenario
from ckptplan.errors import InputError
from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.levers import factors
from ckptplan.plan.levers.lever import Lever
from ckptplan.plan.levers.outcome import outcome_of
from ckptplan.plan.levers.own import Own
from ckptplan.plan.levers.ranking import levers, new_warnings, notes_of_rounding
from ckptplan.plan.levers.record import Left
from ckptplan.plan.levers.wording import WORTH_DOING
from ckptplan.render.lever_report import report, together
from ckptplan.render.screen import Screen
from tests.plan.levers.shipped import ENTRIES, NAMES, lever, levers_of, pulled, scenario_of

_OTHER_LAW = "failures.law={name: weibull, shape: 0.7}"


@pytest.mark.parametrize("name", NAMES)
def test_every_realistic_lever_gains(name: str) -> None:
    """Each gains at the best interval; what it loses when typed is never more than its own rounding to whole steps."""
    made = levers_of(name)
    assert len(made.levers) >= 3
    for one in made.levers:
        after = outcome_of(pulled(scenario_of(name), one.key).scenario)
        assert one.gained_before_steps >= 0.0, one
        assert one.gained >= -(after.before_steps - after.goodput), one


@pytest.mark.parametrize(
    ("name", "step"), [("spot-24", "600 s"), ("spot-24", "350 s"), ("llama3-405b", "700 s"), ("opt-175b", "1500 s")]
)
def test_coarse_steps_take_no_gain_away(name: str, step: str) -> None:
    """What gains at every interval gains at the better of two whole numbers of steps as well, however coarse."""
    made = levers(load(name, sets=[f"training.step_time={step}"], environment={}).scenario)
    assert len(made.levers) >= 4
    assert all(one.gained >= 0.0 and one.gained_before_steps >= 0.0 for one in made.levers)


def test_a_gain_that_rounding_takes_away_has_a_note() -> None:
    """What is typed may lose where the pattern of tiers, or a jump of recorded gaps, falls between two steps."""
    lost = Lever("k", "t", "c", "s", 1.0, 1, 0.9, gained=-1e-5, gained_before_steps=2e-5)
    assert list(notes_of_rounding(lost, 5.0)) == [
        "+0.002 points at the best interval, -0.001 points in whole steps of 5 s"
    ]
    assert list(notes_of_rounding(lost._replace(gained=1e-5), 5.0)) == []
    long = lost._replace(gained=-0.2, gained_before_steps=0.0)
    assert list(notes_of_rounding(long, 18_000.0)) == [
        "0 points at the best interval, -20.0 points in whole steps of 5 h"
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_first_lever_is_the_best(name: str) -> None:
    """They are ranked by what they are worth, which is what they gain unless GPUs stand by for it."""
    made = levers_of(name)
    worths = [one.worth for one in made.levers]
    assert worths == sorted(worths, reverse=True)
    for one in made.levers:
        assert one.gained == one.goodput - made.goodput
        if one.key == "spares":
            assert one.worth < one.gained
        else:
            assert one.worth == pytest.approx(one.gained, rel=1e-9, abs=1e-15)
    (first, *_) = [one for one in made.levers if one.in_hand]
    doing = first.worth > WORTH_DOING
    assert made.first.startswith(f"Do first: {first.title}: " if doing else "Do first: nothing; no lever in hand ")
    assert ("halving the failure rate would gain " in made.first) == (first is not made.levers[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_run_as_it_is_is_that_of_optimize(name: str) -> None:
    """Strategy, interval and goodput of the baseline are those that a plan recommends."""
    made, planned = levers_of(name), plan(scenario_of(name), whole_run=False)
    assert made.goodput == planned.best_goodput
    assert made.best.strategy == planned.best.strategy
    assert (made.strategy == "tiers") == planned.tiers_are_best


@pytest.mark.parametrize(
    ("name", "key", "sets"),
    [
        ("llama3-405b", "failures", ["failures.interruptions.over=108 d"]),
        ("llama3-405b", "restart", ["restart.total=5 min"]),
        ("llama3-405b", "stall", ["save[synchronous].stall=30 s", "save[asynchronous].stall=2.5 s"]),
        (
            "llama3-405b",
            "write bandwidth",
            ["storage.write_bandwidth=4 TB/s", "storage.peak_write_bandwidth=14 TB/s"],
        ),
        ("bloom-176b", "detection", ["restart.detect=30 s"]),
        ("bloom-176b", "spares", ["restart.replace=60 s"]),
        (
            "bloom-176b",
            "asynchronous",
            ["save=[{name: synchronous, mode: sharded, stall: 40 s}, {name: asynchronous, mode: asynchronous}]"],
        ),
        (
            "rsc-2",
            "asynchronous",
            [
                "save=[{name: blocking 10 s, mode: sharded, stall: 10 s}, "
                "{name: asynchronous, mode: asynchronous, flush: 10 s}]"
            ],
        ),
        ("glm-130b", "write bandwidth", ["storage.write_bandwidth=40 GB/s"]),
        (
            "glm-130b",
            "restart",
            ["restart={detect: 15 min, replace: 5 min, initialise: 150 s, load: 30 s, warm_up: 1 min}"],
        ),
        ("tinyllama-16", "detection", ["restart.detect=30 s"]),
        (
            "llama3-405b-causes",
            "detection",
            ["restart.detect=30 s", "failures.classes[watchdog timeout].detect=30 s"],
        ),
        (
            "llama3-405b-causes",
            "failures",
            ["failures.interruptions.over=108 d", "failures.classes[planned maintenance].every=55.148 h"],
        ),
        (
            "spectrum-16384",
            "failures",
            [
                "failures.interruptions.over=108 d",
                "failures.classes[loss spike].every=124 h",
                "failures.classes[slow node].every=6 d",
            ],
        ),
        ("spectrum-16384", "spares", ["restart.replace=60 s", "spares.nodes=17"]),
        (
            "spectrum-16384",
            "write bandwidth",
            [
                "storage.write_bandwidth=4 TB/s",
                "storage.tiers[1].bandwidth_per_node=20 GB/s",
                "storage.tiers[2].bandwidth=600 GB/s",
            ],
        ),
    ],
)
def test_a_lever_is_optimize_on_the_spec_with_the_change_written_in(name: str, key: str, sets: Sequence[str]) -> None:
    """The same strategy, interval and goodput as a plan of the spec with ``--set``; times are given in other units."""
    planned = plan(load(name, sets=sets, environment={}).scenario, whole_run=False)
    one = lever(name, key)
    assert one.goodput == pytest.approx(planned.best_goodput, rel=1e-12)
    if planned.tiers is not None and planned.tiers_are_best:
        assert (one.strategy, one.interval_steps) == ("tiers", planned.tiers.interval_steps)
    else:
        assert (one.strategy, one.interval_steps) == (planned.best.strategy, planned.best.interval_steps)


@pytest.mark.parametrize("name", ["llama3-405b", "llama3-70b"])
def test_other_failure_laws_have_the_same_levers(name: str) -> None:
    """Under a Weibull law each lever still gains, and pairs still add up."""
    made = levers(load(name, sets=[_OTHER_LAW], environment={}).scenario)
    assert {"failures", "stall", "restart"} <= {one.key for one in made.levers}
    assert all(one.gained_before_steps > 0.0 for one in made.levers)
    assert made.paired == 5 or made.paired == len(made.levers)
    for pair in made.overlaps:
        assert pair.first_gained + pair.second_gained - pair.overlap == pytest.approx(pair.joint, abs=1e-12)


def _own(scenario: Scenario, changed: Scenario) -> float:
    made = levers(scenario, own=[Own("change 1", "worse", "", ("key",))], build=lambda _: changed)
    return next(one.gained for one in made.levers if one.own)


@pytest.mark.parametrize("name", [name for name in NAMES if "16384" not in name and "causes" not in name])
def test_harmful_changes_of_the_users_own_lose(name: str) -> None:
    """A longer restart and twice the failures lose goodput, on every config, and stand last."""
    scenario = scenario_of(name)
    longer = replace(scenario, restart=Restart(total_s=2.0 * levers_of(name).best.restart_total_s))
    assert _own(scenario, longer) < 0.0
    assert _own(scenario, factors.with_mtbf(scenario, 0.5)) < 0.0


def test_a_change_without_an_answer_is_named() -> None:
    """The error of a run under a change says which change it was; one that gets nowhere leaves the others."""
    scenario = scenario_of("llama3-405b")
    own = [Own("change 1", "forever", "", ("restart.total",))]
    unknown = replace(scenario, restart=Restart())
    with pytest.raises(InputError, match="forever: "):
        levers(scenario, own=own, build=lambda _: unknown)
    hopeless = replace(scenario, restart=Restart(total_s=1e9))
    made = levers(scenario, own=own, build=lambda _: hopeless)
    assert made.left[0] == Left("change 1", "forever", "no progress would be possible then")
    assert made.levers == levers(scenario).levers


def test_more_gpus_are_ranked_by_gpu_hours() -> None:
    """Twice the GPUs lose goodput and take more GPU-hours for the same work, but end it sooner: all of it is said."""
    scenario = scenario_of("llama3-405b")
    layout = replace(scenario.cluster.layout, data=256)
    larger = replace(scenario, cluster=replace(scenario.cluster, gpus=32768, layout=layout))
    made = levers(scenario, own=[Own("change 1", "more", "", ("cluster.gpus",))], build=lambda _: larger)
    one = next(one for one in made.levers if one.own)
    assert one is made.levers[-1]
    assert one.gained < 0.0
    assert one.gpu_hours_saved is not None
    assert one.wall_s_saved is not None
    assert scenario.training.work_s is not None
    after = 0.5 * scenario.training.work_s / one.goodput
    before = scenario.training.work_s / made.goodput
    assert one.wall_s_saved == pytest.approx(before - after)
    assert one.gpu_hours_saved == pytest.approx((16384 * before - 32768 * after) / 3600)
    assert any("32,768 GPUs: ranked by GPU-hours" in note and "sooner" in note for note in one.notes)


def test_where_nothing_gains_it_is_said() -> None:
    """A run that loses next to nothing has nothing to do first."""
    sets = ["failures.interruptions.over=54000 d", "restart.total=1 s", "save[asynchronous].stall=10 ms"]
    made = levers(load("llama3-405b", sets=sets, environment={}).scenario)
    assert made.first.startswith("Do first: nothing; no lever in hand gains more than 0.05 points (most: ")


def test_what_a_lever_breaks_is_warned_of() -> None:
    """A floor that binds only under the change is a note of the lever, no warning about the run; numbers alone none."""
    scenario = scenario_of("llama3-405b")
    made = levers(
        scenario,
        own=[Own("change 1", "slow link", "", ("storage.write_bandwidth",))],
        build=lambda _: (
            load(
                "llama3-405b", sets=["storage.write_bandwidth=5 GB/s", "save[synchronous].stall=1 h"], environment={}
            ).scenario
        ),
    )
    slow, halved = (
        next(one for one in made.levers if one.title == title) for title in ("slow link", "halve the stall")
    )
    assert any(text.startswith("mind that then asynchronous: the flush of") for text in slow.notes)
    assert not any("mind that" in text for text in halved.notes)
    assert made.warnings == outcome_of(scenario).warnings


@pytest.mark.parametrize("name", NAMES)
def test_what_makes_no_difference_is_left(name: str) -> None:
    """Every lever of the catalogue is either ranked or left with a reason, never both."""
    made = levers_of(name)
    ranked, left = [one.key for one in made.levers], [one.key for one in made.left]
    assert sorted(ranked + left) == sorted(ENTRIES)
    assert all(len(one.why) > 10 for one in made.left)


def test_a_faster_step_is_told_by_its_worth() -> None:
    """The goodput of a run whose steps are shorter stays, yet it takes fewer GPU-hours: that is what is said."""
    own = [Own("change 1", "faster step", "", ("training.step_time",), ("training.step_time",))]
    changed = load("llama3-405b", sets=["training.step_time=4 s"], environment={}).scenario
    made = levers(scenario_of("llama3-405b"), own=own, build=lambda _: changed)
    worth = made.goodput * 5.0 / 4.0 - made.goodput
    assert made.levers[0].worth == pytest.approx(worth, rel=1e-3)
    hours = made.levers[0].gpu_hours_saved
    assert hours == pytest.approx(0.2 * 16384 * 54 * 24 / made.goodput, rel=1e-3)
    assert made.first.startswith("Do first: faster step: 4.62 million GPU-hours (20 % of all), over ")
    assert f"goodput stays {100 * made.goodput:.2f} %" in made.first


def test_a_predictor_says_its_worth_beside_the_points() -> None:
    """What only a change has is said by it: the worth of a predictor to first order, as optimize has it."""
    spec = load("llama3-405b", sets=["prediction={recall: 0.5, precision: 0.5}"], environment={}).scenario
    own = [Own("change 1", "predictor", "", ("prediction",), ("prediction.recall",))]
    made = levers(scenario_of("llama3-405b"), own=own, build=lambda _: spec)
    guards = plan(spec).guards
    assert guards is not None
    assert guards.prediction is not None
    points = 100.0 * (guards.prediction.waste_without - guards.prediction.waste)
    (own_one,) = (one for one in made.levers if one.own)
    assert own_one.beside == pytest.approx(points / 100.0, rel=1e-12)
    assert any(f"is worth {points:+.2g} points to first order, beside the table" in note for note in own_one.notes)
    assert all(one.beside is None for one in made.levers if not one.own)
    assert f"to first order: {points:+.2g} points by acting on warnings of failures (predictor)" in report(
        made, Screen()
    )


def test_a_better_predictor_gains_what_the_one_at_hand_does_not() -> None:
    """Of a run that acts on warnings already, only the difference counts; one that is left out then costs it."""
    at_hand, better = (
        load("llama3-405b", sets=[f"prediction={{recall: {recall}, precision: 0.5}}"], environment={}).scenario
        for recall in (0.5, 0.9)
    )
    worths = []
    for scenario in (at_hand, better):
        guards = plan(scenario).guards
        assert guards is not None
        assert guards.prediction is not None
        worths.append(guards.prediction.waste_without - guards.prediction.waste)
    own = [Own("change 1", "predictor", "", ("prediction",), ("prediction.recall",))]
    found = levers(at_hand, own=own, build=lambda _: better)
    assert next(one.beside for one in found.levers if one.own) == pytest.approx(worths[1] - worths[0], rel=1e-9)
    without = levers(better, own=own, build=lambda _: replace(better, prediction=None))
    assert next(one.beside for one in without.levers if one.own) == pytest.approx(-worths[1], rel=1e-9)


def test_what_many_ways_of_saving_are_minded_for_is_said_once() -> None:
    """One line for a cause, with a count; ways that the run does not use under the lever say nothing."""
    saves = ", ".join(f"{{name: s{number}, mode: sharded, stall: {70 + number} s}}" for number in range(5))
    short = saves.replace("stall: 7", "stall: 3")
    scenario, shorter = (load("palm-540b", sets=[f"save=[{one}]"], environment={}).scenario for one in (saves, short))
    made = levers(scenario, own=[Own("change 1", "own", "", ("save",), ("save",))], build=lambda _: shorter)
    (own,) = (one for one in made.levers if one.own)
    (minded,) = (note for note in own.notes if note.startswith("mind that then "))
    assert minded.startswith("mind that then s0: the given stall of 30 s is shorter than ")
    outcome = outcome_of(scenario)
    said = outcome._replace(warnings=tuple(f"as said: {number} GPUs are few" for number in range(3)))
    assert list(new_warnings(said, outcome._replace(warnings=()))) == [
        "mind that then as said: 0 GPUs are few (and 2 more like it)"
    ]


def test_a_change_that_ends_the_run_later_says_so_first() -> None:
    """Half the GPUs take fewer GPU-hours for the same work and much longer: who reads one line must know both."""
    own = [Own("change 1", "half", "cluster.gpus 16,384 to 8,192", ("cluster.gpus",), ("cluster.gpus",))]
    changed = load("llama3-405b", sets=["cluster.gpus=8192"], environment={}).scenario
    made = levers(scenario_of("llama3-405b"), own=own, build=lambda _: changed)
    assert made.levers[0].wall_s_saved is not None
    assert made.levers[0].wall_s_saved < 0.0
    assert made.first.startswith("Do first: half: ")
    assert "; the run ends 54.6 d later)" in made.first


def test_what_is_worth_most_and_not_pulled_with_the_others_is_not_called_all() -> None:
    """A faster step gains GPU-hours and no points, so that the others are not all that gain."""
    own = [Own("change 1", "faster step", "", ("training.step_time",), ("training.step_time",))]
    changed = load("llama3-405b", sets=["training.step_time=4 s"], environment={}).scenario
    made = levers(scenario_of("llama3-405b"), own=own, build=lambda _: changed)
    assert "change 1" not in made.together
    assert f"The {len(made.together)} that gain points, save GPU-hours and can be combined" in together(made)
    assert not [note for note in made.levers[0].notes if note.startswith("0 points at the best interval")]


def test_one_gpu_that_stands_by_is_one() -> None:
    """Nodes of one GPU: the note of what standing by costs counts it in the singular."""
    (spares,) = (one for one in levers_of("spot-24").levers if one.key == "spares")
    assert "the GPU that stands by is paid for, and taken off the savings" in spares.notes


@pytest.mark.parametrize("name", NAMES)
def test_a_stall_that_the_catalogue_halves_is_not_doubted(name: str) -> None:
    """No given time of the user is short: the lever says itself that bytes or bandwidth must change for it."""
    for one in levers_of(name).levers:
        assert not [note for note in one.notes if "the given stall" in note]

"""The catalogue: what each lever changes, and why it does not apply."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptplan.cost.restart import restart_cost
from ckptplan.cost.saving import save_cost
from ckptplan.cost.scenario import Mode, Scenario
from ckptplan.load import load
from ckptplan.plan.case import cases_of
from ckptplan.plan.levers.outcome import outcome_of
from ckptplan.plan.levers.standing_by import nodes_standing_by
from tests.plan.levers.shipped import NAMES, levers_of, pulled, scenario_of, why_not

_PHASES = "restart={detect: 10 min, replace: 2 min, initialise: 1 min, load: auto, warm_up: 1 min}"


def _run(*sets: str, name: str = "llama3-405b") -> Scenario:
    return load(name, sets=sets, environment={}).scenario


def _only_synchronous(*sets: str) -> Scenario:
    return _run("save=[{name: synchronous, mode: sharded, stall: 60 s}]", *sets)


def test_failures_half_as_often_are_so_in_every_class() -> None:
    """The rate of every class halves: of shares through the source, of the others through their own."""
    scenario = scenario_of("spectrum-16384")
    before, after = (cases_of(one)[0] for one in (scenario, pulled(scenario, "failures").scenario))
    assert before.spectrum is not None
    assert after.spectrum is not None
    assert after.mtbf_s == 2.0 * before.mtbf_s
    pairs = list(zip(before.spectrum.classes, after.spectrum.classes, strict=True))
    assert len(pairs) == 6  # five of the spec, and the rest
    for one, changed in pairs:
        assert changed.rate_per_s(after.mtbf_s) == pytest.approx(0.5 * one.rate_per_s(before.mtbf_s), rel=1e-12)


def test_recorded_gaps_become_twice_as_long() -> None:
    """The lever works for other laws: goodput is that of the same law at twice the MTBF."""
    law = "failures.law={name: weibull, shape: 0.6}"
    changed = pulled(_run(law), "failures").scenario
    longer = _run(law, "failures.interruptions.over=108 d")
    assert outcome_of(changed).goodput == pytest.approx(outcome_of(longer).goodput, rel=1e-12)


def test_a_computed_stall_is_halved_as_given() -> None:
    """Half of what storage gives, and a note on what that takes; the copy-out of an asynchronous save too."""
    scenario = scenario_of("llama3-70b")
    change = pulled(scenario, "stall")
    for before, after in zip(scenario.saves, change.scenario.saves, strict=True):
        assert after.stall_s == 0.5 * save_cost(before, scenario).stall_s
    assert "half the bytes, or twice the bandwidth" in change.notes[0]


def test_the_asynchronous_save_copies_out_and_flushes_as_storage_writes() -> None:
    """Stall: the copy-out at the default rate; flush: the write; a note where the save now takes longer than that."""
    scenario = _only_synchronous()
    change = pulled(scenario, "asynchronous")
    new = change.scenario.saves[-1]
    assert (new.name, new.mode) == ("asynchronous", Mode.ASYNCHRONOUS)
    cost = save_cost(new, change.scenario)
    assert cost.flush_s == pytest.approx(405e9 * 14 / 2e12, rel=1e-3)
    assert cost.stall_s < 1.0
    assert "stall 60 s to" in change.text
    assert any("host memory of" in note and "must be free" in note for note in change.notes)
    assert any("measure what else that time goes to" in note for note in change.notes)


def test_without_a_bandwidth_the_given_stall_is_the_flush() -> None:
    """A blocking save of 10 s is flushed in 10 s."""
    new = pulled(scenario_of("rsc-1"), "asynchronous").scenario.saves[-1]
    assert new.flush_s == 10.0


def test_a_buffer_must_fit_into_host_memory() -> None:
    """Where host memory is known and too small, there is no such lever; where it is enough, nothing need be said."""
    assert "cluster.host_memory_per_node" in why_not(
        _only_synchronous("cluster.host_memory_per_node=1 GB"), "asynchronous"
    )
    roomy = pulled(_only_synchronous("cluster.host_memory_per_node=2 TB"), "asynchronous")
    assert not any("must be free" in note for note in roomy.notes)


def test_a_taken_name_is_not_taken_twice() -> None:
    """A blocking save that is named asynchronous keeps its name."""
    scenario = _run("save=[{name: asynchronous, mode: sharded, stall: 60 s}]")
    changed = pulled(scenario, "asynchronous").scenario
    assert [save.name for save in changed.saves] == ["asynchronous", "in the background"]


def test_the_asynchronous_save_is_compared_where_strategies_were_chosen() -> None:
    """With --strategy of a blocking save only, the new one is among those compared."""
    scenario = replace(_only_synchronous(), strategies=("synchronous",))
    changed = pulled(scenario, "asynchronous").scenario
    assert outcome_of(changed).strategy == "asynchronous"


def test_half_a_restart_is_half_of_every_phase() -> None:
    """A load that was computed is given, as half of it; classes and tiers likewise."""
    scenario = _run(_PHASES, "storage.read_bandwidth=1 TB/s")
    before, after = (restart_cost(one) for one in (scenario, pulled(scenario, "restart").scenario))
    assert dict(after.phases_s) == {name: 0.5 * seconds for name, seconds in before.phases_s.items()}
    causes = scenario_of("llama3-405b-causes")
    manual = [one for one in pulled(causes, "restart").scenario.failures.classes if one.total_s is not None]
    assert [one.total_s for one in manual] == [2 * 3600.0]
    tiers = pulled(scenario_of("spectrum-16384"), "restart").scenario.storage.tiers
    assert [tier.load_s for tier in tiers] == [5.0, 10.0, 90.0]


def test_detection_holds_for_what_stops_the_run() -> None:
    """Crashes and hangs are noticed in 30 s; silent corruption keeps its delay, and it is said."""
    change = pulled(scenario_of("llama3-405b-causes"), "detection")
    detect = {one.name: one.detect_s for one in change.scenario.failures.classes}
    assert change.scenario.restart.detect_s == 30.0
    assert detect["watchdog timeout"] == 30.0
    assert detect["silent data corruption"] in (None, 8 * 3600.0)
    assert any(note.startswith("errors and slow nodes keep") for note in change.notes)
    assert any("heartbeats" in note for note in change.notes)


def test_hangs_with_false_alarms_keep_their_timeout() -> None:
    """A shorter timeout of the watchdog would kill healthy pauses."""
    dog = "failures.watchdog={timeout: 10 min, false_alarms_per_day: 0.2}"
    change = pulled(load("llama3-405b-causes", sets=[dog], environment={}).scenario, "detection")
    assert change.scenario.failures.watchdog is not None
    assert change.scenario.failures.watchdog.timeout_s == 600.0
    assert "watchdog timeout" not in change.text
    assert any(note.startswith("hangs keep the timeout") for note in change.notes)


def test_a_watchdog_without_alarms_is_set_too() -> None:
    """The timeout in force is what the class of hangs takes."""
    dog = "failures.watchdog={timeout: 10 min}"
    change = pulled(load("llama3-405b-causes", sets=[dog], environment={}).scenario, "detection")
    assert change.scenario.failures.watchdog is not None
    assert change.scenario.failures.watchdog.timeout_s == 30.0


def test_a_swap_replaces_faster_and_one_node_is_paid_for() -> None:
    """Without spares in the spec one node is taken to stand by, and its GPUs are counted."""
    change = pulled(scenario_of("bloom-176b"), "spares")
    assert change.scenario.restart.replace_s == 60.0
    assert change.extra_gpus == 8
    assert any("is assumed" in note for note in change.notes)


def test_spares_of_a_spec_become_enough() -> None:
    """So many that waiting falls below a ten-thousandth, and no more than needed; the further ones are paid for."""
    scenario = _run("spares.nodes=2", name="spectrum-16384")
    change = pulled(scenario, "spares")
    assert change.scenario.spares is not None
    nodes = change.scenario.spares.nodes
    assert change.extra_gpus == 8 * (nodes - 2)

    def waiting(count: int) -> float:
        spares = change.scenario.spares
        assert spares is not None
        found = outcome_of(replace(change.scenario, spares=spares._replace(nodes=count)))
        return found.best.waiting_fraction

    assert waiting(nodes) <= 1e-4
    assert waiting(nodes - 2) > 1e-4


def test_classes_with_a_replacement_of_their_own_swap_too() -> None:
    """The longest replacement of any class is what the text says."""
    scenario = load(
        "llama3-405b-causes", sets=["failures.classes[host maintenance].replace=30 min"], environment={}
    ).scenario
    change = nodes_standing_by(scenario, 60.0, 1e-4)
    assert not isinstance(change, str)
    assert change.text.startswith("replace 1,800 s to 60 s")
    replaces = [one.phases_s["replace"] for one in change.scenario.failures.classes if "replace" in one.phases_s]
    assert replaces == [60.0]


def test_read_bandwidth_shortens_a_computed_load() -> None:
    """Half of the load without its latency; of tiers, where they give a bandwidth."""
    scenario = _run(_PHASES, "storage.read_bandwidth=1 TB/s")
    change = pulled(scenario, "read bandwidth")
    before, after = (restart_cost(one).phases_s["load"] for one in (scenario, change.scenario))
    assert after == pytest.approx(0.5 * before, rel=1e-12)
    assert change.text == "1 TB/s to 2 TB/s"


@pytest.mark.parametrize(
    ("sets", "key", "why"),
    [
        ((), "read bandwidth", "restart.total gives the time of a load"),
        ((), "asynchronous", "asynchronous does so already"),
        ((), "detection", "restart.total holds the detection"),
        ((), "spares", "restart.total holds the replacement"),
        ((), "tier", "write failures.classes"),
        (("restart={detect: 30 s, replace: 1 min, load: 1 min}",), "detection", "it takes 30 s already"),
        (("restart={detect: 30 s, replace: 1 min, load: 1 min}",), "spares", "a replacement takes 60 s, a swap 60 s"),
        (
            ("save=[{name: a, mode: asynchronous, stall: 1 s, flush: 3 s}]",),
            "write bandwidth",
            "the spec gives all of them as times",
        ),
        (("save=[{name: a, mode: sharded, stall: 1 ms}]",), "asynchronous", "would block as long as the save"),
    ],
)
def test_a_lever_that_does_not_apply_says_why(sets: tuple[str, ...], key: str, why: str) -> None:
    """Already so, not known, or of no use."""
    assert why in why_not(_run(*sets), key)


def test_without_any_bandwidth_it_cannot_be_doubled() -> None:
    """The spec gives times only."""
    assert why_not(scenario_of("marin-704"), "write bandwidth").startswith("no write bandwidth is given")


@pytest.mark.parametrize("name", NAMES)
def test_pulling_changes_no_name_and_no_model(name: str) -> None:
    """Model, layout and work stay: only what the lever is about changes."""
    scenario = scenario_of(name)
    for key in ("failures", "stall", "restart"):
        changed = pulled(scenario, key).scenario
        assert (changed.name, changed.model, changed.cluster, changed.training) == (
            scenario.name,
            scenario.model,
            scenario.cluster,
            scenario.training,
        )


def test_a_bandwidth_names_every_limit_that_it_doubles() -> None:
    """Of the storage and of its tiers: who changes what is said gains what is said."""
    made = levers_of("spectrum-16384")
    (lever,) = [one for one in made.levers if one.key == "write bandwidth"]
    tiers = "peer memory per node 10 GB/s to 20 GB/s, file system 300 GB/s to 600 GB/s"
    assert lever.change == f"2 TB/s to 4 TB/s, {tiers}"
    sets = (
        "storage.write_bandwidth=4 TB/s",
        "storage.tiers[1].bandwidth_per_node=20 GB/s",
        "storage.tiers[2].bandwidth=600 GB/s",
    )
    assert lever.goodput == outcome_of(load("spectrum-16384", sets=sets, environment={}).scenario).goodput
    (now,) = [one for one in made.elasticities if one.key == "write_bandwidth"]
    assert (now.title, now.value_text) == ("write bandwidth, of every tier", "2 TB/s")
    (alone,) = [one for one in levers_of("llama3-405b").levers if one.key == "write bandwidth"]
    assert alone.change == "2 TB/s to 4 TB/s, peak 7 TB/s to 14 TB/s"

"""One more tier: copies in the memory of other nodes, and whether a simulation agrees."""

from __future__ import annotations

import pytest

from ckptplan.cost.scenario import Scenario
from ckptplan.cost.tier_survival import TierKind
from ckptplan.load import load
from ckptplan.plan.levers.factors import tier_costs_of
from ckptplan.plan.levers.outcome import outcome_of
from ckptplan.plan.simulation import simulate_plan
from tests.plan.levers.shipped import pulled, scenario_of, why_not

_CLASSES = (
    "failures.classes=[{name: process, share: 20 %, loses: process}, {name: node, share: 70 %}, "
    "{name: several, share: 10 %, loses: nodes}]"
)
_RESTART = "restart={detect: 1 min, replace: 2 min, initialise: 1 min, load: 3 min, warm_up: 1 min}"


def _run(*sets: str) -> Scenario:
    return load("llama3-405b", sets=[_CLASSES, _RESTART, *sets], environment={}).scenario


def test_a_simulation_yields_what_the_lever_says() -> None:
    """Played out failure by failure, the run with copies in memory has the goodput of the formula."""
    changed = pulled(_run(), "tier").scenario
    found = outcome_of(changed)
    assert found.tiering is not None
    played = simulate_plan(changed, strategy="tiers", interval_s=found.interval_s, seed=7).prediction
    assert played is not None
    assert abs(played.z) < 3.5
    assert played.standard_error < 3e-4
    assert found.goodput - outcome_of(_run()).goodput > 10 * played.standard_error


def test_the_tiers_are_careful() -> None:
    """The copy to the peer blocks after the copy-out; storage alone stalls as long as the save of the spec, 5 s."""
    changed = pulled(_run(), "tier").scenario
    peer, storage = changed.storage.tiers
    assert (peer.kind, storage.kind) == (TierKind.PEER, TierKind.SHARED)
    assert peer.stall_s == pytest.approx(5.0 + 405e9 * 14 / 2048 / 10e9, rel=1e-3)
    (_, alone) = tier_costs_of(changed)
    assert alone.alone_stall_s == pytest.approx(5.0, rel=1e-12)
    assert storage.drain_s == pytest.approx(405e9 * 14 / 2e12, rel=1e-3)


def test_what_must_be_true_is_said() -> None:
    """Memory for two copies of two saves, and a link to a peer."""
    notes = pulled(_run(), "tier").notes
    assert "host memory of 11.07 GB per node" in notes[0]
    assert "is assumed" in notes[1]


def test_memory_must_hold_the_copies() -> None:
    """Where host memory is known and too small there is no such lever."""
    assert why_not(_run("cluster.host_memory_per_node=4 GB"), "tier").startswith("the copies take 11.07 GB")


def test_one_node_has_no_peer() -> None:
    """A job of one node cannot copy to another one."""
    sets = ["failures.classes=[{name: process, share: 20 %, loses: process}]", "cluster.gpus=8"]
    one_node = load("tinyllama-16", sets=sets, environment={}).scenario
    assert why_not(one_node, "tier") == "the job has one node"


def test_a_spec_with_peers_has_it_already() -> None:
    """No second tier of the same kind."""
    assert "peer memory already" in why_not(scenario_of("spectrum-16384"), "tier")


def test_peers_stand_between_host_memory_and_storage() -> None:
    """With a tier of host memory in the spec, the copy to the peer drains from there in the background."""
    tiers = (
        "storage.tiers=[{kind: host memory, stall: 2 s, load: 10 s}, "
        "{kind: file system, write: background, bandwidth: 300 GB/s, load: 3 min}]"
    )
    changed = pulled(_run(tiers), "tier").scenario
    assert [tier.kind for tier in changed.storage.tiers] == [TierKind.HOST, TierKind.PEER, TierKind.SHARED]
    assert changed.storage.tiers[1].background
    assert outcome_of(changed).goodput > outcome_of(_run(tiers)).goodput

"""Storage tiers: what a save to each costs, what it has room for, and that they are nested."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptplan.cost.classes import ClassCost, FailureKind, Loss
from ckptplan.cost.restart import restart_cost
from ckptplan.cost.scenario import Layout, Restart, Scenario, Shard, Storage
from ckptplan.cost.size import sizes
from ckptplan.cost.tiers import Tier, TierCost, TierKind, tier_costs
from ckptplan.errors import InputError
from tests.cost.test_restart import LLAMA_70B

T, K = TierKind, FailureKind
BYTES = 14 * 70_553_706_496  # adam-14; states that do not grow with the parameters add less than 1e-4 of it
NODES = 64
CRASH = ClassCost("crash", K.CRASH, 1.0, 0.0, 60.0, 300.0)
LAST = Tier("last", T.SHARED, stall_s=60.0)


def _near(value: float) -> object:
    return pytest.approx(value, rel=1e-4)


def _costs(*tiers: Tier, classes: tuple[ClassCost, ...] = (), scenario: Scenario = LLAMA_70B) -> tuple[TierCost, ...]:
    return tier_costs(replace(scenario, storage=Storage(tiers=tiers)), classes)


def _cost(tier: Tier) -> TierCost:
    return _costs(tier)[0]


def _limited(in_all: float, of_node: float, of_gpu: float) -> Tier:
    return Tier(
        "it",
        T.SHARED,
        bandwidth_bytes_per_s=in_all,
        bandwidth_per_node_bytes_per_s=of_node,
        bandwidth_per_gpu_bytes_per_s=of_gpu,
    )


@pytest.mark.parametrize(
    ("tier", "seconds"),
    [
        (Tier("it", T.SHARED, bandwidth_bytes_per_s=100e9), BYTES / 100e9),
        (Tier("it", T.LOCAL, bandwidth_per_node_bytes_per_s=5e9), BYTES / NODES / 5e9),
        (Tier("it", T.HOST, bandwidth_per_gpu_bytes_per_s=25e9), BYTES / 512 / 25e9),
        (Tier("it", T.SHARED, bandwidth_bytes_per_s=100e9, latency_s=2.0), BYTES / 100e9 + 2),
        # the slowest of several limits binds: 9.9 s in all, 30.9 s of a node, 1.9 s of a GPU
        (_limited(100e9, 0.5e9, 1e9), BYTES / NODES / 0.5e9),
        (_limited(10e9, 5e9, 1e9), BYTES / 10e9),
        (_limited(100e9, 5e9, 0.1e9), BYTES / 512 / 0.1e9),
    ],
)
def test_a_save_takes_as_long_as_its_narrowest_bandwidth(tier: Tier, seconds: float) -> None:
    """All bytes over the aggregate rate, those of a node over its rate, those of a GPU over its rate, plus latency."""
    cost = _cost(tier)
    assert cost.stall_s == _near(seconds)
    assert cost.alone_stall_s == cost.stall_s
    assert (cost.flush_s, cost.speed) == (0, 1)


def test_a_background_tier_stalls_only_if_it_is_alone() -> None:
    """It is drained from the tier below; alone, it needs the copy-out to host memory first, 1.93 GB at 25 GB/s."""
    tier = Tier("it", T.SHARED, background=True, speed=0.9, bandwidth_bytes_per_s=100e9, latency_s=2.0)
    cost = _costs(LAST, tier)[1]
    assert (cost.stall_s, cost.speed) == (0, 0.9)
    assert cost.alone_stall_s == _near(BYTES / 512 / 25e9)
    assert cost.flush_s == _near(BYTES / 100e9 + 2)
    stalling = _costs(LAST, tier._replace(stall_s=3.0, drain_s=7.0))[1]
    assert (stalling.stall_s, stalling.flush_s) == (3, 7)
    assert stalling.alone_stall_s == 3 + cost.alone_stall_s


def test_what_is_given_goes_before_what_is_computed() -> None:
    """A measured stall is not computed again, and the speed of a drain is nothing to a blocking save."""
    cost = _cost(Tier("it", T.SHARED, stall_s=5.0, bandwidth_bytes_per_s=100e9, latency_s=9.0, speed=0.5, load_s=8.0))
    assert (cost.stall_s, cost.load_s, cost.speed) == (5, 8, 1)


@pytest.mark.parametrize(
    ("tier", "what"), [(Tier("it", T.SHARED), "stall"), (Tier("it", T.SHARED, background=True), "drain")]
)
def test_a_time_that_cannot_be_computed_says_what_to_add(tier: Tier, what: str) -> None:
    """Without a time or a bandwidth a tier is an error with a remedy."""
    with pytest.raises(InputError, match=f"the {what} of the tier 'it' is not given") as caught:
        _cost(tier)
    assert f"write {what}: 5 s" in str(caught.value.problems[0].hint)


@pytest.mark.parametrize("replicas", [2, 3, 4])
def test_peer_memory_sends_and_keeps_copies(replicas: int) -> None:
    """Of g copies one stays in its node: g - 1 are sent, and g take room."""
    tier = Tier("it", T.PEER, bandwidth_per_node_bytes_per_s=25e9, replicas=replicas, capacity_per_node_bytes=1e12)
    cost = _costs(tier, LAST)[0]
    assert cost.stall_s == _near((replicas - 1) * BYTES / NODES / 25e9)
    assert cost.bytes_per_save == _near(replicas * BYTES)
    assert cost.fits == int(NODES * 1e12 // (replicas * BYTES))
    assert _costs(tier._replace(kind=T.LOCAL), LAST)[0].bytes_per_save == _near(BYTES)


@pytest.mark.parametrize(
    ("room", "fits"),
    [
        ({"capacity_bytes": 2e15}, 2024),  # 2 PB over 987.75 GB
        ({"capacity_per_node_bytes": 1e12}, 64),  # 64 TB
        ({"capacity_bytes": 0.9e12}, 0),
        ({}, None),
    ],
)
def test_room_is_counted_in_whole_saves(room: dict[str, float], fits: int | None) -> None:
    """How many saves fit, and a note if not even one does."""
    cost = _cost(LAST._replace(**room))  # type: ignore[arg-type]
    assert cost.fits == fits
    assert len(cost.notes) == (fits == 0)
    if cost.notes:
        assert "a save takes 987.8 GB, and the tier has room for 900 GB" in cost.notes[0]
        assert "raise its capacity" in cost.notes[0]


def test_endurance_is_that_of_all_nodes() -> None:
    """56 PB for each of 64 nodes."""
    cost = _costs(Tier("it", T.LOCAL, stall_s=1.0, endurance_per_node_bytes=56e15), LAST)[0]
    assert cost.endurance_bytes == 64 * 56e15
    assert _cost(LAST).endurance_bytes is None


@pytest.mark.parametrize("shard", [Shard.FSDP, Shard.ZERO1, Shard.NONE])
def test_loading_from_a_tier_reads_what_a_restart_reads(shard: Shard) -> None:
    """Every rank reads all that it holds, so that a tier loads as long as storage of the same bandwidth."""
    cluster = replace(LLAMA_70B.cluster, layout=Layout(64, tensor=8, shard=shard))
    scenario = replace(LLAMA_70B, cluster=cluster, restart=Restart())
    tier = LAST._replace(read_bandwidth_bytes_per_s=20e9, latency_s=5.0)
    storage = Storage(read_bandwidth_bytes_per_s=20e9, latency_s=5.0)
    loaded = restart_cost(replace(scenario, storage=storage)).phases_s["load"]
    assert _costs(tier, scenario=scenario)[0].load_s == pytest.approx(loaded, rel=1e-12)


def test_loading_is_bound_by_a_node_or_by_all() -> None:
    """Fully sharded, a node reads an even part; the slower limit binds, and without one nothing is known."""
    each = LAST._replace(read_bandwidth_per_node_bytes_per_s=1e9)
    assert _cost(each).load_s == _near(BYTES / NODES / 1e9)
    assert _cost(each._replace(read_bandwidth_bytes_per_s=20e9)).load_s == _near(BYTES / 20e9)
    assert _cost(LAST).load_s is None


def test_frozen_weights_are_loaded_from_a_tier_though_they_are_not_saved() -> None:
    """As in a restart: a small save does not make a small load."""
    tuned = replace(LLAMA_70B, model=replace(LLAMA_70B.model, trainable_fraction=0.005))
    tier = LAST._replace(bandwidth_bytes_per_s=20e9, stall_s=None, read_bandwidth_bytes_per_s=20e9)
    (cost,) = _costs(tier, scenario=tuned)
    assert cost.load_s is not None
    assert cost.load_s > 10 * cost.stall_s


def test_survival_is_told_by_class() -> None:
    """In the order of the classes."""
    classes = (CRASH, CRASH._replace(name="hang", kind=K.HANG, loses=Loss.PROCESS))
    host, last = _costs(Tier("host", T.HOST, stall_s=1.0), LAST, classes=classes)
    assert (host.survival, last.survival) == ((0, 1), (1, 1))


def test_tiers_that_are_not_nested_are_refused() -> None:
    """A tier must survive what the one before it survives."""
    hang = CRASH._replace(name="hang", kind=K.HANG, loses=Loss.PROCESS)
    host, ssd = Tier("host", T.HOST, stall_s=1.0), Tier("ssd", T.LOCAL, stall_s=5.0, survives=("crash",))
    with pytest.raises(InputError, match="ssd does not survive hang, which host before it does") as caught:
        _costs(host, ssd, LAST, classes=(CRASH, hang))
    assert "order the tiers" in str(caught.value.problems[0].hint)
    assert len(_costs(host, ssd._replace(survives=("crash", "hang")), LAST, classes=(CRASH, hang))) == 3


def test_the_last_tier_must_survive_everything() -> None:
    """Otherwise some failure would end the run."""
    with pytest.raises(InputError, match="the last tier, ssd, does not survive crash") as caught:
        _costs(Tier("ssd", T.LOCAL, stall_s=5.0), classes=(CRASH,))
    assert "a file system or an object store" in str(caught.value.problems[0].hint)
    with pytest.raises(InputError, match="does not survive crash"):
        _costs(Tier("peers", T.PEER, stall_s=5.0, simultaneous=0.1), classes=(CRASH,))


def test_a_tier_is_reckoned_at_its_scale() -> None:
    """Twice the nodes halve what each writes, not what all write."""
    cluster = replace(LLAMA_70B.cluster, gpus=1024, layout=Layout(1024, shard=Shard.FSDP))
    twice = replace(LLAMA_70B, cluster=cluster)
    assert sizes(twice.model, cluster).nodes == 128
    for tier, factor in (
        (Tier("it", T.SHARED, bandwidth_bytes_per_s=100e9), 1.0),
        (Tier("it", T.SHARED, bandwidth_per_node_bytes_per_s=5e9), 0.5),
        (Tier("it", T.SHARED, bandwidth_per_gpu_bytes_per_s=5e9), 0.5),
    ):
        assert _costs(tier, scenario=twice)[0].stall_s == _near(factor * _cost(tier).stall_s)

"""Restart: phases, totals and the load time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.restart import load_time, restart_cost
from ckptplan.cost.scenario import (
    Cluster,
    Failures,
    Layout,
    Mode,
    Model,
    Restart,
    Save,
    Scenario,
    Shard,
    Storage,
)
from ckptplan.cost.state import ledger
from ckptplan.errors import InputError

LLAMA_70B = Scenario(
    name="Llama 3 70B",
    model=Model(70_553_706_496, ledger("adam-14")),
    cluster=Cluster(512, 8, Layout(512, shard=Shard.FSDP)),
    failures=Failures(1.8e8, "mtbf_per_gpu"),
    saves=(Save("sharded", Mode.SHARDED),),
    storage=Storage(write_bandwidth_bytes_per_s=10e9, read_bandwidth_bytes_per_s=20e9),
    restart=Restart(),
)


def test_a_total_is_all_restart():
    """With a total alone there are no phases and no downtime."""
    cost = restart_cost(replace(LLAMA_70B, restart=Restart(total_s=600.0)))
    assert (cost.total_s, cost.downtime_s, cost.restart_s, cost.phases_s) == (600.0, 0.0, 600.0, {})


def test_phases_add_up_and_detection_and_replacement_are_downtime():
    """60 + 120 s of downtime, then 60 + 50 + 60 s of restart."""
    given_ = Restart(detect_s=60, replace_s=120, initialise_s=60, load_s=50, warm_up_s=60)
    cost = restart_cost(replace(LLAMA_70B, restart=given_))
    assert (cost.downtime_s, cost.restart_s, cost.total_s) == (180.0, 170.0, 350.0)
    assert sum(cost.phases_s.values()) == cost.total_s
    assert list(cost.phases_s) == ["detect", "replace", "initialise", "load", "warm_up"]
    assert cost.loaded_bytes is None


def test_fully_sharded_ranks_read_the_checkpoint_once():
    """987.75 GB at 20 GB/s load in 49.4 s."""
    cost = restart_cost(LLAMA_70B)
    assert cost.phases_s["load"] == pytest.approx(49.4, abs=0.02)
    assert cost.loaded_bytes == pytest.approx(987.75e9, rel=1e-4)


def test_all_replicas_read():
    """Under ZeRO 1 each of 64 data-parallel ranks reads its weights; with nothing sharded, everything."""
    parameters = LLAMA_70B.model.parameters
    for shard, factor in ((Shard.ZERO1, 2 * 64 + 12), (Shard.NONE, 14 * 64), (Shard.ZERO3, 14)):
        layout = Layout(64, tensor=8, shard=shard)
        cost = restart_cost(replace(LLAMA_70B, cluster=Cluster(512, 8, layout)))
        assert cost.loaded_bytes == pytest.approx(parameters * factor, rel=1e-4)


def test_a_zero_load_time_is_a_given_one():
    """A load of 0 s is not computed, so it needs no bandwidth."""
    cost = restart_cost(replace(LLAMA_70B, restart=Restart(load_s=0.0), storage=Storage()))
    assert cost.total_s == 0.0


def test_latency_of_storage_delays_a_load():
    """A latency of 5 s is part of the computed load time."""
    slow = replace(LLAMA_70B, storage=Storage(read_bandwidth_bytes_per_s=20e9, latency_s=5.0))
    assert restart_cost(slow).total_s == pytest.approx(restart_cost(LLAMA_70B).total_s + 5.0, rel=1e-12)


def test_a_load_that_cannot_be_computed_says_what_to_add():
    """Without a read bandwidth an automatic load is an error with a remedy."""
    with pytest.raises(InputError) as caught:
        restart_cost(replace(LLAMA_70B, storage=Storage(write_bandwidth_bytes_per_s=1e9)))
    assert "storage.read_bandwidth" in str(caught.value.problems[0].hint)


@given(st.floats(1, 1e18), st.floats(1e3, 1e15), st.floats(0, 1e4))
def test_load_time_is_bytes_over_bandwidth_plus_latency(size, bandwidth, latency):
    """Loading less, faster or with less latency never takes longer, and arrays broadcast."""
    once = float(load_time(size, bandwidth, latency))
    assert load_time(size / 2, bandwidth, latency) <= once
    assert load_time(size, 2 * bandwidth, latency) <= once
    assert load_time(size, bandwidth) <= once
    assert load_time(np.full(3, size), bandwidth, latency).shape == (3,)


def test_frozen_weights_are_loaded_though_they_are_not_saved():
    """Tuning half a percent of the parameters reads the base model at each restart, in the checkpoint or not."""
    automatic = Restart()
    tuned = replace(LLAMA_70B, restart=automatic, model=replace(LLAMA_70B.model, trainable_fraction=0.005))
    saved = replace(tuned, model=replace(tuned.model, frozen_weights_saved=True))
    assert restart_cost(tuned).total_s == restart_cost(saved).total_s
    frozen = 2 * 0.995 * 70_553_706_496  # fully sharded: every rank reads its part of the 16-bit weights
    assert restart_cost(tuned).loaded_bytes > frozen

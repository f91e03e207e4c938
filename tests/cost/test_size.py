"""Bytes of a checkpoint against published and measured figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.scenario import Cluster, Kind, Layout, Model, Scope, Shard
from ckptplan.cost.size import checkpoint_bytes, sizes, state_sizes, total_bytes
from ckptplan.cost.state import bytes_per_parameter, compose, ledger, ledger_names

LLAMA_70B = Model(70.55e9, ledger("adam-14"))
LLAMA_405B = Model(405e9, ledger("adam-14"))
# The small states of all ranks: what separates a whole checkpoint from parameters x bytes per parameter.
SMALL = 1e-4


def on(gpus: int, **axes: int) -> Cluster:
    """ZeRO 1 on nodes of eight."""
    return Cluster(gpus, 8, Layout(gpus // math.prod(axes.values()), shard=Shard.ZERO1, **axes))


def test_70_billion_parameters_weigh_847_or_988_gigabytes():
    """12 and 14 bytes for each of 70.55e9 parameters are 846.6 and 987.7 GB."""
    assert checkpoint_bytes(70.55e9, 12) == pytest.approx(846.6e9, rel=1e-12)
    assert checkpoint_bytes(70.55e9, 14) == pytest.approx(987.7e9, rel=1e-12)
    assert [round(total_bytes(Model(70.55e9, ledger(n)), on(512)) / 1e9) for n in ("adam-12", "adam-14")] == [
        847,
        988,
    ]


def test_one_of_512_gpus_holds_2_gigabytes_of_it():
    """988 GB over 512 GPUs are 1.93 GB each."""
    assert sizes(LLAMA_70B, on(512)).written_per_rank_bytes == pytest.approx(1.929e9, rel=5e-4)


def test_405_billion_parameters_weigh_5_67_terabytes():
    """405e9 parameters at 14 bytes are 5.67 TB, 346 MB for each of 16,384 GPUs."""
    size = sizes(LLAMA_405B, on(16_384, tensor=8, pipeline=16))
    assert size.total_bytes == pytest.approx(5.67e12, rel=SMALL)
    assert size.written_per_rank_bytes == pytest.approx(346.07e6, rel=SMALL)
    assert size.written_per_node_bytes == pytest.approx(8 * 346.07e6, rel=SMALL)


def test_a_measured_llama_2_folder_is_within_10_ppm():
    """The folder of a Llama 2 7B checkpoint by 8 ranks holds 94,338,155,448 bytes."""
    model = Model(6_738_415_616, ledger("adam-14"))
    assert total_bytes(model, on(8)) == pytest.approx(94_338_155_448, rel=10e-6)


def test_bloom_weighs_what_its_authors_report():
    """176.247e9 parameters at 14 bytes are 2.467 TB."""
    assert total_bytes(Model(176.247e9, ledger("adam-14")), on(384)) == pytest.approx(2.467e12, rel=5e-4)


def test_opt_175b_weighs_1_592_tebibytes():
    """fp16 weights and two fp32 moments, no master weights: the "1.6TB" of its logbook is 1.592 TiB."""
    adam = [s for s in ledger("adam-14").states if s.kind in {Kind.WEIGHTS, Kind.MOMENT}]
    model = Model(175e9, compose("opt", adam))
    assert total_bytes(model, on(992)) / 2**40 == pytest.approx(1.592, abs=5e-4)


def test_the_table_of_states_adds_up():
    """Bytes and bytes per parameter of all states sum to those of the checkpoint."""
    model = Model(8e9, ledger("muon"), expert_parameters=5e9, trainable_fraction=0.5, frozen_weights_saved=True)
    cluster = on(64, tensor=2)
    rows = state_sizes(model, cluster)
    assert sum(row.total_bytes for row in rows) == pytest.approx(total_bytes(model, cluster), rel=1e-12)
    large = sum(row.bytes_per_parameter for row in rows if row.state.scope is Scope.PARAMETER)
    assert large == pytest.approx(bytes_per_parameter(model), rel=1e-12)
    assert len({row.state.name for row in rows}) == len(rows) == 10


def test_small_states_stay_small():
    """All small states of 4,096 ranks are tens of megabytes, about 11 kB for each rank."""
    rows = state_sizes(LLAMA_405B, on(4_096))
    small = sum(row.total_bytes for row in rows if row.state.scope is not Scope.PARAMETER)
    assert 4_096 * 10_000 < small < 4_096 * 12_000


@pytest.mark.parametrize(
    ("shard", "weights", "optimizer", "distinct"),
    [
        (Shard.NONE, 128, 128, 4),
        (Shard.ZERO1, 128, 2, 256),
        (Shard.ZERO2, 128, 2, 256),
        (Shard.ZERO3, 2, 2, 256),
        (Shard.FSDP, 2, 2, 256),
        (Shard.HSDP, 2, 2, 256),
    ],
)
def test_replicas_follow_the_sharding(shard, weights, optimizer, distinct):
    """On 2 x 2 model- and 32 x 2 data-parallel ranks in 2 replicas, each mode replicates what it must."""
    layout = Layout(32, tensor=2, pipeline=2, context=2, replicas=2, shard=shard)
    size = sizes(LLAMA_70B, Cluster(layout.gpus, 8, layout))
    assert (size.replicas_of_weights, size.replicas_of_optimizer) == (weights, optimizer)
    assert size.distinct_shards == distinct


def test_zero1_holds_all_weights_of_its_model_slice_and_a_part_of_the_optimizer():
    """Per rank: 2 bytes over tensor x pipeline, and 12 over all GPUs."""
    size = sizes(LLAMA_405B, on(16_384, tensor=8, pipeline=16))
    assert size.held_per_rank_bytes == pytest.approx(405e9 * (2 / 128 + 12 / 16_384), rel=SMALL)


def test_fsdp_holds_one_even_part():
    """Fully sharded, every rank holds the checkpoint over the number of GPUs."""
    layout = Layout(64, shard=Shard.FSDP)
    size = sizes(LLAMA_70B, Cluster(64, 8, layout))
    # All but the kilobyte of step and scheduler, which every rank holds and one writes.
    assert size.held_per_rank_bytes == pytest.approx(size.total_bytes / 64, rel=1e-6)


def test_a_first_replica_that_writes_whole_shards_is_the_slowest():
    """Without spreading under ZeRO 1, the first data-parallel rank writes its weights whole."""
    size = sizes(LLAMA_405B, on(16_384, tensor=8, pipeline=16), spread_replicas=False)
    assert size.written_per_rank_bytes == pytest.approx(size.held_per_rank_bytes, rel=1e-12)
    # Tensor ranks are neighbours, so one node of 8 holds all eight of them.
    assert size.written_per_node_bytes == pytest.approx(8 * size.held_per_rank_bytes, rel=SMALL)


def test_a_node_larger_than_the_job_writes_the_whole_job():
    """Four GPUs on a node of eight write everything from that node."""
    size = sizes(LLAMA_70B, Cluster(4, 8, Layout(4)))
    assert size.nodes == 1
    assert size.written_per_node_bytes == pytest.approx(size.total_bytes, rel=1e-12)


@given(st.integers(1, 10_000_000), st.floats(1e3, 1e15), st.sampled_from(ledger_names()), st.sampled_from(Shard))
def test_extremes_are_finite_and_ordered(gpus, parameters, name, shard):
    """From 1 to 10 million GPUs and 1e3 to 1e15 parameters: finite, rank below node below total."""
    cluster = Cluster(gpus, 8, Layout(gpus, shard=shard))
    size = sizes(Model(parameters, ledger(name)), cluster)
    assert math.isfinite(size.total_bytes)
    per_rank, per_node = size.written_per_rank_bytes, size.written_per_node_bytes
    assert 0 < per_rank <= per_node * (1 + 1e-12)
    assert per_node <= size.total_bytes * (1 + 1e-12)


@given(st.floats(1e3, 1e15), st.floats(1e-2, 1e2))
def test_size_is_linear(parameters, bytes_each):
    """Twice the parameters or twice the bytes is twice the checkpoint."""
    once = checkpoint_bytes(parameters, bytes_each)
    np.testing.assert_allclose(checkpoint_bytes(2 * parameters, bytes_each), 2 * once, rtol=1e-15)
    np.testing.assert_allclose(checkpoint_bytes(parameters, [bytes_each, 2 * bytes_each]), [once, 2 * once])

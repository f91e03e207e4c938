"""Saving: what stalls, what flushes, what binds, and what memory it takes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.saving import aggregate_write_time, copy_out_time, save_cost, write_time
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

# Small states of all ranks beside parameters x 14 bytes, relative.
SMALL = 1e-4

LLAMA_70B = Scenario(
    name="Llama 3 70B",
    model=Model(70_553_706_496, ledger("adam-14")),
    cluster=Cluster(512, 8, Layout(16, tensor=8, pipeline=4, shard=Shard.ZERO1)),
    failures=Failures(1.8e8, "mtbf_per_gpu"),
    saves=(),
    storage=Storage(write_bandwidth_bytes_per_s=10e9, write_bandwidth_per_writer_bytes_per_s=2e9),
    restart=Restart(total_s=600),
)
LLAMA_405B = replace(
    LLAMA_70B,
    model=Model(405e9, ledger("adam-14")),
    cluster=Cluster(16_384, 8, Layout(128, tensor=8, pipeline=16, shard=Shard.ZERO2)),
    storage=Storage(write_bandwidth_bytes_per_s=2e12, peak_write_bandwidth_bytes_per_s=7e12),
)
GATHERED = Save("gathered", Mode.GATHERED)
SHARDED = Save("sharded", Mode.SHARDED)
ASYNCHRONOUS = Save("asynchronous", Mode.ASYNCHRONOUS)


def test_988_gigabytes_take_99_seconds_at_10_gigabytes_per_second():
    """512 writers of 25 GB/s do not bind: the aggregate does, 98.77 s."""
    storage = Storage(write_bandwidth_bytes_per_s=10e9, write_bandwidth_per_writer_bytes_per_s=25e9)
    time = write_time(987.7e9, 64, 512, storage)
    assert time is not None
    assert time.seconds == pytest.approx(98.77, rel=1e-9)
    assert time.binds == "aggregate write bandwidth"


def test_copy_out_of_5_67_terabytes_takes_14_milliseconds():
    """5.67 TB over 16,384 GPUs of 25 GB/s copy out in 0.01384 s."""
    assert copy_out_time(5.67e12, 16_384, 25e9) == pytest.approx(0.01384277344, rel=1e-9)


def test_a_gathered_save_is_bound_by_its_one_writer():
    """987.75 GB by one writer of 2 GB/s take 494 s, whatever the storage can take."""
    cost = save_cost(GATHERED, LLAMA_70B)
    assert cost.stall_s == pytest.approx(494, abs=0.5)
    assert cost.binds == "write bandwidth per writer"
    assert cost.flush_s == 0.0
    assert cost.host_memory_per_node_bytes == pytest.approx(987.75e9, rel=SMALL)


def test_a_sharded_save_is_bound_by_the_storage():
    """512 writers take 98.8 s because the aggregate of 10 GB/s binds."""
    cost = save_cost(SHARDED, LLAMA_70B)
    assert cost.stall_s == pytest.approx(98.8, abs=0.05)
    assert cost.binds == "aggregate write bandwidth"
    assert cost.write is not None
    assert dict(cost.write.candidates)["write bandwidth per writer"] == pytest.approx(1.929 / 2, rel=1e-3)


def test_an_asynchronous_save_stalls_for_the_copy_and_flushes_the_rest():
    """1.93 GB per GPU at 25 GB/s stall 0.077 s; the 98.8 s follow in the background."""
    cost = save_cost(ASYNCHRONOUS, LLAMA_70B)
    assert cost.stall_s == pytest.approx(0.0772, abs=5e-5)
    assert cost.stall_s < 0.1
    assert cost.flush_s == pytest.approx(98.8, abs=0.05)
    assert cost.host_memory_per_node_bytes == pytest.approx(8 * 987.75e9 / 512, rel=SMALL)


def test_llama_405b_flushes_in_2_8_seconds():
    """5.67 TB at 2 TB/s take 2.8 s; the peak of 7 TB/s would allow 0.81 s and is not used."""
    cost = save_cost(ASYNCHRONOUS, LLAMA_405B)
    assert cost.flush_s == pytest.approx(2.835, rel=SMALL)
    assert cost.write is not None
    assert cost.write.burst_s == pytest.approx(0.81, rel=SMALL)


def test_peak_bandwidth_alone_gives_no_write_time():
    """Storage of which only the peak is known cannot be planned with."""
    only_peak = replace(LLAMA_70B, storage=Storage(peak_write_bandwidth_bytes_per_s=7e12))
    with pytest.raises(InputError, match="stall of the save 'sharded'"):
        save_cost(SHARDED, only_peak)


def test_a_given_stall_wins():
    """A stall that is written down is used, and nothing else is said to bind."""
    cost = save_cost(replace(SHARDED, stall_s=150.0), LLAMA_70B)
    assert (cost.stall_s, cost.write, cost.binds, cost.notes) == (150.0, None, "given", ())


def test_given_times_need_no_storage():
    """With stall and flush given, no bandwidth is needed, whatever the mode."""
    bare = replace(LLAMA_70B, storage=Storage())
    assert save_cost(replace(GATHERED, stall_s=9.0), bare).stall_s == 9.0
    cost = save_cost(replace(ASYNCHRONOUS, stall_s=0.78, flush_s=67.0, training_speed_while_flushing=0.5), bare)
    assert (cost.stall_s, cost.flush_s, cost.training_speed_while_flushing) == (0.78, 67.0, 0.5)
    # The copy to host memory needs no storage, only the flush does.
    assert save_cost(replace(ASYNCHRONOUS, flush_s=67.0), bare).stall_s == pytest.approx(0.0772, abs=5e-5)


@pytest.mark.parametrize("save", [GATHERED, SHARDED, ASYNCHRONOUS, replace(ASYNCHRONOUS, stall_s=1.0)])
def test_a_time_that_cannot_be_computed_says_what_to_add(save):
    """Without any write bandwidth the error names the key to add."""
    with pytest.raises(InputError) as caught:
        save_cost(save, replace(LLAMA_70B, storage=Storage()))
    assert "storage.write_bandwidth" in str(caught.value.problems[0].hint)


def test_a_flush_of_a_blocking_save_is_refused():
    """Only an asynchronous save has a flush."""
    with pytest.raises(InputError, match="nothing is flushed"):
        save_cost(replace(SHARDED, flush_s=30.0), LLAMA_70B)


def test_a_blocking_save_does_not_slow_training_after_it():
    """The slow-down while flushing belongs to asynchronous saves alone."""
    assert save_cost(replace(SHARDED, training_speed_while_flushing=0.5), LLAMA_70B).training_speed_while_flushing == 1


def test_a_stall_shorter_than_the_write_is_noted():
    """A blocking stall that storage cannot meet is what a log of an asynchronous save shows."""
    (note,) = save_cost(replace(SHARDED, stall_s=0.78), LLAMA_70B).notes
    assert "shorter than the 98.8 s" in note
    assert "asynchronous" in note


def test_a_flush_shorter_than_the_write_is_noted():
    """A flush faster than the storage goes somewhere else."""
    (note,) = save_cost(replace(ASYNCHRONOUS, flush_s=18.0), LLAMA_70B).notes
    assert "shorter than the 98.8 s" in note


def test_a_rounded_measurement_is_not_noted():
    """A stall within one percent of the computed write is taken as the same."""
    assert save_cost(replace(SHARDED, stall_s=98.0), LLAMA_70B).notes == ()


def test_the_node_limit_binds_where_nodes_are_slow():
    """64 nodes of 0.1 GB/s take 154 s for 988 GB."""
    storage = Storage(write_bandwidth_bytes_per_s=10e9, write_bandwidth_per_node_bytes_per_s=0.1e9)
    cost = save_cost(SHARDED, replace(LLAMA_70B, storage=storage))
    assert cost.binds == "write bandwidth per node"
    assert cost.stall_s == pytest.approx(987.75 / 6.4, rel=SMALL)


def test_the_first_replica_alone_takes_longer():
    """When the first replica writes its weights whole, its node has more to write and to copy."""
    storage = Storage(write_bandwidth_per_node_bytes_per_s=0.1e9)
    alone = replace(LLAMA_70B, storage=storage)
    parameters = LLAMA_70B.model.parameters
    # Eight tensor-parallel ranks of one stage on a node: weights over 4 stages, the rest over 64 nodes.
    expected = parameters * (2 / 4 + 12 / 64) / 0.1e9
    assert save_cost(replace(SHARDED, spread_replicas=False), alone).stall_s == pytest.approx(expected, rel=SMALL)
    cost = save_cost(replace(ASYNCHRONOUS, spread_replicas=False), alone)
    assert cost.stall_s == pytest.approx(parameters * (2 / 32 + 12 / 512) / 25e9, rel=SMALL)


def test_latency_is_added_and_named_when_it_binds():
    """A tiny checkpoint on slow-to-answer storage is bound by latency."""
    tiny = replace(
        LLAMA_70B,
        model=Model(1e6, ledger("adam-14")),
        storage=Storage(write_bandwidth_bytes_per_s=10e9, latency_s=3.0),
    )
    cost = save_cost(SHARDED, tiny)
    assert cost.binds == "latency"
    assert cost.stall_s == pytest.approx(3.002, abs=1e-3)


def test_a_gathered_save_larger_than_a_node_is_noted():
    """5.67 TB fit in no common node, nor in a given one of 2 TB."""
    one_stream = replace(LLAMA_405B, storage=Storage(write_bandwidth_per_writer_bytes_per_s=2e9))
    (note,) = save_cost(GATHERED, one_stream).notes
    assert "5.67 TB of memory on one node" in note
    small = replace(one_stream, cluster=replace(LLAMA_405B.cluster, host_memory_per_node_bytes=2e12))
    (note,) = save_cost(GATHERED, small).notes
    assert "which has 2 TB" in note
    large = replace(one_stream, cluster=replace(LLAMA_405B.cluster, host_memory_per_node_bytes=6e12))
    assert save_cost(GATHERED, large).notes == ()
    assert save_cost(GATHERED, LLAMA_70B).notes == ()


def test_a_gathered_save_at_the_speed_of_the_cluster_is_noted():
    """One writer that is taken to reach 2 TB/s is said; with a limit of a writer, or slow storage, it is not."""
    (*_, note) = save_cost(GATHERED, LLAMA_405B).notes
    assert "2 TB/s" in note
    assert "write_bandwidth_per_writer" in note
    assert save_cost(GATHERED, LLAMA_70B).notes == ()
    slow = replace(LLAMA_70B, storage=Storage(write_bandwidth_bytes_per_s=5e9))
    assert save_cost(GATHERED, slow).notes == ()


def test_pinned_memory_beyond_the_node_is_noted():
    """An asynchronous save of 15.43 GB per node does not fit into 10 GB."""
    small = replace(LLAMA_70B, cluster=replace(LLAMA_70B.cluster, host_memory_per_node_bytes=10e9))
    (note,) = save_cost(ASYNCHRONOUS, small).notes
    assert "15.43 GB per node" in note


bandwidths = st.floats(1e6, 1e14)
sizes_ = st.floats(1e3, 1e17)


@given(sizes_, bandwidths, bandwidths, bandwidths, st.integers(1, 10_000), st.floats(0, 100))
def test_the_slowest_limit_holds_and_more_bandwidth_never_hurts(size, total, node, writer, nodes, latency):
    """Write time is the maximum of its candidates plus latency, and falls with every bandwidth."""
    storage = Storage(total, None, node, writer, latency_s=latency)
    time = write_time(size, nodes, 8 * nodes, storage)
    assert time is not None
    transfers = [seconds for name, seconds in time.candidates if name != "latency"]
    assert transfers == pytest.approx([size / total, size / nodes / node, size / (8 * nodes) / writer], rel=1e-12)
    assert time.seconds == max(transfers) + latency
    assert dict(time.candidates)[time.binds] == max(seconds for _, seconds in time.candidates)
    for faster in (
        replace(storage, write_bandwidth_bytes_per_s=2 * total),
        replace(storage, write_bandwidth_per_node_bytes_per_s=2 * node),
        replace(storage, write_bandwidth_per_writer_bytes_per_s=2 * writer),
    ):
        better = write_time(size, nodes, 8 * nodes, faster)
        assert better is not None
        assert better.seconds <= time.seconds


@given(sizes_, bandwidths, st.integers(1, 10_000_000))
def test_formulas_scale(size, bandwidth, gpus):
    """Twice the bytes at twice the bandwidth take the same time; more GPUs copy out faster in proportion."""
    once = float(aggregate_write_time(size, bandwidth))
    assert aggregate_write_time(2 * size, 2 * bandwidth) == pytest.approx(once, rel=1e-12)
    assert copy_out_time(size, gpus, bandwidth) == pytest.approx(once / gpus, rel=1e-12)
    table = aggregate_write_time(np.full((2, 1), size), np.full(3, bandwidth), 1.0)
    np.testing.assert_allclose(table, np.full((2, 3), once + 1.0))


@given(
    st.integers(1, 10_000_000),
    st.floats(1e3, 1e15),
    st.sampled_from(Mode),
    st.sampled_from(Shard),
    st.booleans(),
)
def test_extremes_are_finite(gpus, parameters, mode, shard, spread):
    """From 1 to 10 million GPUs and 1e3 to 1e15 parameters every cost is a finite number."""
    scenario = replace(
        LLAMA_70B,
        model=Model(parameters, ledger("adam-14")),
        cluster=Cluster(gpus, 8, Layout(gpus, shard=shard)),
    )
    cost = save_cost(Save("any", mode, spread_replicas=spread), scenario)
    assert math.isfinite(cost.stall_s)
    assert cost.stall_s > 0
    assert math.isfinite(cost.flush_s)
    assert cost.flush_s >= 0

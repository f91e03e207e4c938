"""Placement against a brute-force count: every rank of small layouts, every shard, every byte."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.placement import is_sharded, placements
from ckptplan.cost.scenario import Cluster, Kind, Layout, Model, Scope, Shard, State
from ckptplan.cost.size import sizes
from ckptplan.cost.state import compose, ledger
from ckptplan.errors import InputError

# What each mode shards over the data-parallel ranks, typed from the papers, not taken from the code.
OPTIMIZER = {Kind.MASTER, Kind.MOMENT, Kind.EMA}
SHARDED = {
    Shard.NONE: set(),
    Shard.ZERO1: OPTIMIZER,
    Shard.ZERO2: OPTIMIZER | {Kind.GRADIENT},
    Shard.ZERO3: OPTIMIZER | {Kind.GRADIENT, Kind.WEIGHTS},
    Shard.FSDP: OPTIMIZER | {Kind.GRADIENT, Kind.WEIGHTS},
    Shard.HSDP: OPTIMIZER | {Kind.GRADIENT, Kind.WEIGHTS},
}

LARGE = (
    State("weights", Kind.WEIGHTS, 2.0),
    State("gradients", Kind.GRADIENT, 4.0),
    State("master", Kind.MASTER, 4.0),
    State("momentum", Kind.MOMENT, 4.0, share=0.75),
    State("average", Kind.EMA, 2.0),
)
MODEL = Model(6_912_000.0, compose("all kinds", LARGE), expert_parameters=2_304_000.0)


def ranks_of(layout: Layout):
    """Coordinates of every rank, in the order of their numbers: tensor fastest, replicas last."""
    axes = (layout.replicas, layout.pipeline, layout.data, layout.context, layout.tensor)
    for replica, pipeline, data, context, tensor in product(*map(range, axes)):
        yield {
            "replica": replica,
            "pipeline": pipeline,
            "tensor": tensor,
            "data": data,
            "context": context,
            "together": data * layout.context + context,
        }


def shards_of(rank, model: Model, layout: Layout):
    """The shards that one rank holds, as (identity, bytes)."""
    cut = layout.tensor * layout.pipeline
    dense = model.parameters - model.expert_parameters
    together = layout.data * layout.context
    where = (rank["tensor"], rank["pipeline"])
    for state in model.ledger.states:
        each = state.bytes_each * state.share
        split = state.kind in SHARDED[layout.shard]
        if state.scope is Scope.JOB:
            yield (state.name,), each
        elif state.scope is Scope.RANK:
            yield (state.name, *rank.values()), each
        elif state.scope is Scope.DATA_RANK:
            yield (state.name, rank["data"], rank["replica"]), each
        else:
            own = rank["together"] if split else None
            yield (state.name, "dense", where, own), each * dense / cut / (together if split else 1)
            group, member = rank["together"] % layout.expert, rank["together"] // layout.expert
            identity = (state.name, "expert", where, group, member if split else None)
            pieces = layout.expert * (together // layout.expert if split else 1)
            yield identity, each * model.expert_parameters / cut / pieces


def counted(model: Model, layout: Layout):
    """Bytes held by each rank, of each distinct shard, and who holds which, by enumeration."""
    held, size, holders = Counter(), {}, defaultdict(list)
    for number, rank in enumerate(ranks_of(layout)):
        for identity, size_bytes in shards_of(rank, model, layout):
            held[number] += size_bytes
            size[identity] = size_bytes
            holders[identity].append(number)
    return held, size, holders


def written(size, holders, spread_replicas: bool):
    """Bytes that each rank writes."""
    bytes_of = Counter()
    for identity, ranks in holders.items():
        writers = ranks if spread_replicas else ranks[:1]
        for number in writers:
            bytes_of[number] += size[identity] / len(writers)
    return bytes_of


def small_layouts():
    """Every combination of small axes, expert groups, replicas and modes."""
    for tensor, pipeline, context, data, replicas in product((1, 2), (1, 2, 3), (1, 2), (1, 2, 4), (1, 2)):
        for expert in {1, 2, 4, data * context}:
            if data * context % expert == 0:
                for shard in Shard:
                    yield Layout(data, tensor, pipeline, context, expert, replicas, shard)


def test_every_small_layout_agrees_with_a_count_rank_by_rank():
    """Held, written per rank, written per node and totals equal an enumeration of all ranks and shards."""
    checked = 0
    for layout in small_layouts():
        held, size, holders = counted(MODEL, layout)
        total = sum(size.values())
        for spread in (True, False):
            writes = written(size, holders, spread)
            for per_node in (1, 3, 4, 8):
                got = sizes(MODEL, Cluster(layout.gpus, per_node, layout), spread_replicas=spread)
                nodes = Counter()
                for number, size_bytes in writes.items():
                    nodes[number // per_node] += size_bytes
                assert got.total_bytes == pytest.approx(total, rel=1e-12)
                assert got.held_per_rank_bytes == pytest.approx(max(held.values()), rel=1e-12)
                assert got.written_per_rank_bytes == pytest.approx(max(writes.values()), rel=1e-12)
                assert got.written_per_node_bytes == pytest.approx(max(nodes.values()), rel=1e-12)
                checked += 1
    assert checked > 5_000


def test_replicas_agree_with_the_count():
    """Replicas of dense weights and of dense optimizer states are as many as ranks hold the same shard."""
    for layout in small_layouts():
        _, _, holders = counted(MODEL, layout)
        got = sizes(MODEL, Cluster(layout.gpus, 8, layout))
        for kind, replicas in (("weights", got.replicas_of_weights), ("master", got.replicas_of_optimizer)):
            found = {len(ranks) for key, ranks in holders.items() if key[:2] == (kind, "dense")}
            assert found == {replicas}


def test_what_each_mode_shards():
    """The code shards, mode by mode, what the papers say."""
    for shard, kinds in SHARDED.items():
        assert {kind for kind in SHARDED[Shard.FSDP] if is_sharded(kind, shard)} == kinds


layouts = st.builds(
    lambda tensor, pipeline, context, data, expert, replicas, shard: Layout(
        data, tensor, pipeline, context, gcd(expert, data * context), replicas, shard
    ),
    st.integers(1, 64),
    st.integers(1, 64),
    st.integers(1, 16),
    st.integers(1, 2_000),
    st.integers(1, 256),
    st.integers(1, 8),
    st.sampled_from(Shard),
)
models = st.builds(
    lambda parameters, experts, name: Model(parameters, ledger(name), expert_parameters=parameters * experts),
    st.floats(1e3, 1e15),
    st.floats(0.0, 1.0),
    st.sampled_from(["adam-12", "adam-14", "adam-18", "muon", "weights-only"]),
)


@given(models, layouts)
def test_shards_and_replicas_fill_all_ranks(model, layout):
    """Shards times replicas is the number of ranks, for every state of any layout."""
    for place in placements(model, layout):
        assert place.shards * place.replicas == layout.gpus


@given(models, layouts)
def test_distinct_shards_sum_to_the_total(model, layout):
    """The bytes that all ranks hold, replicas counted once, are the checkpoint."""
    places = placements(model, layout)
    once = sum(p.shard_bytes * layout.gpus / p.replicas for p in places)
    assert once == pytest.approx(sizes(model, Cluster(layout.gpus, 8, layout)).total_bytes, rel=1e-9)


@given(models, layouts, st.booleans())
def test_written_bytes_sum_to_the_total(model, layout, spread):
    """All ranks together write every byte once, whether replicas share the work or the first does it."""
    places = placements(model, layout)
    everything = sum(p.written_bytes(layout.gpus, spread_replicas=spread) for p in places)
    assert everything == pytest.approx(sum(p.total_bytes for p in places), rel=1e-9)


@given(models, layouts, st.integers(1, 16))
def test_spreading_never_makes_the_busiest_busier(model, layout, per_node):
    """Sharing the write among replicas is at least as even as leaving it to the first one."""
    cluster = Cluster(layout.gpus, per_node, layout)
    spread, first = sizes(model, cluster), sizes(model, cluster, spread_replicas=False)
    slack = 1 + 1e-12
    assert spread.written_per_rank_bytes <= first.written_per_rank_bytes * slack
    assert spread.written_per_node_bytes <= first.written_per_node_bytes * slack
    assert first.written_per_rank_bytes <= first.held_per_rank_bytes * slack
    assert first.written_per_rank_bytes <= first.written_per_node_bytes * slack


def test_impossible_layouts_are_refused():
    """Expert groups that do not divide the data-parallel ranks and too many expert parameters are errors."""
    with pytest.raises(InputError, match="does not divide"):
        placements(MODEL, Layout(3, expert=2))
    with pytest.raises(InputError, match="expert_parameters"):
        placements(Model(1e9, ledger("adam-14"), expert_parameters=2e9), Layout(4))

"""Sizes by the real layers against a count rank by rank, tensor by tensor."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import pytest

from ckptplan.cost.architecture import Architecture, Cut, Experts, TensorKind, Tensors
from ckptplan.cost.scenario import Cluster, Kind, Layout, Model, Scope, Shard, State
from ckptplan.cost.size import sizes
from ckptplan.cost.stage_sizes import stage_sizes, stages_of
from ckptplan.cost.state import compose, ledger
from ckptplan.errors import InputError

LAYERS = tuple(range(5))
ROUTED = 6
TENSORS = (
    Tensors("embed", (100, 8), TensorKind.EMBEDDING, cut=Cut.COLUMN),
    Tensors("{}.norm", (8,), TensorKind.NORM, LAYERS),
    Tensors("{}.q", (16, 8), TensorKind.ATTENTION, LAYERS, cut=Cut.COLUMN),
    Tensors("{}.o", (8, 16), TensorKind.ATTENTION, LAYERS, cut=Cut.ROW),
    Tensors("{}.mlp", (32, 8), TensorKind.MLP, (0,), cut=Cut.COLUMN),
    Tensors("{}.router", (6, 8), TensorKind.ROUTER, LAYERS[1:]),
    Tensors("{}.expert.{}", (16, 8), TensorKind.EXPERT, LAYERS[1:], each=ROUTED, cut=Cut.COLUMN),
    Tensors("norm", (8,), TensorKind.NORM, at_end=True),
    Tensors("head", (100, 8), TensorKind.HEAD, cut=Cut.COLUMN, at_end=True),
    Tensors("steps", (3,), TensorKind.OTHER, buffer=True),
)
UNTIED = Architecture("made up", 5, TENSORS, experts=Experts(ROUTED, 2, 4, 128))
TIED = UNTIED._replace(tensors=tuple(t for t in TENSORS if t.name != "head"), tied_head=True)
OPTIMIZER = {Kind.MASTER, Kind.MOMENT}
SHARDED = {
    Shard.NONE: set(),
    Shard.ZERO1: OPTIMIZER,
    Shard.ZERO2: OPTIMIZER,
    Shard.ZERO3: OPTIMIZER | {Kind.WEIGHTS},
    Shard.FSDP: OPTIMIZER | {Kind.WEIGHTS},
    Shard.HSDP: OPTIMIZER | {Kind.WEIGHTS},
}
STATES = (State("weights", Kind.WEIGHTS, 2.0), State("master", Kind.MASTER, 4.0), State("moments", Kind.MOMENT, 8.0))


def model_of(architecture: Architecture) -> Model:
    """A model without small states: they are no part of the layers."""
    experts = architecture.of_kind(TensorKind.EXPERT)
    kept = compose("three states", STATES)
    kept = type(kept)(kept.name, tuple(s for s in kept.states if s.scope is Scope.PARAMETER))
    return Model(float(architecture.total), kept, float(experts), architecture=architecture)


def pieces(architecture: Architecture, layout: Layout):
    """Every tensor, expert by expert: its name, its stage, its elements, its kind of cut, its expert."""
    stage_of, begin = {}, 0
    for stage in range(layout.pipeline):
        count = len([layer for layer in range(5) if layer % layout.pipeline == stage])  # the first ones one more
        stage_of |= dict.fromkeys(range(begin, begin + count), stage)
        begin += count
    for t in architecture.tensors:
        if t.buffer:
            continue
        for layer in t.layers or [None]:
            outside = layout.pipeline - 1 if t.name in {"norm", "head"} else 0
            stage = outside if layer is None else stage_of[layer]
            for expert in range(t.each):
                yield t, (t.name, layer, expert), stage, expert if t.kind is TensorKind.EXPERT else None


def ranks_of(layout: Layout):
    """Replica, stage, data rank (context within) and tensor rank of every rank, in the order of their numbers."""
    data = range(layout.data * layout.context)
    return list(product(range(layout.replicas), range(layout.pipeline), data, range(layout.tensor)))


def group_of(expert: int, groups: int) -> int:
    """The expert group that holds an expert: the first groups hold one more."""
    each, over = divmod(ROUTED, groups)
    bounds = [0]
    for group in range(groups):
        bounds.append(bounds[-1] + each + (group < over))
    return next(group for group in range(groups) if bounds[group] <= expert < bounds[group + 1])


def counted(architecture: Architecture, layout: Layout, spread: bool):
    """Bytes held and bytes written by each rank, by enumeration."""
    held, size, holders = Counter(), {}, defaultdict(list)
    data_ranks = layout.data * layout.context
    padded = layout.shard in {Shard.NONE, Shard.ZERO1, Shard.ZERO2} and layout.tensor * layout.pipeline > 1
    for number, (_, pipeline, data, tensor) in enumerate(ranks_of(layout)):
        for t, name, stage, expert in pieces(architecture, layout):
            vocabulary = t.name in {"embed", "head"}
            copy = architecture.tied_head and t.name == "embed" and pipeline == layout.pipeline - 1 > 0
            if stage != pipeline and not copy:
                continue
            if expert is not None and group_of(expert, layout.expert) != data % layout.expert:
                continue
            part = 1 if t.cut is Cut.REPLICATED else layout.tensor
            elements = real = t.elements / part
            if vocabulary and padded:
                rows = -(-100 // (128 * layout.tensor)) * 128 * layout.tensor
                elements = rows * 8 / layout.tensor
            for state in STATES:
                split = state.kind in SHARDED[layout.shard]
                among = (data_ranks // (1 if expert is None else layout.expert)) if split else 1
                held[number] += state.bytes_each * elements / among
                if stage == pipeline:
                    member = data // (1 if expert is None else layout.expert) if split else None
                    key = (state.name, name, tensor if part > 1 else None, member)
                    size[key] = state.bytes_each * real / among
                    holders[key].append(number)
    written = Counter()
    for key, ranks in holders.items():
        for number in ranks if spread else ranks[:1]:
            written[number] += size[key] / (len(ranks) if spread else 1)
    return held, written, sum(size.values())


def layouts():
    """Small layouts: uneven layers, uneven experts, replicas, each rule of sharding."""
    for tensor, pipeline, data, context, replicas in product((1, 2), (1, 3, 5), (1, 4), (1, 2), (1, 3)):
        for expert in {1, 2, 4} & {n for n in (1, 2, 4) if data * context % n == 0}:
            for shard in (Shard.NONE, Shard.ZERO1, Shard.FSDP):
                yield Layout(data, tensor, pipeline, context, expert, replicas, shard)


@pytest.mark.parametrize("architecture", [UNTIED, TIED], ids=["untied", "tied"])
@pytest.mark.parametrize("spread", [True, False], ids=["spread", "first"])
def test_every_small_layout_agrees_with_a_count_rank_by_rank(architecture: Architecture, spread: bool) -> None:
    """Held, written per rank and per node, and totals equal an enumeration of all ranks and tensors."""
    model, checked = model_of(architecture), 0
    for layout in layouts():
        held, written, total = counted(architecture, layout, spread)
        assert sum(written.values()) == pytest.approx(total, rel=1e-12)
        for per_node in (1, 3, 4, 8):
            got = sizes(model, Cluster(layout.gpus, per_node, layout), spread_replicas=spread)
            nodes = Counter()
            for number, size_bytes in written.items():
                nodes[number // per_node] += size_bytes
            assert got.total_bytes == pytest.approx(total, rel=1e-12)
            assert got.held_per_rank_bytes == pytest.approx(max(held.values()), rel=1e-12)
            assert got.written_per_rank_bytes == pytest.approx(max(written.values()), rel=1e-9)
            assert got.written_per_node_bytes == pytest.approx(max(nodes.values()), rel=1e-9)
            if ROUTED % layout.expert == 0:
                assert got.held_by_all_bytes == pytest.approx(sum(held.values()), rel=1e-12)
            checked += 1
    assert checked > 700


def test_each_stage_agrees_with_the_count() -> None:
    """The busiest rank of every stage holds and writes what the enumeration finds for it."""
    for shard, spread in product((Shard.ZERO1, Shard.FSDP), (True, False)):
        layout = Layout(4, 2, 3, expert=4, replicas=2, shard=shard)
        held, written, _ = counted(TIED, layout, spread)
        ranks = ranks_of(layout)
        for stage, got in enumerate(stage_sizes(model_of(TIED), TIED, layout, spread_replicas=spread)):
            of_stage = [number for number, rank in enumerate(ranks) if rank[1] == stage]
            assert got.held_per_rank_bytes == pytest.approx(max(held[n] for n in of_stage), rel=1e-12)
            assert got.written_per_rank_bytes == pytest.approx(max(written[n] for n in of_stage), rel=1e-9)


def test_one_stage_without_tensor_parallelism_is_the_even_rule() -> None:
    """With FSDP on one stage nothing is uneven: every size is that of a model that is a count alone."""
    model = Model(float(UNTIED.total), ledger("adam-14"), float(UNTIED.of_kind(TensorKind.EXPERT)))
    known = Model(model.parameters, model.ledger, model.expert_parameters, architecture=UNTIED)
    for layout in (Layout(6), Layout(4, context=2), Layout(4, replicas=3, shard=Shard.HSDP)):
        for spread in (True, False):
            cluster = Cluster(layout.gpus, 8, layout)
            even, real = (sizes(one, cluster, spread_replicas=spread) for one in (model, known))
            assert tuple(real) == pytest.approx(tuple(even), rel=1e-12)


def test_more_stages_than_layers_are_refused() -> None:
    """A stage without a layer is no stage."""
    with pytest.raises(InputError, match="6 over 5 layers"):
        sizes(model_of(TIED), Cluster(6, 6, Layout(1, pipeline=6, shard=Shard.ZERO1)))


def test_layers_given_by_stage() -> None:
    """A first and a last stage with one layer less, as Llama 3 405B has them."""
    layout = Layout(1, pipeline=3, shard=Shard.ZERO1, layers_per_stage=(1, 3, 1))
    assert [(stage.first_layer, stage.layers) for stage in stages_of(TIED, layout)] == [(0, 1), (1, 3), (4, 1)]
    for wrong in ((2, 3), (2, 2, 2), (6, -2, 1)):
        with pytest.raises(InputError, match="stages of"):
            stages_of(TIED, Layout(1, pipeline=3, shard=Shard.ZERO1, layers_per_stage=wrong))

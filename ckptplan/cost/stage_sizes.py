"""Bytes of each pipeline stage by the real layers of a model, and what the busiest rank and node hold and write.

Ranks are numbered as in ``ckptplan.cost.placement``. Every parameter of the model is written once. The copy of a tied
matrix on the last stage is held, not written: Megatron saves it as a replica. The padding of the vocabulary is held;
Megatron writes it, too, and it is left out of what is written here, so that totals are those of the model.
"""

from math import gcd, lcm
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ckptplan.cost.architecture import Architecture
from ckptplan.cost.placement import is_sharded
from ckptplan.cost.scenario import Layout, Model, Scope, Shard
from ckptplan.cost.stages import Stage, stage_parameters
from ckptplan.cost.state import saved_states

Ranks: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

_MEGATRON: Final = frozenset({Shard.NONE, Shard.ZERO1, Shard.ZERO2})  # what pads the vocabulary

_MOST_ALIGNMENTS: Final = 512  # of stages with nodes that are looked at; real machines have a few


class StageSize(NamedTuple):
    """A pipeline stage and the bytes of its busiest rank; small states, which are no part of a stage, left out."""

    stage: Stage
    held_per_rank_bytes: float
    written_per_rank_bytes: float


class Busiest(NamedTuple):
    """Bytes of the busiest rank and node, and those that all ranks hold together."""

    held_per_rank_bytes: float
    held_by_all_bytes: float
    written_per_rank_bytes: float
    written_per_node_bytes: float


def stages_of(architecture: Architecture, layout: Layout) -> tuple[Stage, ...]:
    """Parameters of the stages of a layout; the vocabulary is padded where Megatron's rules divide the model."""
    model_parallel = layout.tensor * layout.pipeline > 1
    return stage_parameters(
        architecture,
        layout.tensor,
        layout.pipeline,
        expert=layout.expert,
        pad_vocabulary=model_parallel and layout.shard in _MEGATRON,
        layers=layout.layers_per_stage,
    )


def stage_sizes(
    model: Model, architecture: Architecture, layout: Layout, *, spread_replicas: bool = True
) -> tuple[StageSize, ...]:
    """What the busiest rank of every stage holds and writes of the states that are kept per parameter.

    Parameters
    ----------
    model : Model
        Ledger; its parameters are those of the architecture.
    architecture : Architecture
        Layers and tensors.
    layout : Layout
        Axes of parallelism.
    spread_replicas : bool
        Replicas of a shard write a part of it each; otherwise the first one writes it whole.

    Returns
    -------
    tuple of StageSize
    """
    written = _Written(model, architecture, layout, spread_replicas)
    firsts = np.arange(layout.pipeline) * written.stage_ranks
    busiest = written.before(firsts + 1) - written.before(firsts)
    return tuple(
        StageSize(stage, written.held(stage), float(size)) for stage, size in zip(written.stages, busiest, strict=True)
    )


def busiest(
    model: Model, architecture: Architecture, layout: Layout, gpus_per_node: int, *, spread_replicas: bool = True
) -> Busiest:
    """Bytes of the busiest rank and node over all stages, small states left out; parameters as of ``stage_sizes``."""
    written = _Written(model, architecture, layout, spread_replicas)
    held = [written.held(stage) for stage in written.stages]
    firsts = np.arange(layout.pipeline) * written.stage_ranks
    starts = written.candidate_nodes(gpus_per_node) * gpus_per_node
    return Busiest(
        max(held),
        sum(held) * (layout.gpus // layout.pipeline),
        float((written.before(firsts + 1) - written.before(firsts)).max()),
        float((written.before(starts + gpus_per_node) - written.before(starts)).max()),
    )


class _Written:
    """Bytes that the ranks up to a number write together; from differences of it follow those of ranks and nodes."""

    def __init__(self, model: Model, architecture: Architecture, layout: Layout, spread_replicas: bool) -> None:
        self.stages = stages_of(architecture, layout)
        self.layout, self.spread = layout, spread_replicas
        self.data_ranks = layout.data * layout.context
        self.stage_ranks = layout.tensor * self.data_ranks
        self.routed = 1 if architecture.experts is None else architecture.experts.routed
        large = [state for state in saved_states(model) if state.scope is Scope.PARAMETER]
        self.sharded = sum(s.bytes_each * s.share for s in large if is_sharded(s.kind, layout.shard))
        self.whole = sum(s.bytes_each * s.share for s in large if not is_sharded(s.kind, layout.shard))
        self.cut = np.array([s.total_dense - s.replicated for s in self.stages], dtype=np.float64)
        self.replicated = np.array([s.replicated for s in self.stages], dtype=np.float64)
        self.expert = np.array([s.total_expert for s in self.stages], dtype=np.float64)
        totals = (self.sharded + self.whole) * (self.cut + self.replicated + self.expert)
        self.up_to_stage = np.concatenate(([0.0], np.cumsum(totals)))

    def held(self, stage: Stage) -> float:
        """Bytes that the busiest rank of a stage holds."""
        groups = self.data_ranks // self.layout.expert
        dense = stage.dense_per_rank * (self.sharded / self.data_ranks + self.whole)
        return dense + stage.expert_per_rank * (self.sharded / groups + self.whole)

    def before(self, ranks: Ranks) -> Floats:
        """Bytes that all ranks with a lower number write."""
        replica, rest = np.divmod(np.minimum(ranks, self.layout.gpus), self.stage_ranks * self.layout.pipeline)
        stage, offset = np.divmod(rest, self.stage_ranks)
        partly: Floats = self.up_to_stage[stage] + self._in_stage(stage, offset)
        everything = float(self.up_to_stage[-1])
        spread = (replica * everything + partly) / self.layout.replicas
        return spread if self.spread else np.where(replica > 0, everything, partly)

    def _in_stage(self, stage: Ranks, ranks: Ranks) -> Floats:
        """Bytes of the first ``ranks`` ranks of a stage; they are fewer than the stage has."""
        data, tensor = np.divmod(ranks, self.layout.tensor)
        part = tensor / self.layout.tensor
        expert = self.expert[stage] / self.routed
        groups = self.data_ranks // self.layout.expert
        if self.spread:
            dense = (self.cut + self.replicated)[stage] * (data + part) / self.data_ranks
            return (self.sharded + self.whole) * (dense + expert * self._experts(data, part) / groups)
        # The first tensor-parallel rank writes what all of them hold; the first data-parallel ranks what none divides.
        first = (tensor > 0).astype(np.float64)
        dense = (self.cut[stage] * (data + part) + self.replicated[stage] * (data + first)) / self.data_ranks
        sharded = dense + expert * self._experts(data, part) / groups
        started = data > 0
        whole = np.where(started, (self.cut + self.replicated)[stage], self.cut[stage] * part)
        whole += np.where(started, 0.0, self.replicated[stage] * first)
        over = data >= self.layout.expert
        whole += expert * np.where(over, self.routed, self._experts(np.where(over, 0, data), part))
        return self.sharded * sharded + self.whole * whole

    def _experts(self, data: Ranks, part: Floats) -> Floats:
        """Experts of one layer that the first data-parallel ranks hold, every group of ranks anew."""
        each, over = divmod(self.routed, self.layout.expert)
        rounds, group = np.divmod(data, self.layout.expert)
        held: Floats = rounds * self.routed + each * group + np.minimum(group, over) + part * (each + (group < over))
        return held

    def candidate_nodes(self, gpus_per_node: int) -> Ranks:
        """Nodes of which one is the busiest: those at the beginning of each stage, where its busiest ranks are."""
        layout, world = self.layout, self.stage_ranks * self.layout.pipeline
        # Stages begin at the same places of nodes again after so many replicas.
        replicas = min(layout.replicas, gpus_per_node // gcd(world, gpus_per_node), _MOST_ALIGNMENTS)
        begins = np.arange(replicas * layout.pipeline) * self.stage_ranks
        # Tensor-parallel ranks and expert groups stand differently in each node until both repeat.
        uneven = self.routed % layout.expert > 0
        period = lcm(layout.tensor * (layout.expert if uneven else 1), gpus_per_node)
        reach = min(min(period, self.stage_ranks) // gpus_per_node + 2, _MOST_ALIGNMENTS)
        nodes = (begins // gpus_per_node)[:, np.newaxis] + np.arange(reach)
        return np.unique(nodes[nodes * gpus_per_node < layout.gpus])

"""Who holds which part of a checkpoint: distinct shards, their replicas, and the ranks that write them.

Ranks are numbered as Megatron Core numbers them by default: tensor fastest, then context and data, then
pipeline; replicas of the whole last. Only the bytes of the busiest node depend on that order.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ckptplan.cost.scenario import Kind, Layout, Model, Scope, Shard, State
from ckptplan.cost.state import saved_states
from ckptplan.errors import InputError

_EVERYTHING_SHARDED: Final = frozenset({Shard.ZERO3, Shard.FSDP, Shard.HSDP})
# Stage 1 shards what belongs to the optimizer, stage 2 also gradients (Rajbhandari et al. 2020, section 5).
_SHARDED_BY_ZERO1: Final = frozenset({Kind.MASTER, Kind.MOMENT, Kind.EMA})
_SHARDED_BY_ZERO2: Final = _SHARDED_BY_ZERO1 | {Kind.GRADIENT}


class FirstHolders(NamedTuple):
    """Ranks that hold the first replica of every shard of a state, as a pattern over rank numbers.

    Rank ``r`` is one of them if ``q = r % repeat`` lies below ``reach`` and ``q % period`` below ``run``.
    """

    run: int
    period: int
    reach: int
    repeat: int

    def among(self, ranks: int) -> int:
        """How many of the first ``ranks`` ranks they are."""
        rounds, rest = divmod(ranks, self.repeat)
        return rounds * self._in_one_round(self.reach) + self._in_one_round(min(rest, self.reach))

    def _in_one_round(self, ranks: int) -> int:
        periods, rest = divmod(ranks, self.period)
        return periods * self.run + min(rest, self.run)


class Placement(NamedTuple):
    """How the bytes of one state are cut into equal shards; ``shards * replicas`` is the number of ranks."""

    state: State
    total_bytes: float
    shards: int
    replicas: int
    first: FirstHolders

    @property
    def shard_bytes(self) -> float:
        """Bytes of one shard: what every rank holds of this state."""
        return self.total_bytes / self.shards

    def written_bytes(self, ranks: int, *, spread_replicas: bool) -> float:
        """Bytes that the first ``ranks`` ranks, the busiest ones, write together."""
        if spread_replicas:
            return self.shard_bytes * ranks / self.replicas
        return self.shard_bytes * self.first.among(ranks)


def is_sharded(kind: Kind, shard: Shard) -> bool:
    """Whether data-parallel ranks divide a state among themselves instead of each holding all of it."""
    if shard in _EVERYTHING_SHARDED:
        return True
    if shard is Shard.ZERO1:
        return kind in _SHARDED_BY_ZERO1
    return shard is Shard.ZERO2 and kind in _SHARDED_BY_ZERO2


def replicas_of(kind: Kind, layout: Layout) -> int:
    """How many ranks hold the same shard of a state, dense parameters."""
    return layout.replicas * (1 if is_sharded(kind, layout.shard) else layout.data * layout.context)


def placements(model: Model, layout: Layout) -> tuple[Placement, ...]:
    """Every state of a checkpoint, cut the way the layout cuts it; dense and expert parameters apart."""
    if (layout.data * layout.context) % layout.expert:
        raise InputError(
            f"expert parallelism of {layout.expert} does not divide data x context = {layout.data * layout.context}",
            hint="expert groups are cut out of the data-parallel ranks: choose a divisor for layout.expert",
        )
    if not 0.0 <= model.expert_parameters <= model.parameters:
        raise InputError(
            f"expert_parameters is {model.expert_parameters:g}, but the model has {model.parameters:g}",
            hint="expert_parameters counts a part of model.parameters",
        )
    return tuple(place for state in saved_states(model) for place in _place(state, model, layout))


def _place(state: State, model: Model, layout: Layout) -> Iterator[Placement]:
    if state.scope is not Scope.PARAMETER:
        yield _small(state, layout)
        return
    dense = model.parameters - model.expert_parameters
    for parameters, groups in ((dense, 1), (model.expert_parameters, layout.expert)):
        if parameters > 0:
            yield _large(state, parameters, groups, layout)


def _large(state: State, parameters: float, groups: int, layout: Layout) -> Placement:
    """A state per parameter; ``groups`` expert groups (1 if dense) already divide data x context."""
    model_parallel = layout.tensor * layout.pipeline
    data_parallel = layout.data * layout.context
    pieces = data_parallel if is_sharded(state.kind, layout.shard) else groups
    shards = model_parallel * pieces
    first = FirstHolders(
        run=layout.tensor * pieces,
        period=layout.tensor * data_parallel,
        reach=model_parallel * data_parallel,
        repeat=layout.gpus,
    )
    return Placement(state, state.bytes_each * state.share * parameters, shards, layout.gpus // shards, first)


def _small(state: State, layout: Layout) -> Placement:
    gpus = layout.gpus
    if state.scope is Scope.RANK:
        shards, first = gpus, FirstHolders(run=1, period=1, reach=gpus, repeat=gpus)
    elif state.scope is Scope.DATA_RANK:
        # Ranks of one data-parallel position read the same samples; replicas of the whole read others.
        stride = layout.tensor * layout.context
        shards = layout.data * layout.replicas
        first = FirstHolders(run=1, period=stride, reach=stride * layout.data, repeat=gpus // layout.replicas)
    else:
        shards, first = 1, FirstHolders(run=1, period=1, reach=1, repeat=gpus)
    return Placement(state, state.bytes_each * shards, shards, gpus // shards, first)

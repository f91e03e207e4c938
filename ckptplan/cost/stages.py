"""Parameters of each rank under tensor, pipeline and expert parallelism, as Megatron Core divides a model."""

from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

from ckptplan.cost.architecture import Architecture, Cut, Section, TensorKind, Tensors
from ckptplan.errors import InputError

VOCABULARY_MULTIPLE = 128  # Megatron's make-vocab-size-divisible-by; times the tensor-parallel ranks

_VOCABULARY = (TensorKind.EMBEDDING, TensorKind.HEAD)


class Stage(NamedTuple):
    """What one pipeline stage holds; its tensor-parallel ranks are alike.

    The totals count each parameter of the model once: no padding, no replicas, no second copy of a tied matrix, so that
    they sum to the model over the stages.
    """

    first_layer: int
    layers: int
    dense_per_rank: int
    expert_per_rank: int  # in routed experts
    total_dense: int
    total_expert: int
    replicated: int = 0  # of total_dense, what every tensor-parallel rank holds whole


@lru_cache(maxsize=512)
def stage_parameters(
    architecture: Architecture,
    tensor: int,
    pipeline: int,
    *,
    expert: int = 1,
    pad_vocabulary: bool = True,
    layers: tuple[int, ...] = (),
) -> tuple[Stage, ...]:
    """Parameters per rank of each pipeline stage.

    Parameters
    ----------
    architecture : Architecture
        The model. Buffers and extra modules (multi-token prediction) are left out.
    tensor, pipeline, expert : int
        Ranks of tensor, pipeline and expert parallelism; experts are divided by expert parallelism and cut by tensor
        parallelism. [1]
    pad_vocabulary : bool
        Whether the vocabulary is padded to a multiple of 128 times the tensor-parallel ranks, as Megatron does.
    layers : tuple of int
        Layers of each stage; by default as many on each. [1]

    Returns
    -------
    tuple of Stage
        In the order of the layers; the busiest rank where a cut is uneven.

    Notes
    -----
    Layers lie in order, as many on each stage; where they do not divide, the first stages take one more (Megatron wants
    an even split or an explicit one). The embedding, learned positions and other towers are on the first stage, the
    final norm and the head on the last; a tied head is a second copy of the padded embedding there. Column cuts:
    queries, keys and values with their biases, the first matrices of an MLP, the vocabulary. Row cuts: the output of
    attention and of the MLP; their biases are replicated, as norms, routers and positions are. Heads are never divided:
    fewer key-value heads than ranks are repeated. Confirmed for four models by stages built with Megatron Core 0.16.1.
    """
    _check(architecture, tensor, pipeline, expert)
    if layers and (len(layers) != pipeline or sum(layers) != architecture.layers or min(layers) < 0):
        raise InputError(
            f"{len(layers):,} stages of {sum(layers):,} layers together, but the pipeline has {pipeline:,} stages and "
            f"the model {architecture.layers:,} layers",
            hint="give every stage its number of layers",
        )
    stages, first = [], 0
    for number, count in enumerate(layers or _even(architecture.layers, pipeline)):
        ends = (number == 0, number == pipeline - 1)
        held = [(t, _copies(t, first, first + count, ends)) for t in architecture.tensors if not t.buffer]
        dense = [(t, n) for t, n in held if t.kind is not TensorKind.EXPERT]
        experts = [(t, n) for t, n in held if t.kind is TensorKind.EXPERT]
        dense_per_rank = sum(n * _per_rank(t, tensor, pad_vocabulary) for t, n in dense)
        if architecture.tied_head and ends == (False, True):
            tied = (t for t in architecture.tensors if t.kind is TensorKind.EMBEDDING)
            dense_per_rank += sum(t.each * _per_rank(t, tensor, pad_vocabulary) for t in tied)
        expert_per_rank = sum(_experts_per_rank(t, n, tensor, expert) for t, n in experts)
        totals = (sum(t.elements * n for t, n in dense), sum(t.elements * n for t, n in experts))
        replicated = sum(t.elements * n for t, n in dense if t.cut is Cut.REPLICATED)
        stages.append(Stage(first, count, dense_per_rank, expert_per_rank, *totals, replicated))
        first += count
    return tuple(stages)


def uneven_cuts(
    architecture: Architecture, tensor: int, pipeline: int, *, expert: int = 1, layers: tuple[int, ...] = ()
) -> tuple[str, ...]:
    """Sentences on what does not divide evenly, so that the busiest rank was counted."""
    notes = []
    if architecture.layers % pipeline and not layers:
        notes.append(
            f"{architecture.layers:,} layers over {pipeline:,} stages: the first {architecture.layers % pipeline:,} "
            "take one more; Megatron wants an even split or an explicit one"
        )
    units = {
        (t.kind, section.parts)
        for t in architecture.tensors
        if t.cut is not Cut.REPLICATED and t.kind not in _VOCABULARY
        for section in _sections(t)
        if section.parts % tensor
    }
    for kind, parts in sorted(units):
        repeated = "each rank holds one, repeated" if parts < tensor else "the busiest rank is counted"
        notes.append(f"{parts:,} parts of {kind.value} over {tensor:,} tensor-parallel ranks: {repeated}")
    if architecture.experts and architecture.experts.routed % expert:
        notes.append(
            f"{architecture.experts.routed:,} experts over {expert:,} expert-parallel ranks: the busiest rank is "
            "counted"
        )
    return tuple(notes)


def _even(layers: int, pipeline: int) -> tuple[int, ...]:
    """Layers of each stage; what does not divide goes one each to the first stages."""
    even, rest = divmod(layers, pipeline)
    return tuple(even + (number < rest) for number in range(pipeline))


def _check(architecture: Architecture, tensor: int, pipeline: int, expert: int) -> None:
    for name, ranks in (("tensor", tensor), ("pipeline", pipeline), ("expert", expert)):
        if ranks < 1:
            raise InputError(f"{name} parallelism of {ranks}", hint="1 is no parallelism")
    if pipeline > architecture.layers:
        raise InputError(
            f"pipeline parallelism of {pipeline:,} over {architecture.layers:,} layers",
            hint="a stage holds at least one layer",
        )
    if architecture.experts and expert > architecture.experts.routed:
        raise InputError(
            f"expert parallelism of {expert:,} over {architecture.experts.routed:,} experts",
            hint="a rank holds at least one expert",
        )


def _copies(t: Tensors, first: int, end: int, ends: tuple[bool, bool]) -> int:
    """How many of these tensors the stage with the layers from ``first`` to before ``end`` holds."""
    if not t.layers:
        return t.each if ends[t.at_end] else 0
    return t.each * (bisect_left(t.layers, end) - bisect_left(t.layers, first))


def _experts_per_rank(t: Tensors, copies: int, tensor: int, expert: int) -> int:
    """Elements in routed experts; either each expert is a tensor, or a tensor holds all of a layer."""
    held = t.each * t.experts  # in a layer
    layers = copies // t.each
    return layers * -(-held // expert) * (_per_rank(t, tensor, False) // t.experts)


def _per_rank(t: Tensors, tensor: int, pad_vocabulary: bool) -> int:
    """Elements of one tensor on the busiest tensor-parallel rank."""
    if t.cut is Cut.REPLICATED or (tensor == 1 and not (pad_vocabulary and t.kind in _VOCABULARY)):
        return t.elements
    rows = t.shape[_axis(t)]
    if t.kind in _VOCABULARY and pad_vocabulary:
        multiple = VOCABULARY_MULTIPLE * tensor
        return t.elements // rows * (-(-rows // multiple) * multiple // tensor)
    kept = sum(section.rows // section.parts * -(-section.parts // tensor) for section in _sections(t))
    return t.elements // rows * kept


def _axis(t: Tensors) -> int:
    """The axis along which the tensor is cut."""
    return t.axis if t.axis is not None else int(t.cut is Cut.ROW)


def _sections(t: Tensors) -> tuple[Section, ...]:
    rows = t.shape[_axis(t)]
    return t.sections or (Section(rows, rows),)

"""The global batch against the number of replicas: which sizes keep it, and what the others cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ckptplan.cost.batches import even_splits, possible_replicas, uneven_split
from ckptplan.plan.scale.curve import Curve
from ckptplan.plan.scale.size import replicas_of

_NEAR = 8  # replicas on either side of the planned number


class BatchRecord(NamedTuple):
    """The global batch at one size. ``even`` is whether all replicas do equal parts of it; counts [1].

    ``fewest`` micro-batches per step does a replica, and ``with_one_more`` of them do one more; None where the batch
    is not a whole number of micro-batches. ``below_gpus`` and ``above_gpus`` are the nearest sizes that divide it
    evenly, None where there is none; both are the size itself if it does.
    """

    gpus: int
    replicas: int
    even: bool
    fewest: int | None
    with_one_more: int | None
    efficiency: float  # share of the time that replicas do not wait for the busiest one
    below_gpus: int | None
    below_replicas: int | None
    above_gpus: int | None
    above_replicas: int | None


class BatchFacts(NamedTuple):
    """What the global batch allows. [1]."""

    global_batch: int  # sequences
    micro_batch: int
    planned_replicas: int
    impossible_near: tuple[int, ...]  # numbers of replicas near the planned one that do not divide it evenly
    near: int  # how far from the planned number those were looked for
    most_replicas: int  # each does one micro-batch
    records: tuple[BatchRecord, ...]


def batch_facts(curve: Curve, sizes: tuple[int, ...]) -> BatchFacts | None:
    """The global batch at some sizes; None if the spec gives none."""
    training = curve.scenario.training
    if training.global_batch is None:
        return None
    batch, micro = training.global_batch, training.micro_batch or 1
    planned = replicas_of(curve.scenario.cluster.layout)
    near = range(max(planned - _NEAR, 1), planned + _NEAR + 1)
    possible = even_sizes(curve)
    return BatchFacts(
        global_batch=batch,
        micro_batch=micro,
        planned_replicas=planned,
        impossible_near=tuple(r for r in near if not even_splits(batch, r, micro)),
        near=_NEAR,
        most_replicas=-(-batch // micro),
        records=tuple(_record(curve, gpus, batch, micro, possible) for gpus in sizes),
    )


def even_sizes(curve: Curve) -> dict[int, int]:
    """GPUs of every size that divides the global batch evenly and that the layout can have, with its replicas."""
    training, layout = curve.scenario.training, curve.scenario.cluster.layout
    if training.global_batch is None:
        return {}
    each = layout.tensor * layout.pipeline * layout.context
    found = {}
    for replicas in possible_replicas(training.global_batch, training.micro_batch or 1):
        size = curve.at(replicas * each)
        if size.replicas == replicas and not size.note:
            found[size.gpus] = replicas
    return found


def next_to(gpus: int, possible: dict[int, int]) -> tuple[int | None, int | None]:
    """The largest possible size not above, and the smallest not below."""
    below = max((n for n in possible if n <= gpus), default=None)
    return below, min((n for n in possible if n >= gpus), default=None)


def best_even(value: Callable[[int], float], gpus: int | None, possible: dict[int, int]) -> int | None:
    """The better one of the possible sizes next to the best of all (None: it is beyond them); None if there is none."""
    around = next_to(gpus or max(possible), possible) if possible else (None, None)
    return max((n for n in around if n is not None), key=value, default=None)


def _record(curve: Curve, gpus: int, batch: int, micro: int, possible: dict[int, int]) -> BatchRecord:
    size = curve.at(gpus)
    split = uneven_split(batch, size.replicas, micro)
    below, above = next_to(gpus - size.idle_gpus, possible)
    return BatchRecord(
        gpus=gpus,
        replicas=size.replicas,
        even=bool(even_splits(batch, size.replicas, micro)),
        fewest=None if split is None else split.fewest,
        with_one_more=None if split is None else split.with_one_more,
        efficiency=curve.batch_efficiency(size.replicas),
        below_gpus=below,
        below_replicas=None if below is None else possible[below],
        above_gpus=above,
        above_replicas=None if above is None else possible[above],
    )

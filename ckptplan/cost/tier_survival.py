"""A storage tier as given, and which failures its saves survive."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from ckptplan.cost.classes import ClassCost, FailureClass, FailureKind, Loss
from ckptplan.errors import InputError


class TierKind(StrEnum):
    """Where a tier keeps its saves."""

    HOST = "host memory"
    PEER = "peer memory"
    LOCAL = "local ssd"
    SHARED = "file system"
    OBJECT = "object store"


MEMORY = {TierKind.HOST, TierKind.PEER}  # holds the newest save and the one under way, and no history
_OF_NODE = {*MEMORY, TierKind.LOCAL}
_TAKES_NODES = {Loss.NODE, Loss.NODES}
BACK_PAST_SEVERAL = {FailureKind.SILENT, FailureKind.SPIKE}  # the newest save is of no use after these
_SURVIVES = {
    TierKind.HOST: {Loss.PROCESS},
    TierKind.LOCAL: {Loss.PROCESS, Loss.MEMORY},
    TierKind.PEER: {Loss.PROCESS, Loss.MEMORY, Loss.NODE},
    TierKind.SHARED: set(Loss),
    TierKind.OBJECT: set(Loss),
}


class Tier(NamedTuple):
    """One tier as given. Bandwidths in bytes/s: aggregate, per node, per GPU. [s, bytes, 1].

    ``background``: the bytes come from the tier below while training goes on at ``speed``.
    """

    name: str
    kind: TierKind
    stall_s: float | None = None
    drain_s: float | None = None
    background: bool = False
    speed: float = 1.0
    bandwidth_bytes_per_s: float | None = None
    bandwidth_per_node_bytes_per_s: float | None = None
    bandwidth_per_gpu_bytes_per_s: float | None = None
    read_bandwidth_bytes_per_s: float | None = None
    read_bandwidth_per_node_bytes_per_s: float | None = None
    latency_s: float = 0.0
    capacity_bytes: float | None = None
    capacity_per_node_bytes: float | None = None
    load_s: float | None = None  # of a recovery from it; None: computed, or that of the spec
    survives: tuple[str, ...] | None = None  # names of classes; None: by its kind and what each class loses
    replicas: int = 2  # peer memory: copies of a shard on different nodes
    lost_at_once: int = 2  # peer memory: nodes that a simultaneous loss takes
    simultaneous: float = 0.0  # peer memory: share of the node losses that take several nodes at once
    endurance_per_node_bytes: float | None = None  # local ssd: bytes that may be written in its life


def survival(tier: Tier, one: FailureClass | ClassCost, nodes: int) -> float:
    """Probability that a save of this tier is usable after a failure of this class.

    Parameters
    ----------
    tier : Tier
        Where the save is.
    one : FailureClass or ClassCost
        What fails.
    nodes : int
        Nodes of the job. [1]

    Returns
    -------
    float
        1 or 0 by the kind of the tier and what the class loses, or as ``survives`` says. For peer memory, a loss of a
        node counts the share of them that takes several at once, and one of several nodes is always such a one. A
        class that takes the process or the memory only is none of them: the copies on other nodes are there. [1]

    Raises
    ------
    InputError
        If there are fewer nodes than copies.
    """
    if not _is_there(tier, one):
        return 0.0
    if tier.kind is not TierKind.PEER or one.loses not in _TAKES_NODES:
        return 1.0
    kept = _kept_by_peers(tier, nodes)
    return kept if one.loses is Loss.NODES else 1.0 - tier.simultaneous * (1.0 - kept)


def _is_there(tier: Tier, one: FailureClass | ClassCost) -> bool:
    """Whether this tier is for this class at all."""
    goes_far_back = one.kind in BACK_PAST_SEVERAL
    if goes_far_back and tier.kind in MEMORY:
        return False
    if tier.survives is not None:
        return one.name in tier.survives or "all" in tier.survives
    # That the disks of a node keep a history has to be said.
    return tier.kind not in _OF_NODE if goes_far_back else one.loses in _SURVIVES[tier.kind]


def _kept_by_peers(tier: Tier, nodes: int) -> float:
    """Probability that a copy of every shard is left when ``lost_at_once`` nodes are lost. [1]."""
    if nodes < tier.replicas:
        raise InputError(
            f"storage.tiers: {tier.name} keeps {tier.replicas} copies on different nodes, and the job has {nodes}",
            hint="delete the tier at this scale, or write fewer replicas",
        )
    from ckptplan.cost.replicas import recoverable_probability

    return float(recoverable_probability(nodes, tier.replicas, min(tier.lost_at_once, nodes)))


class OrderFault(NamedTuple):
    """A tier that stands in the wrong place: its index, what is wrong, what to do."""

    tier: int
    message: str
    hint: str


def faults_of_order(
    tiers: Sequence[str], classes: Sequence[str], survival: Sequence[Sequence[float]]
) -> list[OrderFault]:
    """Tiers that survive less than the one before them, and a last one that does not survive everything.

    Parameters
    ----------
    tiers, classes : sequence of str
        Names, the cheapest tier first.
    survival : sequence of sequence of float
        By tier and class. [1]

    Returns
    -------
    list of OrderFault
    """
    found = []
    for index, (below, above) in enumerate(pairwise(survival), start=1):
        lost = [name for name, low, high in zip(classes, below, above, strict=True) if high < low]
        if lost:
            message = f"{tiers[index]} does not survive {_listed(lost)}, which {tiers[index - 1]} before it does"
            hint = "order the tiers so that each survives what the one before it survives, or correct survives"
            found.append(OrderFault(index, message, hint))
    lost = [name for name, there in zip(classes, survival[-1], strict=True) if there < 1.0] if survival else []
    if lost and not found:
        message = f"the last tier, {tiers[-1]}, does not survive {_listed(lost)}"
        hint = "end the list with a tier that survives all classes: a file system or an object store"
        found.append(OrderFault(len(tiers) - 1, message, hint))
    return found


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)

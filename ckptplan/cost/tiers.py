"""Storage tiers: what a save to each one costs, and which failures it survives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.cost.classes import ClassCost
from ckptplan.cost.scenario import COPY_BANDWIDTH_BYTES_PER_S
from ckptplan.cost.size import Sizes, sizes
from ckptplan.cost.tier_survival import Tier, TierKind, faults_of_order, survival
from ckptplan.errors import InputError, Problem
from ckptplan.units import format_size

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario

__all__ = ["Tier", "TierCost", "TierKind", "tier_costs"]


class TierCost(NamedTuple):
    """One tier at one scale. ``survival`` is the probability that its save is there after each class. [s, bytes, 1]."""

    name: str
    kind: TierKind
    stall_s: float  # that a save to it adds to the saves of the tiers below
    alone_stall_s: float  # of a save to it where no tier below is kept: a background tier needs the copy-out
    flush_s: float
    speed: float
    load_s: float | None
    survival: tuple[float, ...]  # by class, in their order
    bytes_per_save: float  # in the whole tier, copies included
    fits: int | None  # saves that it has room for, if its capacity is known
    endurance_bytes: float | None
    notes: tuple[str, ...] = ()

    @property
    def exposed_s(self) -> float:
        """Work that training does beside a drain. [s]."""
        return self.speed * self.flush_s

    @property
    def slowed_s(self) -> float:
        """Work that a drain takes from training. [s]."""
        return (1.0 - self.speed) * self.flush_s


def tier_costs(scenario: Scenario, classes: Sequence[ClassCost]) -> tuple[TierCost, ...]:
    """Every tier of a scenario at its scale.

    Raises
    ------
    InputError
        If a time is neither given nor computable, or the tiers are not nested: each must survive what the one before
        it survives.
    """
    size = sizes(scenario.model, scenario.cluster)
    costs = tuple(_cost(tier, scenario, size, classes) for tier in scenario.storage.tiers)
    found = faults_of_order([one.name for one in costs], [one.name for one in classes], [c.survival for c in costs])
    if found:
        raise InputError([Problem(f"storage.tiers: {fault.message}", hint=fault.hint) for fault in found])
    return costs


def _cost(tier: Tier, scenario: Scenario, size: Sizes, classes: Sequence[ClassCost]) -> TierCost:
    written_s = _write_s(tier, size)
    copy_s = size.written_per_rank_bytes / COPY_BANDWIDTH_BYTES_PER_S
    stall_s, flush_s, alone_s = 0.0, 0.0, 0.0
    if tier.background:
        flush_s = _known(tier.drain_s, written_s, tier, "drain")
        stall_s = tier.stall_s or 0.0
        alone_s = stall_s + copy_s
    else:
        stall_s = alone_s = _known(tier.stall_s, written_s, tier, "stall")
    copies = tier.replicas if tier.kind is TierKind.PEER else 1
    bytes_per_save = copies * size.total_bytes
    capacity = tier.capacity_bytes
    if tier.capacity_per_node_bytes is not None:
        capacity = tier.capacity_per_node_bytes * scenario.cluster.nodes
    fits = None if capacity is None else int(capacity // bytes_per_save)
    endurance = tier.endurance_per_node_bytes
    return TierCost(
        name=tier.name,
        kind=tier.kind,
        stall_s=stall_s,
        alone_stall_s=alone_s,
        flush_s=flush_s,
        speed=tier.speed if tier.background else 1.0,
        load_s=_load_s(tier, scenario),
        survival=tuple(survival(tier, one, scenario.cluster.nodes) for one in classes),
        bytes_per_save=bytes_per_save,
        fits=fits,
        endurance_bytes=None if endurance is None else endurance * scenario.cluster.nodes,
        notes=_room(tier, fits, bytes_per_save, capacity),
    )


def _room(tier: Tier, fits: int | None, need: float, have: float | None) -> tuple[str, ...]:
    if fits is None or have is None or fits >= 1:
        return ()
    return (
        f"tier {tier.name}: a save takes {format_size(need)}, and the tier has room for {format_size(have)}; "
        "delete the tier, or raise its capacity",
    )


def _known(given_s: float | None, computed_s: float | None, tier: Tier, what: str) -> float:
    if given_s is not None:
        return given_s
    if computed_s is None:
        raise InputError(
            f"the {what} of the tier {tier.name!r} is not given, and no bandwidth gives it",
            hint=f"write {what}: 5 s, or bandwidth: 100 GB/s, or bandwidth_per_node: 5 GB/s",
        )
    return computed_s


def _write_s(tier: Tier, size: Sizes) -> float | None:
    """Time to write one save: the longest that any limit asks for. [s]."""
    sent = tier.replicas - 1 if tier.kind is TierKind.PEER else 1  # the first copy stays in the node
    limits = (
        (size.total_bytes, tier.bandwidth_bytes_per_s),
        (size.written_per_node_bytes, tier.bandwidth_per_node_bytes_per_s),
        (size.written_per_rank_bytes, tier.bandwidth_per_gpu_bytes_per_s),
    )
    times = [sent * amount / rate for amount, rate in limits if rate is not None]
    return max(times) + tier.latency_s if times else None


def _load_s(tier: Tier, scenario: Scenario) -> float | None:
    """Time to read one save back, where a rate is known: every rank reads what it holds, as in a restart. [s]."""
    if tier.load_s is not None:
        return tier.load_s
    cluster = scenario.cluster
    size = sizes(replace(scenario.model, frozen_weights_saved=True), cluster)
    of_node = min(cluster.gpus, cluster.gpus_per_node) * size.held_per_rank_bytes
    limits = (
        (size.held_by_all_bytes, tier.read_bandwidth_bytes_per_s),
        (of_node, tier.read_bandwidth_per_node_bytes_per_s),
    )
    times = [amount / rate for amount, rate in limits if rate is not None]
    return max(times) + tier.latency_s if times else None

"""The lever of one more tier: the newest save is also in the memory of its node and of another one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.cost.saving import save_cost
from ckptplan.cost.scenario import COPY_BANDWIDTH_BYTES_PER_S, Mode, Scenario
from ckptplan.cost.size import sizes
from ckptplan.cost.tier_survival import Tier, TierKind
from ckptplan.errors import InputError
from ckptplan.plan.levers.change import Change
from ckptplan.plan.record import TIERS
from ckptplan.units import format_rate, format_size, format_time

if TYPE_CHECKING:
    from ckptplan.cost.size import Sizes

# Assumed: a fifth of one link of 400 Gbit/s per node is free for copies to a peer, and what it takes from training.
PEER_BYTES_PER_S = 10e9
PEER_SPEED = 0.99
_KEPT = 2  # saves in memory: the newest, and the one under way
_COPIES = 2  # of each, one in the own node
_AT_ONCE = 0.05  # share of the losses of a node that take several: assumed, as by a switch or a power feed
PEER = "peer memory"


class _Saving(NamedTuple):
    """How a save leaves the GPUs, and how it gets from host memory to storage. [s, 1]."""

    stall_s: float
    copy_s: float  # of which the copy-out alone would take
    send_s: float  # of the copy to a peer
    drain_s: float
    speed: float


def copies_in_memory(scenario: Scenario) -> Change | str:
    """A tier of peer memory below those of the spec that survive more, or below storage where the spec has none.

    A recovery from memory loads as fast as the link of each node lets it. Otherwise careful: the copy to the peer
    blocks where no tier of the node is below it, and a stall that is longer than the copy-out is paid for by each of
    both tiers.
    """
    tiers, kinds = scenario.storage.tiers, {tier.kind for tier in scenario.storage.tiers}
    if TierKind.PEER in kinds:
        return "the spec has a tier of peer memory already"
    if scenario.strategies is not None and TIERS not in scenario.strategies:
        return "only the strategies asked for are compared"
    if scenario.cluster.nodes < _COPIES:
        return "the job has one node"
    size = sizes(scenario.model, scenario.cluster)
    need, have = _KEPT * _COPIES * size.written_per_node_bytes, scenario.cluster.host_memory_per_node_bytes
    if have is not None and need > have:
        return f"the copies take {format_size(need)} of memory per node, which has {format_size(have)}"
    try:
        saving = _saving(scenario, size)
    except InputError as error:
        return str(error)
    changed = replace(scenario, storage=replace(scenario.storage, tiers=_with_peer(tiers, saving)))
    text = f"{format_time(saving.send_s)} to a peer per save"
    if not tiers:
        text += f", {format_time(saving.drain_s)} to storage in the background"
    return Change(changed, text, tuple(_notes(need, known=have is not None, saving=saving)))


def _saving(scenario: Scenario, size: Sizes) -> _Saving:
    """As the best of the asynchronous saves does it, else as storage and the copy-out allow."""
    copy_s, send_s = (
        size.written_per_rank_bytes / COPY_BANDWIDTH_BYTES_PER_S,
        size.written_per_node_bytes / PEER_BYTES_PER_S,
    )
    costs = [save_cost(save, scenario) for save in scenario.saves]
    background = [cost for cost in costs if cost.mode is Mode.ASYNCHRONOUS]
    if background:
        best = min(
            background, key=lambda cost: cost.stall_s + (1.0 - cost.training_speed_while_flushing) * cost.flush_s
        )
        return _Saving(best.stall_s, copy_s, send_s, best.flush_s, best.training_speed_while_flushing)
    return _Saving(copy_s, copy_s, send_s, min((cost.write_s for cost in costs), default=0.0), 1.0)


def _with_peer(tiers: tuple[Tier, ...], saving: _Saving) -> tuple[Tier, ...]:
    of_node = [tier for tier in tiers if tier.kind in (TierKind.HOST, TierKind.LOCAL)]
    if of_node:
        peer = Tier(
            PEER,
            TierKind.PEER,
            background=True,
            speed=PEER_SPEED,
            bandwidth_per_node_bytes_per_s=PEER_BYTES_PER_S,
            read_bandwidth_per_node_bytes_per_s=PEER_BYTES_PER_S,
            replicas=_COPIES,
            simultaneous=_AT_ONCE,
        )
        return (*of_node, peer, *tiers[len(of_node) :])
    peer = Tier(
        PEER,
        TierKind.PEER,
        stall_s=saving.stall_s + saving.send_s,
        read_bandwidth_per_node_bytes_per_s=PEER_BYTES_PER_S,
        replicas=_COPIES,
        simultaneous=_AT_ONCE,
    )
    if tiers:
        return (peer, *tiers)
    extra_s = max(saving.stall_s - saving.copy_s, 0.0)
    storage = Tier(
        "storage", TierKind.SHARED, stall_s=extra_s, drain_s=saving.drain_s, background=True, speed=saving.speed
    )
    return (peer, storage)


def _notes(need: float, *, known: bool, saving: _Saving) -> list[str]:
    notes = [] if known else [f"host memory of {format_size(need)} per node must be free for the copies"]
    notes.append(
        f"{format_rate(PEER_BYTES_PER_S)} per node to a peer and back is assumed; a loss of several nodes at once goes "
        "back to storage"
    )
    if saving.speed == 1.0:
        notes.append("the drain to storage is taken not to slow training")
    return notes

"""The lever of one more tier: the newest save is also in the memory of its node and of another one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.cost.saving import SaveCost, save_cost
from ckptplan.cost.scenario import COPY_BANDWIDTH_BYTES_PER_S, Mode, Scenario
from ckptplan.cost.size import sizes
from ckptplan.cost.tier_survival import Tier, TierKind
from ckptplan.errors import InputError
from ckptplan.plan.levers.catalogue import Change
from ckptplan.plan.record import TIERS
from ckptplan.units import format_rate, format_size, format_time

if TYPE_CHECKING:
    from ckptplan.cost.size import Sizes

# Assumed: a fifth of one link of 400 Gbit/s per node is free for copies to a peer, and what it takes from training.
PEER_BYTES_PER_S = 10e9
PEER_SPEED = 0.99
_KEPT = 2  # saves in memory: the newest, and the one under way
_COPIES = 2  # of each, one in the own node


class _Shared(NamedTuple):
    """How a save gets to what survives everything. [s, 1]."""

    stall_s: float  # of the copy-out before it
    drain_s: float
    speed: float


def copies_in_memory(scenario: Scenario) -> Change | str:
    """Tiers of host and peer memory below those of the spec, or below storage where the spec has none.

    A recovery from memory loads as fast as the spec says of storage, which is careful.
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
        shared = _shared(scenario, size)
    except InputError as error:
        return str(error)
    made = _below(tiers, shared) if tiers else (*_memory(shared.stall_s), _to_storage(shared))
    changed = replace(scenario, storage=replace(scenario.storage, tiers=made))
    return Change(changed, _text(made, tiers), tuple(_notes(need, known=have is not None, speed=shared.speed)))


def _shared(scenario: Scenario, size: Sizes) -> _Shared:
    """As the best of the asynchronous saves does it, else as storage and the copy-out allow."""
    background = [s for s in scenario.saves if s.mode is Mode.ASYNCHRONOUS]
    costs: list[SaveCost] = [save_cost(save, scenario) for save in background]
    if costs:
        best = min(costs, key=lambda cost: cost.stall_s + (1.0 - cost.training_speed_while_flushing) * cost.flush_s)
        return _Shared(best.stall_s, best.flush_s, best.training_speed_while_flushing)
    copy_s = size.written_per_rank_bytes / COPY_BANDWIDTH_BYTES_PER_S
    if scenario.storage.tiers:
        return _Shared(copy_s, 0.0, 1.0)
    return _Shared(copy_s, min(save_cost(save, scenario).write_s for save in scenario.saves), 1.0)


def _memory(stall_s: float) -> tuple[Tier, Tier]:
    return Tier("host memory", TierKind.HOST, stall_s=stall_s), _peer()


def _peer() -> Tier:
    return Tier(
        "peer memory",
        TierKind.PEER,
        background=True,
        speed=PEER_SPEED,
        bandwidth_per_node_bytes_per_s=PEER_BYTES_PER_S,
        replicas=_COPIES,
    )


def _to_storage(shared: _Shared) -> Tier:
    return Tier("storage", TierKind.SHARED, drain_s=shared.drain_s, background=True, speed=shared.speed)


def _below(tiers: tuple[Tier, ...], shared: _Shared) -> tuple[Tier, ...]:
    """Peer memory after what is lost with a node, and host memory before it where nothing is."""
    of_node = [tier for tier in tiers if tier.kind in (TierKind.HOST, TierKind.LOCAL)]
    if of_node:
        return (*of_node, _peer(), *tiers[len(of_node) :])
    return (*_memory(shared.stall_s), *tiers)


def _text(made: tuple[Tier, ...], before: tuple[Tier, ...]) -> str:
    had = {tier.name for tier in before}
    added = [tier for tier in made if tier.name not in had and tier.kind in (TierKind.HOST, TierKind.PEER)]
    parts = [f"{one.name} ({format_time(one.stall_s)} stall)" for one in added if one.stall_s is not None]
    parts += [f"{one.name} ({format_rate(PEER_BYTES_PER_S)} per node)" for one in added if one.stall_s is None]
    return f"{' and '.join(parts)} below storage"


def _notes(need: float, *, known: bool, speed: float) -> list[str]:
    notes = [] if known else [f"host memory of {format_size(need)} per node must be free for the copies"]
    notes.append(
        f"{format_rate(PEER_BYTES_PER_S)} per node to a peer, which slows training by {100 * (1 - PEER_SPEED):.0f} % "
        "meanwhile, are assumed; a loss of several nodes at once goes back to storage"
    )
    if speed == 1.0:
        notes.append("the drain to storage is taken not to slow training")
    return notes

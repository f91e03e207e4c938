"""The storage tiers: each with a time or a bandwidth, each surviving at least what the one before it survives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckptplan.cost.classes import OTHER, FailureClass, FailureKind
from ckptplan.cost.scenario import Cluster
from ckptplan.cost.tier_survival import BACK_PAST_SEVERAL, MEMORY, Tier, TierKind, faults_of_order, survival
from ckptplan.spec.classes import names_of_classes
from ckptplan.spec.hints import nearest, shown
from ckptplan.spec.schema_faults import ALL, BACKGROUND_KEYS, MOST_TIERS, PEER_KEYS, WRITE_RATES
from ckptplan.spec.tree import ListNode, ScalarNode

if TYPE_CHECKING:
    from ckptplan.spec.record import Record

_GROUP = "storage.tiers"


def build_tiers(record: Record, classes: tuple[FailureClass, ...], cluster: Cluster | None) -> tuple[Tier, ...]:
    """The tiers; what is at fault is noted and left out."""
    count = record.fields.lengths.get(_GROUP, 0)
    if count > MOST_TIERS:
        message = f"{count} tiers, but at most {MOST_TIERS} are compared"
        record.fields.fault(_GROUP, message, "keep those that a run could use")
        return ()
    _refuse_equal_names(record, count)
    found = [_tier(record, f"{_GROUP}[{index}]", index, classes) for index in range(count)]
    tiers = tuple(tier for tier in found if tier is not None)
    if record.fields.whole(_GROUP) and cluster is not None:
        _check_the_nodes(record, tiers, cluster.nodes)
        if record.fields.whole(_GROUP) and record.fields.whole("failures.classes"):
            _check_the_order(record, tiers, _with_other(classes), cluster.nodes)
    return tiers


def _with_other(classes: tuple[FailureClass, ...]) -> tuple[FailureClass, ...]:
    """The classes, with what none of them claims."""
    rest = 1.0 - sum(one.share or 0.0 for one in classes)
    return (*classes, FailureClass(OTHER, FailureKind.CRASH)) if rest > 1e-9 else classes


def _check_the_nodes(record: Record, tiers: tuple[Tier, ...], nodes: int) -> None:
    for index, tier in enumerate(tiers):
        path = f"{_GROUP}[{index}]"
        if tier.kind is not TierKind.PEER:
            continue
        if not 2 <= tier.replicas <= nodes:
            several = f"{tier.replicas:,} copies of a shard on different nodes, of which the job has {nodes:,}"
            message = several if tier.replicas > 1 else "a single copy of a shard is in its own node only"
            hint = f"write 2 to {nodes}" if nodes > 1 else "write kind: host memory"
            record.fields.fault(f"{path}.replicas", message, hint)
        if tier.lost_at_once > nodes:
            message = f"{tier.lost_at_once:,} nodes lost at once, of which the job has {nodes:,}"
            record.fields.fault(f"{path}.lost_at_once", message, f"write 1 to {nodes}")


def _check_the_order(record: Record, tiers: tuple[Tier, ...], classes: tuple[FailureClass, ...], nodes: int) -> None:
    table = [[survival(tier, one, nodes) for one in classes] for tier in tiers]
    for fault in faults_of_order([tier.name for tier in tiers], [one.name for one in classes], table):
        path = f"{_GROUP}[{fault.tier}]"
        at = f"{path}.survives" if record.fields.has(f"{path}.survives") else path
        record.fields.fault(at, fault.message, fault.hint)


def _name(record: Record, path: str) -> str | None:
    given = record.fields.given.get(f"{path}.name") or record.fields.given.get(f"{path}.kind")
    return None if given is None or not record.fields.sound(f"{path}.name") else str(given.si)


def _refuse_equal_names(record: Record, count: int) -> None:
    first: dict[str, int] = {}
    for index in range(count):
        path = f"{_GROUP}[{index}]"
        name = _name(record, path)
        if name is not None and first.setdefault(name, index) != index:
            at = f"{path}.name" if record.fields.has(f"{path}.name") else path
            message = f"the name {shown(name)} is taken by tiers[{first[name]}]"
            record.fields.fault(at, message, "give every tier its own name")


def _tier(record: Record, path: str, index: int, classes: tuple[FailureClass, ...]) -> Tier | None:
    fields = record.fields
    kind = record.take(f"{path}.kind")
    if kind is None:
        return None
    background = record.take(f"{path}.write", "blocking") == "background"
    _refuse_foreign_keys(record, path, TierKind(kind))
    if fields.sound(f"{path}.write"):
        _refuse_background_keys(record, path, background)
        _needs_a_time(record, path, background)
    if background and index == 0:
        message = "the first tier has none below it to be drained from"
        fields.fault(f"{path}.write", message, "write a host memory tier before it, or write: blocking")
    survives = _survives(record, path, TierKind(kind), classes)
    if not fields.whole(path):
        return None
    return Tier(
        name=record.take(f"{path}.name", kind),
        kind=TierKind(kind),
        stall_s=_given(record, f"{path}.stall"),
        drain_s=_given(record, f"{path}.drain"),
        background=background,
        speed=record.take(f"{path}.training_speed_while_draining", 1.0) if background else 1.0,
        bandwidth_bytes_per_s=_given(record, f"{path}.bandwidth"),
        bandwidth_per_node_bytes_per_s=_given(record, f"{path}.bandwidth_per_node"),
        bandwidth_per_gpu_bytes_per_s=_given(record, f"{path}.bandwidth_per_gpu"),
        read_bandwidth_bytes_per_s=_given(record, f"{path}.read_bandwidth"),
        read_bandwidth_per_node_bytes_per_s=_given(record, f"{path}.read_bandwidth_per_node"),
        latency_s=record.take(f"{path}.latency", 0.0),
        capacity_bytes=_given(record, f"{path}.capacity"),
        capacity_per_node_bytes=_given(record, f"{path}.capacity_per_node"),
        load_s=_given(record, f"{path}.load"),
        survives=survives,
        replicas=record.take(f"{path}.replicas", 2) if kind == TierKind.PEER else 1,
        lost_at_once=record.take(f"{path}.lost_at_once", 2) if kind == TierKind.PEER else 1,
        simultaneous=record.take(f"{path}.simultaneous", 0.0) if kind == TierKind.PEER else 0.0,
        endurance_per_node_bytes=_given(record, f"{path}.endurance_per_node"),
    )


def _given(record: Record, path: str) -> Any:
    return record.take(path) if record.fields.has(path) else None


def _refuse_background_keys(record: Record, path: str, background: bool) -> None:
    for key in () if background else BACKGROUND_KEYS:
        if record.fields.has(f"{path}.{key}"):
            message = "belongs to write: background; the write here is blocking"
            record.fields.fault(f"{path}.{key}", message, "write write: background, or delete this key")


def _refuse_foreign_keys(record: Record, path: str, kind: TierKind) -> None:
    fields = record.fields
    for key in () if kind is TierKind.PEER else PEER_KEYS:
        if fields.has(f"{path}.{key}"):
            message = f"belongs to peer memory; the kind here is {kind}"
            fields.fault(f"{path}.{key}", message, "write kind: peer memory, or delete this key")
    if kind is not TierKind.LOCAL and fields.has(f"{path}.endurance_per_node"):
        message = f"belongs to a local ssd; the kind here is {kind}"
        fields.fault(f"{path}.endurance_per_node", message, "write kind: local ssd, or delete this key")
    if fields.has(f"{path}.capacity") and fields.has(f"{path}.capacity_per_node"):
        fields.fault(f"{path}.capacity", "the capacity is wanted once", "keep capacity or capacity_per_node")


def _needs_a_time(record: Record, path: str, background: bool) -> None:
    stall = record.fields.given.get(f"{path}.stall")
    if stall is not None and stall.si == 0 and not background:
        hint = "write the copy-out time, for example 100 ms, or write: background"
        record.fields.fault(f"{path}.stall", "zero makes no sense here: a blocking save blocks for a moment", hint)
    wanted = "drain" if background else "stall"
    if not record.fields.may_have(path, wanted, *WRITE_RATES):
        message = f"{wanted} is not given, and no bandwidth gives it"
        record.fields.fault(path, message, f"write {wanted}: 5 s, or bandwidth: 2 TB/s, or bandwidth_per_node: 10 GB/s")


def _survives(record: Record, path: str, kind: TierKind, classes: tuple[FailureClass, ...]) -> tuple[str, ...] | None:
    """The names of classes, or ``all``; None if not given."""
    fields, key = record.fields, f"{path}.survives"
    given = fields.given.get(key)
    if given is None:
        return None
    node = given.node
    items = node.items if isinstance(node, ListNode) else [node]
    names = tuple(item.raw.strip() for item in items if isinstance(item, ScalarNode))
    record.note(key, ", ".join(names), ", ".join(names), node.origin)
    written = names_of_classes(record)
    far_back = [one.name for one in classes if one.kind in BACK_PAST_SEVERAL] if kind in MEMORY else []
    known = [ALL, OTHER, *(name for name in written if name is not None)]
    for item, name in zip(items, names, strict=True):
        if None in written or not fields.sound("failures.classes"):
            break  # a class of this name may have been meant
        if name in far_back:
            message = f"after {name} training goes back past several saves, and memory holds the newest one only"
            fields.fault(key, message, f"delete {name} here", item.place)
        elif name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near}?" if near else f"write one of {', '.join(known)}"
            fields.fault(key, f"there is no class {shown(name)}", hint, item.place)
    if ALL in names and far_back:
        message = f"all but {' and '.join(far_back)}: memory holds the newest save only, and training goes back further"
        record.warn(key, message, "list the classes, to have it said")
    return names

"""The groups save and storage: strategies that can be computed, each under its own name."""

from __future__ import annotations

from dataclasses import replace

from ckptplan.cost.scenario import COPY_BANDWIDTH_BYTES_PER_S, Mode, Save, SharedLink, Storage
from ckptplan.spec.hints import shown
from ckptplan.spec.record import Record
from ckptplan.spec.schema import ASYNCHRONOUS_ONLY, SLOW_DOWNS
from ckptplan.spec.tree import Node

_WRITE_KEYS = ("write_bandwidth", "write_bandwidth_per_node", "write_bandwidth_per_writer")


def build_storage(record: Record) -> Storage:
    """The bandwidths, as far as they are given."""
    take = record.take
    storage = Storage(
        write_bandwidth_bytes_per_s=take("storage.write_bandwidth"),
        read_bandwidth_bytes_per_s=take("storage.read_bandwidth"),
        write_bandwidth_per_node_bytes_per_s=take("storage.write_bandwidth_per_node"),
        write_bandwidth_per_writer_bytes_per_s=take("storage.write_bandwidth_per_writer"),
        peak_write_bandwidth_bytes_per_s=take("storage.peak_write_bandwidth"),
        latency_s=take("storage.latency", 0.0),
    )
    sustained, peak = storage.write_bandwidth_bytes_per_s, storage.peak_write_bandwidth_bytes_per_s
    if peak is not None and sustained is not None and record.is_so(peak < sustained):
        record.fields.fault(
            "storage.peak_write_bandwidth",
            "the peak is below the sustained write_bandwidth",
            "are the two exchanged, or is a unit wrong (Gbit/s for GB/s)?",
        )
    return storage


def build_saves(record: Record) -> tuple[Save, ...] | None:
    """The strategies, or None if a fault was noted."""
    count = record.fields.lengths.get("save", 0)
    if "" in record.fields.groups and not record.fields.has("save") and "save" not in record.fields.lengths:
        if record.fields.lengths.get("storage.tiers"):
            return ()  # each tier that survives everything is a strategy by itself
        hint = "write save: [{name: sharded, mode: sharded, stall: 60 s}], or storage: {tiers: ...}"
        record.fields.fault("save", "missing", hint)
    _refuse_equal_names(record, count)
    saves = [_save(record, f"save[{index}]") for index in range(count)]
    complete = tuple(save for save in saves if save is not None)
    return complete if complete and record.fields.whole("save") and len(complete) == len(saves) else None


def _name(record: Record, path: str) -> str | None:
    """The name of a strategy, its mode if it has none; None if that is at fault itself."""
    given = record.fields.given.get(f"{path}.name")
    if given is None and record.fields.sound(f"{path}.name"):
        given = record.fields.given.get(f"{path}.mode")
    if given is not None:
        return str(given.si)
    return str(Mode.SHARDED) if record.fields.sound(path, f"{path}.name", f"{path}.mode") else None


def _refuse_equal_names(record: Record, count: int) -> None:
    """Checked before the strategies are built, so that a fault of another key does not hide it."""
    first: dict[str, int] = {}
    for index in range(count):
        path = f"save[{index}]"
        name = _name(record, path)
        if name is not None and first.setdefault(name, index) != index:
            record.fields.fault(
                f"{path}.name" if record.fields.has(f"{path}.name") else path,
                f"the name {shown(name)} is taken by save[{first[name]}]",
                "give every strategy its own name",
            )
        elif name == "tiers" and record.fields.lengths.get("storage.tiers"):
            at = f"{path}.name" if record.fields.has(f"{path}.name") else path
            record.fields.fault(at, "the name tiers is kept for the plan over storage.tiers", "give it another name")


def _save(record: Record, path: str) -> Save | None:
    fields = record.fields
    if not fields.sound(path, f"{path}.mode"):
        return None
    given_mode = fields.given.get(f"{path}.mode")
    mode = Mode(str(given_mode.si)) if given_mode else Mode.SHARDED
    name = record.take(f"{path}.name", str(mode))
    record.take(f"{path}.mode", str(mode))
    if record.fields.has(f"{path}.preset"):
        record.take(f"{path}.preset")
    if given_mode is None and "async" in name.lower():
        record.warn(path, "mode is left out, so it is sharded, though the name says async", "write mode: asynchronous")
    stall = record.take(f"{path}.stall")
    first = record.take(f"{path}.replicated", "spread") == "first"
    _needs_a_rate(record, path, mode)
    if mode is not Mode.ASYNCHRONOUS:
        _refuse_asynchronous_keys(record, path, mode)
        return Save(name, mode, stall, spread_replicas=not first)
    return _asynchronous(record, path, Save(name, mode, stall, spread_replicas=not first))


def _asynchronous(record: Record, path: str, save: Save) -> Save:
    """The strategy with what only an asynchronous one has."""
    take = record.take
    _refuse_two_slow_downs(record, path)
    overlapped = take(f"{path}.copy_out", "blocking") == "overlapped"
    if overlapped and not record.fields.may_have("training", "step_time", "forward_backward"):
        hint = "write training: {step_time: 5 s}, or copy_out: blocking"
        record.fields.fault(f"{path}.copy_out", "overlapped needs the time of forward and backward", hint)
    return replace(
        save,
        flush_s=take(f"{path}.flush"),
        copy_bandwidth_bytes_per_s=take(f"{path}.copy_bandwidth", COPY_BANDWIDTH_BYTES_PER_S),
        training_speed_while_flushing=_speed(record, path),
        in_flight=take(f"{path}.in_flight", 1),
        overlapped_copy=overlapped,
        step_time_while_flushing_s=_slow_step(record, path),
        step_time_outside_s=_optional(record, f"{path}.step_time_outside"),
        shared_link=_shared_link(record, path),
    )


def _optional(record: Record, path: str) -> float | None:
    """The value of a key that is in force only where it is given."""
    found: float | None = record.take(path) if record.fields.has(path) else None
    return found


def _speed(record: Record, path: str) -> float | None:
    key = f"{path}.training_speed_while_flushing"
    if any(record.fields.has(f"{path}.{name}") or f"{path}.{name}" in record.fields.groups for name in SLOW_DOWNS):
        return _optional(record, key)
    record.take(key, 1.0)
    return None


def _slow_step(record: Record, path: str) -> float | None:
    """A measured step time during a flush, which needs one outside and is not shorter than it."""
    fields, key = record.fields, f"{path}.step_time_while_flushing"
    slow = _optional(record, key)
    if slow is None:
        return None
    outside = f"{path}.step_time_outside" if fields.has(f"{path}.step_time_outside") else "training.step_time"
    found = fields.given.get(outside)
    if found is None:
        if fields.sound("training", outside) and not fields.has(outside):
            fields.fault(key, "no step time outside saves is given", "write training: {step_time: 5 s}")
        return slow
    if not isinstance(found.si, str | Node) and record.is_so(slow < found.si):
        fields.fault(key, f"shorter than {outside}", "are the two exchanged? a flush does not speed training up")
    return slow


def _shared_link(record: Record, path: str) -> SharedLink | None:
    group = f"{path}.shared_link"
    if group not in record.fields.groups:
        return None
    bandwidth, exposed = record.take(f"{group}.bandwidth"), record.take(f"{group}.exposed_communication")
    return SharedLink(bandwidth, exposed) if bandwidth is not None and exposed is not None else None


def _refuse_two_slow_downs(record: Record, path: str) -> None:
    fields = record.fields
    found = [name for name in SLOW_DOWNS if fields.has(f"{path}.{name}") or f"{path}.{name}" in fields.groups]
    if len(found) > 1:
        message = f"{' and '.join(found)} are given, but the slow-down is wanted once"
        fields.fault(f"{path}.{found[-1]}", message, "keep the best founded one: a measured step time")


def _refuse_asynchronous_keys(record: Record, path: str, mode: Mode) -> None:
    for key in ASYNCHRONOUS_ONLY:
        if record.fields.has(f"{path}.{key}") or f"{path}.{key}" in record.fields.groups:
            message = f"belongs to mode asynchronous; the mode here is {mode}"
            record.fields.fault(f"{path}.{key}", message, "write mode: asynchronous, or delete this key")


def _needs_a_rate(record: Record, path: str, mode: Mode) -> None:
    """A time that is not given must follow from the storage."""
    wanted = "flush" if mode is Mode.ASYNCHRONOUS else "stall"
    if not record.fields.may_have(path, wanted) and not record.fields.may_have("storage", *_WRITE_KEYS, "measured"):
        record.fields.fault(
            path,
            f"{wanted} is not given, and no write bandwidth gives it",
            f"write {wanted}: 60 s, or storage: {{write_bandwidth: 10 GB/s}}",
        )

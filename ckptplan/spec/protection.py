"""What guards a run beside its saves: watchdog, verification, retention, spares, prediction; and its power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckptplan.cost.classes import BUILT_IN, FailureKind
from ckptplan.cost.protection import Prediction, Retention, Spares, Verification, Watchdog
from ckptplan.cost.scenario import Power
from ckptplan.spec.fields import MOST_GPUS
from ckptplan.spec.schema_faults import THEN_KEYS
from ckptplan.units import format_time

if TYPE_CHECKING:
    from ckptplan.spec.record import Record

_DECAY = 0.2  # of seen_at
_DAY_S = 86_400.0


def build_watchdog(record: Record) -> Watchdog | None:
    """The watchdog, if one is given."""
    path, fields = "failures.watchdog", record.fields
    if path not in fields.groups:
        return None
    if not _has_class(record, FailureKind.HANG):
        record.warn(path, "finds nothing: no class is a hang", "write classes: [{kind: hang, share: 2 %}]")
    timeout_s = record.take(f"{path}.timeout")
    alarms = record.take(f"{path}.false_alarms_per_day")
    if alarms is None:
        for key in ("seen_at", "decay"):
            if fields.has(f"{path}.{key}") and not fields.may_have(path, "false_alarms_per_day"):
                hint = "write false_alarms_per_day: 0.2, or delete this key"
                fields.fault(f"{path}.{key}", "no false alarms are given that it belongs to", hint)
        return Watchdog(timeout_s)
    seen_s = record.take(f"{path}.seen_at", timeout_s or BUILT_IN[FailureKind.HANG].detect_s)
    decay_s = record.take(f"{path}.decay", _DECAY * seen_s)
    return Watchdog(timeout_s, alarms / _DAY_S, seen_s, decay_s)


def _has_class(record: Record, kind: FailureKind) -> bool:
    """Whether a class of this kind is written; a kind that is at fault is one more fault, and no warning is shown."""
    given = (
        record.fields.given.get(f"failures.classes[{index}].kind")
        for index in range(record.fields.lengths.get("failures.classes", 0))
    )
    return any(found is not None and found.si == str(kind) for found in given)


def build_verification(record: Record) -> Verification | None:
    """The check before a save, if there is one."""
    path = "verification"
    if path not in record.fields.groups:
        return None
    if not _has_class(record, FailureKind.SILENT):
        hint = "write failures: {classes: [{kind: silent corruption, share: 1.4 %}]}, or delete verification"
        record.warn(path, "finds nothing: no class is silent corruption", hint)
    time_s = record.take(f"{path}.time")
    per_save = record.take(f"{path}.per_save")
    return None if time_s is None else Verification(time_s, per_save)


def build_retention(record: Record) -> Retention | None:
    """Which saves are kept, if anything is said of it."""
    path, fields = "retention", record.fields
    if path not in fields.groups:
        return None
    keep = record.take(f"{path}.keep")
    keep_all_s, then_every_s, then_for_s = (record.take(f"{path}.{name}") for name in THEN_KEYS)
    archive_s = record.take(f"{path}.archive_every")
    times = [name for name in THEN_KEYS if fields.has(f"{path}.{name}")]
    if fields.has(f"{path}.keep") and times:
        message = f"keep and {', '.join(times)} are given, but one or the other is wanted"
        fields.fault(f"{path}.keep", message, "keep a number of saves, or the times")
    elif times and times != ["keep_all"]:
        _needs_all_times(record, times)
    _check_order(record, keep_all_s, then_every_s, then_for_s, archive_s)
    return Retention(
        probability=_probability(record),
        keep=keep,
        keep_all_s=keep_all_s,
        then_every_s=then_every_s,
        then_for_s=then_for_s,
        archive_every_s=archive_s,
        capacity_bytes=record.take(f"{path}.capacity"),
    )


def _probability(record: Record) -> float:
    wanted: float = record.take("retention.probability", 0.999)
    if wanted >= 1.0:
        hint = "write 99.9 %: an exponential delay has no upper bound"
        record.fields.fault("retention.probability", "certainty would take infinitely many saves", hint)
    return wanted


def _needs_all_times(record: Record, times: list[str]) -> None:
    missing = [name for name in THEN_KEYS if not record.fields.may_have("retention", name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        hint = f"write {', '.join(f'{name}: {THEN_KEYS[name]}' for name in missing)}"
        record.fields.fault(f"retention.{times[-1]}", f"{' and '.join(missing)} {verb} missing beside it", hint)


def _check_order(
    record: Record, keep_all_s: float | None, every_s: float | None, for_s: float | None, archive_s: float | None
) -> None:
    fields, path = record.fields, "retention"
    if keep_all_s is not None and for_s is not None and for_s <= keep_all_s:
        message = f"{format_time(for_s)} are not longer than keep_all, {format_time(keep_all_s)}, which it follows"
        fields.fault(f"{path}.then_for", message, "write a greater age, or keep_all alone")
    elif every_s is not None and for_s is not None and every_s >= for_s:
        message = f"{format_time(every_s)} are not shorter than then_for, {format_time(for_s)}: none would be kept"
        fields.fault(f"{path}.then_every", message, "are the two exchanged?")
    if archive_s is not None and every_s is not None and archive_s < every_s:
        message = f"{format_time(archive_s)} are shorter than then_every, {format_time(every_s)}"
        hint = "what is kept for ever is the sparsest: are the two exchanged?"
        fields.fault(f"{path}.archive_every", message, hint)


def build_spares(record: Record) -> Spares | None:
    """Spare nodes, if any are given."""
    path, fields = "spares", record.fields
    if path not in fields.groups:
        return None
    nodes, repair_s = record.take(f"{path}.nodes"), record.take(f"{path}.repair")
    most = record.take(f"{path}.most_waiting", 0.01)
    always = record.take(f"{path}.failing", "running") == "always"
    reshard_s = record.take(f"{path}.reshard")
    if nodes is not None and nodes > MOST_GPUS:
        fields.fault(f"{path}.nodes", f"{nodes:.3g} is more than {MOST_GPUS:,}", "is a unit or a digit wrong?")
    elif nodes is not None and nodes != int(nodes):
        fields.fault(f"{path}.nodes", f"{nodes:.12g} is not a whole number", f"write {int(nodes)} or {int(nodes) + 1}")
    if always and fields.has(f"{path}.reshard"):
        message = "has no effect beside reshard, for which nodes are taken to fail while the job runs"
        record.warn(f"{path}.failing", message, "delete one of the two")
    if nodes is None or repair_s is None:
        return None
    return Spares(int(nodes), repair_s, most, always, reshard_s)


def build_prediction(record: Record) -> Prediction | None:
    """A predictor of failures, if there is one."""
    path = "prediction"
    if path not in record.fields.groups:
        return None
    recall, precision = record.take(f"{path}.recall"), record.take(f"{path}.precision")
    save_s = record.take(f"{path}.save")
    return None if recall is None or precision is None else Prediction(recall, precision, save_s)


def build_power(record: Record) -> Power | None:
    """Power of one GPU, if it is given."""
    path = "cluster.power"
    if path not in record.fields.groups:
        return None
    compute, save, restart = (record.take(f"{path}.{name}") for name in ("compute", "save", "restart"))
    return None if compute is None or save is None or restart is None else Power(compute, save, restart)

"""Fields to a Scenario: defaults, cross-checks, and what they warn of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ckptplan.cost.scenario import Restart, Scenario, Strike
from ckptplan.spec.cluster import build_cluster
from ckptplan.spec.failures import build_failures
from ckptplan.spec.model import build_model
from ckptplan.spec.model_source import refuse_what_layers_do_not_fill
from ckptplan.spec.record import Record
from ckptplan.spec.saves import build_saves, build_storage
from ckptplan.spec.schema import RESTART_PHASES
from ckptplan.spec.training import build_training
from ckptplan.units import format_time

if TYPE_CHECKING:
    from ckptplan.cost.classes import FailureClass
    from ckptplan.cost.protection import Watchdog
    from ckptplan.cost.scenario import Cluster
    from ckptplan.cost.tiers import Tier
    from ckptplan.fit.ends import Recovery

_ASSUMED_RESTART_S = 600.0
_SPECTRUM = ("failures.classes", "storage.tiers", "verification", "spares")


def build(record: Record) -> Scenario | None:
    """The scenario, or None if any fault was noted; every check that can run has run."""
    name = record.take("name", PurePath(record.fields.file).stem or "spec")
    for path in record.fields.given:
        if path.endswith(".preset") and not path.startswith("save["):
            record.take(path)
    model = build_model(record)
    cluster = build_cluster(record)
    if model is not None and cluster is not None:
        refuse_what_layers_do_not_fill(record, model, cluster)
    failures = build_failures(record, cluster)
    classes, watchdog = _classes(record)
    if failures is not None:
        classes = classes or failures.classes  # those of a record of failures
    storage = build_storage(record)
    tiers = _tiers(record, classes, cluster)
    saves = build_saves(record)
    restart = build_restart(record)
    training = build_training(record, cluster)
    guards = _guards(record)
    _exclusions(record)
    strike = Strike(record.take("assume.failures_strike", str(Strike.DR)))
    if record.fields.problems or model is None or cluster is None or failures is None or saves is None:
        return None
    if classes or watchdog:
        failures = replace(failures, classes=classes, watchdog=watchdog)
    if tiers:
        storage = replace(storage, tiers=tiers)
    return Scenario(name, model, cluster, failures, saves, storage, restart, training, strike, **guards)


# What few specs have is built by modules that few specs load.


def _classes(record: Record) -> tuple[tuple[FailureClass, ...], Watchdog | None]:
    if not record.fields.lengths.get("failures.classes") and "failures.watchdog" not in record.fields.groups:
        return (), None
    from ckptplan.spec.classes import build_classes
    from ckptplan.spec.protection import build_watchdog

    return build_classes(record), build_watchdog(record)


def _tiers(record: Record, classes: tuple[FailureClass, ...], cluster: Cluster | None) -> tuple[Tier, ...]:
    if not record.fields.lengths.get("storage.tiers"):
        return ()
    from ckptplan.spec.tiers import build_tiers

    return build_tiers(record, classes, cluster)


def _guards(record: Record) -> dict[str, Any]:
    if not record.fields.groups.keys() & {"verification", "retention", "spares", "prediction"}:
        return {}
    from ckptplan.spec.protection import build_prediction, build_retention, build_spares, build_verification

    return {
        "verification": build_verification(record),
        "retention": build_retention(record),
        "spares": build_spares(record),
        "prediction": build_prediction(record),
    }


def _exclusions(record: Record) -> None:
    fields = record.fields
    written = [path for path in _SPECTRUM if fields.lengths.get(path) or path in fields.groups]
    if written:
        from ckptplan.spec.classes import refuse_what_a_spectrum_excludes

        refuse_what_a_spectrum_excludes(record, written)


def build_restart(record: Record) -> Restart:
    """The restart: a total, or phases."""
    fields = record.fields
    written = fields.groups["restart"].entries if "restart" in fields.groups else {}
    phases = [phase for phase in RESTART_PHASES if phase in written]
    if fields.has("restart.total"):
        if phases:
            message = f"total and {', '.join(phases)} are given, but one or the other is wanted"
            fields.fault("restart.total", message, "keep the total, or the phases")
        return Restart(total_s=record.take("restart.total"))
    if not phases:
        if record.recovery is not None and fields.whole("restart"):
            return _recorded_restart(record, record.recovery)
        if fields.whole("restart"):
            record.warn("restart", "left out: 10 min are assumed", "write restart: {total: 10 min}, or its phases")
        return Restart(total_s=record.take("restart.total", _ASSUMED_RESTART_S, text="10 min, assumed"))
    times = {f"{phase}_s": record.take(f"restart.{phase}", 0.0) for phase in RESTART_PHASES if phase != "load"}
    return Restart(load_s=_load(record), **times)


def _recorded_restart(record: Record, recovery: Recovery) -> Restart:
    """What the record of failures shows of a recovery: all of it, or how long the job waited for its nodes."""
    from ckptplan.fit.ends import WHOLE_RECOVERIES

    mean, median = format_time(recovery.mean_s), format_time(recovery.median_s)
    origin = record.origin("failures.record.file")
    seen = f"mean of {recovery.seen:,} in the record, median {median}"
    if recovery.phase in WHOLE_RECOVERIES:
        return Restart(total_s=record.take("restart.total", recovery.mean_s, text=f"{mean}, {seen}", origin=origin))
    message = f"left out: 10 min are assumed, although the record shows a {recovery.phase} of {mean} ({seen})"
    hint = f"write restart: {{replace: {mean}, ...}} with detect, initialise, load and warm_up"
    record.warn("restart", message, hint)
    return Restart(total_s=record.take("restart.total", _ASSUMED_RESTART_S, text="10 min, assumed"))


def _load(record: Record) -> float | None:
    """Seconds, or None for "compute it"."""
    fields, path = record.fields, "restart.load"
    can_compute = fields.may_have("storage", "read_bandwidth")
    given = fields.given.get(path)
    automatic = "auto: bytes that all ranks read over storage.read_bandwidth"
    if given is not None and isinstance(given.si, str):  # auto
        if not can_compute:
            preset = fields.given.get("storage.preset")
            without = "" if preset is None else f", which the preset {preset.si} does not give"
            hint = "write storage: {read_bandwidth: 20 GB/s}, or the time itself"
            fields.fault(path, f"auto needs storage.read_bandwidth{without}", hint)
        record.take(path, text=automatic)
        return None
    if given is None and can_compute:
        record.take(path, "auto", text=automatic)
        return None
    if given is None and fields.sound(path):
        hint = "write load: 2 min, or load: auto with storage.read_bandwidth"
        record.warn("restart", "load is left out and no read_bandwidth is given: loading counts as 0 s", hint)
    seconds: float = record.take(path, 0.0)
    return seconds

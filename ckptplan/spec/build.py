"""Fields to a Scenario: defaults, cross-checks, and what they warn of."""

from __future__ import annotations

from pathlib import PurePath

from ckptplan.cost.scenario import Restart, Scenario, Strike
from ckptplan.spec.cluster import build_cluster
from ckptplan.spec.failures import build_failures
from ckptplan.spec.model import build_model
from ckptplan.spec.record import Record
from ckptplan.spec.saves import build_saves, build_storage
from ckptplan.spec.schema import RESTART_PHASES
from ckptplan.spec.training import build_training

_ASSUMED_RESTART_S = 600.0


def build(record: Record) -> Scenario | None:
    """The scenario, or None if any fault was noted; every check that can run has run."""
    name = record.take("name", PurePath(record.fields.file).stem or "spec")
    for path in record.fields.given:
        if path.endswith(".preset") and not path.startswith("save["):
            record.take(path)
    model = build_model(record)
    cluster = build_cluster(record)
    failures = build_failures(record, cluster)
    storage = build_storage(record)
    saves = build_saves(record)
    restart = _restart(record)
    training = build_training(record)
    strike = Strike(record.take("assume.failures_strike", str(Strike.DR)))
    if record.fields.problems or model is None or cluster is None or failures is None or saves is None:
        return None
    return Scenario(name, model, cluster, failures, saves, storage, restart, training, strike)


def _restart(record: Record) -> Restart:
    fields = record.fields
    written = fields.groups["restart"].entries if "restart" in fields.groups else {}
    phases = [phase for phase in RESTART_PHASES if phase in written]
    if fields.has("restart.total"):
        if phases:
            message = f"total and {', '.join(phases)} are given, but one or the other is wanted"
            fields.fault("restart.total", message, "keep the total, or the phases")
        return Restart(total_s=record.take("restart.total"))
    if not phases:
        if fields.whole("restart"):
            record.warn("restart", "left out: 10 min are assumed", "write restart: {total: 10 min}, or its phases")
        return Restart(total_s=record.take("restart.total", _ASSUMED_RESTART_S, text="10 min, assumed"))
    times = {f"{phase}_s": record.take(f"restart.{phase}", 0.0) for phase in RESTART_PHASES if phase != "load"}
    return Restart(load_s=_load(record), **times)


def _load(record: Record) -> float | None:
    """Seconds, or None for "compute it"."""
    fields, path = record.fields, "restart.load"
    can_compute = fields.may_have("storage", "read_bandwidth")
    given = fields.given.get(path)
    automatic = "auto: bytes that all ranks read over storage.read_bandwidth"
    if given is not None and given.si == "auto":
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

"""JSON Schemas of the documents that commands print, published so that a script can rely on them."""

from __future__ import annotations

from typing import Any

from ckptplan.render import spectrum_schemas
from ckptplan.render.audit_schemas import audit, audits
from ckptplan.render.average_schemas import average
from ckptplan.render.comparison_schemas import comparison
from ckptplan.render.fit_schemas import fit
from ckptplan.render.inspect_schemas import manifest
from ckptplan.render.lever_schemas import lever, levers
from ckptplan.render.measure_schemas import benchmarks, saving, storage
from ckptplan.render.reshard_schemas import extraction, reshard
from ckptplan.render.retain_schemas import retention
from ckptplan.render.run_schemas import online, simulation, whole_run
from ckptplan.render.scale_schemas import scaling
from ckptplan.render.schema_parts import COUNT, MAYBE, SHARE, STEPS, TEXT, TEXTS, TIME, object_of, or_null
from ckptplan.render.size_schemas import architecture
from ckptplan.render.sweep_schemas import sweep

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_MAYBE_SHARE = or_null(SHARE)

_RECORD: dict[str, tuple[dict[str, Any], str]] = {
    "spec": (TEXT, "name of the spec"),
    "strategy": (TEXT, "name of the save strategy"),
    "method": ({"enum": ["young", "daly", "exact", "renewal"]}, "gives the interval (unless given) and the accounting"),
    "given": ({"type": "boolean"}, "true: an interval from --interval or --steps, not an optimum"),
    "asked_interval_s": (MAYBE, "a given interval as it was asked for, before it was raised to the floor [s]"),
    "gpus": (COUNT, "number of GPUs"),
    "mtbf_s": (TIME, "mean time between failures of the whole job [s]"),
    "restart_total_s": (TIME, "downtime and restart per failure [s]"),
    "stall_s": (TIME, "time one save blocks training [s]"),
    "flush_s": (TIME, "background flush after the stall, 0 if synchronous [s]"),
    "effective_stall_s": (TIME, "stall plus training time lost to the flush [s]"),
    "interval_floor_s": (TIME, "least work between saves: the flush must end first [s]"),
    "interval_s": (TIME, "work between two saves, the save excluded [s]"),
    "interval_steps": (STEPS, "whole steps by exact goodput"),
    "save_fraction": (TIME, "share lost to saves, by the method's accounting"),
    "rework_fraction": (TIME, "share lost to repeated work"),
    "restart_fraction": (TIME, "share lost to restarts"),
    "slow_fraction": (TIME, "share lost to slow nodes; in the rework of a first-order account"),
    "waiting_fraction": (TIME, "share lost to waiting for nodes, or to replicas that are missing"),
    "overhead": (MAYBE, "first-order sum, or wall/useful - 1 exactly; null if it is not a finite number"),
    "goodput": (_MAYBE_SHARE, "useful share of wall time by the method's accounting; null where not valid"),
    "goodput_exact": (SHARE, "exact goodput of using this interval"),
    "goodput_steps": (_MAYBE_SHARE, "exact goodput of the whole number of steps"),
    "lost_goodput": (_MAYBE_SHARE, "of a given interval, against the best number to type"),
    "lost_gpu_hours": (
        MAYBE,
        "GPU-hours that the same work takes more than with that number [GPU h]",
    ),
    "lost_money": (MAYBE, "the same at --gpu-hour-price"),
    "status": (TEXT, "ok, or what limits this record"),
}


def record_schema() -> dict[str, Any]:
    """One flat record, the columns of the CSV in their order."""
    return object_of({key: {**kind, "description": text} for key, (kind, text) in _RECORD.items()})


def _flat() -> dict[str, Any]:
    """Intervals that are nearly as good as the best one."""
    return object_of(
        {
            "low_s": {**TIME, "description": "shortest interval, not below the floor or one step [s]"},
            "high_s": {**TIME, "description": "longest interval [s]"},
            "within_fraction": {**SHARE, "description": "what they lose at most; 0.001 is 0.1 point [1]"},
        }
    )


def _plan() -> dict[str, Any]:
    return object_of(
        {
            "schema": {"const": "ckptplan.plan/1"},
            "ckptplan": TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "checkpoint": object_of(
                {
                    "size_bytes": TIME,
                    "size_per_gpu_bytes": TIME,
                    "size_per_node_bytes": TIME,
                    "bytes_per_parameter": TIME,
                    "ledger": TEXT,
                }
            ),
            "failures": object_of(
                {
                    "mtbf_s": TIME,
                    "mtbf_per_gpu_s": TIME,
                    "mtbf_per_node_s": TIME,
                    "source": TEXT,
                    "failures_counted": MAYBE,
                }
            ),
            "restart": object_of(
                {
                    "total_s": TIME,
                    "downtime_s": TIME,
                    "restart_s": TIME,
                    "phases_s": {"type": "object", "additionalProperties": TIME},
                }
            ),
            "best": or_null(
                object_of(
                    {
                        "strategy": TEXT,
                        "method": TEXT,
                        "interval_s": TIME,
                        "interval_steps": STEPS,
                        "goodput": SHARE,
                    }
                )
            ),
            "plans": {"type": "array", "items": record_schema()},
            "advice": TEXTS,
            **{name: {"anyOf": [facts, {"type": "null"}]} for name, facts in whole_run().items()},
            "classes": spectrum_schemas.classes(),
            "guards": spectrum_schemas.guards(),
            "tiers": spectrum_schemas.tiers(),
            "flat": or_null(_flat()),
            "lever": {"anyOf": [lever(), {"type": "null"}]},
            "binds": TEXTS,
            "assumptions": TEXTS,
            "warnings": TEXTS,
        }
    )


def _plans() -> dict[str, Any]:
    return object_of(
        {
            "schema": {"const": "ckptplan.plans/1"},
            "ckptplan": TEXT,
            "documents": {"type": "array", "items": _plan(), "minItems": 2},
        }
    )


def _size() -> dict[str, Any]:
    state = object_of(
        {
            "state": TEXT,
            "kind": TEXT,
            "scope": TEXT,
            "size_bytes": TIME,
            "bytes_per_parameter": TIME,
            "loss": TEXT,
            "source": TEXT,
        }
    )
    tier = object_of(
        {
            "name": TEXT,
            "kind": TEXT,
            "bytes_per_save": {**TIME, "description": "in the whole tier, copies included"},
            "bytes_per_node": {**TIME, "description": "of its busiest node, copies included"},
            "stall_s": {**TIME, "description": "added to the saves of the tiers below"},
            "alone_stall_s": {**TIME, "description": "where no tier below is kept"},
            "flush_s": TIME,
            "load_s": or_null(TIME),
            "fits": {"type": ["integer", "null"], "minimum": 0, "description": "saves that it has room for"},
        }
    )
    return object_of(
        {
            "schema": {"const": "ckptplan.size/1"},
            "ckptplan": TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "ledger": TEXT,
            "states": {"type": "array", "items": state},
            "omits": TEXTS,
            "size": {"type": "object", "additionalProperties": MAYBE},
            "saves": {"type": "array", "items": {"type": "object"}},
            "tiers": {"type": "array", "items": tier},
            "architecture": architecture(),
        }
    )


def output_schema(name: str) -> dict[str, Any]:
    """The schema of a document by its name: ``plan`` for ``ckptplan.plan/1``."""
    bodies = {
        "plan": _plan,
        "plans": _plans,
        "size": _size,
        "simulation": simulation,
        "online": online,
        "scaling": scaling,
        "sweep": sweep,
        "retention": retention,
        "comparison": comparison,
        "levers": levers,
        "storage": storage,
        "saving": saving,
        "benchmarks": benchmarks,
        "manifest": manifest,
        "audit": audit,
        "audits": audits,
        "reshard": reshard,
        "average": average,
        "extraction": extraction,
        "fit": fit,
    }
    body = bodies[name]()
    return {"$schema": _DRAFT, "$id": f"urn:ckptplan:{name}:1", "title": f"ckptplan.{name}/1", **body}

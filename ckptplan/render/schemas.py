"""JSON Schemas of the documents that commands print, published so that a script can rely on them."""

from __future__ import annotations

from typing import Any

from ckptplan.render.run_schemas import online, simulation, whole_run

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER = {"type": "number"}
_MAYBE = {"type": ["number", "null"]}
_COUNT = {"type": "integer", "minimum": 1}
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_TIME = {"type": "number", "minimum": 0}
_MAYBE_SHARE = {"type": ["number", "null"], "minimum": 0, "maximum": 1}

_RECORD: dict[str, tuple[dict[str, Any], str]] = {
    "spec": (_TEXT, "name of the spec"),
    "strategy": (_TEXT, "name of the save strategy"),
    "method": ({"enum": ["young", "daly", "exact", "renewal"]}, "gives the interval (unless given) and the accounting"),
    "given": ({"type": "boolean"}, "true: an interval from --interval or --steps, not an optimum"),
    "asked_interval_s": (_MAYBE, "a given interval as it was asked for, before it was raised to the floor [s]"),
    "gpus": (_COUNT, "number of GPUs"),
    "mtbf_s": (_TIME, "mean time between failures of the whole job [s]"),
    "restart_total_s": (_TIME, "downtime and restart per failure [s]"),
    "stall_s": (_TIME, "time one save blocks training [s]"),
    "flush_s": (_TIME, "background flush after the stall, 0 if synchronous [s]"),
    "effective_stall_s": (_TIME, "stall plus training time lost to the flush [s]"),
    "interval_floor_s": (_TIME, "least work between saves: the flush must end first [s]"),
    "interval_s": (_TIME, "work between two saves, the save excluded [s]"),
    "interval_steps": ({"type": ["integer", "null"], "minimum": 1}, "whole steps by exact goodput"),
    "save_fraction": (_TIME, "share lost to saves, by the method's accounting"),
    "rework_fraction": (_TIME, "share lost to repeated work"),
    "restart_fraction": (_TIME, "share lost to restarts"),
    "overhead": (_MAYBE, "first-order sum, or wall/useful - 1 exactly; null if it is not a finite number"),
    "goodput": (_MAYBE_SHARE, "useful share of wall time by the method's accounting; null where not valid"),
    "goodput_exact": (_SHARE, "exact goodput of using this interval"),
    "goodput_steps": (_MAYBE_SHARE, "exact goodput of the whole number of steps"),
    "lost_goodput": (_MAYBE_SHARE, "of a given interval, against the best number to type"),
    "lost_gpu_hours": (_MAYBE, "the same over training.duration [GPU h]"),
    "lost_money": (_MAYBE, "the same at --gpu-hour-price"),
    "status": (_TEXT, "ok, or what limits this record"),
}


def _object(properties: dict[str, Any], *, open_: bool = False) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": open_,
    }


def record_schema() -> dict[str, Any]:
    """One flat record, the columns of the CSV in their order."""
    return _object({key: {**kind, "description": text} for key, (kind, text) in _RECORD.items()})


def _plan() -> dict[str, Any]:
    return _object(
        {
            "schema": {"const": "ckptplan.plan/1"},
            "ckptplan": _TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "checkpoint": _object(
                {
                    "size_bytes": _TIME,
                    "size_per_gpu_bytes": _TIME,
                    "size_per_node_bytes": _TIME,
                    "bytes_per_parameter": _TIME,
                    "ledger": _TEXT,
                }
            ),
            "failures": _object(
                {
                    "mtbf_s": _TIME,
                    "mtbf_per_gpu_s": _TIME,
                    "mtbf_per_node_s": _TIME,
                    "source": _TEXT,
                    "failures_counted": _MAYBE,
                }
            ),
            "restart": _object(
                {
                    "total_s": _TIME,
                    "downtime_s": _TIME,
                    "restart_s": _TIME,
                    "phases_s": {"type": "object", "additionalProperties": _TIME},
                }
            ),
            "best": _object(
                {
                    "strategy": _TEXT,
                    "method": _TEXT,
                    "interval_s": _TIME,
                    "interval_steps": {"type": ["integer", "null"], "minimum": 1},
                    "goodput": _SHARE,
                }
            ),
            "plans": {"type": "array", "items": record_schema()},
            "advice": _TEXTS,
            **{name: {"anyOf": [facts, {"type": "null"}]} for name, facts in whole_run().items()},
            "binds": _TEXTS,
            "assumptions": _TEXTS,
            "warnings": _TEXTS,
        }
    )


def _plans() -> dict[str, Any]:
    return _object(
        {
            "schema": {"const": "ckptplan.plans/1"},
            "ckptplan": _TEXT,
            "documents": {"type": "array", "items": _plan(), "minItems": 2},
        }
    )


def _size() -> dict[str, Any]:
    state = _object(
        {
            "state": _TEXT,
            "kind": _TEXT,
            "scope": _TEXT,
            "size_bytes": _TIME,
            "bytes_per_parameter": _TIME,
            "loss": _TEXT,
            "source": _TEXT,
        }
    )
    return _object(
        {
            "schema": {"const": "ckptplan.size/1"},
            "ckptplan": _TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "ledger": _TEXT,
            "states": {"type": "array", "items": state},
            "omits": _TEXTS,
            "size": {"type": "object", "additionalProperties": _MAYBE},
            "saves": {"type": "array", "items": {"type": "object"}},
        }
    )


def output_schema(name: str) -> dict[str, Any]:
    """The schema of ``plan``, ``plans``, ``size``, ``simulation`` or ``online``."""
    bodies = {"plan": _plan, "plans": _plans, "size": _size, "simulation": simulation, "online": online}
    body = bodies[name]()
    return {"$schema": _DRAFT, "$id": f"urn:ckptplan:{name}:1", "title": f"ckptplan.{name}/1", **body}

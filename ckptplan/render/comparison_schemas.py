"""The JSON Schema of ``ckptplan.comparison/1``: two runs side by side, and why their goodputs differ."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import (
    COUNT,
    MAYBE,
    NUMBER,
    SHARE,
    STEPS,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
    object_of,
    or_null,
)

_OUTCOME = {
    "file": TEXT,
    "spec": {"type": "object", "description": "values in force, in SI units"},
    "name": TEXT,
    "gpus": COUNT,
    "useful_gpus": {**TIME, "description": "GPUs that lose nothing and would do as much"},
    "size_bytes": TIME,
    "mtbf_per_gpu_s": or_null(TIME),
    "mtbf_s": or_null(TIME),
    "restart_total_s": TIME,
    "strategy": {**or_null(TEXT), "description": "the best one; tiers where several tiers are best; null: no progress"},
    "stall_s": TIME,
    "flush_s": TIME,
    "step_time_s": or_null(TIME),
    "interval_s": {**or_null(TIME), "description": "the one to type: whole steps where the step time is known [s]"},
    "interval_steps": STEPS,
    "goodput": SHARE,
    "save_fraction": SHARE,
    "rework_fraction": SHARE,
    "restart_fraction": SHARE,
    "slow_fraction": SHARE,
    "waiting_fraction": SHARE,
    "work_s": or_null(TIME),
    "wall_s": {**or_null(TIME), "description": "work over the goodput of a long run, without its end [s]"},
    "gpu_hours": or_null(TIME),
    "lost_gpu_hours": or_null(TIME),
    "money": {**or_null(TIME), "description": "at --gpu-hour-price"},
    "lost_money": or_null(TIME),
}
_CAUSE = {
    "cause": TEXT,
    "groups": {**TEXTS, "description": "groups of the spec that differ and only go together"},
    "goodput": {**NUMBER, "description": "gained by it: its part of the difference; all of them sum to it"},
    "least": {**NUMBER, "description": "what it adds at the worst place in the order of changes"},
    "most": {**NUMBER, "description": "what it adds at the best place"},
    "why": {
        **or_null(TEXT),
        "description": "several groups: what cannot be planned when they are not changed together",
    },
    "standard_error": {**MAYBE, "description": "of goodput, where orders were sampled"},
}
_LOSS = {
    "name": {"enum": ["save", "rework", "restart", "slow", "waiting"]},
    "first": SHARE,
    "second": SHARE,
    "goodput": {**NUMBER, "description": "gained by it: first - second; all of them sum to the difference"},
}
_SIDE = {
    "key": TEXT,
    "si": {"type": ["number", "string", "null"]},
    "unit": TEXT,
    "text": TEXT,
    "origin": TEXT,
}


def _one_of_two() -> dict[str, Any]:
    return {**or_null(object_of(_SIDE)), "description": "null: this spec has no such key"}


def comparison() -> dict[str, Any]:
    """``ckptplan.comparison/1``."""
    differing = object_of({"key": TEXT, "first": _one_of_two(), "second": _one_of_two()})
    return object_of(
        {
            "schema": {"const": "ckptplan.comparison/1"},
            "ckptplan": TEXT,
            "gpu_hour_price": or_null(TIME),
            "first": object_of(_OUTCOME),
            "second": object_of(_OUTCOME),
            "difference": {**NUMBER, "description": "goodput of the second minus that of the first"},
            "causes": {"type": "array", "items": object_of(_CAUSE), "description": "the largest first"},
            "losses": {"type": "array", "items": object_of(_LOSS), "description": "the same difference by share"},
            "inputs": {"type": "array", "items": differing, "description": "values in force that differ"},
            "equal_inputs": WHOLE,
            "mixed": {**WHOLE, "description": "scenarios in between that were planned"},
            "orders": {**or_null(COUNT), "description": "sampled orders; null: all of them count"},
            "notes": TEXTS,
            "warnings": TEXTS,
        }
    )

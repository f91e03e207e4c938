"""JSON Schemas of what a plan says of the whole run; each part is null where the spec does not ask for it."""

from __future__ import annotations

from typing import Any

_TIME = {"type": "number", "minimum": 0}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_NUMBER = {"type": "number"}
_TEXT = {"type": "string"}


def _or_null(kind: dict[str, Any]) -> dict[str, Any]:
    return {**kind, "type": [kind["type"], "null"]}


def _three(kind: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": kind, "minItems": 3, "maxItems": 3, "description": "5, 50 and 95 % quantiles"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_RUN = {
    "strategy": _TEXT,
    "interval_s": _TIME,
    "work_s": _TIME,
    "expected_s": _TIME,
    "sd_s": _TIME,
    "quantiles_s": _three(_TIME),
    "failures": _TIME,
    "saves": _TIME,
    "gpu_hours": _TIME,
    "gpu_hours_lost": _TIME,
    "best_pieces": {"type": ["integer", "null"], "minimum": 1},
    "best_pieces_s": _or_null(_TIME),
    "end": _or_null(_TEXT),
    "runs": {"type": "integer", "minimum": 0, "description": "simulated runs; 0: a closed form"},
    "taken_as_exponential": {"type": "boolean", "description": "the failures of very many nodes"},
}
_EVIDENCE = {
    "strategy": _TEXT,
    "failures": _TIME,
    "exposure_s": _TIME,
    "exposure_gpu_hours": _TIME,
    "level": _SHARE,
    "mtbf_low_s": _TIME,
    "mtbf_high_s": _or_null(_TIME),
    "interval_low_s": _TIME,
    "interval_high_s": _or_null(_TIME),
    "goodput_low": _SHARE,
    "goodput_high": _or_null(_SHARE),
    "prior_shape": _TIME,
    "prior_exposure_s": _TIME,
    "posterior_mtbf_s": _TIME,
    "posterior_interval_s": _TIME,
    "posterior_interval_steps": {"type": ["integer", "null"], "minimum": 1},
    "law_differs": {"type": "boolean"},
    "expected_loss": _NUMBER,
}
_SPREAD = {
    "strategy": _TEXT,
    "samples": {"type": "integer", "minimum": 1},
    "seed": {"type": "integer", "minimum": 0},
    "interval_s": _three(_TIME),
    "goodput": _three(_SHARE),
    "typed_goodput": _three(_SHARE),
    "expected_loss": _NUMBER,
    "causes": {"type": "array", "items": _object({"key": _TEXT, "share": _SHARE})},
}
_SCHEDULE = {
    "strategy": _TEXT,
    "first_period_s": _TIME,
    "tenth_period_s": _TIME,
    "goodput": _SHARE,
    "gain": _NUMBER,
}
_EARLY = {"over_s": _TIME, "first_failures": _TIME, "long_run_failures": _TIME}


_VERIFICATION = {
    "quantity": {"enum": ["wall_s", "goodput"]},
    "predicted": _TIME,
    "simulated": _TIME,
    "standard_error": _or_null(_TIME),
    "z": _or_null(_NUMBER),
}


_STEPS = {"type": ["integer", "null"], "minimum": 1}
_QUANTITY = {
    "quantity": _TEXT,
    "mean": _TIME,
    "standard_error": _or_null(_TIME),
    "sd": _or_null(_TIME),
    "p5": _or_null(_TIME),
    "p50": _or_null(_TIME),
    "p95": _or_null(_TIME),
    "predicted": _or_null(_TIME),
}
_RULE = {
    "rule": _TEXT,
    "failures_seen": {"type": ["integer", "null"], "minimum": 0},
    "interval_s": _or_null(_TIME),
    "interval_steps": _STEPS,
    "goodput": _SHARE,
    "lost_goodput": _NUMBER,
}


def simulation() -> dict[str, Any]:
    """``ckptplan.simulation/1``: whole runs simulated, and the prediction beside them."""
    return _object(
        {
            "schema": {"const": "ckptplan.simulation/1"},
            "ckptplan": _TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "name": _TEXT,
            "strategy": _TEXT,
            "gpus": {"type": "integer", "minimum": 1},
            "asked_interval_s": _TIME,
            "interval_s": _TIME,
            "interval_steps": _STEPS,
            "work_s": _TIME,
            "has_end": {"type": "boolean", "description": "false: the spec gives no work, and 100 MTBFs were taken"},
            "source": {"type": "string", "description": "where the failures come from"},
            "mtbf_s": _TIME,
            "runs": {"type": "integer", "minimum": 1},
            "seed": {"type": "integer", "minimum": 0},
            "precision": _or_null(_TIME),
            "precision_reached": {"type": "boolean"},
            "prediction": _object({**_VERIFICATION, "holds": {"type": "boolean"}}),
            "quantities": {"type": "array", "items": _object(_QUANTITY)},
        }
    )


def online() -> dict[str, Any]:
    """``ckptplan.online/1``: what adaptive rules yield, and the lines to paste."""
    return _object(
        {
            "schema": {"const": "ckptplan.online/1"},
            "ckptplan": _TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "name": _TEXT,
            "strategy": _TEXT,
            "step_time_s": _or_null(_TIME),
            "stall_s": _TIME,
            "flush_s": _TIME,
            "speed": _SHARE,
            "mtbf_s": _TIME,
            "prior_mtbf_s": _TIME,
            "prior_shape": _TIME,
            "budget": _SHARE,
            "left_out": {"type": "array", "items": _TEXT, "description": "keys of the spec that the rules do not know"},
            "rules": {"type": "array", "items": _object(_RULE)},
            "snippet": _or_null(_TEXT),
        }
    )


def whole_run() -> dict[str, dict[str, Any]]:
    """The parts by name."""
    parts: dict[str, dict[str, Any]] = {
        "run": _RUN,
        "evidence": _EVIDENCE,
        "spread": _SPREAD,
        "schedule": _SCHEDULE,
        "early": _EARLY,
        "verification": _VERIFICATION,
    }
    return {name: _object(properties) for name, properties in parts.items()}

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
}
_EVIDENCE = {
    "strategy": _TEXT,
    "failures": _TIME,
    "exposure_s": _TIME,
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


def whole_run() -> dict[str, dict[str, Any]]:
    """The parts by name."""
    parts = {
        "run": _RUN,
        "evidence": _EVIDENCE,
        "spread": _SPREAD,
        "schedule": _SCHEDULE,
        "early": _EARLY,
        "verification": _VERIFICATION,
    }
    return {name: _object(properties) for name, properties in parts.items()}

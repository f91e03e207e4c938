"""JSON Schemas of what a plan says of the whole run; each part is null where the spec does not ask for it."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import COUNT, NUMBER, SHARE, STEPS, TEXT, TIME, object_of, or_null


def _three(kind: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": kind, "minItems": 3, "maxItems": 3, "description": "5, 50 and 95 % quantiles"}


_RUN = {
    "strategy": TEXT,
    "interval_s": TIME,
    "work_s": TIME,
    "expected_s": TIME,
    "sd_s": TIME,
    "quantiles_s": _three(TIME),
    "failures": TIME,
    "saves": or_null(TIME),
    "gpu_hours": TIME,
    "gpu_hours_lost": TIME,
    "best_pieces": STEPS,
    "best_pieces_s": or_null(TIME),
    "end": or_null(TEXT),
    "runs": {"type": "integer", "minimum": 0, "description": "simulated runs; 0: a closed form"},
    "taken_as_exponential": {"type": "boolean", "description": "the failures of very many nodes"},
}
_EVIDENCE = {
    "strategy": TEXT,
    "failures": TIME,
    "exposure_s": TIME,
    "exposure_gpu_hours": TIME,
    "level": SHARE,
    "mtbf_low_s": TIME,
    "mtbf_high_s": or_null(TIME),
    "interval_low_s": TIME,
    "interval_high_s": or_null(TIME),
    "goodput_low": SHARE,
    "goodput_high": or_null(SHARE),
    "prior_shape": TIME,
    "prior_exposure_s": TIME,
    "posterior_mtbf_s": TIME,
    "posterior_interval_s": TIME,
    "posterior_interval_steps": STEPS,
    "law_differs": {"type": "boolean"},
    "expected_loss": NUMBER,
}
_SPREAD = {
    "strategy": TEXT,
    "samples": COUNT,
    "seed": {"type": "integer", "minimum": 0},
    "interval_s": _three(TIME),
    "goodput": _three(SHARE),
    "typed_goodput": _three(SHARE),
    "expected_loss": NUMBER,
    "causes": {"type": "array", "items": object_of({"key": TEXT, "share": SHARE})},
}
_SCHEDULE = {
    "strategy": TEXT,
    "first_period_s": TIME,
    "tenth_period_s": TIME,
    "goodput": SHARE,
    "gain": NUMBER,
}
_EARLY = {"over_s": TIME, "first_failures": TIME, "long_run_failures": TIME}


_VERIFICATION = {
    "quantity": {"enum": ["wall_s", "goodput"]},
    "predicted": TIME,
    "simulated": TIME,
    "standard_error": or_null(TIME),
    "z": or_null(NUMBER),
    "is_exact": {"type": "boolean", "description": "false: a formula that is first order in some causes"},
}


_QUANTITY = {
    "quantity": TEXT,
    "mean": TIME,
    "standard_error": or_null(TIME),
    "sd": or_null(TIME),
    "p5": or_null(TIME),
    "p50": or_null(TIME),
    "p95": or_null(TIME),
    "predicted": or_null(TIME),
}
_CAUSE = {
    "name": TEXT,
    "lost": {**NUMBER, "description": "share of wall time, over all runs"},
    "predicted": TIME,
    "events": {**TIME, "description": "per run"},
    "unkept": {"type": "integer", "minimum": 0, "description": "rollbacks that found no save left, in all runs"},
}
_RULE = {
    "rule": TEXT,
    "failures_seen": {"type": ["integer", "null"], "minimum": 0},
    "interval_s": or_null(TIME),
    "interval_steps": STEPS,
    "goodput": SHARE,
    "lost_goodput": NUMBER,
}


_DISTRIBUTION: dict[str, Any] = {
    "edges_s": {"type": "array", "items": TIME, "minItems": 2, "description": "bins of the wall time [s]"},
    "runs": {"type": "array", "items": {"type": "integer", "minimum": 0}, "description": "runs in each bin"},
}


def simulation() -> dict[str, Any]:
    """``ckptplan.simulation/1``: whole runs simulated, and the prediction beside them."""
    return object_of(
        {
            "schema": {"const": "ckptplan.simulation/1"},
            "ckptplan": TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "name": TEXT,
            "strategy": TEXT,
            "gpus": COUNT,
            "asked_interval_s": TIME,
            "interval_s": TIME,
            "interval_steps": STEPS,
            "work_s": TIME,
            "has_end": {"type": "boolean", "description": "false: the spec gives no work, and 100 MTBFs were taken"},
            "source": {"type": "string", "description": "where the failures come from"},
            "mtbf_s": TIME,
            "runs": COUNT,
            "seed": {"type": "integer", "minimum": 0},
            "precision": or_null(TIME),
            "precision_reached": {"type": "boolean"},
            "prediction": object_of({**_VERIFICATION, "holds": {"type": "boolean"}}),
            "quantities": {"type": "array", "items": object_of(_QUANTITY)},
            "causes": {"type": "array", "items": object_of(_CAUSE)},
            "distribution": or_null(object_of(_DISTRIBUTION)),
        }
    )


def online() -> dict[str, Any]:
    """``ckptplan.online/1``: what adaptive rules yield, and the lines to paste."""
    return object_of(
        {
            "schema": {"const": "ckptplan.online/1"},
            "ckptplan": TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "name": TEXT,
            "strategy": TEXT,
            "step_time_s": or_null(TIME),
            "stall_s": TIME,
            "flush_s": TIME,
            "speed": SHARE,
            "mtbf_s": TIME,
            "prior_mtbf_s": TIME,
            "prior_shape": TIME,
            "budget": SHARE,
            "left_out": {"type": "array", "items": TEXT, "description": "keys of the spec that the rules do not know"},
            "rules": {"type": "array", "items": object_of(_RULE)},
            "snippet": or_null(TEXT),
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
    return {name: object_of(properties) for name, properties in parts.items()}

"""JSON Schema of what ``ckptplan fit`` prints."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import MAYBE, SHARE, TEXT, TEXTS, TIME, object_of, or_null

_WHOLE = {"type": "integer", "minimum": 0}
_YES = {"type": "boolean"}
_RATE = {
    "failures": _WHOLE,
    "exposure_s": {**TIME, "description": "time at risk, times units [s]"},
    "until_failure": {**_YES, "description": "watching ended with a failure, not at a fixed time"},
    "mtbf_s": {**MAYBE, "description": "of one unit; null: no failure [s]"},
    "low_s": TIME,
    "high_s": {**MAYBE, "description": "null: no bound"},
    "level": SHARE,
    "mtbf_per_gpu_s": {**MAYBE, "description": "null: the record does not know its GPUs [s]"},
    "planned_gpus": {"type": ["integer", "null"], "minimum": 1},
    "planned_mtbf_s": {**MAYBE, "description": "of a job of so many GPUs [s]"},
    "planned_low_s": MAYBE,
    "planned_high_s": MAYBE,
}
_END = {
    "outcome": {"enum": ["failure", "preemption", "maintenance", "other end"]},
    "cause": TEXT,
    "ends": _WHOLE,
    "share": {**or_null(SHARE), "description": "of those counted; null: not counted"},
    "recovery_mean_s": MAYBE,
    "recovery_median_s": MAYBE,
}
_LAW = {
    "law": {"enum": ["exponential", "weibull", "lognormal", "gamma"]},
    "shape": {**MAYBE, "description": "Weibull and gamma: shape; log-normal: sigma"},
    "scale_s": {**MAYBE, "description": "log-normal: the median [s]"},
    "mean_s": MAYBE,
    "log_likelihood": MAYBE,
    "aic": MAYBE,
    "choice": {**TEXT, "description": "chosen, tied (AIC within 2 of the least), or empty"},
    "note": TEXT,
}
_TREND = {
    "changes": _YES,
    "p_value": {**SHARE, "description": "of a constant rate, adjusted for several tests"},
    "laplace": {"type": "object", "required": ["u", "p_value"]},
    "power_law": {"type": "object", "required": ["shape", "scale", "growth", "trend_p_value"]},
    "recent_from_s": {**MAYBE, "description": "since 1970 if the record is on a calendar, else from its start [s]"},
}
_RECOVERY = {
    "phase": {**TEXT, "description": "requeue, outage, repair, ..."},
    "seen": _WHOLE,
    "mean_s": TIME,
    "median_s": TIME,
    "quantile_90_s": {**TIME, "description": "90 % took at most this [s]"},
    "cv": TIME,
}


def fit() -> dict[str, Any]:
    """The body of ``ckptplan.fit/1``."""
    return object_of(
        {
            "schema": {"const": "ckptplan.fit/1"},
            "ckptplan": TEXT,
            "file": TEXT,
            "format": TEXT,
            "zone": {**or_null(TEXT), "description": "of stamps without a zone"},
            "rows": _WHOLE,
            "left_out": {"type": "array", "items": object_of({"reason": TEXT, "rows": _WHOLE})},
            "per": {"enum": ["job", "node", "gpu"]},
            "counted": {"type": "array", "items": _END["outcome"], "minItems": 1},
            "events": {**_WHOLE, "description": "before merging"},
            "merged": {**_WHOLE, "description": "closer than the window to the one before, not counted"},
            "nodes": {**MAYBE, "description": "of a job, mean over time"},
            "gpus": {**MAYBE, "description": "of a job, mean over time"},
            "rate": object_of(_RATE),
            "recent": {"anyOf": [object_of(_RATE), {"type": "null"}], "description": "if the rate changes"},
            "ends": {"type": "array", "items": object_of(_END)},
            "laws": {"type": "array", "items": object_of(_LAW)},
            "shape_of": {**or_null(TEXT), "description": "the law whose shape the interval is of"},
            "shape_interval": {
                "type": ["array", "null"],
                "items": MAYBE,
                "description": "by profile likelihood; null: no bound",
            },
            "goodness": {"type": ["object", "null"], "required": ["statistic", "p_value", "method"]},
            "survival": {
                "type": ["array", "null"],
                "items": object_of({"time_s": TIME, "survival": SHARE, "low": MAYBE, "high": MAYBE, "at_risk": TIME}),
                "description": "Kaplan-Meier estimate of the times with its band",
            },
            "trend": {"anyOf": [object_of(_TREND), {"type": "null"}]},
            "dispersion": {"type": ["object", "null"], "required": ["p_value"]},
            "recovery": {"anyOf": [object_of(_RECOVERY), {"type": "null"}]},
            "block": {**TEXT, "description": "YAML to paste into a spec"},
            "facts": TEXTS,
            "warnings": TEXTS,
        }
    )

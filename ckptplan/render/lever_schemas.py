"""JSON Schema of the document of ``ckptplan levers``."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import (
    COUNT,
    FLAG,
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

_GAIN = {**NUMBER, "description": "of goodput, against the run as it is; below 0 where it does harm"}


def lever() -> dict[str, Any]:
    """One lever."""
    return object_of(
        {
            "key": {**TEXT, "description": "of the catalogue, or change N for a change of the user's own"},
            "title": TEXT,
            "change": {**TEXT, "description": "the numbers before and after"},
            "strategy": {**TEXT, "description": "the best one under the change"},
            "interval_s": {
                **TIME,
                "description": "work between two saves under the change, whole steps where the step time is known [s]",
            },
            "interval_steps": STEPS,
            "goodput": SHARE,
            "gained": _GAIN,
            "gpu_hours_saved": {**MAYBE, "description": "over the whole work of the run [GPU h]"},
            "money_saved": {**MAYBE, "description": "the same at --gpu-hour-price"},
            "own": {**FLAG, "description": "a change of the user's own"},
            "notes": {**TEXTS, "description": "what must be true for it"},
            "worth": {
                **NUMBER,
                "description": "ranks: goodput gained by the run as it is for as many GPU-hours; equals gained but for "
                "other GPUs or other work",
            },
            "gained_before_steps": {**NUMBER, "description": "gained at the best interval, not rounded to whole steps"},
            "gpus": COUNT,
            "wall_s_saved": {**MAYBE, "description": "of the run [s]"},
            "in_hand": {**FLAG, "description": "one can set about it; fewer failures are what many repairs come to"},
            "beside": {
                **MAYBE,
                "description": "goodput that acting on a failure predictor gains to first order; neither in gained nor "
                "in worth",
            },
            "behind": {
                **or_null(TEXT),
                "description": "of the one to do first: what nobody can simply do, and gains more",
            },
        }
    )


def levers() -> dict[str, Any]:
    """``ckptplan.levers/1``."""
    left = object_of({"key": TEXT, "title": TEXT, "why": TEXT})
    overlap = object_of(
        {
            "first": TEXT,
            "second": TEXT,
            "first_gained": _GAIN,
            "second_gained": _GAIN,
            "joint": {**NUMBER, "description": "goodput gained by both together"},
            "overlap": {**NUMBER, "description": "first_gained + second_gained - joint; below 0 they help each other"},
        }
    )
    elasticity = object_of(
        {
            "key": TEXT,
            "title": TEXT,
            "value_text": TEXT,
            "elasticity": {**NUMBER, "description": "d ln(1 - goodput) / d ln(input) at the optimum"},
            "goodput_for_10_percent": {**NUMBER, "description": "goodput gained if it is 10 % larger, by that slope"},
        }
    )
    return object_of(
        {
            "schema": {"const": "ckptplan.levers/1"},
            "ckptplan": TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "name": TEXT,
            "gpus": COUNT,
            "first": {**TEXT, "description": "the one thing to do first"},
            "strategy": {**TEXT, "description": "of the run as it is; tiers where several tiers are best"},
            "interval_s": TIME,
            "interval_steps": STEPS,
            "goodput": SHARE,
            "step_time_s": or_null(TIME),
            "work_s": or_null(TIME),
            "gpu_hour_price": or_null(TIME),
            "levers": {"type": "array", "items": lever(), "description": "the best first"},
            "left": {"type": "array", "items": left, "description": "levers that this run does not have"},
            "overlaps": {"type": "array", "items": overlap, "description": "the largest overlap first"},
            "paired": {**WHOLE, "description": "how many levers, from the best on, were tried in pairs"},
            "apart": {"type": "array", "items": left, "description": "pairs that do not go together"},
            "together": {**TEXTS, "description": "keys of all levers that gain, save GPU-hours and go together"},
            "all_together": {**MAYBE, "description": "goodput gained by them"},
            "elasticities": {"type": "array", "items": elasticity, "description": "the strongest first"},
            "assumptions": TEXTS,
            "warnings": TEXTS,
        }
    )

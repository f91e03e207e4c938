"""The JSON Schema of ``ckptplan.scaling/1``: goodput and throughput against the number of GPUs."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import COUNT, MAYBE, SHARE, STEPS, TEXT, TEXTS, TIME, object_of, or_null

_WHOLE = {"type": "integer", "minimum": 0}
_TURN = {
    "gpus": {**or_null(_WHOLE), "description": "null: it does not turn up to 1e9 GPUs; 0: before the first one"},
    "free_gpus": {**or_null(_WHOLE), "description": "the same if the global batch were no limit"},
    "replicas": STEPS,
    "mtbf_s": or_null(TIME),
    "goodput": or_null(SHARE),
    "useful_gpus": or_null(TIME),
}
_PEAK = {
    "strategy": TEXT,
    "peak": {**object_of(_TURN), "description": "where adding GPUs stops helping"},
    "formula_gpus": {**or_null(TIME), "description": "the peak by the closed form, where that holds; not rounded"},
    "is_endless": {"type": "boolean", "description": "there is no peak"},
    "paying": {**or_null(object_of(_TURN)), "description": "where adding GPUs stops paying; null: not asked"},
}
_SIZE = {
    "strategy": TEXT,
    "gpus": COUNT,
    "idle_gpus": {**or_null(_WHOLE), "description": "those that fill no further replica"},
    "replicas": {**STEPS, "description": "of the model, which read different data"},
    "mtbf_s": or_null(TIME),
    "restart_total_s": or_null(TIME),
    "stall_s": or_null(TIME),
    "flush_s": or_null(TIME),
    "step_time_s": or_null(TIME),
    "interval_s": {
        **or_null(TIME),
        "description": "the best one: whole steps where the step time is known; null: no progress, see status [s]",
    },
    "interval_steps": STEPS,
    "goodput": {**or_null(SHARE), "description": "at interval_s; null: this size cannot be planned, see status"},
    "waiting_fraction": {
        **or_null(SHARE),
        "description": "lost to waiting for nodes, or to replicas that are missing",
    },
    "speed_gpus": {
        **or_null(TIME),
        "description": "throughput without saves and failures, in GPUs of the planned size",
    },
    "useful_gpus": {**or_null(TIME), "description": "throughput, in GPUs of the planned size that lose nothing"},
    "marginal_gpus": {
        **MAYBE,
        "description": "useful GPUs that each GPU from this size to next_gpus adds, both at their best intervals, not "
        "rounded to steps; negative beyond the peak; null: one of the two cannot be planned, see status",
    },
    "next_gpus": {
        **STEPS,
        "description": "the next size of the layout; with a global batch, at which the busiest replica does fewer "
        "micro-batches; with recorded gaps, a tenth more GPUs",
    },
    "wall_s": {
        **or_null(TIME),
        "description": "of the run; null: its work is not given, or it takes more than 10,000 years, see status [s]",
    },
    "money": {**or_null(TIME), "description": "that the run costs, at --gpu-hour-price"},
    "useful_hour_price": or_null(TIME),
    "next_hour_price": {
        **or_null(TIME),
        "description": "of one more useful GPU-hour, by GPUs up to next_gpus; null: it cannot be had",
    },
    "energy_interval_s": {**or_null(TIME), "description": "of least energy [s]"},
    "energy_interval_steps": STEPS,
    "energy_goodput": or_null(SHARE),
    "energy_lost_goodput": or_null(SHARE),
    "useful_gpu_power_w": {**or_null(TIME), "description": "mean power per useful GPU at interval_s [W]"},
    "least_useful_gpu_power_w": {**or_null(TIME), "description": "the same at energy_interval_s [W]"},
    "energy_saved_fraction": or_null(SHARE),
    "run_energy_mwh": or_null(TIME),
    "least_run_energy_mwh": or_null(TIME),
    "energy_accounting": {"enum": ["exact", "first order", None]},
    "status": {**TEXT, "description": "ok, or what limits this record"},
}
_BATCH = {
    "gpus": COUNT,
    "replicas": COUNT,
    "even": {"type": "boolean", "description": "all replicas do equal parts"},
    "fewest": {**or_null(_WHOLE), "description": "micro-batches per step of a replica"},
    "with_one_more": {**or_null(_WHOLE), "description": "replicas that do one more"},
    "efficiency": {**SHARE, "description": "share of the time that replicas do not wait for the busiest one"},
    "below_gpus": STEPS,
    "below_replicas": STEPS,
    "above_gpus": STEPS,
    "above_replicas": STEPS,
}
_BATCHES = {
    "global_batch": COUNT,
    "micro_batch": COUNT,
    "planned_replicas": COUNT,
    "impossible_near": {"type": "array", "items": COUNT},
    "near": {**COUNT, "description": "how far from the planned replicas those were looked for"},
    "most_replicas": COUNT,
    "records": {"type": "array", "items": object_of(_BATCH)},
}


def scaling() -> dict[str, Any]:
    """``ckptplan.scaling/1``."""
    return object_of(
        {
            "schema": {"const": "ckptplan.scaling/1"},
            "ckptplan": TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "name": TEXT,
            "gpus": {**COUNT, "description": "planned"},
            "step_gpus": {**COUNT, "description": "GPUs by which the job grows: whole replicas"},
            "work_s": or_null(TIME),
            "gpu_hour_price": or_null(TIME),
            "useful_hour_worth": or_null(TIME),
            "best": {**TEXT, "description": "strategy with the highest goodput at the planned size"},
            "peaks": {"type": "array", "items": object_of(_PEAK)},
            "sizes": {"type": "array", "items": object_of(_SIZE)},
            "batch": or_null(object_of(_BATCHES)),
            "assumptions": TEXTS,
            "warnings": TEXTS,
        }
    )

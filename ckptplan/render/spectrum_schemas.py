"""JSON Schemas of what a plan says of failure classes, of what guards against them, and of storage tiers."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import COUNT, MAYBE, NUMBER, SHARE, STEPS, TEXT, TIME, object_of, or_null

_CLASS = {
    "name": TEXT,
    "kind": TEXT,
    "behaviour": {"enum": ["stop", "verified", "spike", "slow", "noticed"]},
    "every_s": {**MAYBE, "description": "mean running time between two, of new work for a spike; null: never [s]"},
    "found_s": {**TIME, "description": "time until it is noticed while training goes on [s]"},
    "recovery_s": {**TIME, "description": "time that training stands still for it [s]"},
    "rework_fraction": TIME,
    "restart_fraction": TIME,
    "slow_fraction": TIME,
    "lost_fraction": TIME,
}
_WATCHDOG = {
    "timeout_s": TIME,
    "lost_fraction": TIME,
    "best_timeout_s": TIME,
    "best_lost_fraction": TIME,
    "false_alarms_per_day": TIME,
    "best_false_alarms_per_day": TIME,
    "seen_at_s": TIME,
}
_EVICTION = {
    "name": TEXT,
    "lost_fraction": TIME,
    "kept_lost_fraction": TIME,
    "break_even_slowdown": or_null(TIME),
}
_VERIFICATION = {"time_s": TIME, "per_save": COUNT, "goodput": SHARE, "goodput_without": SHARE}
_SPARES = {
    "nodes": {"type": "integer", "minimum": 0},
    "losses_per_day": TIME,
    "waiting_fraction": SHARE,
    "mean_wait_s": or_null(TIME),
    "most_waiting": SHARE,
    "nodes_needed": {"type": ["integer", "null"], "minimum": 0},
    "elastic_fraction": or_null(SHARE),
    "shrinking_is_better": {"type": ["boolean", "null"]},
}
_PREDICTION = {"interval_s": TIME, "trust_after_s": TIME, "waste": NUMBER, "waste_without": NUMBER}


_TIER = {
    "name": TEXT,
    "kind": TEXT,
    "kept": {"type": "boolean", "description": "false: the best plan does not save to it"},
    "every": {**STEPS, "description": "slots from one save of this tier or a higher one to the next"},
    "every_steps": STEPS,
    "interval_s": or_null(TIME),
    "stall_s": TIME,
    "flush_s": TIME,
    "load_s": or_null(TIME),
    "catches": {**SHARE, "description": "share of the failures that go back to it"},
    "gain": {**MAYBE, "description": "goodput with it less goodput of the best plan without it"},
    "fits": {"type": ["integer", "null"], "minimum": 0},
    "why": {**TEXT, "description": "why it is left out, or kept though nothing goes back to it"},
}
_TIERS = {
    "tiers": {"type": "array", "items": object_of(_TIER)},
    "interval_s": TIME,
    "interval_steps": STEPS,
    "goodput": SHARE,
    "save_fraction": TIME,
    "rework_fraction": TIME,
    "restart_fraction": TIME,
    "slow_fraction": TIME,
    "waiting_fraction": TIME,
    "single": or_null(TEXT),
    "single_goodput": or_null(SHARE),
    "first_order_goodput": SHARE,
    "exact_goodput": SHARE,
}


def tiers() -> dict[str, Any]:
    """The plan over several tiers; null if the spec has none."""
    return or_null(object_of(_TIERS))


def classes() -> dict[str, Any]:
    """The classes of failures; empty if all are alike."""
    return {"type": "array", "items": object_of(_CLASS)}


def guards() -> dict[str, Any]:
    """What guards the run; null if the spec speaks of nothing."""
    parts: dict[str, dict[str, Any]] = {
        "watchdog": _WATCHDOG,
        "verification": _VERIFICATION,
        "spares": _SPARES,
        "prediction": _PREDICTION,
    }
    return or_null(
        object_of(
            {
                **{name: or_null(object_of(part)) for name, part in parts.items()},
                "evictions": {"type": "array", "items": object_of(_EVICTION)},
                "skipped_share": or_null(TIME),
                "slowest_rank": {**MAYBE, "description": "a step takes this much longer than a rank's mean [1]"},
            }
        )
    )

"""JSON Schema of what ``ckptplan retain`` prints."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import COUNT, MAYBE, SHARE, STEPS, TEXT, TEXTS, TIME, object_of, or_null

_WHOLE = {"type": "integer", "minimum": 0}
_CLASS = {
    "name": TEXT,
    "kind": {"enum": ["silent corruption", "loss spike"]},
    "every_s": {**MAYBE, "description": "mean running time between two, of new work for a spike; null: never [s]"},
    "law": {"enum": ["exponential", "fixed", "verified"], "description": "of the delay; verified: found before a save"},
    "delay_s": {**TIME, "description": "until it is found while training goes on [s]"},
    "back_s": {**TIME, "description": "work back from a loss spike, its lag included [s]"},
    "tier": {**TEXT, "description": "that it goes back to"},
    "needed": {**COUNT, "description": "newest saves that are needed"},
    "missing": {**SHARE, "description": "probability that so many hold no clean one"},
    "binds": {"type": "boolean", "description": "needs most of those that go back to the history"},
}
_RULE = {
    "rule": {"enum": ["newest", "two steps", "fewest", "spec"]},
    "keep": {**TEXT, "description": "keys of retention, or the rule in words"},
    "stages": {
        "type": "array",
        "items": object_of({"every": COUNT, "until_s": TIME}),
        "description": "a save is kept while any stage wants it: one of every so many, up to an age; no archive",
    },
    "archive_every": {**STEPS, "description": "saves from one that is kept for ever to the next"},
    "saves": {**COUNT, "description": "complete ones, at most"},
    "mean_saves": TIME,
    "room_bytes": {**TIME, "description": "at most, with the save under way"},
    "fits": {"type": ["boolean", "null"], "description": "null: the room is not known"},
    "is_enough": {"type": "boolean", "description": "for every class"},
    "probability": {**SHARE, "description": "of a clean save, for the class that finds one least often"},
    "missing": {**SHARE, "description": "its complement, with full precision where it is small"},
    "least_sure": or_null(TEXT),
    "only_in_archive": {**SHARE, "description": "probability that nothing younger than the archive is clean"},
    "none_left_every_s": {**MAYBE, "description": "mean time between errors without a clean save; null: never [s]"},
    "extra_rework_s": {**TIME, "description": "per error, against keeping all saves [s]"},
    "lost_goodput": {**TIME, "description": "by that, to first order"},
}
_TIER = {
    "name": TEXT,
    "kind": TEXT,
    "period_s": {**TIME, "description": "running time from one save there to the next [s]"},
    "saves": {**COUNT, "description": "complete ones, at most"},
    "under_way": _WHOLE,
    "room_bytes": {**TIME, "description": "of both"},
    "fits": {"type": ["integer", "null"], "minimum": 0},
    "written_bytes_per_day": {**TIME, "description": "while nothing fails"},
    "worn_out_days": {**MAYBE, "description": "null: its endurance is not known [d]"},
    "archive_bytes_per_year": {**MAYBE, "description": "null: no archive"},
}


def retention() -> dict[str, Any]:
    """The body of ``ckptplan.retention/1``."""
    saving = {
        "strategy": TEXT,
        "asked_interval_s": MAYBE,
        "interval_s": TIME,
        "interval_steps": STEPS,
        "goodput": SHARE,
    }
    history = {"tier": TEXT, "work_s": TIME, "period_s": TIME, "save_bytes": TIME}
    return object_of(
        {
            "schema": {"const": "ckptplan.retention/1"},
            "ckptplan": TEXT,
            "spec": {"type": "object", "description": "values in force, in SI units"},
            "name": TEXT,
            "gpus": COUNT,
            "probability": {**SHARE, "description": "wanted, of a clean save"},
            "saving": {**object_of(saving), "description": "interval_s: work between saves to any tier [s]"},
            "history": {**object_of(history), "description": "the tier that keeps it; from save to save there [s]"},
            "classes": {"type": "array", "items": object_of(_CLASS)},
            "given": {**or_null(object_of(_RULE)), "description": "the rule of the spec; null: it has none"},
            "remedy": {**TEXTS, "description": "rules that would be enough, if that of the spec is not"},
            "rules": {"type": "array", "items": object_of(_RULE), "minItems": 1},
            "tiers": {"type": "array", "items": object_of(_TIER), "minItems": 1},
            "archive_every": STEPS,
            "archive_full_s": {**MAYBE, "description": "until the archive has filled the room [s]"},
            "assumptions": TEXTS,
        }
    )

"""The JSON Schema of what ``ckptplan size`` says of a model whose layers are known."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import COUNT, SHARE, TEXT, TEXTS, TIME, object_of, or_null

_WHOLE = {"type": "integer", "minimum": 0}


def architecture() -> dict[str, Any]:
    """Counts, kinds and stages; null where a spec gives a number of parameters alone."""
    experts = object_of({"routed": COUNT, "per_token": COUNT, "layers": COUNT, "parameters_each": COUNT})
    kind = {
        "type": "object",
        "properties": {"kind": TEXT, "parameters": COUNT, "share": SHARE, "active_parameters": _WHOLE},
        "required": ["kind", "parameters", "share"],
        "additionalProperties": False,
    }
    stage = object_of(
        {
            "first_layer": _WHOLE,
            "layers": _WHOLE,
            "parameters": {**_WHOLE, "description": "of the model, each counted on one stage"},
            "parameters_per_rank": {**_WHOLE, "description": "of the busiest rank, with padding and a tied copy"},
            "held_per_rank_bytes": TIME,
            "written_per_rank_bytes": TIME,
        }
    )
    return or_null(
        object_of(
            {
                "family": TEXT,
                "source": {**TEXT, "description": "the file that it was read from"},
                "layers": COUNT,
                "parameters": COUNT,
                "active_parameters": {**COUNT, "description": "that one token uses"},
                "tied_head": {"type": "boolean"},
                "buffers": {**_WHOLE, "description": "elements that no optimizer trains, not counted"},
                "extra_parameters": {**_WHOLE, "description": "of modules beside the model, not counted"},
                "experts": or_null(experts),
                "assumed": TEXTS,
                "kinds": {"type": "array", "items": kind},
                "stages": {"type": "array", "items": stage},
            }
        )
    )

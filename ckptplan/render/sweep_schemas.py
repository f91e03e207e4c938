"""The JSON Schema of ``ckptplan.sweep/1``: axes, columns, and a row for each point."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import COUNT, NUMBER, TEXT, TEXTS, WHOLE, object_of

_AXIS = {
    "key": {
        **TEXT,
        "description": "of the spec, an entry of a list by number or name as it was asked for; interval: a given one",
    },
    "column": {**TEXT, "description": "where its values stand in the rows"},
    "unit": {"enum": ["", "s", "bytes", "bytes/s", "W"]},
    "values": {"type": "array", "items": NUMBER, "minItems": 1},
    "texts": {**TEXTS, "description": "the values as people read them"},
}
_COLUMN = {
    "name": TEXT,
    "unit": {**TEXT, "description": "empty for counts and texts, 1 for shares"},
    "about": TEXT,
}
_SPEC = {
    "name": TEXT,
    "spec": {"type": "object", "description": "values in force at the first point that makes a spec, in SI units"},
}
_CELL = {"type": ["number", "string", "null"], "description": "null: not known, or not planned; see status"}


def sweep() -> dict[str, Any]:
    """One sweep."""
    return object_of(
        {
            "schema": {"const": "ckptplan.sweep/1"},
            "ckptplan": TEXT,
            "specs": {"type": "array", "items": object_of(_SPEC), "minItems": 1},
            "axes": {"type": "array", "items": object_of(_AXIS), "minItems": 1},
            "each": {"enum": ["point", "strategy", "method"]},
            "runs": {**WHOLE, "description": "simulated at each point"},
            "seed": WHOLE,
            "points": COUNT,
            "columns": {"type": "array", "items": object_of(_COLUMN), "minItems": 1},
            "rows": {
                "type": "array",
                "items": {"type": "array", "items": _CELL},
                "description": "one array per row, in the order of the columns; the last axis runs fastest",
            },
            "unplanned": {**WHOLE, "description": "rows without numbers; status says why"},
            "warnings": TEXTS,
        }
    )

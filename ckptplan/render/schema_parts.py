"""The parts that JSON Schemas of output documents are built of."""

from __future__ import annotations

from typing import Any

NUMBER = {"type": "number"}
MAYBE = {"type": ["number", "null"]}
WHOLE = {"type": "integer", "minimum": 0}
FLAG = {"type": "boolean"}
COUNT = {"type": "integer", "minimum": 1}
STEPS = {"type": ["integer", "null"], "minimum": 1}
TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
TIME = {"type": "number", "minimum": 0}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}


def object_of(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def or_null(kind: dict[str, Any]) -> dict[str, Any]:
    """The same, or null."""
    return {**kind, "type": [kind["type"], "null"]}

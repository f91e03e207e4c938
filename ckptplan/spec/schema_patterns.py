"""JSON Schema of one value: a number within bounds, or a text of a number and its unit."""

from __future__ import annotations

from typing import Any

from ckptplan.spec.fields import LARGEST, LONGEST_TEXT, MOST_GPUS, SMALLEST
from ckptplan.spec.schema import Form, Key
from ckptplan.spec.spreads import LARGEST_CV, SPREADABLE
from ckptplan.units import Dimension, unit_names

_DIGITS = "[0-9]+(_[0-9]+)*"
_NUMBER = rf"\+?({_DIGITS}(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
_WHOLE = rf"\+?({_DIGITS}(\.0*)?|{_DIGITS}(\.[0-9]*)?[eE]\+?[0-9]+)"
_UP_TO_ONE = r"\+?(0*(\.[0-9]+)|0+\.?|0*1(\.0*)?)"
_UP_TO_HUNDRED = r"\+?(0*[0-9]{1,2}(\.[0-9]*)?|\.[0-9]+|0*100(\.0*)?)"
_SCALED_DOWN = rf"\+?({_DIGITS}(\.[0-9]*)?|\.[0-9]+)[eE]-[0-9]+"
_ABOVE_ZERO = r"(?=[\s+0_.]*[1-9])"
_DATE = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[-+][0-9]{2}:[0-9]{2})?)?\s*$"
# One line that is not blank, without control characters.
_LINE = r"^(?=.*\S)[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"


def written(key: Key, *, least: float | None = None) -> dict[str, Any]:
    """What may be written for a value; ``least`` is its smallest number where that is not a general bound."""
    value = _value(key, least)
    return {"anyOf": [value, *_spread(key)]} if key.form in SPREADABLE and not key.exact else value


def axes() -> dict[str, Any]:
    """Keys, each with a value, a range, or a list of both; what a key takes no schema can say here."""
    value = {"type": ["number", "string"], "minLength": 1, "pattern": _LINE}
    values = {"anyOf": [value, {"type": "array", "items": value, "minItems": 1}]}
    return {"type": "object", "minProperties": 1, "additionalProperties": values}


def _spread(key: Key) -> list[dict[str, Any]]:
    """A range, or a mean with its coefficient of variation; that the first value is the lower one no schema can say."""
    unit = {"number": "", "fraction": r"\s*(%|percent)?"}.get(key.form, rf"\s*({_units(_dimension(key.form))})")
    first = unit if key.form in {"number", "fraction"} else f"({unit})?"
    return [
        {"type": "string", "pattern": rf"^\s*{_NUMBER}{first}\s*\.\.\s*{_NUMBER}{unit}\s*$"},
        {
            "type": "object",
            "properties": {
                "mean": _value(key, None),
                "cv": {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_CV},
            },
            "required": ["mean", "cv"],
            "additionalProperties": False,
        },
    ]


def _value(key: Key, least: float | None) -> dict[str, Any]:
    """One value, known exactly."""
    if key.form == "date":
        return {"type": "string", "pattern": _DATE}
    if key.form == "choice":
        return {"type": "string", "enum": list(key.choices)}
    if key.form == "names":
        name = {"type": ["string", "number", "boolean"], "minLength": 1, "maxLength": LONGEST_TEXT, "pattern": _LINE}
        return {"anyOf": [name, {"type": "array", "items": name, "minItems": 1}]}
    if key.form == "integers":
        return {"type": "array", "minItems": 1, "items": _text_or_quantity(key._replace(form="integer"), least)}
    return _text_or_quantity(key, least)


def _text_or_quantity(key: Key, least: float | None) -> dict[str, Any]:
    if key.form == "text":
        kinds = ["string", "number", "boolean"]
        return {"type": kinds, "minLength": 1, "maxLength": LONGEST_TEXT, "pattern": _LINE}
    if key.form == "integer":
        return _number_or_text({"type": "integer", "minimum": 1, "maximum": MOST_GPUS}, _WHOLE, key)
    if key.form == "fraction":
        shares = rf"({_UP_TO_ONE}|{_UP_TO_HUNDRED}\s*(%|percent)|{_SCALED_DOWN}\s*(%|percent)?)"
        return _number_or_text({**_bounds(key, least), "maximum": 1}, shares, key)
    if key.form in {"number", "bytes"}:
        unit = rf"\s*({_units('size')})?" if key.form == "bytes" else ""
        return _number_or_text(_bounds(key, least), f"{_NUMBER}{unit}", key)
    automatic = "|^auto$" if key.form == "time or auto" else ""
    quantity = rf"{_NUMBER}\s*({_units(_dimension(key.form))})"
    return {"type": "string", "pattern": f"{_whole_text(quantity, key)}{automatic}"}


def _bounds(key: Key, least: float | None) -> dict[str, Any]:
    smallest = SMALLEST if least is None else least
    return {"type": "number", "minimum": 0 if key.zero else smallest, "maximum": LARGEST}


def _number_or_text(number: dict[str, Any], pattern: str, key: Key) -> dict[str, Any]:
    return {"anyOf": [number, {"type": "string", "pattern": _whole_text(pattern, key)}]}


def _whole_text(pattern: str, key: Key) -> str:
    return rf"^{'' if key.zero else _ABOVE_ZERO}\s*{pattern}\s*$"


def _dimension(form: Form) -> Dimension:
    return {"size": "size", "rate": "rate", "power": "power"}.get(form, "time")  # type: ignore[return-value]


def _units(dimension: Dimension) -> str:
    """Every unit; blanks may stand around the stroke of a rate."""
    names = [name.replace("/", r"\s*/\s*") for name in unit_names(dimension)]
    return "|".join("".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in name) for name in names)

"""The JSON Schema of a spec, for editors: pydantic models made from the table of keys.

Reading a spec does not use the models: to build them takes longer than to read and plan a spec.
"""

from __future__ import annotations

from typing import Annotated, Any

from ckptplan.cost.state import addition_names, ledger_names
from ckptplan.spec.fields import MOST_GPUS
from ckptplan.spec.presets import presets
from ckptplan.spec.schema import SPEC, STATE, Entry, Form, Group, Key, Many
from ckptplan.units import Dimension, unit_names

SCHEMA_ID = "urn:ckptplan:spec:1"

_NUMBER = r"([0-9]+(_[0-9]+)*(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
_ABOVE_ZERO = r"(?=[0-9_.]*[1-9])"


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of format version 1."""
    schema: dict[str, Any] = _model("Spec", SPEC, "").model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        **schema,
        "title": "ckptplan spec, format version 1",
    }


def _model(title: str, group: Group, path: str) -> Any:
    from pydantic import ConfigDict, Field, create_model

    fields: dict[str, Any] = {}
    for name, entry in group.keys.items():
        if name == "preset" and not group.preset:
            continue
        kind = _type(name, entry, path)
        about = _description(entry)
        if getattr(entry, "required", False):
            fields[name] = (kind, Field(..., description=about))
        else:
            # A factory, because a plain default of None would be printed as if null could be written.
            fields[name] = (kind, Field(default_factory=lambda: None, description=about))
    return create_model(title, __config__=ConfigDict(extra="forbid"), __doc__=group.about, **fields)


def _type(name: str, entry: Entry, path: str) -> Any:
    from pydantic import Field, WithJsonSchema

    inner = f"{path}.{name}".lstrip(".")
    if isinstance(entry, Many):
        item = _model(name.capitalize(), entry.item, inner)
        return Annotated[list[item], Field(min_length=1)]  # type: ignore[valid-type]
    if isinstance(entry, Group):
        return _model(name.capitalize(), entry, inner)
    if name == "preset":
        return Annotated[str, WithJsonSchema({"type": "string", "enum": list(presets()[path])})]
    if entry.form == "state":
        return _state_type()
    return Annotated[Any, WithJsonSchema(_written(entry))]


def _state_type() -> Any:
    from pydantic import Field, WithJsonSchema

    one = Annotated[str, WithJsonSchema({"type": "string", "enum": list(ledger_names())})]
    names = [*ledger_names(), *addition_names()]
    listed = Annotated[str, WithJsonSchema({"type": "string", "enum": names})]
    item: Any = listed | _model("State", STATE, "model.state")
    return one | Annotated[list[item], Field(min_length=1)]


def _description(entry: Entry) -> str:
    if not isinstance(entry, Key):
        return entry.about
    default = f" Default: {entry.default}." if entry.default else ""
    example = f" Example: {entry.example}." if entry.example else ""
    return f"{entry.about}{default}{example}"


def _written(key: Key) -> dict[str, Any]:
    """What may be written for a value: a number, or a text of a number and its unit."""
    if key.form == "choice":
        return {"type": "string", "enum": list(key.choices)}
    if key.form == "text":
        return {"type": ["string", "number"]}
    if key.form == "integer":
        whole = {"type": "integer", "minimum": 1, "maximum": MOST_GPUS}
        return {"anyOf": [whole, {"type": "string", "pattern": f"^{_NUMBER}$"}]}
    if key.form == "fraction":
        share = {"type": "number", "minimum" if key.zero else "exclusiveMinimum": 0, "maximum": 1}
        return {"anyOf": [share, {"type": "string", "pattern": rf"^{_NUMBER}\s*(%|percent)?$"}]}
    if key.form in {"number", "bytes"}:
        number = {"type": "number", "minimum" if key.zero else "exclusiveMinimum": 0}
        unit = rf"\s*({_units('size')})?" if key.form == "bytes" else ""
        return {"anyOf": [number, {"type": "string", "pattern": f"^{_NUMBER}{unit}$"}]}
    above_zero = "" if key.zero else _ABOVE_ZERO
    automatic = "|^auto$" if key.form == "time or auto" else ""
    return {"type": "string", "pattern": rf"^{above_zero}{_NUMBER}\s*({_units(_dimension(key.form))})${automatic}"}


def _dimension(form: Form) -> Dimension:
    if form == "size":
        return "size"
    return "rate" if form == "rate" else "time"


def _units(dimension: Dimension) -> str:
    return "|".join(name for name in unit_names(dimension) if name.isascii())

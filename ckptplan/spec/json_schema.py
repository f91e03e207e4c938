"""The JSON Schema of a spec, for editors: pydantic models made from the table of keys.

Reading a spec does not use the models: to build them takes longer than to read and plan a spec.
"""

from __future__ import annotations

from typing import Annotated, Any

from ckptplan.cost.state import addition_names, ledger_names
from ckptplan.spec import schema_patterns as patterns
from ckptplan.spec.presets import presets
from ckptplan.spec.schema import SPEC, STATE, Entry, Group, Key, Many
from ckptplan.spec.schema_rules import RULES, has

SCHEMA_ID = "urn:ckptplan:spec:1"

_MOST_STATES = 100


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

    by_preset = _required_or_preset(group, path)
    fields: dict[str, Any] = {}
    for name, entry in group.keys.items():
        if name == "preset" and not group.preset:
            continue
        kind = _type(name, entry, path)
        about = _description(entry)
        if getattr(entry, "required", False) and name not in by_preset:
            fields[name] = (kind, Field(..., description=about))
        else:
            # A factory, because a plain default of None would be printed as if null could be written.
            fields[name] = (kind, Field(default_factory=lambda: None, description=about))
    rules = [*RULES.get(path, ()), *({"anyOf": [has(name), has("preset")]} for name in by_preset)]
    extra: dict[str, Any] = {"allOf": rules} if rules else {}
    config = ConfigDict(extra="forbid", json_schema_extra=extra)
    return create_model(title, __config__=config, __doc__=group.about, **fields)


def _required_or_preset(group: Group, path: str) -> list[str]:
    """Keys that must be there unless a preset gives them: every preset of the group does."""
    members = presets().get(path, {}).values() if group.preset else ()
    return [
        name
        for name, entry in group.keys.items()
        if getattr(entry, "required", False) and members and all(name in one.values.entries for one in members)
    ]


def _type(name: str, entry: Entry, path: str) -> Any:
    from pydantic import Field, WithJsonSchema

    inner = f"{path}.{name}".lstrip(".")
    if isinstance(entry, Many):
        item = _model(name.capitalize(), entry.item, inner)
        return Annotated[list[item], Field(min_length=1)]  # type: ignore[valid-type]
    if isinstance(entry, Group):
        model = _model(name.capitalize(), entry, inner)
        if entry.shorthand:
            alone = entry.keys[entry.shorthand]
            model = model | _type(entry.shorthand, alone, inner)
        needed = entry.required or any(getattr(key, "required", False) for key in entry.keys.values())
        return model if needed else model | None  # a group whose keys are all commented out is null
    if name == "preset":
        return Annotated[str, WithJsonSchema({"type": "string", "enum": list(presets()[path])})]
    if entry.form == "state":
        return _state_type()
    if entry.form == "axes":
        return Annotated[dict[str, Any], WithJsonSchema(patterns.axes())]
    return Annotated[Any, WithJsonSchema(patterns.written(entry, least=1 if inner == "model.parameters" else None))]


def _state_type() -> Any:
    from pydantic import Field, WithJsonSchema

    one = Annotated[str, WithJsonSchema({"type": "string", "enum": list(ledger_names())})]
    names = [*ledger_names(), *addition_names()]
    listed = Annotated[str, WithJsonSchema({"type": "string", "enum": names})]
    item: Any = listed | _model("State", STATE, "model.state")
    return one | Annotated[list[item], Field(min_length=1, max_length=_MOST_STATES)]


def _description(entry: Entry) -> str:
    if not isinstance(entry, Key):
        return entry.about
    default = f" Default: {entry.default}." if entry.default else ""
    example = f" Example: {entry.example}." if entry.example else ""
    return f"{entry.about}{default}{example}"

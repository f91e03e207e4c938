"""The JSON Schema of a spec, for editors: pydantic models made from the table of keys.

Reading a spec does not use the models: to build them takes longer than to read and plan a spec.
"""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Any

from ckptplan.cost.state import addition_names, ledger_names
from ckptplan.spec import schema_patterns as patterns
from ckptplan.spec.presets import presets
from ckptplan.spec.schema import (
    ASYNCHRONOUS_ONLY,
    FAILURE_SOURCES,
    RESTART_PHASES,
    SLOW_DOWNS,
    SPEC,
    STATE,
    WORK_SOURCES,
    Entry,
    Group,
    Key,
    Many,
)

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
    rules = [*_RULES.get(path, ()), *({"anyOf": [_has(name), _has("preset")]} for name in by_preset)]
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
        needed = entry.required or any(getattr(key, "required", False) for key in entry.keys.values())
        return model if needed else model | None  # a group whose keys are all commented out is null
    if name == "preset":
        return Annotated[str, WithJsonSchema({"type": "string", "enum": list(presets()[path])})]
    if entry.form == "state":
        return _state_type()
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


def _has(*names: str) -> dict[str, Any]:
    return {"required": list(names)}


def _none_of(*names: str) -> dict[str, Any]:
    return {"not": {"anyOf": [_has(name) for name in names]}}


def _is(name: str, value: str) -> dict[str, Any]:
    return {"required": [name], "properties": {name: {"const": value}}}


def _with(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": [name], "properties": {name: schema}}


# What holds between the keys of a group. Every preset of save sets keys that only mode asynchronous takes.
_RULES: dict[str, list[dict[str, Any]]] = {
    "failures": [
        {
            "oneOf": [
                *map(_has, FAILURE_SOURCES),
                {**_has("preset"), **_none_of(*FAILURE_SOURCES)},
                {**_with("law", _has("file")), **_none_of("preset", *FAILURE_SOURCES)},
            ]
        },
        {"if": _has("prior"), "then": {"anyOf": [_has("interruptions"), _has("preset")]}},
    ],
    "failures.law": [
        {
            "if": {"anyOf": [_is("name", law) for law in ("weibull", "gamma")]},
            "then": _has("shape"),
            "else": _none_of("shape"),
        },
        {"if": _is("name", "lognormal"), "then": _has("sigma"), "else": _none_of("sigma")},
        {"if": _is("name", "recorded"), "then": _has("file"), "else": _none_of("file")},
    ],
    "training": [
        {"not": {"anyOf": [_has(*pair) for pair in combinations(WORK_SOURCES, 2)]}},
        {"if": {"anyOf": [_has("tokens"), _has("tokens_per_step")]}, "then": _has("tokens", "tokens_per_step")},
        {"if": {"anyOf": [_has("tokens"), _has("steps")]}, "then": _has("step_time")},
    ],
    "restart": [{"if": _has("total"), "then": _none_of(*RESTART_PHASES)}],
    "save": [
        {"if": {"anyOf": [_has(name) for name in (*ASYNCHRONOUS_ONLY, "preset")]}, "then": _is("mode", "asynchronous")},
        {"not": {"anyOf": [_has(*pair) for pair in combinations(SLOW_DOWNS, 2)]}},
    ],
    "model.state": [
        {"oneOf": [_has("bytes_per_parameter"), _has("bytes")]},
        {"if": _has("bytes_per_parameter", "per"), "then": _is("per", "parameter")},
    ],
}

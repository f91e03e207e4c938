"""What holds between the keys of a spec, as far as a JSON Schema can say it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from ckptplan.spec.fields import MOST_GPUS
from ckptplan.spec.schema import (
    ASYNCHRONOUS_ONLY,
    FAILURE_SOURCES,
    MODEL_SOURCES,
    RESTART_PHASES,
    SLOW_DOWNS,
    WORK_SOURCES,
)
from ckptplan.spec.schema_faults import (
    BACKGROUND_KEYS,
    CLASS_PHASES,
    CLASS_RATES,
    KINDS_OF_KEY,
    MOST_TIERS,
    PEER_KEYS,
    RESERVED_NAMES,
    THEN_KEYS,
    WRITE_RATES,
)

Rule = dict[str, Any]


def has(*names: str) -> Rule:
    """All of these keys are given."""
    return {"required": list(names)}


def _any_of(*names: str) -> Rule:
    return {"anyOf": [has(name) for name in names]}


def _none_of(*names: str) -> Rule:
    return {"not": _any_of(*names)}


def _at_most_one_of(*names: str) -> Rule:
    return {"not": {"anyOf": [has(*pair) for pair in combinations(names, 2)]}}


def _is(name: str, *values: str) -> Rule:
    return {"required": [name], "properties": {name: {"enum": list(values)}}}


def _with(name: str, schema: Rule) -> Rule:
    return {"required": [name], "properties": {name: schema}}


def _if(condition: Rule, then: Rule, otherwise: Rule | None = None) -> Rule:
    return {"if": condition, "then": then} | ({} if otherwise is None else {"else": otherwise})


_BACKGROUND = _is("write", "background")
_CERTAIN = r"^\s*\+?0*(1(\.0*)?|100(\.0*)?\s*(%|percent))\s*$"
_SPECTRUM = {
    "anyOf": [
        _with("failures", has("classes")),
        _with("storage", has("tiers")),
        has("verification"),
        has("spares"),
    ]
}
_EXPONENTIAL = {"properties": {"name": {"const": "exponential"}}}

# By group. Every preset of save sets keys that only mode asynchronous takes.
RULES: dict[str, list[Rule]] = {
    "": [
        {"anyOf": [has("save"), _with("storage", has("tiers"))]},
        _if(
            _SPECTRUM,
            {"properties": {"failures": {"properties": {"law": _EXPONENTIAL}, **_none_of("host_copy_survives")}}},
        ),
        _if(
            _with("failures", _with("classes", {"contains": _is("kind", "loss spike")})),
            _with("training", has("step_time")),
        ),
    ],
    "model": [{"oneOf": [*map(has, MODEL_SOURCES), {**has("preset"), **_none_of(*MODEL_SOURCES)}]}],
    "failures": [
        {
            "oneOf": [
                *map(has, FAILURE_SOURCES),
                {**has("preset"), **_none_of(*FAILURE_SOURCES)},
                {**_with("law", has("file")), **_none_of("preset", *FAILURE_SOURCES)},
            ]
        },
        _if(has("prior"), _any_of("interruptions", "record", "preset")),
        _if(_with("classes", {"contains": has("count")}), _any_of("interruptions", "preset")),
    ],
    "failures.law": [
        _if(_is("name", "weibull", "gamma"), has("shape"), _none_of("shape")),
        _if(_is("name", "lognormal"), has("sigma"), _none_of("sigma")),
        _if(_is("name", "recorded"), has("file"), _none_of("file")),
    ],
    "failures.classes": [
        {"oneOf": [has(rate) for rate in CLASS_RATES]},
        _if(has("total"), _none_of(*CLASS_PHASES)),
        *(_if(has(key), _is("kind", *kinds)) for key, kinds in KINDS_OF_KEY.items()),
        _if(_is("kind", "loss spike"), _none_of("detect")),
        {
            "properties": {
                "name": {"not": {"type": "string", "pattern": rf"^\s*({'|'.join(RESERVED_NAMES)})\s*$"}},
            }
        },
    ],
    "failures.watchdog": [_if(_any_of("seen_at", "decay"), has("false_alarms_per_day"))],
    "storage": [
        {
            "properties": {
                "tiers": {"maxItems": MOST_TIERS, "prefixItems": [{"properties": {"write": {"const": "blocking"}}}]}
            }
        }
    ],
    "storage.tiers": [
        _if(_BACKGROUND, _any_of("drain", *WRITE_RATES), _any_of("stall", *WRITE_RATES)),
        _if({"not": _BACKGROUND}, {"properties": {"stall": {"pattern": "[1-9]"}}}),
        _if(_any_of(*BACKGROUND_KEYS), _BACKGROUND),
        _if(_any_of(*PEER_KEYS), _is("kind", "peer memory")),
        _if(has("endurance_per_node"), _is("kind", "local ssd")),
        _at_most_one_of("capacity", "capacity_per_node"),
        {"properties": {"replicas": {"not": {"enum": [1, "1"]}}}},
    ],
    "training": [
        _at_most_one_of(*WORK_SOURCES),
        _if(_any_of("tokens", "tokens_per_step"), has("tokens", "tokens_per_step")),
        _if(_any_of("tokens", "steps"), has("step_time")),
        _if(has("micro_batch"), has("global_batch")),
        _if(has("noise"), has("step_noise")),
    ],
    "restart": [_if(has("total"), _none_of(*RESTART_PHASES))],
    "save": [
        _if(_any_of(*ASYNCHRONOUS_ONLY, "preset"), _is("mode", "asynchronous")),
        _at_most_one_of(*SLOW_DOWNS),
    ],
    "retention": [
        _if(has("keep"), _none_of(*THEN_KEYS)),
        _if(_any_of("then_every", "then_for"), has(*THEN_KEYS)),
        {"properties": {"probability": {"not": {"anyOf": [{"const": 1}, {"type": "string", "pattern": _CERTAIN}]}}}},
    ],
    "sweep": [_none_of("specs")],
    "spares": [{"properties": {"nodes": {"multipleOf": 1, "maximum": MOST_GPUS}}}],
    "model.state": [
        {"oneOf": [has("bytes_per_parameter"), has("bytes")]},
        _if(has("bytes_per_parameter", "per"), _is("per", "parameter")),
    ],
}

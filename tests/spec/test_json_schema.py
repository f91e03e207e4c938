"""The published JSON Schema agrees with the reader."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from ckptplan.spec.reading import read_spec, spec_json_schema
from ckptplan.spec.starter import STARTER
from tests.spec.broken import _NUMBERS, _TYPES, GOOD

SCHEMA = spec_json_schema()
VALID = jsonschema.Draft202012Validator(SCHEMA)

# Right for YAML 1.2, but the loader used here reads 1.1, or the fault is beyond a schema of shapes.
_BEYOND = {"nan parameters", "less than one parameter", "beyond reason", "state with both sizes", "state twice",
           "state without bytes", "half a gpu", "too many gpus", "number too large for a float", "infinite parameters",
           "empty name"}  # fmt: skip


def _plain(text: bytes) -> Any:
    import yaml

    return yaml.safe_load(text)


def test_the_schema_is_a_schema() -> None:
    """It is valid draft 2020-12, with an id, a title, and a description of every key."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"]
    assert SCHEMA["title"]
    for model in [SCHEMA, *SCHEMA["$defs"].values()]:
        assert model["additionalProperties"] is False
        for name, key in model["properties"].items():
            assert "$ref" in key or key["description"], name


@pytest.mark.parametrize("text", [GOOD, STARTER])
def test_good_specs_are_valid(text: str) -> None:
    """What the reader accepts, the schema accepts (numbers with an exponent need a point in YAML 1.1)."""
    plain = _plain(text.replace("70e9", "70.0e+9").replace("405e9", "405.0e+9").encode())
    assert [error.message for error in VALID.iter_errors(plain)] == []


@pytest.mark.parametrize("row", [row for row in _NUMBERS + _TYPES if row.id not in _BEYOND], ids=lambda row: row.id)
def test_broken_specs_are_invalid(row: Any) -> None:
    """What the reader refuses for its type or sign, the schema refuses."""
    assert not VALID.is_valid(_plain(row.data))


def test_the_starter_runs_as_it_is() -> None:
    """The starter is a valid spec without a single warning."""
    spec = read_spec(STARTER.encode(), "run.yaml")
    assert spec.warnings == ()
    assert [save.name for save in spec.scenario.saves] == ["sharded", "asynchronous"]


def test_keys_behind_a_comment_sign_in_the_starter_work() -> None:
    """Every optional key that the starter shows may be uncommented."""
    sets = [
        "model.state=[adam-14, ema]",
        "model.expert_parameters=60e9",
        "model.trainable_fraction=1 %",
        "cluster.host_memory_per_node=2 TB",
        "storage.write_bandwidth_per_node=4 GB/s",
        "storage.write_bandwidth_per_writer=2 GB/s",
        "storage.latency=2 s",
        "save[sharded].stall=60 s",
        "assume={failures_strike: DR}",
        "failures.mtbf=60 h",
    ]
    for text in sets:
        key, _, value = text.partition("=")
        assert key.rpartition(".")[2] in STARTER
        assert value.strip("{}") in STARTER
    assert read_spec(STARTER.encode(), "run.yaml", sets=sets).scenario.failures.source == "mtbf"

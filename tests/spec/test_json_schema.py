"""The published JSON Schema agrees with the reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ckptplan.errors import InputError
from ckptplan.spec.document import parse, read_text
from ckptplan.spec.reading import read_spec, spec_json_schema
from ckptplan.spec.starter import STARTER
from ckptplan.spec.tree import ListNode, MapNode, Node, ScalarNode
from tests.spec.broken import _NUMBERS, _TYPES, _UNITS, GOOD
from tests.spec.broken_fault_rules import FAULTY_RULES
from tests.spec.broken_faults import FAULTY_VALUES, spectrum

SCHEMA = spec_json_schema()
VALID = jsonschema.Draft202012Validator(SCHEMA)
CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))

# A text is not weighed by a schema, nor are two states compared.
_BEYOND = {"state twice", "time beyond reason", "nan parameters"}


def _plain(data: str | bytes) -> Any:
    """The values as an editor's YAML 1.2 parser hands them to the schema."""
    text, source = read_text(data if isinstance(data, bytes) else data.encode(), "run.yaml")
    return _value(parse(text, source)[0])


def _value(node: Node) -> Any:
    if isinstance(node, MapNode):
        return {key: _value(child) for key, (_, child) in node.entries.items()}
    if isinstance(node, ListNode):
        return [_value(child) for child in node.items]
    return node.value if isinstance(node, ScalarNode) else None


def _accepts(text: str) -> bool:
    """Whether the reader takes a spec; the schema must be of the same mind."""
    try:
        read_spec(text.encode(), "run.yaml")
    except InputError:
        return False
    return True


def _changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def test_the_schema_is_a_schema() -> None:
    """It is valid draft 2020-12, with an id, a title, and a description of every key."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"]
    assert SCHEMA["title"]
    for model in [SCHEMA, *SCHEMA["$defs"].values()]:
        assert model["additionalProperties"] is False
        for name, key in model["properties"].items():
            assert "$ref" in key or key["description"], name


@pytest.mark.parametrize("text", [GOOD, STARTER, spectrum()])
def test_good_specs_are_valid(text: str) -> None:
    """What the reader accepts, the schema accepts."""
    assert [error.message for error in VALID.iter_errors(_plain(text))] == []


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_configs_are_valid(path: Path) -> None:
    """Every spec that ships with the program holds against the schema."""
    assert [error.message for error in VALID.iter_errors(_plain(path.read_bytes()))] == []


def test_there_are_shipped_configs() -> None:
    """The test above has something to try."""
    assert len(CONFIGS) >= 16


@pytest.mark.parametrize(
    "row",
    [row for row in _UNITS + _NUMBERS + _TYPES + FAULTY_VALUES + FAULTY_RULES if row.id not in _BEYOND],
    ids=lambda row: row.id,
)
def test_broken_specs_are_invalid(row: Any) -> None:
    """What the reader refuses for its unit, type, sign or size, or for the keys beside it, the schema refuses."""
    assert not VALID.is_valid(_plain(row.data))


_WRITE, _SOURCE, _SHARDED, _TOTAL = "10 GB/s", "{mtbf_per_gpu: 50_000 h}", "mode: sharded", "{total: 10 min}"
_SPEED = "stall: 1 s, training_speed_while_flushing: "
_STATES = "state: [{name: w, "


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_SOURCE, "{}"),
        (_SOURCE, "null"),
        (_SOURCE, "{mtbf: 3 h, mtbf_per_gpu: 50_000 h}"),
        (_SOURCE, "{interruptions: {count: 4}}"),
        (_SOURCE, "{interruptions: {count: 4, over: 3 d}, mtbf: 3 h}"),
        (_TOTAL, "{total: 10 min, detect: 60 s}"),
        (_TOTAL, "{preset: crash, total: 10 min, load: auto}"),
        ("a run", "''"),
        ("a run", "' '"),
        ("a run", "x" * 201),
        ("a run", '"a\\nb"'),
        ("a run", '"a\\eb"'),
        ("a run", "[a]"),
        ("70e9", "1e25"),
        ("70e9", "0.5"),
        ("70e9", "'0'"),
        ("gpus: 512", "gpus: 2_000_000_000"),
        ("gpus: 512", "gpus: '512.5'"),
        ("gpus: 512", "gpus: '0'"),
        ("gpus: 512, ", ""),
        ("parameters: 70e9, ", ""),
        ("parameters: 70e9, ", "parameters: 70e9, config: config.json, "),
        ("parameters: 70e9, ", "preset: llama3-70b, config: a, checkpoint: b, "),
        ("pipeline: 4", "pipeline: 4, layers_per_stage: 8"),
        ("pipeline: 4", "pipeline: 4, layers_per_stage: [8, 8, 8, 0.5]"),
        ("stall: 1 s", f"{_SPEED}1.5"),
        ("stall: 1 s", f"{_SPEED}'1.5'"),
        ("stall: 1 s", f"{_SPEED}101 %"),
        ("stall: 1 s", f"{_SPEED}100.5 %"),
        ("stall: 1 s", f"{_SPEED}250 percent"),
        ("state: adam-14", f"{_STATES}loss: all}}]"),
        ("state: adam-14", f"{_STATES}bytes_per_parameter: 2, bytes: 3}}]"),
        ("state: adam-14", f"{_STATES}bytes_per_parameter: 2, per: job}}]"),
        ("state: adam-14", f"{_STATES}bytes_per_parameter: 0}}]"),
        (_SHARDED, "mode: sharded, flush: 9 s"),
        (_SHARDED, "mode: gathered, copy_bandwidth: 9 GB/s"),
        (_SHARDED, "training_speed_while_flushing: 95 %"),
        (_SHARDED, "preset: pcie4"),
        (_WRITE, "10 GB / h"),
        (_WRITE, "0 GB/s"),
        (_WRITE, "1 gbps"),
    ],
)
def test_what_the_reader_refuses_the_schema_refuses(old: str, new: str) -> None:
    """Simple faults are found by an editor already."""
    text = _changed(old, new)
    assert not _accepts(text)
    assert not VALID.is_valid(_plain(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_WRITE, '" 2 TB/s "'),
        (_WRITE, "2 TB / s"),
        (_WRITE, "2TB/s"),
        (_WRITE, "'+2 TB/s'"),
        (_WRITE, ".5 TB/s"),
        ("step_time: 5 s", "step_time: 5_000_000 \N{MICRO SIGN}s"),
        ("step_time: 5 s", "step_time: 5e3 ms"),
        ("70e9", "'70_000_000_000 '"),
        ("gpus: 512", "gpus: '512'"),
        ("gpus: 512", "gpus: 5.12e2"),
        ("gpus: 512", "gpus: '5.12e2'"),
        ("a run", "2026"),
        ("a run", "true"),
        ("a run", "l\xe4uft \u6771"),
        (_SOURCE, "{preset: rsc-1}"),
        (_SOURCE, "{preset: rsc-1, mtbf: 90 h}"),
        ("parameters: 70e9, ", "preset: llama3-70b, "),
        ("parameters: 70e9, ", "preset: llama3-70b, parameters: 8e9, "),
        ("pipeline: 4", "pipeline: 4, layers_per_stage: [8, '7', 8.0, 7]"),
        (_TOTAL, "{preset: crash, total: 10 min}"),
        (_TOTAL, "{detect: 0 s, load: auto}"),
        (_TOTAL, "null"),
        ("{step_time: 5 s, duration: 30 d}", "null"),
        ("stall: 1 s", f"{_SPEED}100 %"),
        ("stall: 1 s", f"{_SPEED}'95%'"),
        ("stall: 1 s", f"{_SPEED}0"),
        ("stall: 1 s", f"{_SPEED}1.0"),
        ("stall: 1 s", f"{_SPEED}'0.95'"),
        ("stall: 1 s", f"{_SPEED}99.5 percent"),
        ("stall: 1 s", "preset: c2c"),
        ("state: adam-14", f"{_STATES}bytes_per_parameter: 2}}, ema]"),
        ("state: adam-14", f"{_STATES}bytes_per_parameter: 2}}, {{name: b, bytes: 1 MB, per: rank}}]"),
    ],
)
def test_what_the_reader_takes_the_schema_takes(old: str, new: str) -> None:
    """An editor does not mark what runs."""
    text = _changed(old, new)
    assert _accepts(text)
    assert [error.message for error in VALID.iter_errors(_plain(text))] == []


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

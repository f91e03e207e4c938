"""The smaller commands: size, methods, configs, spec show and check."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema
import pytest

from ckptplan.interval.methods import METHODS
from ckptplan.load import shipped_configs
from ckptplan.render.schemas import output_schema
from tests.cli.harness import ckptplan


def test_size_prints_the_ledger_and_what_a_loss_costs() -> None:
    """988 GB in 14 bytes per parameter, 1.93 GB written per GPU, and a sentence for each state."""
    text = ckptplan("size", "llama3-70b").out
    for phrase in ("987.8 GB", "14 bytes per parameter", "1.929 GB", "fp32 master weights", "gradients"):
        assert phrase in text
    for phrase in ("small updates", "bias correction", "twice or skipped", "bit for bit", "overflow or underflow"):
        assert phrase in text


def test_size_document_holds_its_schema_and_adds_up() -> None:
    """For every shipped config the states sum to the total, and the document validates."""
    for config in shipped_configs():
        document = json.loads(ckptplan("size", config.name, "--format", "json").out)
        jsonschema.validate(document, output_schema("size"))
        states = sum(state["size_bytes"] for state in document["states"])
        assert states == pytest.approx(document["size"]["total_bytes"], rel=1e-12)


def test_size_csv_and_markdown() -> None:
    """CSV has one row per state with full precision; Markdown names the losses."""
    rows = list(csv.DictReader(io.StringIO(ckptplan("size", "llama3-70b", "--format", "csv").out)))
    masters = next(row for row in rows if row["state"] == "fp32 master weights")
    assert float(masters["size_bytes"]) == 4 * 70_553_706_496
    assert "small updates" in ckptplan("size", "llama3-70b", "--format", "markdown").out


TIERS = """\
name: a run with tiers only
model: {parameters: 1e9, state: adam-14}
cluster: {gpus: 64, gpus_per_node: 8}
failures: {mtbf_per_gpu: 50_000 h}
storage:
  tiers:
    - {kind: host memory, bandwidth_per_gpu: 25 GB/s}
    - {kind: peer memory, write: background, bandwidth_per_node: 10 GB/s, replicas: 3, capacity_per_node: 3 GB}
    - {kind: file system, write: background, bandwidth: 1 GB/s}
restart: {total: 10 min}
"""


def test_size_prints_what_a_save_takes_of_each_tier(tmp_path: Path) -> None:
    """Copies count; a node holds an eighth of a checkpoint that 8 nodes share."""
    path = tmp_path / "run.yaml"
    path.write_text(TIERS, encoding="utf-8")
    document = json.loads(ckptplan("size", str(path), "--format", "json").out)
    jsonschema.validate(document, output_schema("size"))
    total = document["size"]["total_bytes"]
    assert document["saves"] == []
    assert [tier["bytes_per_save"] for tier in document["tiers"]] == pytest.approx([total, 3 * total, total])
    assert [tier["bytes_per_node"] for tier in document["tiers"]] == pytest.approx(
        [total / 8, 3 * total / 8, total / 8], rel=1e-3
    )
    assert [tier["fits"] for tier in document["tiers"]] == [None, int(24e9 // (3 * total)), None]
    assert document["tiers"][1]["flush_s"] == pytest.approx(2 * total / 8 / 10e9, rel=1e-3)
    assert document["tiers"][2]["flush_s"] == pytest.approx(total / 1e9)
    for form in ("table", "markdown"):
        text = ckptplan("size", str(path), "--format", form).out
        assert "room for" in text
        assert "bound by" not in text


def test_size_says_which_tier_has_no_room(tmp_path: Path) -> None:
    """Notes of a tier are warnings here too."""
    path = tmp_path / "run.yaml"
    path.write_text(TIERS.replace("3 GB", "1 GB"), encoding="utf-8")
    assert "the tier has room for 8 GB" in ckptplan("size", str(path)).err


def test_size_says_what_does_not_fit() -> None:
    """Notes of a save are warnings here too."""
    ran = ckptplan("size", "llama3-70b", "--set", "cluster.host_memory_per_node=1 GB")
    assert "has 1 GB" in ran.err


@pytest.mark.parametrize("name", METHODS)
def test_methods_name_equation_assumptions_validity_and_source(name: str) -> None:
    """One method's page holds each of its parts."""
    text = ckptplan("methods", name).out
    for heading in ("Equation", "Assumptions", "Validity", "Accounting", "Source"):
        assert heading in text
    document = json.loads(ckptplan("methods", name, "--format", "json").out)
    assert [method["name"] for method in document["methods"]] == [name]


def test_methods_lists_all() -> None:
    """Without a name every method is a row."""
    text = ckptplan("methods").out
    assert all(name in text for name in METHODS)


def test_configs_lists_eighteen_specs_that_run_by_name() -> None:
    """Each listed name works where a SPEC is asked for."""
    document = json.loads(ckptplan("configs", "--format", "json").out)
    names = [config["name"] for config in document["configs"]]
    assert len(names) == 18
    assert ckptplan("spec", "check", *names).code == 0


def test_show_says_where_each_value_came_from() -> None:
    """Line, preset, flag, environment and default are all named."""
    spec = ckptplan("spec", "init").out.replace("write_bandwidth: 20 GB/s", "preset: lustre-large").encode()
    ran = ckptplan(
        "spec",
        "show",
        "-",
        "--set",
        "training.step_time=7 s",
        "--format",
        "json",
        stdin=spec,
        env={"CKPTPLAN_SPEC__CLUSTER__GPUS_PER_NODE": "4"},
    )
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    origin = {value["key"]: value["origin"] for value in document["values"]}
    assert "preset lustre-large" in origin["storage.write_bandwidth"]
    assert "--set" in origin["training.step_time"]
    assert "CKPTPLAN_SPEC__CLUSTER__GPUS_PER_NODE" in origin["cluster.gpus_per_node"]
    assert origin["assume.failures_strike"] == "default"
    assert origin["model.parameters"].rpartition(":")[2].isdecimal()
    assert document["spec"]["training"]["step_time_s"] == 7.0
    assert document["spec"]["storage"]["write_bandwidth_bytes_per_s"] == 250e9


def test_check_reports_every_file() -> None:
    """One wrong file among good ones: the good ones are ok, the exit code is 1."""
    ran = ckptplan("spec", "check", "rsc-1", "absent.yaml", "rsc-2")
    assert ran.code == 1
    assert ran.out == "rsc-1: ok\nrsc-2: ok\n"
    assert "absent.yaml" in ran.err


def test_no_arguments_print_the_help() -> None:
    """The bare command shows its help, not an error about usage."""
    ran = ckptplan()
    assert ran.code == 2
    assert ran.err.startswith("Usage: ckptplan")

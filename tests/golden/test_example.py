"""The example of the README: a spec planned from a Slurm record, a model configuration and a storage measurement."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import pytest

from ckptplan.load import load
from ckptplan.plan.pipeline import plan

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "example"
_HOUR_S = 3600.0


@pytest.fixture(scope="module")
def make():
    """The script that writes the files."""
    spec = importlib.util.spec_from_file_location("example_make", EXAMPLE / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def loaded():
    """The spec with all that it names."""
    return load(str(EXAMPLE / "run.yaml"))


def test_the_files_are_what_their_script_writes(make):
    """Made up by a seeded generator, and by nothing else."""
    for path, text in make.files():
        assert path.read_text(encoding="utf-8") == text, path


def test_the_readme_shows_the_spec_as_it_is():
    """What a reader copies is what was run."""
    assert (EXAMPLE / "run.yaml").read_text(encoding="utf-8") in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_failures_of_the_record_are_counted_as_a_plain_loop_counts_them(loaded, make):
    """NODE_FAIL, and FAILED after ten minutes, of the one job, over its GPU-hours."""
    with (EXAMPLE / "sacct.txt").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="|", quoting=csv.QUOTE_NONE))
    runs = [row for row in rows if "." not in row["JobID"] and row["JobName"] == "pretrain-70b"]
    failed = [r for r in runs if r["State"] == "NODE_FAIL" or (r["State"] == "FAILED" and int(r["ElapsedRaw"]) >= 600)]
    gpu_s = 1024 * sum(int(row["ElapsedRaw"]) for row in runs)
    evidence = loaded.scenario.failures.evidence
    assert (evidence.failures, evidence.exposure_gpu_s) == (len(failed), pytest.approx(gpu_s, rel=1e-12))
    truth_s = make.MTBF_PER_GPU_H * _HOUR_S
    assert abs(loaded.scenario.failures.mtbf_per_gpu_s / truth_s - 1.0) < 3.0 / len(failed) ** 0.5


def test_parameters_and_bandwidths_come_from_the_files(loaded):
    """Llama 3 70B has 70,553,706,496 parameters; eight writers of one node reach their sum."""
    scenario = loaded.scenario
    assert scenario.model.parameters == 70_553_706_496
    rates = [1.55e9 + 9e6 * n for n in range(8)]
    assert scenario.storage.write_bandwidth_per_node_bytes_per_s == pytest.approx(sum(rates))
    assert scenario.storage.write_bandwidth_per_writer_bytes_per_s == pytest.approx(sum(rates) / 8)
    assert scenario.storage.write_bandwidth_bytes_per_s == 200e9


def test_the_plan_follows_from_the_files(loaded):
    """The write is what the aggregate bandwidth takes, the interval what Young says to a percent."""
    made = plan(loaded.scenario)
    synchronous = next(row for row in made.records if row.strategy == "synchronous" and row.method == "young")
    assert synchronous.stall_s == pytest.approx(14 * 70_553_706_496 / 200e9, rel=1e-4)
    mtbf_s = loaded.scenario.failures.mtbf_per_gpu_s / 1024
    assert synchronous.interval_s == pytest.approx((2 * synchronous.stall_s * mtbf_s) ** 0.5, rel=1e-9)
    assert made.best.strategy == "asynchronous"

"""Models, states and layouts that a spec takes from a checkpoint of training."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ckptplan.cost.scenario import Kind, Scope, Shard
from ckptplan.cost.size import sizes
from ckptplan.errors import InputError
from ckptplan.load import load
from ckptplan.spec.reading import Spec
from tests.spec.broken import GOOD

OWN = Path(__file__).parents[1] / "checkpoint" / "fixtures"
SHARED = Path(__file__).parents[3] / "shared" / "fixtures" / "checkpoints"
PARAMETERS = 7 * 5 + 7 + 2 * 7 + 2


def spec(folder: Path, source: Path, *changes: tuple[str, str]) -> Path:
    """The good spec beside a copy of a checkpoint."""
    shutil.copytree(source, folder / "step")
    text = GOOD.replace("parameters: 70e9, state: adam-14", "checkpoint: step")
    text = text.replace(", layout: {tensor: 8, pipeline: 4, data: 16, shard: zero1}", "")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path) -> Spec:
    """The spec, without the environment."""
    return load(str(path), environment={})


def test_states_have_their_true_bytes(tmp_path: Path) -> None:
    """fp32 parameters are masters; moments four bytes each; small states as they are stored."""
    found = read(spec(tmp_path, OWN / "dcp-3rank"))
    model = found.scenario.model
    assert model.parameters == PARAMETERS
    states = {state.name: state for state in model.ledger.states}
    assert states["parameters (float32)"].kind is Kind.MASTER
    per_parameter = sum(s.bytes_each * s.share for s in states.values() if s.scope is Scope.PARAMETER)
    assert per_parameter == pytest.approx(12.0, rel=1e-12)
    assert states["random-number states"].scope is Scope.RANK
    origins = {value.key: value.origin for value in found.values}
    assert origins["model.state"] == origins["model.parameters"] == "follows from model.checkpoint"


def test_what_the_spec_writes_is_preferred(tmp_path: Path) -> None:
    """A ledger by name, and a layout."""
    changes = (
        ("checkpoint: step", "checkpoint: step, state: adam-14"),
        ("gpus: 512", "gpus: 512, layout: {data: 512}"),
    )
    found = read(spec(tmp_path, OWN / "dcp-3rank", *changes)).scenario
    assert found.model.ledger.name == "adam-14"
    assert found.cluster.layout.data == 512


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collection of checkpoints is not here")
def test_a_known_layout_is_taken_over(tmp_path: Path) -> None:
    """Megatron says its tensor parallelism; the data-parallel ranks follow from the GPUs."""
    found = read(spec(tmp_path, SHARED / "megatron-torch-dist-tp2-dp2" / "ckpt")).scenario
    assert (found.cluster.layout.tensor, found.cluster.layout.data) == (2, 256)
    assert found.cluster.layout.shard is Shard.ZERO1
    assert found.model.architecture is not None
    assert found.model.architecture.layers == 2  # stacked in one tensor
    # bf16 weights, fp32 masters and two moments: 14 bytes each.
    each = sum(s.bytes_each * s.share for s in found.model.ledger.states if s.scope is Scope.PARAMETER)
    assert each == pytest.approx(14.0, rel=1e-12)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collection of checkpoints is not here")
@pytest.mark.parametrize(
    "name", ["dcp-bf16-master", "deepspeed-zero3-4rank", "hf-trainer-1proc", "orbax-ocdbt-8dev", "torch-save-full"]
)
def test_the_size_of_a_plan_is_that_of_the_checkpoint(name: str, tmp_path: Path) -> None:
    """States that a parameter has each make the bytes that the files hold, whatever wrote them."""
    import json

    truth = json.loads((SHARED / name / "truth.json").read_text(encoding="utf-8"))
    kinds = ("param", "master_fp32", "exp_avg", "exp_avg_sq")
    large = sum(truth["bytes_by_kind"][kind]["logical_bytes"] for kind in kinds if kind in truth["bytes_by_kind"])
    scenario = read(spec(tmp_path, SHARED / name / "ckpt")).scenario
    small = [state for state in scenario.model.ledger.states if state.scope is not Scope.PARAMETER]
    each = sum(s.bytes_each * s.share for s in scenario.model.ledger.states if s.scope is Scope.PARAMETER)
    assert each * scenario.model.parameters == pytest.approx(large, rel=1e-9)
    assert sizes(scenario.model, scenario.cluster).total_bytes >= large
    assert small


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collection of checkpoints is not here")
@pytest.mark.parametrize("name", ["fsdp1-local-flat-3rank", "megatron-legacy-torch-tp2"])
def test_pieces_of_ranks_make_no_model(name: str, tmp_path: Path) -> None:
    """Where global shapes are unknown the key is refused, with what to write instead."""
    with pytest.raises(InputError) as caught:
        read(spec(tmp_path, SHARED / name / "ckpt"))
    assert [problem.key for problem in caught.value.problems] == ["model.checkpoint"]
    assert "config" in (caught.value.problems[0].hint or "")


def test_gpus_that_do_not_divide_leave_the_saved_layout(tmp_path: Path) -> None:
    """With a warning that says what to write."""
    if not SHARED.is_dir():
        pytest.skip("the collection of checkpoints is not here")
    found = read(spec(tmp_path, SHARED / "megatron-torch-dist-tp2-dp2" / "ckpt", ("gpus: 512", "gpus: 511")))
    assert found.scenario.cluster.layout.tensor == 1
    assert any("by which 511 GPUs do not divide" in warning.message for warning in found.warnings)

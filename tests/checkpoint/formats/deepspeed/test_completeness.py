"""What a DeepSpeed checkpoint must hold by its own account, and files that belong to another save."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats import deepspeed
from ckptplan.checkpoint.manifest import Fault, Flaw, Manifest
from tests.checkpoint.archives.torch_zip import saved
from tests.checkpoint.formats.deepspeed.written import File, Run, write

GROUPS = [{"a": (4, 3)}, {"b": (5,)}]


def read(root: Path) -> Manifest:
    """The manifest of the newest tag."""
    return deepspeed.read(CheckpointFolder(root))


def lost(root: Path) -> list[Fault]:
    """What is said to be missing."""
    return [fault for fault in read(root).faults if fault.flaw is Flaw.MISSING_FILE]


@pytest.mark.parametrize("stage", [1, 3])
@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_model_parallel_rank_without_any_file_is_missed(tmp_path: Path, stage: int, gone: int) -> None:
    """The other ranks' files say how many there were; 2 data-parallel ranks wrote 2 optimizer files for each."""
    folder = write(Run(stage, 2, GROUPS, model_ranks=3), tmp_path)
    assert lost(tmp_path) == []
    for file in folder.glob(f"*mp_rank_{gone:02d}_*"):
        file.unlink()
    (fault,) = lost(tmp_path)
    assert f"1 of 3 model-parallel ranks left no file: {gone}" in fault.message
    assert f"{4 if stage == 3 else 3} files are missing" in fault.message
    assert fault.file is not None
    assert f"mp_rank_{gone:02d}_model_states" in fault.file
    assert read(tmp_path).world_size == 6


def test_optimizer_files_of_one_model_parallel_rank(tmp_path: Path) -> None:
    """Its model states alone are not all that the other ranks have."""
    folder = write(Run(1, 2, GROUPS, model_ranks=2), tmp_path)
    for file in folder.glob("*mp_rank_01_optim_states.pt"):
        file.unlink()
    (fault,) = lost(tmp_path)
    assert "the optimizer files of model-parallel rank 1 are not there" in fault.message


def test_no_optimizer_file_where_the_configuration_has_a_stage(tmp_path: Path) -> None:
    """ZeRO always writes them; without a stage nothing says so."""
    run = Run(1, 2, GROUPS, client={"ds_config": {"zero_optimization": {"stage": 1}}})
    for file in write(run, tmp_path / "zero").glob("*optim_states.pt"):
        file.unlink()
    (fault,) = lost(tmp_path / "zero")
    assert "ZeRO of stage 1 writes one for each of 2 ranks" in fault.message
    for file in write(Run(1, 2, GROUPS), tmp_path / "other").glob("*optim_states.pt"):
        file.unlink()
    assert lost(tmp_path / "other") == []


def test_files_of_pipeline_layers_and_experts_are_one_for_each_rank(tmp_path: Path) -> None:
    """Layers without parameters have none at all, so that their numbers may be left out."""
    folder = write(Run(1, 1, GROUPS, model_ranks=2), tmp_path)
    names = [f"layer_{layer:02d}-model_{rank:02d}-model_states.pt" for layer in (1, 3, 4) for rank in (0, 1)]
    names += [f"layer_0_expert_{expert}_mp_rank_{rank:02d}_model_states.pt" for expert in range(3) for rank in (0, 1)]
    names += [f"expp_rank_{rank}_mp_rank_{model:02d}_optim_states.pt" for rank in range(3) for model in (0, 1)]
    for name in names:
        (folder / name).write_bytes(saved({"step": 5}, {}))
    assert lost(tmp_path) == []
    for name in (names[3], names[8], names[13]):
        (folder / name).unlink()
    assert {fault.file for fault in lost(tmp_path)} == {f"global_step5/{names[at]}" for at in (3, 8, 13)}


def test_a_rank_of_another_step_is_a_fault(tmp_path: Path) -> None:
    """Every rank steps with all others: the file that says otherwise is of another save."""
    folder = write(Run(2, 3, GROUPS), tmp_path)
    other = write(Run(2, 3, GROUPS), tmp_path / "other")
    name = "zero_pp_rank_1_mp_rank_00_optim_states.pt"
    data = (other / name).read_bytes()
    older = np.array(5, np.float32).tobytes(), np.array(4, np.float32).tobytes()
    assert data.count(older[0]) == 2
    (folder / name).write_bytes(data.replace(*older))
    (fault,) = read(tmp_path).faults
    assert fault.flaw is Flaw.CORRUPT
    assert f"the optimizer's step is 4 in 1 file, 5 in 2 files; see global_step5/{name}" in fault.message


def test_model_states_of_another_step_are_a_fault(tmp_path: Path) -> None:
    """The number of steps stands in every file."""
    folder = write(Run(3, 2, GROUPS), tmp_path)
    older = write(Run(3, 2, GROUPS, client={"global_steps": 4}), tmp_path / "other")
    name = "zero_pp_rank_1_mp_rank_00_model_states.pt"
    (folder / name).write_bytes((older / name).read_bytes())
    (fault,) = read(tmp_path).faults
    assert "global_steps is 4 in 1 file, 5 in 1 file" in fault.message


def test_a_trained_parameter_that_the_file_does_not_hold(tmp_path: Path) -> None:
    """The list of shapes names what is trained; shared weights are stored under one name."""
    folder = write(Run(1, 1, GROUPS), tmp_path)
    file = File()
    states: dict[str, Any] = {
        "module": {"a": file.stored(np.zeros((4, 3), np.float32))}, "buffer_names": [], "shared_params": {},
        "param_shapes": [{"a": (4, 3)}, {"b": (5,)}], "global_steps": 5, "dp_world_size": 1, "mp_world_size": 1,
    }  # fmt: skip
    file.write(folder / "mp_rank_00_model_states.pt", states)
    (fault,) = read(tmp_path).faults
    assert (fault.flaw, fault.key) == (Flaw.MISSING_ENTRY, "b")
    file.write(folder / "mp_rank_00_model_states.pt", {**states, "shared_params": {"b": "a"}})
    assert read(tmp_path).faults == ()


def test_a_parameter_without_a_folder_in_the_universal_form(tmp_path: Path) -> None:
    """The model states beside it list all of them."""
    models = write(Run(3, 1, GROUPS), tmp_path / "zero")
    folder = tmp_path / "universal"
    for name, shape in {"a": (4, 3), "b": (5,)}.items():
        for slot in ("fp32", "exp_avg", "exp_avg_sq"):
            file = File()
            file.write(folder / "zero" / name / f"{slot}.pt", {"param": file.stored(np.zeros(shape, np.float32))})
    name = "zero_pp_rank_0_mp_rank_00_model_states.pt"
    (folder / name).write_bytes((models / name).read_bytes())
    assert lost(folder) == []
    for file in (folder / "zero" / "b").iterdir():
        file.unlink()
    (fault,) = lost(folder)
    assert (fault.file, "1 of 2 parameters" in fault.message) == ("zero/b", True)


def test_model_states_of_a_rank_beside_the_universal_form(tmp_path: Path) -> None:
    """The conversion copies those of every rank."""
    models = write(Run(3, 2, GROUPS), tmp_path / "zero")
    folder = tmp_path / "universal"
    for slot in ("fp32", "exp_avg", "exp_avg_sq"):
        file = File()
        file.write(folder / "zero" / "a" / f"{slot}.pt", {"param": file.stored(np.zeros((4, 3), np.float32))})
        file.write(folder / "zero" / "b" / f"{slot}.pt", {"param": file.stored(np.zeros(5, np.float32))})
    names = [f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt" for rank in (0, 1)]
    for name in names:
        (folder / name).write_bytes((models / name).read_bytes())
    assert lost(folder) == []
    (folder / names[0]).unlink()
    assert [fault.file for fault in lost(folder)] == [names[0]]

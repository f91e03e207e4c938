"""Folders of accelerate's save_state: against the library's own answers, and several models and ranks."""

from __future__ import annotations

from pathlib import Path

from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Format
from tests.checkpoint.archives.torch_zip import saved
from tests.checkpoint.formats.test_safetensors_header import save
from tests.checkpoint.formats.test_trainer import RANDOM
from tests.checkpoint.formats.truth import compare
from tests.checkpoint.shared_fixtures import folder_of, truth_of


def test_a_folder_is_read_as_its_libraries_read_it() -> None:
    """All states behind the names of their files; the step within the random states is progress."""
    manifest = read_manifest(folder_of("accelerate-save-state"))
    compare(manifest, truth_of("accelerate-save-state"))
    assert (manifest.format, manifest.world_size, manifest.step) == (Format.ACCELERATE, 1, None)
    assert {file.name: file.holds for file in manifest.files} == {
        "model.safetensors": "weights",
        "optimizer.bin": "optimizer state",
        "random_states_0.pkl": "random-number states of rank 0",
        "scheduler.bin": "scheduler",
    }


def test_several_models_optimizers_and_ranks(tmp_path: Path) -> None:
    """The second of each has a number; positions of samplers and registered objects are there too."""
    save(tmp_path / "model.safetensors", {"w": ("F32", (2, 3))})
    save(tmp_path / "model_1.safetensors", {"w": ("F32", (5,))})
    for rank in range(2):
        (tmp_path / f"random_states_{rank}.pkl").write_bytes(RANDOM)
    for name in ("sampler.bin", "dl_state_dict_1.bin", "custom_checkpoint_0.pkl", "optimizer_1.bin", "scheduler_1.bin"):
        group = {"param_groups": [{"lr": 0.1, "params": [0]}], "state": {}}
        (tmp_path / name).write_bytes(saved(group if "optimizer" in name else {"x": 1}, {}))
    manifest = read_manifest(tmp_path)
    kinds = {entry.key: entry.kind for entry in (*manifest.tensors, *manifest.objects)}
    assert manifest.format is Format.ACCELERATE
    assert manifest.world_size == 2
    assert (
        kinds.items()
        >= {
            "w": StateKind.PARAMETER,
            "model_1.safetensors:w": StateKind.PARAMETER,
            "sampler.bin:x": StateKind.DATA_POSITION,
            "dl_state_dict_1.bin:x": StateKind.DATA_POSITION,
            "custom_checkpoint_0.pkl:x": StateKind.OTHER,
            "optimizer_1.bin:param_groups.0.lr": StateKind.HYPERPARAMETERS,
            "scheduler_1.bin:x": StateKind.SCHEDULER,
            "random_states_1.pkl:cpu": StateKind.RANDOM,
        }.items()
    )


def test_folders_of_numbered_files_are_one_checkpoint(tmp_path: Path) -> None:
    """optimizer_1.bin and optimizer_2.bin are not two checkpoints."""
    for name in ("random_states_0.pkl", "optimizer_1.bin", "optimizer_2.bin"):
        (tmp_path / name).write_bytes(RANDOM)
    assert read_manifest(tmp_path).format is Format.ACCELERATE

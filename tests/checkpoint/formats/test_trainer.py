"""Checkpoints of Hugging Face's Trainer: against the library's own answers, and the layouts of several ranks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format
from ckptplan.errors import InputError
from tests.checkpoint.archives.torch_zip import Call, Storage, Thing, saved, tensor
from tests.checkpoint.formats.test_safetensors_header import save
from tests.checkpoint.formats.truth import compare
from tests.checkpoint.shared_fixtures import OWN, folder_of, needs_collection, truth_of

BYTES = tensor(Storage("uint8", "0", 16), (16,), (1,))
RANDOM = saved({"cpu": BYTES, "python": (3, (1, 2), None)}, {"0": bytes(16)})


@pytest.mark.parametrize("name", ["hf-trainer-1proc", "hf-trainer-no-optimizer"])
def test_checkpoints_are_read_as_their_libraries_read_them(name: str) -> None:
    """From the folder of the run, with the one checkpoint in it; the step is that of trainer_state.json."""
    truth = truth_of(name)
    manifest = read_manifest(folder_of(name))
    compare(manifest, truth)
    inner = Path(truth["root"]).name
    assert (manifest.format, manifest.root) == (Format.TRAINER, folder_of(name) / inner)
    assert manifest.step == truth["objects"]["trainer_state.json"]["global_step"]
    assert manifest.remarks == (f"the only checkpoint in ckpt is {inner}",)
    assert {file.name: file.holds for file in manifest.files}["training_args.bin"] == "arguments of the run"
    assert read_manifest(folder_of(name) / inner)._replace(source=manifest.source).tensors[0].key


def test_the_progress_is_read_when_it_is_asked_for() -> None:
    """The whole of trainer_state.json."""
    truth_of("hf-trainer-1proc")
    manifest = read_manifest(folder_of("hf-trainer-1proc"))
    (entry,) = [entry for entry in manifest.objects if entry.key == "trainer_state.json"]
    file = manifest.root / "trainer_state.json"
    assert manifest.source.value(entry) == json.loads(file.read_text(encoding="utf-8"))


def trainer(folder: Path, state: object = None, **files: bytes) -> Path:
    """A small checkpoint of a Trainer; names of files have _dot_ for the dot."""
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / "model.safetensors", {"w": ("F32", (2, 3))})
    text = state if isinstance(state, bytes) else json.dumps(state or {"global_step": 8}).encode()
    (folder / "trainer_state.json").write_bytes(text)
    for name, data in files.items():
        (folder / name.replace("_dot_", ".")).write_bytes(data)
    return folder


def test_random_number_states_of_all_ranks(tmp_path: Path) -> None:
    """One file for each rank; the number of files is the number of ranks, and a gap is remarked."""
    files = {f"rng_state_{rank}_dot_pth": RANDOM for rank in (0, 1, 3)}
    manifest = read_manifest(trainer(tmp_path, **files))
    states = [entry for entry in (*manifest.tensors, *manifest.objects) if entry.kind is StateKind.RANDOM]
    assert {(entry.key, entry.rank) for entry in states} == {
        (f"rng_state_{rank}.pth:{part}", rank) for rank in (0, 1, 3) for part in ("cpu", "python")
    }
    assert (manifest.world_size, manifest.writer_ranks) == (4, (0, 1, 3))
    assert manifest.remarks == ("random-number states of ranks 2 are not there, those of 3 are",)
    assert {file.name: file.rank for file in manifest.files if "rng" in file.name}["rng_state_3.pth"] == 3


def test_a_loss_scaler_is_one(tmp_path: Path) -> None:
    """scaler.pt holds the numbers of GradScaler under names of its own."""
    manifest = read_manifest(trainer(tmp_path, scaler_dot_pt=saved({"scale": 65536.0, "_growth_tracker": 3}, {})))
    found = {entry.key: (entry.kind, manifest.source.value(entry)) for entry in manifest.objects}
    assert found["scaler.pt:scale"] == (StateKind.LOSS_SCALER, 65536.0)


def test_fp16_without_a_scaler_is_remarked(tmp_path: Path) -> None:
    """The arguments of the run say that there was one."""
    arguments = b"\x80\x02ctransformers.training_args\nTrainingArguments\n)\x81}X\x04\x00\x00\x00fp16\x88sb."
    from tests.checkpoint.archives.torch_zip import Part, archive

    packed = archive([Part("training_args/data.pkl", arguments)])
    manifest = read_manifest(trainer(tmp_path, training_args_dot_bin=packed))
    assert any("fp16" in remark for remark in manifest.remarks)
    assert manifest.faults == ()


def test_hostile_arguments_of_a_run_are_a_fault(tmp_path: Path) -> None:
    """The Trainer loads training_args.bin as a pickle."""
    call = Call("os", "system", ("touch CKPTPLAN_PICKLE_EXECUTED",))
    manifest = read_manifest(trainer(tmp_path, training_args_dot_bin=saved({"x": call}, {})))
    assert [(fault.flaw, fault.file) for fault in manifest.faults] == [(Flaw.FOREIGN_CODE, "training_args.bin")]
    assert not Path("CKPTPLAN_PICKLE_EXECUTED").exists()


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"global_step": "x"}', b'{"global_step": -1}']
)
def test_a_broken_state_leaves_the_step_unknown(tmp_path: Path, text: bytes) -> None:
    """Everything else is still read."""
    manifest = read_manifest(trainer(tmp_path, text or b" "))
    assert manifest.step is None
    assert [t.key for t in manifest.tensors] == ["w"]
    assert bool(manifest.faults) == (b"global_step" not in text)


def test_losses_may_be_nan(tmp_path: Path) -> None:
    """Python writes NaN and Infinity into JSON."""
    assert read_manifest(trainer(tmp_path, b'{"global_step": 5, "log_history": [{"loss": NaN}, Infinity]}')).step == 5


def test_folders_of_fsdp_are_part_of_the_checkpoint(tmp_path: Path) -> None:
    """A DCP folder within: its tensors, files and values, and the digests of what they read to."""
    truth: dict[str, Any] = json.loads((OWN / "dcp-3rank.json").read_text(encoding="utf-8"))
    folder = trainer(tmp_path / "checkpoint-8", **{f"rng_state_{rank}_dot_pth": RANDOM for rank in range(3)})
    (folder / "model.safetensors").unlink()
    shutil.copytree(OWN / "dcp-3rank", folder / "pytorch_model_fsdp_0")
    manifest, alone = read_manifest(tmp_path), read_manifest(OWN / "dcp-3rank")
    assert (manifest.format, manifest.step, manifest.world_size, manifest.faults) == (Format.TRAINER, 8, 3, ())
    found = {tensor.key: tensor for tensor in manifest.tensors}
    assert set(truth["tensors"]) <= set(found)
    assert {t.key: t.kind for t in alone.tensors}.items() <= {key: t.kind for key, t in found.items()}.items()
    for inner in alone.tensors:
        outer = found[inner.key]
        for row in range(inner.shards.number):
            if inner.shards.sizes[row].all():
                assert np.array_equal(manifest.source.read(outer, row), alone.source.read(inner, row))
                name = manifest.files[manifest.source.raw(outer, row).file].name
                assert name == f"pytorch_model_fsdp_0/{alone.files[alone.source.raw(inner, row).file].name}"
                assert name == manifest.files[int(outer.shards.files[row])].name
    for entry in alone.objects:
        (same,) = [one for one in manifest.objects if one.key == entry.key]
        assert manifest.files[same.file].name == f"pytorch_model_fsdp_0/{alone.files[entry.file].name}"
        assert repr(manifest.source.value(same)) == repr(alone.source.value(entry))


def test_states_in_one_folder_know_their_parameters_in_another(tmp_path: Path) -> None:
    """FSDP2 writes the model and the optimizer into two folders of DCP."""
    torch = pytest.importorskip("torch")
    from torch.distributed import checkpoint as dcp

    folder = trainer(tmp_path / "checkpoint-4")
    (folder / "model.safetensors").unlink()
    weights = {"a.weight": torch.arange(12.0).view(3, 4), "b.bias": torch.ones(3)}
    state = {name: {"exp_avg": value + 1, "step": torch.tensor(4.0)} for name, value in weights.items()}
    optimizer = {"state": state, "param_groups": [{"lr": 0.1, "params": list(weights)}]}
    dcp.save({"model": weights}, checkpoint_id=folder / "pytorch_model_fsdp_0", no_dist=True)
    dcp.save({"optimizer": optimizer}, checkpoint_id=folder / "optimizer_0", no_dist=True)
    owners = {tensor.key: tensor.parameter for tensor in read_manifest(tmp_path).tensors}
    assert owners == {
        **{f"model.{name}": f"model.{name}" for name in weights},
        **{f"optimizer.state.{name}.{part}": f"model.{name}" for name in weights for part in ("exp_avg", "step")},
    }


@needs_collection
def test_a_folder_of_deepspeed_is_part_of_the_checkpoint(tmp_path: Path) -> None:
    """global_stepN within checkpoint-N, whose pointer is called latest."""
    folder = trainer(tmp_path / "checkpoint-3", {"global_step": 3})
    (folder / "model.safetensors").unlink()
    shutil.copytree(folder_of("deepspeed-zero1-2rank"), folder, dirs_exist_ok=True)
    manifest = read_manifest(tmp_path)
    assert manifest.format is Format.TRAINER
    assert {t.key for t in manifest.tensors} == set(truth_of("deepspeed-zero1-2rank")["tensors"])
    assert (manifest.step, manifest.world_size, manifest.faults) == (3, 2, ())


def test_a_damaged_part_is_a_fault_of_its_file(tmp_path: Path) -> None:
    """A missing file of FSDP's folder is named with the folder."""
    folder = trainer(tmp_path / "checkpoint-8")
    shutil.copytree(OWN / "dcp-3rank", folder / "pytorch_model_fsdp_0")
    (folder / "pytorch_model_fsdp_0" / "__1_0.distcp").unlink()
    faults = read_manifest(tmp_path).faults
    assert Flaw.MISSING_FILE in {fault.flaw for fault in faults}
    assert all(fault.file is not None and fault.file.startswith("pytorch_model_fsdp_0/") for fault in faults)


def test_leftover_files_of_weights_are_unreferenced(tmp_path: Path) -> None:
    """A file of torch.save beside safetensors is not read by the Trainer."""
    folder = trainer(tmp_path, pytorch_model_dot_bin=RANDOM, notes_dot_md=b"notes")
    assert {file.name for file in read_manifest(folder).files if not file.referenced} == {"pytorch_model.bin"}


def test_the_last_weights_of_a_run_beside_its_checkpoints(tmp_path: Path) -> None:
    """The Trainer leaves them in the folder of the run; the checkpoint in it is meant."""
    trainer(tmp_path)
    trainer(tmp_path / "checkpoint-5", {"global_step": 5})
    assert read_manifest(tmp_path).step == 5
    trainer(tmp_path / "checkpoint-10", {"global_step": 10})
    with pytest.raises(InputError, match="2 checkpoints: checkpoint-5, checkpoint-10"):
        read_manifest(tmp_path)


UNFINISHED = {"training_args_dot_bin": saved({}, {}), "optimizer_dot_pt": saved({"state": {}}, {})}


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("run", UNFINISHED),
        ("run", {"training_args_dot_bin": UNFINISHED["training_args_dot_bin"], "rng_state_0_dot_pth": RANDOM}),
        (
            "run",
            {
                "scheduler_dot_pt": saved({"last_epoch": 8}, {}),
                "optimizer_dot_pt": UNFINISHED["optimizer_dot_pt"],
                "rng_state_dot_pth": RANDOM,
            },
        ),
        ("checkpoint-8", {"training_args_dot_bin": UNFINISHED["training_args_dot_bin"]}),
    ],
)
def test_a_save_without_the_state_of_the_trainer_never_ended(
    tmp_path: Path, name: str, files: dict[str, bytes]
) -> None:
    """The Trainer writes trainer_state.json after weights and optimizer."""
    folder = trainer(tmp_path / name, **files)
    assert read_manifest(folder).faults == ()
    (folder / "trainer_state.json").unlink()
    manifest = read_manifest(folder)
    assert manifest.format is Format.TRAINER
    assert [(fault.flaw, fault.file) for fault in manifest.faults] == [(Flaw.UNCOMMITTED, "trainer_state.json")]
    assert not manifest.committed


def test_a_model_saved_at_the_end_is_no_save_that_was_cut_short(tmp_path: Path) -> None:
    """Weights with the arguments of the run, not in a folder named after a step."""
    folder = trainer(tmp_path / "final", training_args_dot_bin=UNFINISHED["training_args_dot_bin"])
    (folder / "trainer_state.json").unlink()
    manifest = read_manifest(folder)
    assert (manifest.format, manifest.faults) == (Format.SAFETENSORS, ())


def test_the_arguments_tell_of_more_ranks_than_left_their_states(tmp_path: Path) -> None:
    """Those of the last ranks are missed by the number of processes."""
    state = Thing("accelerate.state", "PartialState", {"num_processes": 4})
    arguments = Thing("transformers.training_args", "TrainingArguments", {"distributed_state": state})
    files = {f"rng_state_{rank}_dot_pth": RANDOM for rank in (0, 1)}
    assert read_manifest(trainer(tmp_path, **files)).world_size == 2
    assert read_manifest(trainer(tmp_path, training_args_dot_bin=saved(arguments, {}), **files)).world_size == 4

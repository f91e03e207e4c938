"""Files of torch.save as checkpoints: against what torch said, and damaged ones."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from ckptplan.checkpoint.archives.torch_file import read_torch
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.formats.torch_save import tensors_of, unique_storage_bytes
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format, Manifest
from ckptplan.errors import InputError
from tests.checkpoint.archives.torch_zip import Call, Name, Part, Storage, archive, legacy, saved, tensor
from tests.checkpoint.formats.truth import compare
from tests.checkpoint.shared_fixtures import folder_of, truth_of

DATA = {"0": np.arange(24, dtype=np.float32).tobytes()}
WEIGHT = tensor(Storage("float32", "0", 24), (4, 6), (6, 1))


@pytest.mark.parametrize("name", ["torch-save-full", "torch-save-views", "torch-save-legacy"])
def test_checkpoints_are_read_as_torch_reads_them(name: str) -> None:
    """Tensors, objects, bytes, missing kinds, files and digests."""
    manifest = read_manifest(folder_of(name))
    assert manifest.format is (Format.TORCH_LEGACY if name == "torch-save-legacy" else Format.TORCH)
    compare(manifest, truth_of(name))


def test_a_file_named_alone_is_the_same(tmp_path: Path) -> None:
    """By its own path, and by a link that the user names."""
    truth = truth_of("torch-save-full")
    file = folder_of("torch-save-full") / "checkpoint.pt"
    compare(read_manifest(file), truth)
    (tmp_path / "newest").symlink_to(file)
    compare(read_manifest(tmp_path / "newest"), truth)


def test_storages_count_once_and_whole() -> None:
    """A tied weight, a transpose, and a view of two rows on a storage of 64 that was saved whole."""
    truth = truth_of("torch-save-views")
    with CheckpointFolder(folder_of("torch-save-views")) as folder:
        assert unique_storage_bytes(tensors_of(read_torch(folder, "model.pt"))) == truth["unique_storage_bytes"]
    remarks = read_manifest(folder_of("torch-save-views")).remarks
    assert [remark.split(" ")[0] for remark in remarks] == ["1,984", "2"]  # 2,048 bytes less two rows; two of one


def test_a_hostile_pickle_is_a_fault_and_nothing_runs() -> None:
    """The tensor beside it is still listed, and the file that it would make is not made."""
    truth = truth_of("torch-save-malicious")
    manifest = read_manifest(folder_of("torch-save-malicious"))
    (fault,) = manifest.faults
    assert (fault.flaw, fault.file) == (Flaw.FOREIGN_CODE, truth["damage"]["file"])
    assert "io.open" in fault.message
    assert [(t.key, t.kind) for t in manifest.tensors] == [("model.w", StateKind.PARAMETER)]
    assert [(e.key, e.kind, e.type) for e in manifest.objects] == [("extra", StateKind.OTHER, "io.open")]
    assert not Path("CKPTPLAN_PICKLE_EXECUTED").exists()


def manifest_of(tmp_path: Path, **files: bytes) -> Manifest:
    """The manifest of a folder of files; their names have _ for the dot."""
    for name, data in files.items():
        (tmp_path / name.replace("_dot_", ".")).write_bytes(data)
    return read_manifest(tmp_path)


def test_several_files_of_one_checkpoint_are_put_together(tmp_path: Path) -> None:
    """Each key behind its file's name; files with a role are what their names say."""
    state = {"state": {0: {"exp_avg": WEIGHT}}, "param_groups": [{"lr": 0.1, "params": [0]}]}
    manifest = manifest_of(
        tmp_path,
        weights_dot_pt=saved({"w": WEIGHT}, DATA),
        optimizer_dot_pt=saved(state, DATA),
        scheduler_dot_pt=saved({"last_epoch": 3}, {}),
        notes_dot_txt=b"to do",
    )
    kinds = {entry.key: entry.kind for entry in (*manifest.tensors, *manifest.objects)}
    assert kinds == {
        "weights.pt:w": StateKind.PARAMETER,
        "optimizer.pt:state.0.exp_avg": StateKind.FIRST_MOMENT,
        "optimizer.pt:param_groups.0.lr": StateKind.HYPERPARAMETERS,
        "optimizer.pt:param_groups.0.params": StateKind.HYPERPARAMETERS,
        "scheduler.pt:last_epoch": StateKind.SCHEDULER,
    }


def test_shards_with_an_index_are_one_model(tmp_path: Path) -> None:
    """pytorch_model-0000k-of-0000n.bin; what the index names and no file holds is a fault."""
    first, second = (f"pytorch_model-0000{n}-of-00002.bin" for n in (1, 2))
    (tmp_path / first).write_bytes(saved({"a": WEIGHT}, DATA))
    (tmp_path / second).write_bytes(saved({"b": WEIGHT}, DATA))
    index = {"metadata": {"total_size": 192}, "weight_map": {"a": first, "b": second, "c": second}}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    manifest = read_manifest(tmp_path)
    assert [t.key for t in manifest.tensors] == ["a", "b"]
    assert [(f.flaw, f.key) for f in manifest.faults] == [(Flaw.MISSING_ENTRY, "c")]


def test_names_of_other_libraries_are_a_remark(tmp_path: Path) -> None:
    """They are not called, and not known to be harmless either."""
    data = saved({"w": WEIGHT, "config": Call("omegaconf", "DictConfig", ())}, DATA)
    manifest = manifest_of(tmp_path, model_dot_pt=data)
    assert manifest.faults == ()
    assert any("omegaconf" in remark for remark in manifest.remarks)


def test_a_class_alone_and_the_root_alone_have_keys(tmp_path: Path) -> None:
    """A file may hold one tensor and no dict, or a class."""
    assert [t.key for t in manifest_of(tmp_path, only_dot_pt=saved(WEIGHT, DATA)).tensors] == ["only.pt"]
    manifest = manifest_of(tmp_path, only_dot_pt=saved({"c": Name("my", "Class")}, {}))
    assert [(e.key, e.type) for e in manifest.objects] == [("c", "class")]


@pytest.mark.parametrize("step", [{"global_step": 7}, {"train_state": {"step": 7}}, {"iteration": 7, "epoch": 1}])
def test_the_step_is_read_by_its_usual_names(tmp_path: Path, step: dict[str, object]) -> None:
    """At the top or one level down."""
    assert manifest_of(tmp_path, a_dot_pt=saved(step, {})).step == 7


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (saved({"w": WEIGHT}, DATA)[:-30], "end of the zip archive is missing"),
        (saved({"w": WEIGHT}, {}), "does not hold the storage"),
        (saved({"w": tensor(Storage("float32", "0", 24), (25,), (1,))}, DATA), "reaches to byte 100"),
        (archive([Part("a/data.pkl", b"\x80\x02N"), Part("a/version", b"3")]), ""),
        (legacy({}, {"0": ("float32", b"1234")}), "belongs to no tensor"),
    ],
)
def test_damage_is_a_fault_of_the_file(tmp_path: Path, data: bytes, said: str) -> None:
    """A folder whose only file is broken still has a manifest that says so."""
    manifest = manifest_of(tmp_path, broken_dot_pt=data)
    assert (manifest.tensors, manifest.objects) == ((), ())
    (fault,) = manifest.faults
    assert (fault.flaw, fault.file) == (Flaw.CORRUPT, "broken.pt")
    assert said in fault.message
    assert fault.hint


def test_a_file_that_changes_meanwhile_is_an_error(tmp_path: Path) -> None:
    """Shorter, longer or gone between the listing and the reading."""
    whole = saved({"w": WEIGHT}, DATA)
    for change in (whole[:100], whole + b"more", None):
        manifest = manifest_of(tmp_path, a_dot_pt=whole)
        manifest.source._folder.close()  # type: ignore[attr-defined]
        if change is None:
            (tmp_path / "a.pt").unlink()
        else:
            (tmp_path / "a.pt").write_bytes(change)
        with pytest.raises(InputError):
            manifest.source.read(manifest.tensors[0], 0)


def test_mutations_of_whole_checkpoints_end_in_a_manifest_or_one_error(tmp_path: Path) -> None:
    """Two thousand changed files: every tensor that is listed can be read or is refused."""
    draw = random.Random(22)  # noqa: S311 - seeded
    state = {"state": {0: {"step": 1, "exp_avg": WEIGHT}}, "param_groups": [{"lr": 0.1, "params": [0]}]}
    source = saved({"model": {"w": WEIGHT}, "optimizer": state, "rng": {"cuda": [WEIGHT]}, "step": 3}, DATA)
    whole = 0
    for _ in range(2_000):
        data = bytearray(source)
        for _ in range(draw.randint(1, 5)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            manifest = manifest_of(tmp_path, a_dot_pt=bytes(data))
            for found in manifest.tensors:
                assert len(manifest.source.read(found, 0)) == found.logical_bytes
            whole += not manifest.faults
        except InputError:
            continue
    assert 0 < whole < 2_000


def test_files_of_random_states_and_positions_by_common_names(tmp_path: Path) -> None:
    """Beside weights in a folder, each of the rank that its name holds."""
    (tmp_path / "model.pt").write_bytes(saved({"w": WEIGHT}, DATA))
    names = ("rng_state_rank_0.pt", "rng_rank_1.pt", "random_states.pt", "dataloader_rank_1.pt", "sampler_state.pt")
    for name in names:
        (tmp_path / name).write_bytes(saved({"x": 1}, {}))
    found = {entry.key: (entry.kind, entry.rank) for entry in read_manifest(tmp_path).objects}
    assert found == {
        "rng_state_rank_0.pt:x": (StateKind.RANDOM, 0),
        "rng_rank_1.pt:x": (StateKind.RANDOM, 1),
        "random_states.pt:x": (StateKind.RANDOM, 0),
        "dataloader_rank_1.pt:x": (StateKind.DATA_POSITION, 1),
        "sampler_state.pt:x": (StateKind.DATA_POSITION, None),
    }

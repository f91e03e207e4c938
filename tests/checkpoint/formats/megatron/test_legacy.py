from __future__ import annotations

import shutil

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp.items import check_crc, check_items
from ckptplan.checkpoint.formats.megatron import legacy
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format, Mesh
from ckptplan.checkpoint.reshard.carry_over import not_carried_over
from ckptplan.checkpoint.reshard.layout import parse_layout
from tests.checkpoint.formats.dcp.against_truth import kinds_differ, load
from tests.checkpoint.shared_fixtures import COLLECTION, WORDS, digest, needs_collection

pytestmark = needs_collection

NAME = "megatron-legacy-torch-tp2"
FOLDER = COLLECTION / NAME / "ckpt" / "iter_0000003"


def test_every_file_has_tensors_of_its_own():
    """Keys, kinds, types, shapes and elements of the files of both tensor-parallel ranks are those of the truth."""
    truth, manifest = load(NAME, legacy.read)
    assert manifest.format is Format.MEGATRON_LEGACY
    assert {tensor.key for tensor in manifest.tensors} == set(truth["tensors"])
    for tensor in manifest.tensors:
        told = truth["tensors"][tensor.key]
        assert WORDS[tensor.kind] == told["kind"]
        assert (tensor.dtype, list(tensor.shape), tensor.logical_bytes) == (
            told["dtype"], told["shape"], told["logical_bytes"],
        )  # fmt: skip
        if "sha256" in told:
            assert digest(manifest, tensor) == told["sha256"]
    assert kinds_differ(truth, manifest) == []
    assert {f"iter_0000003/{file.name}": file.size_bytes for file in manifest.files} == {
        name: size for name, size in truth["files"].items() if name.startswith("iter_")
    }
    assert (manifest.step, manifest.world_size) == (truth["step"], truth["world_size"])
    assert manifest.mesh == Mesh((1, 1, 2), ("pp", "dp", "tp"))
    assert [file.rank for file in manifest.files] == [0, 1]
    assert manifest.faults == check_items(manifest) == check_crc(manifest) == ()


def test_places_in_the_files():
    """The elements of each tensor lie where its shard says, as the file's own bytes show."""
    manifest = load(NAME, legacy.read)[1]
    for tensor in manifest.tensors:
        raw = manifest.source.raw(tensor, 0)
        assert raw.offset == tensor.shards.data_offsets[0]
        data = (FOLDER / manifest.files[raw.file].name).read_bytes()
        assert data[raw.offset :][: tensor.logical_bytes] == manifest.source.read(tensor, 0).tobytes()


def test_what_is_no_tensor_of_the_model_is_said_to_be_there():
    """Groups, steps, scheduler, progress, position and random-number states are in every file."""
    places = dict(load(NAME, legacy.read)[1].elsewhere)
    assert set(places) == {
        StateKind.HYPERPARAMETERS, StateKind.OPTIMIZER_STEP, StateKind.SCHEDULER, StateKind.PROGRESS,
        StateKind.DATA_POSITION, StateKind.RANDOM,
    }  # fmt: skip


def test_it_cannot_be_resharded():
    """The reason says what is not in the files."""
    refusal = not_carried_over(load(NAME, legacy.read)[1], parse_layout("4"))[0]
    assert refusal.refuses
    assert "along which axis a tensor was cut" in refusal.message


def test_numbered_states_are_matched_within_their_file():
    """A state of tensor-parallel rank 1 is of a parameter in the file of rank 1."""
    manifest = load(NAME, legacy.read)[1]
    moments = [tensor for tensor in manifest.tensors if tensor.kind is StateKind.FIRST_MOMENT]
    for moment in moments:
        assert moment.parameter is not None
        assert moment.parameter.partition(":")[0] == moment.key.partition(":")[0]
    assert any("numbered, not named" in remark for remark in manifest.remarks)


def test_a_rank_without_a_file(tmp_path):
    """The arguments of any file say how many model-parallel ranks there were."""
    folder = tmp_path / "iter_0000003"
    shutil.copytree(FOLDER, folder)
    shutil.rmtree(folder / "mp_rank_00")
    manifest = legacy.read(CheckpointFolder(folder))
    assert [fault.flaw for fault in manifest.faults] == [Flaw.MISSING_FILE]
    assert "1 of 2 model-parallel ranks" in manifest.faults[0].message
    assert "tp 0 pp 0" in manifest.faults[0].message


def test_a_damaged_file_leaves_the_others(tmp_path):
    """One file cut off: a fault for it, and the tensors of the other."""
    folder = tmp_path / "iter_0000003"
    shutil.copytree(FOLDER, folder)
    file = folder / "mp_rank_01" / "model_optim_rng.pt"
    file.write_bytes(file.read_bytes()[:20_000])
    manifest = legacy.read(CheckpointFolder(folder))
    assert [(fault.flaw, fault.file) for fault in manifest.faults] == [
        (Flaw.UNREADABLE, "mp_rank_01/model_optim_rng.pt")
    ]
    assert len(manifest.tensors) == 60


def test_a_changed_bit_is_found_by_its_checksum(tmp_path):
    """Whole files of torch.save have checksums too."""
    folder = tmp_path / "iter_0000003"
    shutil.copytree(FOLDER, folder)
    manifest = legacy.read(CheckpointFolder(folder))
    tensor = manifest.tensors[3]
    file = folder / manifest.files[int(tensor.shards.files[0])].name
    data = bytearray(file.read_bytes())
    data[int(tensor.shards.data_offsets[0])] ^= 1
    file.write_bytes(data)
    assert [fault.flaw for fault in check_crc(manifest)] == [Flaw.CHECKSUM]

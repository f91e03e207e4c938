from __future__ import annotations

import shutil

import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp import reader
from ckptplan.checkpoint.formats.dcp.items import check_crc, check_items
from ckptplan.checkpoint.formats.megatron import legacy, torch_dist
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format
from ckptplan.checkpoint.reshard.carry_over import not_carried_over
from ckptplan.checkpoint.reshard.layout import parse_layout
from tests.checkpoint.formats.dcp.against_truth import (
    facts_differ,
    kinds_differ,
    load,
    objects_differ,
    tensors_differ,
)
from tests.checkpoint.shared_fixtures import COLLECTION, needs_collection

pytestmark = needs_collection

FULL = "megatron-torch-dist-tp2-dp2"
NAMES = [FULL, "megatron-torch-dist-no-optim-rng"]
FOLDER = COLLECTION / FULL / "ckpt" / "iter_0000003"
IN_COMMON = {
    "lr_scheduler": StateKind.SCHEDULER,
    "train_progress": StateKind.PROGRESS,
    "optim_step": StateKind.OPTIMIZER_STEP,
}


@pytest.mark.parametrize("name", NAMES)
def test_checkpoints_as_megatron_wrote_them(name):
    """Tensors, boxes, elements, objects, kinds, files, ranks and step are those that Megatron's own reading tells."""
    truth, manifest = load(name, torch_dist.read)
    assert tensors_differ(truth, manifest) == []
    assert {tensor.key for tensor in manifest.tensors} == set(truth["tensors"])
    assert objects_differ(truth, manifest) == []
    assert kinds_differ(truth, manifest) == []
    assert facts_differ(truth, manifest) == []
    assert manifest.format is Format.MEGATRON_DIST
    assert manifest.faults == check_items(manifest) == check_crc(manifest) == ()


@pytest.mark.parametrize("name", NAMES)
def test_the_common_state_tells_mesh_and_kinds(name):
    """Tensor and pipeline parallelism come from the arguments; scheduler, progress and step are said to be there."""
    truth, manifest = load(name, torch_dist.read)
    assert manifest.mesh is not None
    mesh = dict(zip(manifest.mesh.names, manifest.mesh.shape, strict=True))
    assert {axis: mesh[axis] for axis in ("tp", "pp")} == truth["parallel"]
    places = dict(manifest.elsewhere)
    for word in truth["in_common_pt"]:
        assert "common.pt" in places[IN_COMMON[word]]
    assert "consumed_train_samples" in places[StateKind.DATA_POSITION]


def test_states_belong_to_their_parameters():
    """Masters and moments name the stacked parameter that they are of, though their slot comes first."""
    manifest = load(FULL, torch_dist.read)[1]
    shapes = {tensor.key: tensor.shape for tensor in manifest.tensors if tensor.kind is StateKind.PARAMETER}
    for kind in (StateKind.MASTER, StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT):
        states = [tensor for tensor in manifest.tensors if tensor.kind is kind]
        assert {state.parameter: state.shape for state in states} == shapes


def test_a_grid_with_a_place_left_out(tmp_path):
    """Objects say how many places their grid has: the two of tensor parallelism, of which one has no state here."""
    manifest = load(FULL, torch_dist.read)[1]
    assert [entry.key for entry in manifest.objects if entry.kind is StateKind.RANDOM] == [
        "rng_state/shard_0.0_1.2",
        "rng_state/shard_0.1_1.2",
    ]
    kept = manifest._replace(objects=tuple(e for e in manifest.objects if e.key != "rng_state/shard_0.1_1.2"))
    assert torch_dist._incomplete(manifest) == []
    assert torch_dist._incomplete(kept) == ["rng_state"]


def test_without_the_common_state(tmp_path):
    """The tensors are still seen; what was in it is missing."""
    folder = tmp_path / "iter_0000003"
    shutil.copytree(FOLDER, folder)
    (folder / "common.pt").unlink()
    assert torch_dist.recognised(CheckpointFolder(folder))
    manifest = torch_dist.read(CheckpointFolder(folder))
    assert [(fault.flaw, fault.file) for fault in manifest.faults] == [(Flaw.MISSING_FILE, "common.pt")]
    assert manifest.elsewhere == ()
    assert len(manifest.tensors) == 36
    assert manifest.world_size == 2  # of the ranks that wrote: each wrote for its data-parallel copies too


@pytest.mark.parametrize("cut", [0, 1, 100, 1_000, 2_200])
def test_a_damaged_common_state_is_a_fault(cut, tmp_path):
    """A common state that is cut off anywhere is said; nothing of it is taken."""
    folder = tmp_path / "iter_0000003"
    shutil.copytree(FOLDER, folder)
    whole = (folder / "common.pt").read_bytes()
    (folder / "common.pt").write_bytes(whole[:cut])
    manifest = torch_dist.read(CheckpointFolder(folder))
    assert [(fault.flaw, fault.file) for fault in manifest.faults] == [(Flaw.UNREADABLE, "common.pt")]


def test_it_is_told_from_plain_dcp():
    """Plain DCP has no common state; Megatron's folder is DCP as well, and must be asked for first."""
    plain = CheckpointFolder(COLLECTION / "dcp-tiny-2rank" / "ckpt")
    assert not torch_dist.recognised(plain)
    assert torch_dist.recognised(CheckpointFolder(FOLDER))
    assert reader.recognised(CheckpointFolder(FOLDER))
    assert not legacy.recognised(CheckpointFolder(FOLDER))


def test_a_save_that_never_ended(tmp_path):
    """Without .metadata the save is uncommitted, whatever lies beside."""
    folder = tmp_path / "iter_0000003"
    shutil.copytree(FOLDER, folder)
    (folder / ".metadata").unlink()
    manifest = torch_dist.read(CheckpointFolder(folder))
    assert not manifest.committed
    assert manifest.step == 3


def test_nothing_stands_against_another_layout():
    """Boxes are in the metadata, so that torch_dist can be read by any number of ranks."""
    assert not any(one.refuses for one in not_carried_over(load(FULL, torch_dist.read)[1], parse_layout("6")))


def test_numbers_of_arguments_that_are_none(tmp_path):
    """Arguments come from a file: what is no count is not taken for one."""
    from ckptplan.checkpoint.formats.megatron.common import read_common

    arguments = {"tensor_model_parallel_size": "2", "pipeline_model_parallel_size": -1, "world_size": 2**70}
    found = read_common({"args": arguments, "iteration": True, "optimizer": [[[[]]]]}, "common.pt")
    assert (found.step, found.world_size, found.mesh, found.elsewhere) == (None, None, None, ())


def test_without_the_name_of_the_backend_megatron_does_not_find_it(tmp_path):
    """metadata.json is written last; without it the folder is taken for one of the older layout."""
    folder = tmp_path / "iter_0000003"
    shutil.copytree(FOLDER, folder)
    (folder / "metadata.json").unlink()
    manifest = torch_dist.read(CheckpointFolder(folder))
    assert [(fault.flaw, fault.file) for fault in manifest.faults] == [(Flaw.MISSING_FILE, "metadata.json")]

"""Checkpoints that Orbax wrote, compared with what Orbax and tensorstore say is in them.

The right answers count stored bytes before compression, so that these are not compared, and give no library versions
that stand in the files. Their boxes are those of the devices: Orbax has the replicas of a box write parts of it, and a
manifest lists what is stored.
"""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax import read, recognised
from ckptplan.checkpoint.formats.orbax.sharding import cuts, read_layouts
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format, Manifest, Mesh
from tests.checkpoint.shared_fixtures import (
    COLLECTION,
    KINDS,
    counted,
    counted_by,
    described,
    described_by,
    digest,
    missing,
    needs_collection,
    truth_of,
)

NAMES = ["orbax-no-ocdbt-4dev", "orbax-ocdbt-8dev", "orbax-uncommitted"]
pytestmark = needs_collection


def manifest_of(name: str, inner: str = "") -> Manifest:
    """What is read from one of them."""
    folder = CheckpointFolder(COLLECTION / name / "ckpt" / inner)
    assert recognised(folder)
    return read(folder)


@pytest.mark.parametrize("name", NAMES)
def test_tensors_are_those_that_were_saved(name):
    """Keys, kinds, types, shapes and bytes of all tensors, and bytes by kind."""
    truth, manifest = truth_of(name), manifest_of(name)
    assert described(manifest) == described_by(truth)
    assert counted(manifest, set(KINDS.values())) == counted_by(truth)
    assert sum(one.logical_bytes for one in manifest.tensors) == truth["totals"]["logical_tensor_bytes"]


@pytest.mark.parametrize("name", NAMES)
def test_elements_are_those_that_were_saved(name):
    """Digests of all tensors, put together from their chunks."""
    truth, manifest = truth_of(name), manifest_of(name)
    assert {one.key: digest(manifest, one) for one in manifest.tensors} == {
        key: one["sha256"] for key, one in truth["tensors"].items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_chunks_lie_within_the_boxes_of_the_devices(name):
    """Each box is made of whole chunks, in files that hold them."""
    truth, manifest = truth_of(name), manifest_of(name)
    for tensor in manifest.tensors:
        shards = tensor.shards
        boxes = truth["tensors"][tensor.key]["shards"]
        owner = np.zeros(tensor.shape, np.int64)
        for number, box in enumerate(boxes):
            owner[tuple(slice(a, a + n) for a, n in zip(box["offset"], box["size"], strict=True))] += number + 1
        for row in range(shards.number):
            at, size = shards.offsets[row], shards.sizes[row]
            inside = owner[tuple(slice(int(a), int(a + n)) for a, n in zip(at, size, strict=True))]
            assert inside.min() == inside.max()
            file = manifest.files[int(shards.files[row])]
            assert 0 <= shards.item_offsets[row] < file.size_bytes
            assert shards.item_bytes[row] > 0


@pytest.mark.parametrize("name", NAMES)
def test_layouts_give_the_boxes_of_the_devices(name):
    """Mesh and partition spec cut every array as the devices held it."""
    truth, manifest = truth_of(name), manifest_of(name)
    state = next(file.name for file in manifest.files if file.name.endswith("_sharding"))
    layouts = read_layouts(CheckpointFolder(manifest.root), state)
    assert layouts.remarks == ()
    for tensor in manifest.tensors:
        parts = cuts(layouts.of[tensor.key], len(tensor.shape))
        assert parts is not None
        sizes = [size // part for size, part in zip(tensor.shape, parts, strict=True)]
        assert [box["size"] for box in truth["tensors"][tensor.key]["shards"]] == [sizes] * int(np.prod(parts))


@pytest.mark.parametrize("name", NAMES)
def test_facts_of_the_save(name):
    """Step, mesh, devices, files, objects and what exact resume lacks."""
    truth, manifest = truth_of(name), manifest_of(name)
    assert (manifest.format, manifest.step) == (Format.ORBAX, truth["step"])
    assert manifest.mesh == Mesh(tuple(truth["mesh"]["shape"]), tuple(truth["mesh"]["names"]))
    assert manifest.world_size == truth["devices"]
    assert {file.name: file.size_bytes for file in manifest.files} == truth["files"]
    assert missing(manifest) == {KINDS[kind] for kind in truth["missing_for_exact_resume"]}
    objects = {entry.key: (entry.kind, manifest.files[entry.file].name) for entry in manifest.objects}
    step = truth.get("damage", {}).get("dir", "3")  # the answers name the file as it would be after the commit
    assert objects == {
        key: (KINDS[one["kind"]], one["file"].replace("3/", f"{step}/", 1)) for key, one in truth["objects"].items()
    }


def test_a_save_that_never_ended_is_told_and_still_read():
    """Its folder has the temporary name, and no time of its end is noted."""
    manifest = manifest_of("orbax-uncommitted")
    assert not manifest.committed
    assert [fault.flaw for fault in manifest.faults] == [Flaw.UNCOMMITTED, Flaw.UNCOMMITTED]
    assert "3.orbax-checkpoint-tmp" in manifest.faults[0].message


@pytest.mark.parametrize("name", NAMES[:2])
def test_whole_checkpoints_have_no_faults(name):
    """Nothing is told of them but what they hold."""
    manifest = manifest_of(name)
    assert (manifest.faults, manifest.remarks, manifest.committed) == ((), (), True)


@pytest.mark.parametrize(
    ("name", "inner"), [("orbax-ocdbt-8dev", "3"), ("orbax-uncommitted", "3.orbax-checkpoint-tmp")]
)
def test_the_folder_of_the_step_is_read_as_the_folder_above(name, inner):
    """The step comes from the folder's own name then."""
    above, step = manifest_of(name), manifest_of(name, inner)
    assert described(above) == described(step)
    assert (step.step, step.committed) == (above.step, above.committed)


def test_parameters_of_moments_are_found():
    """Each moment belongs to the parameter with the same path below."""
    manifest = manifest_of("orbax-no-ocdbt-4dev")
    for tensor in manifest.tensors:
        if tensor.kind in (StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT):
            assert tensor.parameter == "params." + ".".join(map(str, tensor.path[3:]))


def test_the_position_of_the_data_can_be_read():
    """JSON items are values."""
    manifest = manifest_of("orbax-ocdbt-8dev")
    assert manifest.source.value(manifest.objects[0]) == {"consumed": 96, "epoch": 0}


def test_what_was_written_before_the_merge_is_not_referred_to():
    """The database of one process is dead once it was merged into that of all."""
    manifest = manifest_of("orbax-ocdbt-8dev")
    dead = {file.name for file in manifest.files if not file.referenced}
    assert dead == {file.name for file in manifest.files if "ocdbt.process_0" in file.name}

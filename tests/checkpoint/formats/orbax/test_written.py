"""Orbax checkpoints made by the tests: what is read of them, and what is told where something is missing."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax import read, recognised
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Manifest, Mesh
from ckptplan.errors import InputError
from tests.checkpoint.formats.orbax.written import Arrays, interior, manifest, write_step, zarr_values
from tests.checkpoint.shared_fixtures import whole


def state() -> Arrays:
    """A small TrainState; its shapes do not divide by their chunks."""
    draw = np.random.default_rng(5)
    return {
        "params.dense.kernel": draw.normal(size=(5, 7)).astype("f4"),
        "params.dense.bias": draw.normal(size=7).astype("f4"),
        "opt_state.0.mu.dense.kernel": draw.normal(size=(5, 7)).astype("f4"),
        "opt_state.0.nu.dense.kernel": draw.normal(size=(5, 7)).astype("f4"),
        "opt_state.0.count": np.array(9, "i4"),
        "step": np.array(9, "i4"),
        "rng": np.array([1, 2], "u4"),
        "batch_stats.norm.mean": np.zeros((0, 3), "f4"),
    }


def manifest_of(root) -> Manifest:
    """What is read from a folder."""
    folder = CheckpointFolder(root)
    assert recognised(folder)
    return read(folder)


@pytest.mark.parametrize("ocdbt", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_every_array_is_read_as_it_was_written(tmp_path, ocdbt, packed):
    """In files or in a database of two levels, packed or not."""
    arrays = state()
    write_step(tmp_path, arrays, ocdbt=ocdbt, packed=packed)
    manifest = manifest_of(tmp_path)
    assert manifest.faults == ()
    assert (manifest.step, manifest.mesh, manifest.world_size) == (7, Mesh((2, 2), ("fsdp", "tp")), 4)
    assert {one.key: (one.shape, whole(manifest, one)) for one in manifest.tensors} == {
        name: (array.shape, array.tobytes()) for name, array in arrays.items()
    }
    assert {one.key: one.kind for one in manifest.tensors} == {
        "params.dense.kernel": StateKind.PARAMETER,
        "params.dense.bias": StateKind.PARAMETER,
        "opt_state.0.mu.dense.kernel": StateKind.FIRST_MOMENT,
        "opt_state.0.nu.dense.kernel": StateKind.SECOND_MOMENT,
        "opt_state.0.count": StateKind.OPTIMIZER_STEP,
        "step": StateKind.PROGRESS,
        "rng": StateKind.RANDOM,
        "batch_stats.norm.mean": StateKind.BUFFER,
    }


def test_unpacked_chunks_can_be_read_in_part(tmp_path):
    """The place of the first element, and the strides of the whole chunk."""
    arrays = state()
    write_step(tmp_path, arrays)
    manifest = manifest_of(tmp_path)
    kernel = next(one for one in manifest.tensors if one.key == "params.dense.kernel")
    row = 3  # the last chunk, of which one row and one column lie beyond the array
    raw = manifest.source.raw(kernel, row)
    assert (raw.shape, raw.strides, raw.packed) == ((2, 3), (4, 1), None)
    data = (tmp_path / manifest.files[raw.file].name).read_bytes()
    found = np.frombuffer(data, "f4", offset=raw.offset)
    assert found[raw.strides[0]] == arrays["params.dense.kernel"][4, 4]
    assert kernel.shards.data_offsets[row] == raw.offset


def test_a_missing_chunk_is_a_missing_file(tmp_path):
    """Which array, and which chunk."""
    held = write_step(tmp_path, state())
    (held / "params.dense.kernel" / "1.0").unlink()
    manifest = manifest_of(tmp_path)
    (fault,) = manifest.faults
    assert (fault.flaw, fault.key) == (Flaw.MISSING_FILE, "params.dense.kernel")
    assert "params.dense.kernel/1.0" in fault.message
    kernel = next(one for one in manifest.tensors if one.key == fault.key)
    assert kernel.shards.files.tolist().count(-1) == 1
    with pytest.raises(InputError, match="stored nowhere"):
        manifest.source.read(kernel, 2)


def test_chunks_left_out_as_fill_values_are_zeros(tmp_path):
    """Older versions of Orbax do not store a chunk of zeros."""
    arrays = state()
    held = write_step(tmp_path, arrays)
    (held / "params.dense.bias" / "1").unlink()
    tree = json.loads((held / "_METADATA").read_text())
    del tree["store_array_data_equal_to_fill_value"]
    (held / "_METADATA").write_text(json.dumps(tree))
    manifest = manifest_of(tmp_path)
    assert manifest.faults == ()
    bias = next(one for one in manifest.tensors if one.key == "params.dense.bias")
    expected = arrays["params.dense.bias"].copy()
    expected[4:] = 0
    assert whole(manifest, bias) == expected.tobytes()


def test_files_of_the_tree_are_referred_to(tmp_path):
    """Those that hold nodes only, and not what lies beside them."""
    held = write_step(tmp_path, state(), ocdbt=True)
    data = (held / "d" / "0123456789abcdef").read_bytes()
    node = interior([("", 0, 0)], "d/0123456789abcdef")
    length = int.from_bytes(data[data.rindex(node[:4]) + 4 :][:8], "little")
    (held / "d" / "root").write_bytes(data[-length:])
    (held / "manifest.ocdbt").write_bytes(manifest("d/root", 0, length, 1))
    (held / "d" / "left").write_bytes(data)
    found = manifest_of(tmp_path)
    assert found.faults == ()
    assert len(found.tensors) == len(state())
    assert [file.name for file in found.files if not file.referenced] == ["7/state/d/left"]


@pytest.mark.parametrize("older", [False, True])
def test_a_missing_array_is_told(tmp_path, older):
    """An array that the tree lists and that no file holds; older versions note no written part."""
    held = write_step(tmp_path, state())
    shutil.rmtree(held / "rng")
    if older:
        text = (held / "_METADATA").read_text()
        (held / "_METADATA").write_text(text.replace('"write_shape": [2, 3]', '"x": 1'))
    manifest = manifest_of(tmp_path)
    assert [fault.flaw for fault in manifest.faults] == [Flaw.MISSING_FILE]
    assert [entry.key for entry in manifest.objects] == ["rng"]
    assert manifest.objects[0].file == -1


def test_a_database_that_cannot_be_read_leaves_names_and_layout(tmp_path):
    """Sizes are inferred from the written part and the mesh, and that is said."""
    held = write_step(tmp_path, state(), ocdbt=True)
    data = bytearray((held / "manifest.ocdbt").read_bytes())
    data[12] = 3  # the version of the format
    (held / "manifest.ocdbt").write_bytes(data)
    manifest = manifest_of(tmp_path)
    assert [fault.flaw for fault in manifest.faults] == [Flaw.UNREADABLE]
    assert "version 3" in manifest.faults[0].message
    assert manifest.tensors == ()
    found = {entry.key: (entry.kind, entry.type) for entry in manifest.objects}
    kind, text = found["params.dense.kernel"]
    assert kind is StateKind.PARAMETER
    assert "[2, 3]" in text
    assert "[4, 6]" in text
    assert "inferred" in manifest.remarks[0]


@pytest.mark.parametrize(
    ("name", "stamps", "uncommitted"),
    [
        ("7", {"init_timestamp_nsecs": 1, "commit_timestamp_nsecs": None}, True),
        ("7.orbax-checkpoint-tmp-123", {"init_timestamp_nsecs": 1, "commit_timestamp_nsecs": 2}, True),
        ("7", {}, False),
        ("step_0007", {"init_timestamp_nsecs": 1, "commit_timestamp_nsecs": 2}, False),
    ],
)
def test_whether_the_save_ended(tmp_path, name, stamps, uncommitted):
    """By the name of the folder, or by the time of its end."""
    write_step(tmp_path, state(), step=name)
    (tmp_path / name / "_CHECKPOINT_METADATA").write_text(json.dumps(stamps))
    manifest = manifest_of(tmp_path)
    assert manifest.step == 7
    assert (not manifest.committed) == uncommitted
    assert len(manifest.tensors) == len(state())


def test_items_beside_the_state(tmp_path):
    """The data position of each process, and two trees with keys of their own."""
    write_step(tmp_path, state())
    (tmp_path / "7" / "iter").mkdir()
    for rank in range(2):
        (tmp_path / "7" / "iter" / f"process_{rank}-of-2.json").write_text('{"epoch": 1}')
    held = tmp_path / "7" / "ema"
    for key, value in zarr_values("params.w", np.ones((2, 2), "f4"), (2, 2)).items():
        (held / key).parent.mkdir(parents=True, exist_ok=True)
        (held / key).write_bytes(value)
    manifest = manifest_of(tmp_path)
    assert [(one.key, one.kind, one.rank) for one in manifest.objects] == [
        ("iter.process_0", StateKind.DATA_POSITION, 0),
        ("iter.process_1", StateKind.DATA_POSITION, 1),
    ]
    assert manifest.source.value(manifest.objects[1]) == {"epoch": 1}
    assert {"ema:params.w", "state:rng"} < {one.key for one in manifest.tensors}


def test_several_steps_are_not_one_checkpoint(tmp_path):
    """Which one is meant must be said."""
    write_step(tmp_path, state(), step="7")
    write_step(tmp_path, state(), step="8")
    folder = CheckpointFolder(tmp_path)
    assert not recognised(folder)
    with pytest.raises(InputError) as caught:
        read(folder)
    assert "7, 8" in str(caught.value.problems[0].hint)


def test_hyperparameters_in_the_state_are_not_said_to_be_in_code(tmp_path):
    """optax.inject_hyperparams keeps the learning rate in the state."""
    arrays = {**state(), "opt_state.hyperparams.learning_rate": np.array(0.1, "f4")}
    write_step(tmp_path, arrays)
    manifest = manifest_of(tmp_path)
    assert manifest.elsewhere == ()
    assert StateKind.HYPERPARAMETERS in {one.kind for one in manifest.tensors}

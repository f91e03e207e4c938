"""Checkpoints that DeepSpeed wrote, compared with what DeepSpeed and torch say is in them.

The right answers count the scheduler, steps and hyperparameters as there without listing them as objects, so that
objects are compared through what is missing. Their stage of ZeRO is no field of a manifest.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.deepspeed import read, recognised
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format, Manifest, Tensor
from ckptplan.errors import InputError
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

NAMES = [
    "deepspeed-zero1-2rank", "deepspeed-zero2-missing-rank", "deepspeed-zero3-2rank-universal", "deepspeed-zero3-4rank"
]  # fmt: skip
BROKEN = "deepspeed-zero2-missing-rank"
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
    counts = counted_by(truth)
    assert counted(manifest, set(counts)) == counts
    assert sum(one.logical_bytes for one in manifest.tensors) == truth["totals"]["logical_tensor_bytes"]


@pytest.mark.parametrize("name", NAMES)
def test_facts_of_the_save(name):
    """Step, ranks, library, files and what exact resume lacks."""
    truth, manifest = truth_of(name), manifest_of(name)
    assert (manifest.format, manifest.step, manifest.world_size) == (
        Format.DEEPSPEED,
        truth["step"],
        truth["world_size"],
    )
    assert manifest.producer == f"DeepSpeed {truth['producer']['deepspeed']}"
    assert {file.name: file.size_bytes for file in manifest.files} == truth["files"]
    assert missing(manifest) == {KINDS[kind] for kind in truth["missing_for_exact_resume"]}


@pytest.mark.parametrize("name", NAMES)
def test_every_element_is_where_it_is_said_to_be(name):
    """Digests of all tensors, put together from the partitions; of what is missing an error is told."""
    truth, manifest = truth_of(name), manifest_of(name)
    for tensor in manifest.tensors:
        if (tensor.shards.files < 0).any():
            assert name == BROKEN
            with pytest.raises(InputError, match="is not there"):
                digest(manifest, tensor)
        else:
            assert digest(manifest, tensor) == truth["tensors"][tensor.key]["sha256"], tensor.key


@pytest.mark.parametrize("name", NAMES)
def test_pieces_are_those_of_the_ranks(name):
    """File, range of the parameter and place in the file of every piece of every state."""
    truth, manifest = truth_of(name), manifest_of(name)
    tensors = {tensor.key: tensor for tensor in manifest.tensors}
    for parameter, listed in truth["shards"]["params"].items():
        expected = [one for one in listed if one["param_range"][0] < one["param_range"][1]]
        for slot in ("fp32", "exp_avg", "exp_avg_sq"):
            _check_pieces(truth, manifest, tensors[f"{slot}:{parameter}"], expected)


def _check_pieces(truth: dict[str, Any], manifest: Manifest, tensor: Tensor, expected: list[dict[str, Any]]) -> None:
    shards = tensor.shards
    assert shards.flat
    assert [[int(at), int(at + n)] for (at,), (n,) in zip(shards.offsets, shards.sizes, strict=True)] == [
        one["param_range"] for one in expected
    ]
    for row, one in enumerate(expected):
        name = f"{truth['tag']}/{truth['shards']['files'][str(one['rank'])]}"
        if name not in truth["files"]:
            assert (shards.files[row], shards.item_bytes[row]) == (-1, 0)
            continue
        assert manifest.files[shards.files[row]].name == name
        begin = int(shards.data_offsets[row]) - 4 * one["partition_offset"]
        assert begin in _records(manifest.root / name)
        assert shards.item_offsets[row] == shards.data_offsets[row]
        assert shards.item_bytes[row] == 4 * (one["param_range"][1] - one["param_range"][0])
        raw = manifest.source.raw(tensor, row)
        assert (raw.file, raw.offset, raw.strides) == (shards.files[row], shards.data_offsets[row], (1,))


def _records(path: Path) -> dict[int, int]:
    """Where the data of each record begins and how long it is, by Python's own reader of archives."""
    found: dict[int, int] = {}
    with zipfile.ZipFile(path) as archive, path.open("rb") as stream:
        for info in archive.infolist():
            stream.seek(info.header_offset + 26)
            lengths = stream.read(4)
            extra = int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
            found[info.header_offset + 30 + extra] = info.file_size
    return found


def test_weights_of_16_bits_are_in_the_file_that_holds_them():
    """Stages 1 and 2 keep the whole model in one file; fp32 weights are views on one flat vector there."""
    truth, manifest = truth_of("deepspeed-zero1-2rank"), manifest_of("deepspeed-zero1-2rank")
    for tensor in manifest.tensors:
        file = truth["tensors"][tensor.key].get("file")
        if file is not None:
            assert manifest.files[int(tensor.shards.files[0])].name == f"global_step3/{file}"
            begin, end = int(tensor.shards.data_offsets[0]), int(tensor.shards.data_offsets[0]) + tensor.logical_bytes
            records = _records(manifest.root / f"global_step3/{file}")
            assert any(at <= begin and end <= at + size for at, size in records.items())


def test_a_missing_rank_is_named_with_what_it_held():
    """Which file, and which parameters are incomplete."""
    truth, manifest = truth_of(BROKEN), manifest_of(BROKEN)
    faults = [fault for fault in manifest.faults if fault.flaw is Flaw.MISSING_FILE]
    assert [fault.file for fault in faults] == [truth["damage"]["file"]]
    assert "rank 1" in faults[0].message
    incomplete = {tensor.path[-1] for tensor in manifest.tensors if (tensor.shards.files < 0).any()}
    assert incomplete == {
        name for name, rows in truth["shards"]["params"].items() if any(one["rank"] == 1 for one in rows)
    }


@pytest.mark.parametrize("name", [one for one in NAMES if one != BROKEN])
def test_nothing_is_wrong_with_whole_checkpoints(name):
    """No fault is told of a checkpoint that is complete."""
    assert manifest_of(name).faults == ()


def test_the_folder_of_the_tag_is_read_as_the_folder_above():
    """With `latest` or without, the same tensors."""
    above, tag = manifest_of("deepspeed-zero3-4rank"), manifest_of("deepspeed-zero3-4rank", "global_step3")
    assert described(above) == described(tag)
    assert [file.name for file in tag.files] == [
        file.name.removeprefix("global_step3/") for file in above.files if file.name != "latest"
    ]


def test_universal_checkpoints_hold_what_their_partitions_held():
    """Every state of every parameter, with the shapes that the model states tell."""
    truth = truth_of("deepspeed-zero3-2rank-universal")
    manifest = manifest_of("deepspeed-zero3-2rank-universal", truth["universal_dir"])
    assert manifest.format is Format.DEEPSPEED_UNIVERSAL
    assert (manifest.step, manifest.world_size, manifest.faults) == (truth["step"], truth["world_size"], ())
    assert described(manifest) == described_by(truth)
    assert {one.key: digest(manifest, one) for one in manifest.tensors} == {
        key: one["sha256"] for key, one in truth["tensors"].items()
    }
    assert missing(manifest) == {KINDS[kind] for kind in truth["missing_for_exact_resume"]}
    for tensor in manifest.tensors:
        slot, parameter = tensor.path
        assert manifest.files[int(tensor.shards.files[0])].name == f"zero/{parameter}/{slot}.pt"


def test_values_of_small_states_can_be_read():
    """Learning rate, steps and progress, as plain numbers."""
    manifest = manifest_of("deepspeed-zero1-2rank")
    values = {
        (entry.kind, entry.path[-1]): manifest.source.value(entry)
        for entry in manifest.objects
        if entry.kind is not StateKind.LOSS_SCALER
    }
    assert values[StateKind.OPTIMIZER_STEP, "step"] == 3.0
    assert values[StateKind.HYPERPARAMETERS, "lr"] == 0.000125
    assert values[StateKind.SCHEDULER, "_last_lr"] == [0.000125]
    assert values[StateKind.PROGRESS, "consumed_samples"] == 6
    assert "CKPTPLAN_PICKLE_EXECUTED" not in {path.name for path in Path().iterdir()}

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp import hf_storage, reader
from ckptplan.checkpoint.formats.dcp.assembling import manifest_of
from ckptplan.checkpoint.formats.dcp.items import check_crc, check_items
from ckptplan.checkpoint.formats.dcp.metadata_types import DcpItem, DcpMetadata, DcpTensor
from ckptplan.checkpoint.manifest import Flaw, Manifest
from ckptplan.errors import InputError

LARGEST = 2**63 - 1


def metadata(names: tuple[str, ...], offset: int = 0, length: int = 100, **changed: object) -> DcpMetadata:
    """One tensor of one shard for each file, and one object in the first."""
    count = len(names)
    rows = np.arange(count, dtype=np.int64)
    tensor = DcpTensor(
        "model.w", "float32", (2 * count,), 2 * rows[:, None], np.full((count, 1), 2), rows,
        np.full(count, offset), np.full(count, length), None,
    )._replace(**changed)  # fmt: skip
    item = DcpItem(0, offset, length, None)
    return DcpMetadata({"model.w": tensor}, {"step": item}, names, None, None, count + 1, (), False)


def asked(manifest: Manifest) -> list[Flaw]:
    """Faults of a manifest after everything was asked of it."""
    for tensor in manifest.tensors:
        for row in range(tensor.shards.number):
            with pytest.raises(InputError):
                manifest.source.read(tensor, row)
    for entry in manifest.objects:
        with pytest.raises(InputError):
            manifest.source.value(entry)
    found = [*manifest.faults, *check_items(manifest), *check_crc(manifest)]
    return [fault.flaw for fault in found]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "", "x\0y", "..", "/"])
def test_names_that_lead_out_are_refused(tmp_path, name):
    """Nothing outside of the folder is opened, however a file is named."""
    (tmp_path / "secret").write_bytes(bytes(1000))
    folder = tmp_path / "ckpt"
    folder.mkdir()
    manifest = manifest_of(CheckpointFolder(folder), metadata((name,)))
    assert asked(manifest) == [Flaw.CORRUPT]
    assert "outside of the checkpoint" in manifest.faults[0].message
    assert manifest.tensors[0].shards.files.tolist() == [-1]


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "none"])
def test_what_is_no_regular_file_is_missing(tmp_path, kind):
    """A pipe is not waited for, a link not followed."""
    place = tmp_path / "__0_0.distcp"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "link":
        place.symlink_to("/etc/passwd")
    manifest = manifest_of(CheckpointFolder(tmp_path), metadata(("__0_0.distcp",)))
    assert asked(manifest) == [Flaw.MISSING_FILE]
    words = {"pipe": "a pipe or device, which is not opened", "link": "a link, which is not followed"}
    assert manifest.faults[0].message.startswith(words.get(kind, "missing: "))


@pytest.mark.parametrize(
    ("offset", "length", "flaw"),
    [
        (0, LARGEST, Flaw.TRUNCATED),
        (LARGEST, LARGEST, Flaw.TRUNCATED),
        (LARGEST, 0, Flaw.TRUNCATED),
        (-1, 10, Flaw.UNREADABLE),
        (-LARGEST, 10, Flaw.UNREADABLE),
        (0, 0, Flaw.UNREADABLE),
        (10, 20, Flaw.UNREADABLE),
    ],
)
def test_items_at_impossible_places(tmp_path, offset, length, flaw):
    """Sums do not overflow, and nothing is read beyond a file."""
    (tmp_path / "__0_0.distcp").write_bytes(bytes(500))
    manifest = manifest_of(CheckpointFolder(tmp_path), metadata(("__0_0.distcp",), offset, length))
    assert flaw in asked(manifest)


@pytest.mark.parametrize(
    "changed",
    [
        {"sizes": np.full((1, 1), LARGEST)},
        {"sizes": np.full((1, 1), -5)},
        {"offsets": np.full((1, 1), LARGEST)},
        {"packed": "zstd"},
        {"packed": "stream.unknown/7"},
        {"files": np.array([-1])},
        {"item_bytes": np.array([-7])},
    ],
)
def test_odd_shards_are_faults(tmp_path, changed):
    """Sizes, places and packings that cannot be: no other error, nothing large is allocated."""
    (tmp_path / "__0_0.distcp").write_bytes(bytes(500))
    manifest = manifest_of(CheckpointFolder(tmp_path), metadata(("__0_0.distcp",), **changed))
    assert set(asked(manifest)) <= {Flaw.UNREADABLE, Flaw.TRUNCATED}


def test_many_missing_files_are_told_within_bounds(tmp_path):
    """Five thousand files that are not there: a thousand faults and a last sentence."""
    names = tuple(f"__{rank}_0.distcp" for rank in range(5000))
    manifest = manifest_of(CheckpointFolder(tmp_path), metadata(names))
    assert len(manifest.faults) == 1001
    assert "no more are listed" in manifest.faults[-1].message


def test_ranks_beyond_reason_are_no_ranks(tmp_path):
    """Numbers of a billion in names of files or keys do not make a world of a billion ranks."""
    (tmp_path / "__999999999_0.distcp").write_bytes(b"")
    assert not reader.recognised(CheckpointFolder(tmp_path))
    (tmp_path / "__0_0.distcp").write_bytes(bytes(500))
    found = metadata(("__0_0.distcp",))
    found = found._replace(objects={"rng.rank_999999999": DcpItem(0, 0, 10, None)})
    assert manifest_of(CheckpointFolder(tmp_path), found).world_size == 1


def header(path: Path, sharding: object, tensors: dict[str, object], data: int) -> None:
    """A safetensors file with any header."""
    text = json.dumps({"__metadata__": {"DCP_SHARDING_INFO": sharding}, **tensors}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(data))


TENSOR = {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}


@pytest.mark.parametrize(
    "sharding",
    [
        "no JSON", "[1]", "{\"w\": 5}", '{"w": {}}', '{"w": {"saved_offsets": 3}}', '{"w": {"saved_offsets": [-1]}}',
        '{"w": {"saved_offsets": [1.5]}}', '{"w": {"saved_offsets": [0, 0]}}', '{"w": {"saved_offsets": [1e99]}}',
        '{"w": {"saved_offsets": [9223372036854775807]}}', "[" * 100_000, '{"w": {"saved_offsets": [true]}}',
        "\ud800",
    ],
)  # fmt: skip
def test_sharding_that_says_nothing(tmp_path, sharding):
    """Where a tensor lies must be said by as many counts as it has axes; anything else is a fault of the file."""
    header(tmp_path / "shard-00001-model-00001-of-00001.safetensors", sharding, TENSOR, 8)
    manifest = hf_storage.read(CheckpointFolder(tmp_path))
    assert [fault.flaw for fault in manifest.faults] == [Flaw.CORRUPT]
    assert manifest.tensors == ()


def test_two_files_that_contradict_each_other(tmp_path):
    """The same tensor with another type in another file: said, and the first is kept."""
    offsets = json.dumps({"w": {"saved_offsets": [0]}})
    header(tmp_path / "shard-00001-model-00001-of-00001.safetensors", offsets, TENSOR, 8)
    other = {"w": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}
    header(tmp_path / "shard-00002-model-00001-of-00001.safetensors", offsets, other, 8)
    manifest = hf_storage.read(CheckpointFolder(tmp_path))
    assert [(fault.flaw, fault.key) for fault in manifest.faults] == [(Flaw.CORRUPT, "w")]
    assert [(tensor.dtype, tensor.shape) for tensor in manifest.tensors] == [("float32", (2,))]


def test_the_last_number_of_a_file_is_a_limit(tmp_path):
    """Files of ranks one and nine million: the gap is counted, not listed."""
    for number in (1, 9_000_000):
        header(tmp_path / f"shard-{number:05d}-model-00001-of-00001.safetensors", "{}", TENSOR, 8)
    manifest = hf_storage.read(CheckpointFolder(tmp_path))
    assert "8,999,998 ranks" in manifest.faults[0].message

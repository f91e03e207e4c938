"""A manifest held against truth.json, which the library that wrote the checkpoint made."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ckptplan.checkpoint import dtypes
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.manifest import Manifest
from ckptplan.checkpoint.summary import by_kind
from tests.checkpoint.shared_fixtures import KINDS, missing


def compare_tensors(manifest: Manifest, truth: dict[str, Any]) -> None:
    """Keys, kinds, types, shapes, boxes, files and places, and the digest of every tensor read through the source."""
    expected = truth["tensors"]
    assert {tensor.key for tensor in manifest.tensors} == set(expected)
    for tensor in manifest.tensors:
        facts = expected[tensor.key]
        kind, dtype = KINDS[facts["kind"]], dtypes.OF_SAFETENSORS.get(facts["dtype"], facts["dtype"])
        assert (tensor.kind, tensor.dtype, list(tensor.shape)) == (kind, dtype, facts["shape"])
        assert tensor.logical_bytes == facts["logical_bytes"]
        assert tensor.shards.number == 1
        assert tensor.shards.offsets.tolist() == [[0] * len(tensor.shape)]
        assert tensor.shards.sizes.tolist() == [list(tensor.shape)]
        raw = manifest.source.raw(tensor, 0)
        assert (raw.dtype, raw.shape) == (tensor.dtype, tensor.shape)
        place = (manifest.files[raw.file].name, raw.offset)
        assert int(tensor.shards.files[0]) == raw.file
        assert int(tensor.shards.data_offsets[0]) == raw.offset
        if "shards" in facts:
            (shard,) = facts["shards"]
            assert (shard["offset"], shard["size"]) == (tensor.shards.offsets.tolist()[0], list(tensor.shape))
            assert place == (shard["file"], shard["data_offset"])
            assert int(tensor.shards.item_bytes[0]) == shard["data_bytes"] == raw.data_bytes
        else:
            compare_storage(manifest, facts, raw, place)
        data = manifest.source.read(tensor, 0)
        assert data.dtype == np.uint8
        assert hashlib.sha256(data.tobytes()).hexdigest() == facts["sha256"], tensor.key


def compare_storage(manifest: Manifest, facts: dict[str, Any], raw: Any, place: tuple[str, int]) -> None:
    """What truth.json says of tensors of torch.save; of legacy streams it does not know places."""
    assert place[0] == facts["file"]
    assert list(raw.strides) == facts["stride"]
    if "storage_data_offset" in facts:
        first = facts["storage_offset_elements"] * dtypes.BITS[raw.dtype] // 8
        assert place[1] == facts["storage_data_offset"] + first
        assert raw.data_bytes == facts["storage_bytes"]


def compare_objects(manifest: Manifest, truth: dict[str, Any]) -> None:
    """Keys, kinds, files and types; every value is of its type."""
    expected = truth.get("objects", {})
    assert {entry.key for entry in manifest.objects} == set(expected)
    for entry in manifest.objects:
        facts = expected[entry.key]
        assert entry.kind is KINDS[facts["kind"]], entry.key
        assert manifest.files[entry.file].name == facts["file"]
        if "type" in facts:
            assert entry.type == facts["type"]
            assert type(manifest.source.value(entry)).__name__ == facts["type"]


def compare_totals(manifest: Manifest, truth: dict[str, Any]) -> None:
    """Bytes by kind of state, what exact resume lacks, and every file with its length."""
    found = {
        total.kind: (total.tensors, total.objects, total.logical_bytes, total.stored_bytes)
        for total in by_kind(manifest)
    }
    assert found == {
        KINDS[kind]: (facts["tensors"], facts["objects"], facts["logical_bytes"], facts["stored_bytes"])
        for kind, facts in truth["bytes_by_kind"].items()
    }
    assert missing(manifest) == {KINDS[kind] for kind in truth["missing_for_exact_resume"]}
    inner = truth["root"].partition("/")[2]
    files = {name.removeprefix(f"{inner}/" if inner else ""): size for name, size in truth["files"].items()}
    assert {file.name: file.size_bytes for file in manifest.files} == files
    with CheckpointFolder(manifest.root) as folder:
        assert folder.sizes() == files


def compare(manifest: Manifest, truth: dict[str, Any]) -> None:
    """Everything that truth.json says, where nothing is damaged."""
    compare_tensors(manifest, truth)
    compare_objects(manifest, truth)
    compare_totals(manifest, truth)
    assert manifest.faults == ()
    assert all(file.referenced for file in manifest.files)
    if "world_size" in truth:
        assert manifest.world_size == truth["world_size"]
    if "step" in truth:
        assert manifest.step == truth["step"]

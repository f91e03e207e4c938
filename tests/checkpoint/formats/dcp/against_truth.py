"""Manifests held against the right answers that the library which wrote a checkpoint gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import UNKNOWN, Manifest, Object, Tensor
from ckptplan.checkpoint.summary import by_kind
from tests.checkpoint.shared_fixtures import COLLECTION, WORDS, digest, missing, truth_of


def load(name: str, reading: Callable[[CheckpointFolder], Manifest]) -> tuple[dict[str, Any], Manifest]:
    """The truth of one checkpoint, and what is read of it."""
    truth = truth_of(name)
    return truth, reading(CheckpointFolder(COLLECTION / name / truth["root"]))


def tensors_differ(truth: dict[str, Any], manifest: Manifest, *, intact: bool = True) -> list[str]:
    """Every tensor: kind, type, shape, path, sizes, boxes, places, and the checksum of its elements."""
    found = {tensor.key: tensor for tensor in manifest.tensors}
    wrong = [f"{key} is not there" for key in truth["tensors"] if key not in found]
    for key, told in truth["tensors"].items():
        if key in found:
            tensor = found[key]
            seen: dict[str, Any] = {
                "kind": WORDS[tensor.kind], "dtype": tensor.dtype, "shape": list(tensor.shape),
                "logical_bytes": tensor.logical_bytes, "stored_bytes": tensor.stored_bytes, "path": list(tensor.path),
            }  # fmt: skip
            wrong += [f"{key}: {field} {seen[field]}" for field in seen if field in told and told[field] != seen[field]]
            if len(told["shards"]) != tensor.shards.number:
                wrong.append(f"{key}: {tensor.shards.number} shards")
                continue
            for row, shard in enumerate(told["shards"]):
                wrong += _shard_differs(manifest, tensor, row, shard, intact)
            if "sha256" in told and intact and digest(manifest, tensor) != told["sha256"]:
                wrong.append(f"{key}: other elements")
    return wrong


def _shard_differs(manifest: Manifest, tensor: Tensor, row: int, told: dict[str, Any], intact: bool) -> list[str]:
    shards = tensor.shards
    file = int(shards.files[row])
    seen: dict[str, Any] = {
        "offset": shards.offsets[row].tolist(),
        "size": shards.sizes[row].tolist(),
        "file": manifest.files[file].name if file >= 0 else None,
    }
    if "item_offset" in told:
        seen |= {"item_offset": int(shards.item_offsets[row]), "item_length": int(shards.item_bytes[row])}
    if intact:
        raw = manifest.source.raw(tensor, row)
        packed = raw.packed is not None
        itemsize = tensor.logical_bytes // max(1, tensor.elements)
        seen |= {
            "data_offset": None if packed else raw.offset,
            "data_bytes": int(np.prod(raw.shape)) * itemsize,
            "stride": list(raw.strides),
            "stored_shape": list(raw.shape),
            "transforms": ["stream.zstd/1"] if raw.packed == "zstd" else [],
        }
        assert int(shards.data_offsets[row]) in {UNKNOWN, raw.offset}
    return [f"{tensor.key}, {row}: {name} {seen[name]}" for name in seen if name in told and told[name] != seen[name]]


def objects_differ(truth: dict[str, Any], manifest: Manifest) -> list[str]:
    """Every object: kind, path and place."""
    found = {entry.key: entry for entry in manifest.objects}
    told_objects = truth.get("objects", {})
    wrong = [f"{key}: only on one side" for key in set(found) ^ set(told_objects)]
    for key, told in told_objects.items():
        if key in found:
            seen = _place(manifest, found[key])
            wrong += [f"{key}: {field} {seen[field]}" for field in seen if field in told and told[field] != seen[field]]
    return wrong


def _place(manifest: Manifest, entry: Object) -> dict[str, Any]:
    return {
        "kind": WORDS[entry.kind],
        "path": list(entry.path),
        "file": manifest.files[entry.file].name if entry.file >= 0 else None,
        "item_offset": entry.item_offset,
        "item_length": entry.item_bytes,
        "stored_bytes": entry.item_bytes,
    }


def kinds_differ(truth: dict[str, Any], manifest: Manifest) -> list[str]:
    """Bytes by kind of state, and the kinds that are missing."""
    seen = {
        WORDS[total.kind]: {
            "tensors": total.tensors, "objects": total.objects, "logical_bytes": total.logical_bytes,
            "stored_bytes": total.stored_bytes,
        }
        for total in by_kind(manifest)
    }  # fmt: skip
    wrong = [f"{word}: {seen.get(word)}" for word, told in truth["bytes_by_kind"].items() if seen.get(word) != told]
    wrong += [f"{word}: not told" for word in seen if word not in truth["bytes_by_kind"]]
    lacking = {WORDS[kind] for kind in missing(manifest)}
    if lacking != set(truth["missing_for_exact_resume"]):
        wrong.append(f"missing: {sorted(lacking)}")
    return wrong


def facts_differ(truth: dict[str, Any], manifest: Manifest) -> list[str]:
    """Files, ranks, step, and number of stored entries."""
    root = truth["root"].partition("/")[2]
    prefix = f"{root}/" if root else ""
    files = {name.removeprefix(prefix): size for name, size in truth["files"].items() if name.startswith(prefix)}
    seen = {file.name: file.size_bytes for file in manifest.files}
    wrong = [] if seen == files else [f"files: {seen}"]
    if manifest.world_size != truth["world_size"]:
        wrong.append(f"world size {manifest.world_size}")
    says_step = any(kind is StateKind.PROGRESS for kind in _kinds(manifest))
    if manifest.step != (truth["step"] if says_step else None):
        wrong.append(f"step {manifest.step}")
    entries = sum(tensor.shards.number for tensor in manifest.tensors) + len(manifest.objects)
    if truth.get("metadata_entries", entries) != entries:
        wrong.append(f"{entries} entries")
    return wrong


def _kinds(manifest: Manifest) -> list[StateKind]:
    states: list[Tensor | Object] = [*manifest.tensors, *manifest.objects]
    return [state.kind for state in states] + [kind for kind, _ in manifest.elsewhere]

"""Small checkpoints that torch wrote for this project: every tensor is found, and read to the right bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.kinds import NEEDED_BY_EVERY_RUN, StateKind
from ckptplan.checkpoint.manifest import Manifest, Tensor

FOLDER = Path(__file__).parent / "fixtures"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
MISSING = {
    "dcp-3rank": set(),
    "torch-zip": {StateKind.DATA_POSITION},
    "torch-legacy": {StateKind.DATA_POSITION},
    "safetensors-sharded": set(NEEDED_BY_EVERY_RUN) - {StateKind.PARAMETER},
}


def truth(name: str) -> dict[str, Any]:
    """What torch said while it wrote."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def whole(manifest: Manifest, tensor: Tensor) -> bytes:
    """The row-major bytes of a logical tensor, put together from its shards."""
    size = tensor.logical_bytes // max(1, tensor.elements)
    full = np.zeros((*tensor.shape, size), dtype=np.uint8)
    for row in range(tensor.shards.number):
        offset, length = tensor.shards.offsets[row], tensor.shards.sizes[row]
        if (length > 0).all():
            box = tuple(slice(a, a + n) for a, n in zip(offset, length, strict=True))
            full[box] = manifest.source.read(tensor, row).reshape((*length, size))
    return full.tobytes()


def test_there_are_checkpoints() -> None:
    """The folder was not lost on the way."""
    assert set(NAMES) == set(MISSING)


@pytest.mark.parametrize("name", NAMES)
def test_every_tensor_is_found_and_reads_to_its_bytes(name: str) -> None:
    """Keys, shapes, types and digests are those of torch; nothing else is taken for a state of the model."""
    manifest, expected = read_manifest(FOLDER / name), truth(name)
    found = {tensor.key: tensor for tensor in manifest.tensors if tensor.key in expected["tensors"]}
    assert set(found) == set(expected["tensors"])
    others = {tensor.kind for tensor in manifest.tensors if tensor.key not in found}
    assert others <= {StateKind.RANDOM, StateKind.PROGRESS}
    for key, tensor in found.items():
        facts = expected["tensors"][key]
        assert (tensor.dtype, list(tensor.shape)) == (facts["dtype"], facts["shape"])
        assert hashlib.sha256(whole(manifest, tensor)).hexdigest() == facts["sha256"], key
    assert manifest.faults == ()
    assert (manifest.step, manifest.world_size) in {(expected["step"], expected["world_size"]), (expected["step"], 1)}


@pytest.mark.parametrize("name", NAMES)
def test_what_exact_resume_lacks_is_what_was_not_saved(name: str) -> None:
    """A kind without a trace is missing."""
    manifest = read_manifest(FOLDER / name)
    there = {entry.kind for entry in (*manifest.tensors, *manifest.objects)} | {kind for kind, _ in manifest.elsewhere}
    assert set(NEEDED_BY_EVERY_RUN) - there == MISSING[name]

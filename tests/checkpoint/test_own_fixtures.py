"""Small checkpoints that torch wrote for this project: every tensor is found, and read to the right bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.kinds import NEEDED_BY_EVERY_RUN, StateKind
from tests.checkpoint.shared_fixtures import OWN, digest

NAMES = sorted(path.stem for path in OWN.glob("*.json"))
MISSING = {
    "dcp-3rank": set(),
    "torch-zip": {StateKind.DATA_POSITION},
    "torch-legacy": {StateKind.DATA_POSITION},
    "safetensors-sharded": set(NEEDED_BY_EVERY_RUN) - {StateKind.PARAMETER},
}


def truth(name: str) -> dict[str, Any]:
    """What torch said while it wrote."""
    found: dict[str, Any] = json.loads((OWN / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_there_are_checkpoints() -> None:
    """The folder was not lost on the way."""
    assert set(NAMES) == set(MISSING)


@pytest.mark.parametrize("name", NAMES)
def test_every_tensor_is_found_and_reads_to_its_bytes(name: str) -> None:
    """Keys, shapes, types and digests are those of torch; nothing else is taken for a state of the model."""
    manifest, expected = read_manifest(OWN / name), truth(name)
    found = {tensor.key: tensor for tensor in manifest.tensors if tensor.key in expected["tensors"]}
    assert set(found) == set(expected["tensors"])
    others = {tensor.kind for tensor in manifest.tensors if tensor.key not in found}
    assert others <= {StateKind.RANDOM, StateKind.PROGRESS}
    for key, tensor in found.items():
        facts = expected["tensors"][key]
        assert (tensor.dtype, list(tensor.shape)) == (facts["dtype"], facts["shape"])
        assert digest(manifest, tensor) == facts["sha256"], key
    assert manifest.faults == ()
    assert (manifest.step, manifest.world_size) in {(expected["step"], expected["world_size"]), (expected["step"], 1)}


@pytest.mark.parametrize("name", NAMES)
def test_what_exact_resume_lacks_is_what_was_not_saved(name: str) -> None:
    """A kind without a trace is missing."""
    manifest = read_manifest(OWN / name)
    there = {entry.kind for entry in (*manifest.tensors, *manifest.objects)} | {kind for kind, _ in manifest.elsewhere}
    assert set(NEEDED_BY_EVERY_RUN) - there == MISSING[name]

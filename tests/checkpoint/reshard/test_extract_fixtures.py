"""Every tensor of every real checkpoint, written to safetensors: its bytes have the hash that the truth says."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ckptplan.checkpoint.dtypes import TO_SAFETENSORS
from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.manifest import Manifest, Tensor
from ckptplan.checkpoint.reshard.extract import extract
from ckptplan.errors import InputError
from tests.checkpoint.shared_fixtures import NAMES, folder_of, needs_collection, truth_of

# Damaged on purpose: what is wrong with a tensor is an error, and all others are whole.
DAMAGED = ("dcp-overlapping-chunks", "dcp-truncated", "dcp-missing-file", "deepspeed-zero2-missing-rank")
pytestmark = needs_collection


def known(truth: dict[str, Any]) -> dict[str, str]:
    """Hash of each tensor by its key, as far as the truth has them."""
    return {key: one["sha256"] for key, one in (truth.get("tensors") or {}).items() if one.get("sha256")}


def written(manifest: Manifest, tensors: list[Tensor], out: Path) -> dict[str, str]:
    """Hash of each tensor in the file that was written."""
    extract(manifest, out, tensors)
    raw = out.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8:start])
    return {
        key: hashlib.sha256(raw[start + one["data_offsets"][0] : start + one["data_offsets"][1]]).hexdigest()
        for key, one in head.items()
        if key != "__metadata__"
    }


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DAMAGED])
def test_extracted_tensors_have_the_true_hashes(tmp_path: Path, name: str) -> None:
    """All tensors that the truth knows and safetensors can hold, byte for byte, in one file."""
    hashes = known(truth_of(name))
    if not hashes:
        pytest.skip("the truth knows no tensors")
    manifest = read_manifest(folder_of(name))
    tensors = [one for one in manifest.tensors if one.key in hashes and one.dtype in TO_SAFETENSORS]
    if not tensors:  # what is corrupt, hostile or not committed says so itself
        assert manifest.faults
        return
    found = written(manifest, tensors, tmp_path / "out.safetensors")
    assert found == {tensor.key: hashes[tensor.key] for tensor in tensors}
    assert len(tensors) == len(hashes)


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_damaged_is_an_error_and_the_rest_is_whole(tmp_path: Path, name: str) -> None:
    """Tensor by tensor: those that the truth calls unreadable fail, and no others."""
    truth = truth_of(name)
    hashes, damage = known(truth), truth["damage"]
    manifest = read_manifest(folder_of(name))
    failed = set()
    for tensor in manifest.tensors:
        out = tmp_path / "out.safetensors"
        try:
            found = written(manifest, [tensor], out)
        except InputError:
            failed.add(tensor.key)
            assert not out.exists()
            continue
        assert found[tensor.key] == hashes[tensor.key]
        out.unlink()
    assert failed
    lost = set(damage.get("unreadable_keys", [])) | ({damage["key"]} if "key" in damage else set())
    assert not lost or failed == lost & {tensor.key for tensor in manifest.tensors}

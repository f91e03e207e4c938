"""The checkpoints that tests read, those of this project and the shared collection with its right answers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.kinds import NEEDED_BY_EVERY_RUN, StateKind
from ckptplan.checkpoint.manifest import Manifest, Tensor

OWN = Path(__file__).parent / "fixtures"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "fixtures"
COLLECTION = SHARED / "checkpoints"
NAMES = sorted(path.parent.name for path in COLLECTION.glob("*/truth.json"))
needs_collection = pytest.mark.skipif(
    not COLLECTION.is_dir(), reason="the shared collection of checkpoints is not at hand"
)
KINDS = {
    "param": StateKind.PARAMETER,
    "buffer": StateKind.BUFFER,
    "master_fp32": StateKind.MASTER,
    "exp_avg": StateKind.FIRST_MOMENT,
    "exp_avg_sq": StateKind.SECOND_MOMENT,
    "optim_step": StateKind.OPTIMIZER_STEP,
    "optim_hparams": StateKind.HYPERPARAMETERS,
    "lr_scheduler": StateKind.SCHEDULER,
    "train_progress": StateKind.PROGRESS,
    "dataloader": StateKind.DATA_POSITION,
    "rng": StateKind.RANDOM,
    "loss_scaler": StateKind.LOSS_SCALER,
    "fp8": StateKind.FP8,
    "other": StateKind.OTHER,
}
WORDS = {kind: word for word, kind in KINDS.items()}


def truth_of(name: str) -> dict[str, Any]:
    """The right answers of one checkpoint; the test is skipped where the collection is not at hand."""
    file = COLLECTION / name / "truth.json"
    if not file.is_file():
        pytest.skip("the shared collection of checkpoints is not at hand")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def folder_of(name: str) -> Path:
    """The folder that is given to the reader; the test is skipped where the collection is not at hand."""
    if not COLLECTION.is_dir():
        pytest.skip("the shared collection of checkpoints is not at hand")
    return COLLECTION / name / "ckpt"


def whole(manifest: Manifest, tensor: Tensor) -> bytes:
    """All elements of a tensor in row-major order, put together from its shards."""
    shards = tensor.shards
    width = tensor.logical_bytes // max(tensor.elements, 1)
    grid = (tensor.elements,) if shards.flat else tensor.shape
    out = np.full((*grid, width), 0xA5, np.uint8)
    for row in range(shards.number):
        box = tuple(slice(int(at), int(at + n)) for at, n in zip(shards.offsets[row], shards.sizes[row], strict=True))
        out[box] = manifest.source.read(tensor, row).reshape(*shards.sizes[row], width)
    return out.tobytes()


def digest(manifest: Manifest, tensor: Tensor) -> str:
    """SHA-256 of all elements in row-major order."""
    return hashlib.sha256(whole(manifest, tensor)).hexdigest()


def missing(manifest: Manifest) -> set[StateKind]:
    """Kinds that exact resume needs and that are nowhere."""
    there = {one.kind for one in manifest.tensors} | {one.kind for one in manifest.objects}
    return set(NEEDED_BY_EVERY_RUN) - there - {kind for kind, _ in manifest.elsewhere}


def described(manifest: Manifest) -> dict[str, tuple[StateKind, str, tuple[int, ...], int]]:
    """Kind, type, shape and bytes of every tensor."""
    return {one.key: (one.kind, one.dtype, one.shape, one.logical_bytes) for one in manifest.tensors}


def described_by(truth: dict[str, Any]) -> dict[str, tuple[StateKind, str, tuple[int, ...], int]]:
    """The same of the right answers."""
    return {
        key: (KINDS[one["kind"]], one["dtype"], tuple(one["shape"]), one["logical_bytes"])
        for key, one in truth["tensors"].items()
    }


def counted(manifest: Manifest, kinds: set[StateKind]) -> dict[StateKind, tuple[int, int]]:
    """Tensors and their bytes of some kinds."""
    found: dict[StateKind, tuple[int, int]] = {}
    for tensor in manifest.tensors:
        if tensor.kind in kinds:
            number, size = found.get(tensor.kind, (0, 0))
            found[tensor.kind] = (number + 1, size + tensor.logical_bytes)
    return found


def counted_by(truth: dict[str, Any]) -> dict[StateKind, tuple[int, int]]:
    """The same of the right answers, kinds without tensors left out."""
    return {
        KINDS[kind]: (one["tensors"], one["logical_bytes"])
        for kind, one in truth["bytes_by_kind"].items()
        if one["tensors"]
    }

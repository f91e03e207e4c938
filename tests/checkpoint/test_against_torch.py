"""Fresh checkpoints by torch itself, read back without it: every byte, for many shapes, types and ways of saving."""

from __future__ import annotations

import hashlib
import json
import random
import socket
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from ckptplan.checkpoint.formats.detect import read_manifest
from tests.checkpoint.shared_fixtures import digest

torch = pytest.importorskip("torch")

TYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64"]
TYPES += [name for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)]
SHAPES = [(), (0,), (1,), (7,), (3, 5), (0, 4), (2, 3, 4), (64, 9), (1, 1, 1, 2)]


def tensors(seed: int) -> dict[str, Any]:
    """Tensors of all types and shapes; some are views, transposed, or share their storage."""
    draw = random.Random(seed)  # noqa: S311 - seeded on purpose
    made: dict[str, Any] = {}
    for number, dtype in enumerate(TYPES):
        shape = draw.choice(SHAPES)
        torch.manual_seed(seed * 100 + number)
        made[f"layers.{number}.weight"] = torch.randint(0, 100, shape).to(getattr(torch, dtype))
    base = torch.randn(8, 6)
    made |= {
        "transposed.weight": base.t(),
        "rows.weight": base[2:4],
        "tied.weight": base,
        "every_second.weight": base[:, ::2],
    }
    return made


def digests(found: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...], str]]:
    """Type, shape and digest of the row-major bytes of each tensor."""
    told = {}
    for key, value in found.items():
        data = value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
        told[key] = (str(value.dtype).removeprefix("torch."), tuple(value.shape), hashlib.sha256(data).hexdigest())
    return told


def read(path: Path, prefix: str = "") -> dict[str, tuple[str, tuple[int, ...], str]]:
    """The same of what is read from a checkpoint."""
    manifest = read_manifest(path)
    assert manifest.faults == ()
    return {
        tensor.key.removeprefix(prefix): (
            tensor.dtype,
            tensor.shape,
            digest(manifest, tensor),
        )
        for tensor in manifest.tensors
    }


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_torch_save(seed: int, zipped: bool, tmp_path: Path) -> None:
    """Zip archives and the streams from before them."""
    made = tensors(seed)
    torch.save({"model": made}, tmp_path / "checkpoint.pt", _use_new_zipfile_serialization=zipped)
    assert read(tmp_path / "checkpoint.pt", "model.") == digests(made)


@pytest.mark.parametrize("options", [{}, {"thread_count": 3}, {"single_file_per_rank": False}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_distributed_checkpoints_of_one_process(seed: int, options: dict[str, Any], tmp_path: Path) -> None:
    """One file, several files, one file for each item."""
    import torch.distributed.checkpoint as dcp

    made = tensors(seed)
    writer = dcp.FileSystemWriter(tmp_path / "step-1", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of having one process
        dcp.save({"model": made}, storage_writer=writer)
    assert read(tmp_path / "step-1", "model.") == digests(made)


@pytest.mark.parametrize("seed", range(4))
def test_safetensors(seed: int, tmp_path: Path) -> None:
    """One file, all types that it has."""
    save_file = pytest.importorskip("safetensors.torch").save_file
    made = {k: v.contiguous().clone() for k, v in tensors(seed).items()}
    save_file(made, tmp_path / "model.safetensors")
    assert read(tmp_path / "model.safetensors") == digests(made)


@pytest.mark.parametrize("case", ["uneven", "replicas", "strided"])
def test_distributed_checkpoints_of_several_processes(case: str, tmp_path: Path) -> None:
    """Uneven shards, replicas and strided cuts, written by as many processes."""
    script = Path(__file__).with_name("save_with_ranks.py")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path / "step-1"
    subprocess.run([sys.executable, str(script), str(folder), str(port), case], check=True, timeout=300)
    expected = json.loads(Path(f"{folder}.json").read_text(encoding="utf-8"))
    assert read(folder) == {key: (dtype, tuple(shape), digest) for key, (dtype, shape, digest) in expected.items()}

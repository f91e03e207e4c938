from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp import hf_storage, reader
from ckptplan.checkpoint.formats.dcp.items import check_crc, check_items
from ckptplan.checkpoint.formats.megatron import legacy, torch_dist
from ckptplan.checkpoint.manifest import Fault, Manifest
from tests.checkpoint.mutations import each_mutated, read_all, refused
from tests.checkpoint.shared_fixtures import COLLECTION, needs_collection

pytestmark = needs_collection

CASES = {
    "metadata": ("dcp-tiny-2rank/ckpt", ".metadata", reader.read),
    "old metadata": ("dcp-v2.2-metadata/ckpt", ".metadata", reader.read),
    "items": ("dcp-tiny-2rank/ckpt", "__1_0.distcp", reader.read),
    "packed items": ("dcp-zstd/ckpt", "__0_0.distcp", reader.read),
    "extra states": ("dcp-fp8-amax/ckpt", "__1_0.distcp", reader.read),
    "metadata of a rank": ("dcp-rank-local-metadata/ckpt", "__1.metadata", reader.read),
    "sharded safetensors": (
        "dcp-hf-storage-2rank/ckpt", "shard-00002-model-00001-of-00001.safetensors", hf_storage.read,
    ),
    "Megatron's metadata": ("megatron-torch-dist-no-optim-rng/ckpt/iter_0000003", ".metadata", torch_dist.read),
    "Megatron's common state": ("megatron-torch-dist-no-optim-rng/ckpt/iter_0000003", "common.pt", torch_dist.read),
    "Megatron's older files": (
        "megatron-legacy-torch-tp2/ckpt/iter_0000003", "mp_rank_01/model_optim_rng.pt", legacy.read,
    ),
}  # fmt: skip
EACH = 40
SAMPLE = 4  # of tensors and objects that are read after each change
OPCODES = (b"R", b"c", b"\x93", b"b", b"\x81", b"]", b"\x8e", b"i", b"o", b"0")
MARK = "CKPTPLAN_PICKLE_EXECUTED"


def asked(manifest: Manifest, draw: random.Random) -> list[Fault]:
    """The faults of reading and of checking all, and whether some states can be read; no other error comes out."""
    faults = [*manifest.faults, *check_items(manifest), *check_crc(manifest)]
    tensors = draw.sample(manifest.tensors, min(SAMPLE, len(manifest.tensors)))
    read_all(manifest, tensors, draw.sample(manifest.objects, min(SAMPLE, len(manifest.objects))), rows=100)
    return faults


@pytest.mark.parametrize("case", CASES)
def test_changed_files_give_faults_and_errors_only(case, tmp_path, monkeypatch):
    """Whatever is changed in a file: a manifest with faults or an InputError, and nothing of the file ever runs."""
    source, name, read = CASES[case]
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "ckpt"
    shutil.copytree(COLLECTION / source, folder)
    draw = random.Random(f"{case} 6")  # noqa: S311
    told = sum(tried(read, folder, draw) for _ in each_mutated([folder / name], draw, EACH, OPCODES))
    assert told > EACH // 2
    assert not Path(MARK).exists()


def tried(read: Callable[[CheckpointFolder], Manifest], folder: Path, draw: random.Random) -> bool:
    """Read all of a folder; whether something was found to be wrong."""
    found: list[Fault] = []
    with CheckpointFolder(folder) as opened:
        broken = refused(lambda: found.extend(asked(read(opened), draw)))
    return broken or bool(found)


@pytest.mark.parametrize("case", CASES)
def test_files_cut_off_anywhere(case, tmp_path):
    """Every length of a file, in steps: faults that say so."""
    source, name, read = CASES[case]
    folder = tmp_path / "ckpt"
    shutil.copytree(COLLECTION / source, folder)
    whole = (folder / name).read_bytes()
    draw = random.Random(7)  # noqa: S311
    for length in [0, 1, 7, 8, 9, *range(64, len(whole), len(whole) // 7), len(whole) - 1]:
        (folder / name).write_bytes(whole[:length])
        assert tried(read, folder, draw), length

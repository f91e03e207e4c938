"""FSDP1 flat checkpoints made by the tests: ranks missing, files of other kinds, hostile ones."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.fsdp1 import read, recognised
from ckptplan.checkpoint.manifest import Flaw
from tests.checkpoint.archives.torch_zip import Storage, saved, tensor
from tests.checkpoint.mutations import each_mutated, read_all, refused
from tests.checkpoint.shared_fixtures import whole


def write(root: Path, ranks: int, name: str = "rank_{}.pt", key: str = "_flat_param") -> None:
    """Flat pieces of all ranks: rank r has 6 elements, 10 r and on."""
    for rank in range(ranks):
        data = np.arange(10 * rank, 10 * rank + 6, dtype=np.float32).tobytes()
        flat = tensor(Storage("float32", "0", 6), (6,), (1,))
        value = {"model": {key: flat, f"layers.0.{key}": flat}, "step": 3, "world_size": ranks}
        (root / name.format(rank)).write_bytes(saved(value, {"0": data}))


@pytest.mark.parametrize("name", ["rank_{}.pt", "rank{}.pt", "model_rank{}.pth", "ckpt-shard-{}-of-4.bin"])
@pytest.mark.parametrize("key", ["_flat_param", "flat_param"])
def test_pieces_of_all_ranks(tmp_path, name, key):
    """Each is a tensor of its own, whatever the files are called."""
    write(tmp_path, 4, name, key)
    folder = CheckpointFolder(tmp_path)
    assert recognised(folder)
    found = read(folder)
    assert (found.world_size, found.step, found.writer_ranks) == (4, 3, (0, 1, 2, 3))
    assert [fault.flaw for fault in found.faults] == [Flaw.NOT_RESHARDABLE]
    for rank in range(4):
        piece = next(one for one in found.tensors if one.key == f"{name.format(rank)}:model.{key}")
        assert whole(found, piece) == np.arange(10 * rank, 10 * rank + 6, dtype=np.float32).tobytes()
        assert piece.rank == rank


def test_missing_ranks_are_named(tmp_path):
    """By what the files say of the number of ranks."""
    write(tmp_path, 4)
    (tmp_path / "rank_1.pt").unlink()
    (tmp_path / "rank_3.pt").unlink()
    found = read(CheckpointFolder(tmp_path))
    assert [fault.file for fault in found.faults if fault.flaw is Flaw.MISSING_FILE] == ["rank_1.pt", "rank_3.pt"]


def test_files_of_ranks_without_flat_parameters_are_another_format(tmp_path):
    """Names of parameters are kept there."""
    write(tmp_path, 2, key="weight")
    assert not recognised(CheckpointFolder(tmp_path))
    (tmp_path / "rank_0.pt").write_bytes(b"nothing")
    assert not recognised(CheckpointFolder(tmp_path))


def test_a_broken_file_is_told_and_the_others_are_read(tmp_path):
    """One rank that cannot be read."""
    write(tmp_path, 3)
    (tmp_path / "rank_1.pt").write_bytes((tmp_path / "rank_1.pt").read_bytes()[:300])
    found = read(CheckpointFolder(tmp_path))
    assert {fault.file for fault in found.faults if fault.flaw is Flaw.CORRUPT} == {"rank_1.pt"}
    assert {one.rank for one in found.tensors} == {0, 2}


@pytest.mark.parametrize("seed", range(3))
def test_mutations_give_an_answer_or_an_error(tmp_path, seed):
    """Nothing but an InputError is ever raised."""
    draw = random.Random(seed)  # noqa: S311
    write(tmp_path, 2)
    path = tmp_path / "rank_0.pt"
    for _ in each_mutated([path], draw, 200):
        folder = CheckpointFolder(tmp_path)
        refused(lambda folder=folder: recognised(folder) and read_all(read(folder)))
    assert recognised(CheckpointFolder(tmp_path))

"""Sets of files that count themselves: what the numbers in the names of some say of others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.formats.numbered import gaps_of_ranks
from ckptplan.checkpoint.manifest import Fault, Flaw
from tests.checkpoint.archives.torch_zip import Storage, saved, tensor
from tests.checkpoint.formats.test_safetensors_header import save

STEMS = {".safetensors": "model", ".bin": "pytorch_model"}


def shards(root: Path, suffix: str, of: int, numbers: list[int], indexed: list[int] | None = None) -> Path:
    """Shards with one tensor each, and an index of those that are given."""
    stem = STEMS[suffix]
    names = {number: f"{stem}-{number:05d}-of-{of:05d}{suffix}" for number in range(1, of + 1)}
    for number in numbers:
        if suffix == ".bin":
            held = {f"w{number}": tensor(Storage("float32", "0", 4), (4,), (1,))}
            (root / names[number]).write_bytes(saved(held, {"0": bytes(16)}))
        else:
            save(root / names[number], {f"w{number}": ("F32", (4,))})
    if indexed is not None:
        index = {"weight_map": {f"w{number}": names[number] for number in indexed}}
        (root / f"{stem}{suffix}.index.json").write_text(json.dumps(index))
    return root


def lost(root: Path) -> list[Fault]:
    """What is said to be missing."""
    faults = read_manifest(root).faults
    assert all(fault.flaw is Flaw.MISSING_FILE for fault in faults)
    return list(faults)


@pytest.mark.parametrize("suffix", STEMS)
@pytest.mark.parametrize("gone", [1, 2, 3])
def test_shards_without_their_index(tmp_path: Path, suffix: str, gone: int) -> None:
    """The numbers in the names say how many there are; and the library loads none of them without the index."""
    shards(tmp_path, suffix, 3, [number for number in (1, 2, 3) if number != gone])
    stem = STEMS[suffix]
    files = [fault.file for fault in lost(tmp_path)]
    assert files == [f"{stem}-{gone:05d}-of-00003{suffix}", f"{stem}{suffix}.index.json"]
    shards(tmp_path, suffix, 3, [gone])
    assert [fault.file for fault in lost(tmp_path)] == [f"{stem}{suffix}.index.json"]
    shards(tmp_path, suffix, 3, [], indexed=[1, 2, 3])
    assert lost(tmp_path) == []


def test_a_shard_that_even_the_index_leaves_out(tmp_path: Path) -> None:
    """An index that was written again for the two that are left does not make three of them."""
    shards(tmp_path, ".safetensors", 3, [1, 2], indexed=[1, 2])
    (fault,) = lost(tmp_path)
    assert (fault.file, "1 of 3 shards" in fault.message) == ("model-00003-of-00003.safetensors", True)


def test_a_shard_that_the_index_names_is_told_once(tmp_path: Path) -> None:
    """By the index, which knows what was in it."""
    shards(tmp_path, ".safetensors", 3, [1, 2], indexed=[1, 2, 3])
    (fault,) = lost(tmp_path)
    assert "names for 1 tensors" in fault.message


def test_shards_of_an_older_save_are_left_over(tmp_path: Path) -> None:
    """Beside a set with its index, or beside the weights in one file."""
    shards(tmp_path, ".safetensors", 2, [1, 2], indexed=[1, 2])
    save(tmp_path / "model-00001-of-00005.safetensors", {"w7": ("F32", (4,))})
    assert lost(tmp_path) == []
    single = tmp_path / "single"
    single.mkdir()
    save(single / "model.safetensors", {"w": ("F32", (4,))})
    save(single / "model-00001-of-00002.safetensors", {"w1": ("F32", (4,))})
    assert lost(single) == []


def test_one_shard_alone_is_not_the_whole(tmp_path: Path) -> None:
    """A file that was named alone: what lies beside it is not looked at."""
    shards(tmp_path, ".safetensors", 2, [1, 2], indexed=[1, 2])
    (fault,) = lost(tmp_path / "model-00001-of-00002.safetensors")
    assert "one of 2 shards" in fault.message


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["rank_0.pt", "rank_1.pt", "rank_3.pt"], ["rank_2.pt"]),
        (["model_rank1.pt", "model_rank2.pt"], ["model_rank0.pt"]),
        (["consolidated.00.pth", "consolidated.03.pth"], ["consolidated.01.pth"]),
        (["shard_1.pt", "shard_2.pt"], []),
        (["shard_1.pt", "shard_3.pt"], ["shard_2.pt"]),
        (["rank_0.pt", "rank_1.pt"], []),
        (["rank_3.pt"], []),
        (["epoch_1.pt", "epoch_3.pt"], []),
        (["grank_0_a.pt", "xrank_2.pt", "yrank_1.pt"], []),
        (["ckpt-rank-0-of-3.pt", "ckpt-rank-2-of-3.pt"], ["ckpt-rank-1-of-3.pt"]),
    ],
)
def test_numbers_between_those_of_ranks(names: list[str], expected: list[str]) -> None:
    """Ranks are counted from 0; other numbers, as those of epochs, may leave some out."""
    assert [fault.file for fault in gaps_of_ranks(names)] == expected


def test_files_of_ranks_in_a_folder_of_torch_save(tmp_path: Path) -> None:
    """A script that writes one file for each rank."""
    for rank in (0, 1, 3):
        (tmp_path / f"rank_{rank}.pt").write_bytes(saved({"step": 1, "rank": rank}, {}))
    (fault,) = lost(tmp_path)
    assert (fault.file, "1 of at least 4 files" in fault.message) == ("rank_2.pt", True)

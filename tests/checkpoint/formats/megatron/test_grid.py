"""Megatron's older layout has a folder for every model-parallel rank: one that is gone is missed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.megatron import legacy
from ckptplan.checkpoint.manifest import Fault, Flaw, Manifest, Mesh
from tests.checkpoint.archives.torch_zip import Storage, saved, tensor

MODEL, OPTIMIZER = "model_optim_rng.pt", "distrib_optim.pt"


def write(root: Path, names: list[str], arguments: dict[str, Any] | None, optimizer: bool = False) -> Path:
    """Folders of ranks, each with a small model; with a file of the distributed optimizer if asked for."""
    for name in names:
        folder = root / name
        folder.mkdir(parents=True)
        held = {"args": arguments, "iteration": 5, "model": {"w": tensor(Storage("float32", "0", 4), (4,), (1,))}}
        held["optimizer"] = {"optimizer": {"param_groups": [{"lr": 0.1, "step": 5}]}}
        (folder / MODEL).write_bytes(saved(held, {"0": bytes(16)}))
        if optimizer:
            (folder / OPTIMIZER).write_bytes(saved({"0": {}}, {}))
    return root


def read(root: Path) -> Manifest:
    """The manifest of an iteration."""
    return legacy.read(CheckpointFolder(root))


def lost(manifest: Manifest) -> list[Fault]:
    """What is said to be missing, the only faults that there are."""
    assert all(fault.flaw is Flaw.MISSING_FILE for fault in manifest.faults)
    return list(manifest.faults)


def names_of(tensor_ranks: int, stages: int) -> list[str]:
    """Folders as Megatron names them."""
    return [
        f"mp_rank_{t:02d}" + (f"_{p:03d}" if stages > 1 else "") for p in range(stages) for t in range(tensor_ranks)
    ]


@pytest.mark.parametrize(("tensor_ranks", "stages"), [(2, 2), (4, 1), (1, 4)])
@pytest.mark.parametrize("sized", [True, False])
def test_every_rank_that_is_gone_is_named(tmp_path: Path, tensor_ranks: int, stages: int, sized: bool) -> None:
    """With sizes in the arguments any of them; without, those between others, since nothing tells of the last."""
    sizes = {"tensor_model_parallel_size": tensor_ranks, "pipeline_model_parallel_size": stages, "world_size": 4}
    names = names_of(tensor_ranks, stages)
    assert lost(read(write(tmp_path / "whole", names, sizes if sized else None))) == []
    for name in names if sized else names[1:-1]:
        root = write(tmp_path / f"without-{name}", names, sizes if sized else None)
        shutil.rmtree(root / name)
        (fault,) = lost(read(root))
        assert fault.file == f"{name}/{MODEL}"
        assert "1 of 4 model-parallel ranks" in fault.message


def test_without_sizes_it_is_said_that_only_gaps_are_seen(tmp_path: Path) -> None:
    """The arguments of the run are not always there."""
    assert any("only gaps" in remark for remark in read(write(tmp_path, ["mp_rank_00"], None)).remarks)


def test_the_second_number_is_the_expert_rank_where_there_is_one_stage(tmp_path: Path) -> None:
    """Megatron leaves out the stage where there is one, and adds the expert rank behind it."""
    sizes = {
        "tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1, "expert_model_parallel_size": 4,
        "world_size": 4,
    }  # fmt: skip
    root = write(tmp_path / "one", ["mp_rank_00_000", "mp_rank_00_001", "mp_rank_00_003"], sizes)
    (fault,) = lost(read(root))
    assert (fault.file, "tp 0 pp 0 ep 2" in fault.message) == (f"mp_rank_00_002/{MODEL}", True)
    sizes["pipeline_model_parallel_size"] = 2
    root = write(tmp_path / "two", [f"mp_rank_00_00{p}_00{e}" for p in range(2) for e in range(4)][:-1], sizes)
    (fault,) = lost(read(root))
    assert fault.file == f"mp_rank_00_001_003/{MODEL}"


def test_every_rank_has_a_file_of_the_distributed_optimizer(tmp_path: Path) -> None:
    """Where one has it, or the arguments say that the optimizer was distributed."""
    sizes = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 1, "use_distributed_optimizer": True}
    root = write(tmp_path / "some", names_of(2, 1), sizes, optimizer=True)
    assert lost(read(root)) == []
    (root / "mp_rank_01" / OPTIMIZER).unlink()
    assert [fault.file for fault in lost(read(root))] == [f"mp_rank_01/{OPTIMIZER}"]
    (root / "mp_rank_00" / OPTIMIZER).unlink()
    (fault,) = lost(read(root))
    assert "2 of 2 model-parallel ranks have no distrib_optim.pt" in fault.message


def test_the_mesh_follows_from_the_world_where_the_data_parallel_size_is_not_said(tmp_path: Path) -> None:
    """World = pipeline x data x tensor."""
    sizes = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2, "world_size": 12}
    assert read(write(tmp_path, names_of(2, 2), sizes)).mesh == Mesh((2, 3, 2), ("pp", "dp", "tp"))


def test_absurd_sizes_are_a_fault(tmp_path: Path) -> None:
    """A grid of 10^18 ranks is not listed."""
    sizes = {"tensor_model_parallel_size": 10**9, "pipeline_model_parallel_size": 10**9}
    faults = read(write(tmp_path, ["mp_rank_00"], sizes)).faults
    assert [fault.flaw for fault in faults] == [Flaw.CORRUPT]

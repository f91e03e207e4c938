"""A fresh torch DCP checkpoint of several processes: ``save_with_ranks.py FOLDER PORT CASE``; needs torch.

Beside the folder it writes the type, shape and digest of every full tensor as JSON.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.placement_types import _StridedShard

# Mesh, names, and the placements of each tensor by its shape.
CASES = {
    "uneven": ((3,), ("fsdp",), {(10, 3): [Shard(0)], (2,): [Shard(0)], (): [Replicate()], (5, 7): [Shard(1)]}),
    "replicas": ((2, 2), ("replicate", "fsdp"), {(9, 4): [Replicate(), Shard(0)], (3,): [Replicate(), Shard(0)]}),
    "strided": (
        (2, 2),
        ("fsdp", "tp"),
        {
            (12, 3): [_StridedShard(0, split_factor=2), Shard(0)],
            (6, 8): [Shard(0), Shard(1)],
            (4,): [Shard(0), Replicate()],
        },
    ),
}


def run(rank: int, folder: str, port: int, case: str) -> None:
    """One process of the save."""
    mesh_shape, names, placements = CASES[case]
    world = int(torch.tensor(mesh_shape).prod())
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", mesh_shape, mesh_dim_names=names)
    state, told = {}, {}
    for number, (shape, how) in enumerate(placements.items()):
        for dtype in (torch.float32, torch.bfloat16):
            torch.manual_seed(number)
            full = torch.randn(shape).to(dtype)
            key = f"layers.{number}.{str(dtype).removeprefix('torch.')}"
            state[key] = _placed(full, mesh, how)
            data = full.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            told[f"model.{key}"] = [str(dtype).removeprefix("torch."), list(shape), hashlib.sha256(data).hexdigest()]
    dcp.save({"model": state}, checkpoint_id=folder)
    if rank == 0:
        Path(f"{folder}.json").write_text(json.dumps(told), encoding="utf-8")
    dist.destroy_process_group()


def _placed(full: torch.Tensor, mesh: object, how: list[object]) -> object:
    """A DTensor; for a strided cut tensor parallelism cuts first, as FSDP over TP does it."""
    from torch.distributed.tensor import DTensor

    if not isinstance(how[0], _StridedShard):
        return distribute_tensor(full, mesh, how)
    by_tp = full.chunk(mesh.size(1))[mesh.get_local_rank(1)]  # type: ignore[attr-defined]
    local = by_tp.chunk(mesh.size(0))[mesh.get_local_rank(0)]  # type: ignore[attr-defined]
    return DTensor.from_local(local.contiguous(), mesh, how, shape=full.shape, stride=full.stride())


if __name__ == "__main__":
    target, at, which = sys.argv[1:]
    count = int(torch.tensor(CASES[which][0]).prod())
    torch.multiprocessing.spawn(run, args=(target, int(at), which), nprocs=count)

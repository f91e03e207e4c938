"""The read plan of a large checkpoint for other ranks, as a ratio to torch's planner: ``python benchmarks/reshard.py``.

The synthetic metadata of `metadata.py`, 1,000 tensors [12288, 64] in 1,024 shards each, planned for fsdp over 768
ranks: 1,536,000 reads. In turn, each in a process of its own: ``ckptplan`` reads the folder and plans all ranks, with
tensors that are all alike and once more with tensors of which no two have the same shape, so that nothing can be
shared; torch, where it is installed, unpickles the metadata and runs ``create_default_local_load_plan`` of its
DefaultLoadPlanner with DTensors for a sample of the ranks, which is scaled up to all. Exits with 1 if either plan is
not at least 200 times faster than torch, or takes more than 2 GB of memory with the metadata, or if a rank of the
sample reads anything else.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metadata import COLUMNS, ITEM_OVERHEAD, ROWS, SHARDS, TENSORS, synthetic_metadata

if TYPE_CHECKING:
    from ckptplan.checkpoint.manifest import Manifest
    from ckptplan.checkpoint.reshard.plan import Plan

RANKS = 768
SAMPLE = (0, 257, 511, 767)
REPEATS = 3
LIMIT = 200.0  # times faster than torch
MOST_MEMORY = 2e9  # bytes


def write(folder: Path) -> None:
    """The metadata, and a file without content for each rank that saved."""
    synthetic_metadata(folder / ".metadata")
    length = TENSORS * (4 * ROWS // SHARDS * COLUMNS + ITEM_OVERHEAD)
    for rank in range(SHARDS):
        with (folder / f"__{rank}_0.distcp").open("wb") as file:
            file.truncate(length)


def with_ckptplan(folder: str) -> dict[str, Any]:
    """Plans of all ranks, tensors alike and tensors apart."""
    from ckptplan.checkpoint.formats.detect import read_manifest
    from ckptplan.checkpoint.reshard.layout import parse_layout
    from ckptplan.checkpoint.reshard.plan import plan

    start = time.perf_counter()
    found = read_manifest(folder)
    read = time.perf_counter() - start
    times: dict[str, list[float]] = {"alike": [], "apart": []}
    for name, manifest in (("alike", found), ("apart", apart(found))):
        for _ in range(REPEATS):
            start = time.perf_counter()
            planned = plan(manifest, parse_layout(f"fsdp={RANKS}"))
            times[name].append(time.perf_counter() - start)
        assert int(planned.totals.reads.sum()) == 2 * TENSORS * RANKS
        if name == "alike":
            reads = {rank: reads_of(planned, rank) for rank in SAMPLE}
    return {"read": read, "alike": min(times["alike"]), "apart": min(times["apart"]), "reads": reads}


def apart(manifest: Manifest) -> Manifest:
    """The same checkpoint with another number of columns in every tensor."""
    tensors = []
    for number, tensor in enumerate(manifest.tensors):
        sizes = tensor.shards.sizes.copy()
        sizes[:, 1] += number
        shape = (tensor.shape[0], tensor.shape[1] + number)
        tensors.append(tensor._replace(shape=shape, shards=tensor.shards._replace(sizes=sizes)))
    return manifest._replace(tensors=tuple(tensors))


def reads_of(planned: Plan, rank: int) -> list[Any]:
    """Key, stored shard, place in it, place in the rank's own tensor and length of each read."""
    found = []
    for part in planned.parts:
        reads = part.reads_of(rank)
        stored = part.tensor.shards.offsets[reads.rows]
        columns = (stored, reads.src, reads.dst, reads.lengths)
        found += [[part.tensor.key, *read] for read in zip(*(c.tolist() for c in columns), strict=True)]
    return found


def item_boxes(item: Any) -> tuple[Any, Any, Any]:
    """Place in the stored shard, place in the rank's own tensor and length of one of torch's reads."""
    return item.storage_offsets, item.dest_offsets, item.lengths


def with_torch(folder: str) -> dict[str, Any]:
    """Plans of torch itself for the sample of the ranks, each of DTensors on a mesh of all ranks."""
    import pickle

    import torch.distributed as dist
    import torch.distributed.checkpoint.filesystem
    from torch.distributed.checkpoint.default_planner import create_default_local_load_plan
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard
    from torch.testing._internal.distributed.fake_pg import FakeStore

    with (Path(folder) / ".metadata").open("rb") as stream:
        metadata = pickle.load(stream)  # noqa: S301 - our own file
    times, reads = [], {}
    for rank in SAMPLE:
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=RANKS)
        mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("fsdp",))
        local = torch.empty((ROWS // RANKS, COLUMNS), device="meta")
        wanted = {
            key: DTensor.from_local(local, mesh, [Shard(0)], run_check=False, shape=entry.size, stride=(COLUMNS, 1))
            for key, entry in metadata.state_dict_metadata.items()
        }
        start = time.perf_counter()
        planned = create_default_local_load_plan(wanted, metadata)
        times.append(time.perf_counter() - start)
        reads[rank] = [
            [item.storage_index.fqn, *map(list, (item.storage_index.offset, *item_boxes(item)))]
            for item in planned.items
        ]
        dist.destroy_process_group()
    return {"all": sum(times) / len(times) * RANKS, "reads": reads}


WAYS = {"ckptplan": with_ckptplan, "torch": with_torch}


def measured(way: str, folder: str) -> dict[str, Any] | None:
    """One way in a process of its own, with the peak of its memory; None where torch is not installed."""
    done = subprocess.run([sys.executable, __file__, way, folder], capture_output=True, text=True, check=False)
    if done.returncode and "No module named 'torch'" in done.stderr:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def alone(way: str, folder: str) -> None:
    """One way in this process."""
    if way == "write":
        write(Path(folder))
        return
    found = WAYS[way](folder)
    found["bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(found))


def main() -> int:
    """Print all times; 1 if a limit is missed."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, __file__, "write", folder], check=True)
        theirs, own = measured("torch", folder), measured("ckptplan", folder)
    assert own is not None
    print(f"{2 * TENSORS * RANKS:,} reads of {RANKS} ranks; folder read in {own['read']:.1f} s")
    print(f"planned in {own['alike']:.2f} s, with no two tensors alike in {own['apart']:.2f} s")
    print(f"{own['bytes'] / 1e9:.2f} GB of memory at most, with the metadata (at most {MOST_MEMORY / 1e9:.0f})")
    if theirs is None:
        print("torch is not installed: no ratio")
        return int(own["bytes"] > MOST_MEMORY)
    ratios = [theirs["all"] / own[name] for name in ("alike", "apart")]
    same = theirs["reads"] == own["reads"]
    print(f"torch's planner: {theirs['all']:.0f} s for all ranks, extrapolated from {len(SAMPLE)} of them")
    print(f"{ratios[0]:.0f} and {ratios[1]:.0f} times faster (at least {LIMIT:.0f})")
    print(f"the reads of these ranks {'agree' if same else 'differ'}")
    return int(min(ratios) < LIMIT or own["bytes"] > MOST_MEMORY or not same)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        alone(*sys.argv[1:])
    else:
        sys.exit(main())

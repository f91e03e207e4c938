"""The reads are those that torch's planner makes of the same boxes, where torch is installed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ckptplan.checkpoint.manifest import Mesh, Tensor
from ckptplan.checkpoint.reshard.boxes import boxes
from ckptplan.checkpoint.reshard.layout import Layout, Rule
from ckptplan.checkpoint.reshard.placement import Placements, Replicate, Shard
from ckptplan.checkpoint.reshard.plan import Part, plan
from tests.checkpoint.reshard.following_plans import saved
from tests.checkpoint.reshard.from_truth import manifest

torch = pytest.importorskip("torch")


def random_layout(rng: random.Random, axes: int) -> tuple[Mesh, Placements]:
    """A mesh of one to three axes and cuts of a tensor by it."""
    sizes = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 3)))
    cuts = [None if not axes or rng.random() < 0.2 else rng.randrange(axes) for _ in sizes]
    placements = tuple(Replicate() if axis is None else Shard(axis) for axis in cuts)
    return Mesh(sizes, ("a", "b", "c")[: len(sizes)]), placements


def shuffled(tensor: Tensor, rng: random.Random) -> Tensor:
    """The same shards in another order."""
    order = list(range(tensor.shards.number))
    rng.shuffle(order)
    *arrays, flat = tensor.shards
    return tensor._replace(shards=type(tensor.shards)(*(array[order] for array in arrays), flat))


def of_torch(tensor: Tensor, offset: list[int], size: list[int]) -> list[tuple[Any, ...]]:
    """Row, place in the shard, place in the box, and length of every read that torch plans for one box."""
    from torch.distributed.checkpoint import metadata
    from torch.distributed.checkpoint.planner_helpers import create_read_items_for_chunk_list

    def chunk(offsets: list[int], sizes: list[int]) -> metadata.ChunkStorageMetadata:
        return metadata.ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))

    pairs = zip(tensor.shards.offsets.tolist(), tensor.shards.sizes.tolist(), strict=True)
    stored = metadata.TensorStorageMetadata(
        metadata.TensorProperties(dtype=torch.float32), torch.Size(tensor.shape), [chunk(*pair) for pair in pairs]
    )
    return [
        (item.storage_index.index, list(item.storage_offsets), list(item.dest_offsets), list(item.lengths))
        for item in create_read_items_for_chunk_list("w", stored, [chunk(offset, size)])
    ]


def ours(part: Part, rank: int) -> list[tuple[Any, ...]]:
    """The same of the plan."""
    reads = part.reads_of(rank)
    columns = (reads.rows, reads.src, reads.dst, reads.lengths)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_reads_of_random_layouts_are_torchs_in_torchs_order() -> None:
    """Tensors of no to three axes, stored in any order of shards and cut by meshes of one to three axes."""
    rng = random.Random(7)  # noqa: S311
    for _ in range(400):
        shape = tuple(rng.randint(0, 12) for _ in range(rng.randint(0, 3)))
        old, old_cuts = random_layout(rng, len(shape))
        mesh, cuts = random_layout(rng, len(shape))
        tensor = shuffled(saved("w", shape, old_cuts, old), rng)
        part = plan(manifest([tensor], 200), Layout(mesh, (Rule("w", cuts),))).parts[0]
        held = boxes(shape, cuts, mesh)
        for rank, (offset, size) in enumerate(zip(held.offsets.tolist(), held.sizes.tolist(), strict=True)):
            assert ours(part, rank) == of_torch(tensor, offset, size)

"""The boxes of ranks are those that torch's DTensor computes, where torch is installed."""

from __future__ import annotations

import itertools
import random

import pytest

from ckptplan.checkpoint.manifest import Mesh
from ckptplan.checkpoint.reshard.boxes import boxes, coordinates, held_as_placed, held_as_sharded, unloadable
from ckptplan.checkpoint.reshard.placement import Placements, Replicate, Shard, StridedShard

torch = pytest.importorskip("torch")


def of_torch(
    shape: tuple[int, ...], placements: Placements, mesh: Mesh
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Offset and size of every rank by DTensor itself."""
    from torch.distributed.tensor import _utils
    from torch.distributed.tensor import placement_types as torchs

    def translated(placement: object) -> object:
        match placement:
            case StridedShard(axis, split):
                return torchs._StridedShard(axis, split_factor=split)
            case Shard(axis):
                return torchs.Shard(axis)
            case _:
                return torchs.Replicate()

    theirs = [translated(placement) for placement in placements]
    found = []
    for place in coordinates(mesh).tolist():
        size, offset = _utils._compute_local_shape_and_global_offset(shape, mesh.shape, place, theirs)
        found.append((tuple(offset), tuple(size)))
    return found


def ours(shape: tuple[int, ...], placements: Placements, mesh: Mesh) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The same by the package."""
    held = boxes(shape, placements, mesh)
    pairs = zip(held.offsets.tolist(), held.sizes.tolist(), strict=True)
    return [(tuple(offset), tuple(size)) for offset, size in pairs]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7, 8, 16])
def test_plain_cuts_of_every_size_are_torchs(ranks: int) -> None:
    """One axis of 0 to 40 rows over some ranks: even, uneven, and more ranks than rows."""
    mesh = Mesh((ranks,), ("fsdp",))
    for size in range(41):
        assert ours((size, 3), (Shard(0),), mesh) == of_torch((size, 3), (Shard(0),), mesh)


@pytest.mark.parametrize(("fsdp", "tp"), [(2, 2), (2, 3), (2, 4), (3, 2), (4, 2), (4, 4), (1, 4), (8, 2)])
def test_strided_cuts_of_every_size_are_torchs(fsdp: int, tp: int) -> None:
    """(_StridedShard(0, tp), Shard(0)), even and uneven: also the boxes that are wrong, since torch asks for them."""
    mesh, placements = Mesh((fsdp, tp), ("fsdp", "tp")), (StridedShard(0, tp), Shard(0))
    for size in range(41):
        assert ours((size,), placements, mesh) == of_torch((size,), placements, mesh)


def test_random_meshes_and_placements_are_torchs() -> None:
    """Meshes of one to three axes, any placements, strided ones that stand alone among them."""
    rng = random.Random(6)  # noqa: S311
    for _ in range(1500):
        axes = rng.randint(1, 3)
        mesh = Mesh(tuple(rng.randint(1, 4) for _ in range(axes)), ("a", "b", "c")[:axes])
        shape = tuple(rng.randint(0, 20) for _ in range(rng.randint(1, 3)))
        placements = tuple(
            rng.choice([Replicate(), Shard(axis), Shard(axis), StridedShard(axis, rng.randint(1, 4))])
            for axis in (rng.randrange(len(shape)) for _ in range(axes))
        )
        assert ours(shape, placements, mesh) == of_torch(shape, placements, mesh), (shape, placements, mesh)


@pytest.mark.parametrize(("fsdp", "tp"), list(itertools.product([2, 3, 4], [2, 3, 4])))
def test_a_layout_is_unloadable_where_the_rows_that_chunking_leaves_are_not_the_box(fsdp: int, tp: int) -> None:
    """FSDP2 chunks what tensor parallelism left: where torch.chunk twice differs from DTensor's box, and only there."""
    mesh, placements = Mesh((fsdp, tp), ("fsdp", "tp")), (StridedShard(0, tp), Shard(0))
    for size in range(1, 41):
        chunks = [list(part.chunk(fsdp)) for part in torch.arange(size).chunk(tp)]
        agrees = True
        for (i, j), (offset, length) in zip(
            itertools.product(range(fsdp), range(tp)), of_torch((size,), placements, mesh), strict=True
        ):
            held = chunks[j][i].tolist() if j < len(chunks) and i < len(chunks[j]) else []
            agrees &= held == list(range(offset[0], offset[0] + length[0]))
        assert (unloadable((size,), placements, mesh) is None) == agrees, size


def test_positions_of_a_strided_cut_are_those_that_torch_lists() -> None:
    """_StridedShard alone keeps a piece of each part: all positions, not only the first, are torch's."""
    from torch.distributed.tensor.placement_types import _StridedShard, _StridedShardOffsetMode

    for size, ranks, split in itertools.product(range(1, 30), (2, 3, 4), (2, 3)):
        mesh = Mesh((ranks,), ("tp",))
        held = held_as_placed(size, (StridedShard(0, split),), mesh, 0)
        for rank in range(ranks):
            pieces = zip(held.starts[rank].tolist(), held.lengths[rank].tolist(), strict=True)
            positions = [at for start, length in pieces for at in range(start, start + length)]
            theirs = _StridedShard(0, split_factor=split).local_shard_size_and_offset(
                size, ranks, rank, _StridedShardOffsetMode.ALL
            )
            assert (len(positions), positions) == theirs
    assert held_as_sharded(4, (Shard(0),), Mesh((2,), ("tp",)), 0).starts.tolist() == [[0], [2]]

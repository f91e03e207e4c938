"""Boxes of ranks: torch.chunk's rule, empty boxes, strided order, and layouts that torch could not load."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.checkpoint.manifest import Mesh
from ckptplan.checkpoint.reshard.boxes import Boxes, boxes, held_as_sharded, order_of_cuts, unloadable
from ckptplan.checkpoint.reshard.placement import PartedShard, Replicate, Shard, StridedShard
from ckptplan.errors import InputError

FSDP_TP = ("fsdp", "tp")


def rows(held: Boxes) -> list[tuple[int, int]]:
    """Offset and size along axis 0."""
    return list(zip(held.offsets[:, 0].tolist(), held.sizes[:, 0].tolist(), strict=True))


def test_ten_rows_over_four_ranks_are_three_three_three_one() -> None:
    """As torch.chunk cuts: ceil(n / ranks) rows each."""
    assert rows(boxes((10, 3), (Shard(0),), Mesh((4,), ("fsdp",)))) == [(0, 3), (3, 3), (6, 3), (9, 1)]


def test_ranks_beyond_the_rows_hold_empty_boxes_at_the_end() -> None:
    """10 rows over 8 ranks: 2 each, and three ranks with nothing, at the global size, as torch stores them."""
    held = boxes((10, 3), (Shard(0),), Mesh((8,), ("fsdp",)))
    assert rows(held) == [(0, 2), (2, 2), (4, 2), (6, 2), (8, 2), (10, 0), (10, 0), (10, 0)]
    assert held.offsets[:, 1].tolist() == [0] * 8
    assert held.sizes[:, 1].tolist() == [3] * 8


def test_an_empty_box_within_a_part_lies_at_the_end_of_the_whole_axis() -> None:
    """Six rows over 2 x 4 ranks: three for each four, and the fourth has none, at row 6 as torch says, not at row 3."""
    held = boxes((6,), (Shard(0), Shard(0)), Mesh((2, 4), ("a", "b")))
    assert rows(held) == [(0, 1), (1, 1), (2, 1), (6, 0), (3, 1), (4, 1), (5, 1), (6, 0)]


def test_strided_order_cuts_by_tensor_parallelism_first() -> None:
    """Rank (fsdp i, tp j) has rows from j n / tp + i n / (tp fsdp); plain cuts would have given it others."""
    mesh = Mesh((2, 2), FSDP_TP)
    assert rows(boxes((8,), (StridedShard(0, 2), Shard(0)), mesh)) == [(0, 2), (4, 2), (2, 2), (6, 2)]
    assert rows(boxes((8,), (Shard(0), Shard(0)), mesh)) == [(0, 2), (2, 2), (4, 2), (6, 2)]


def test_cuts_of_different_axes_and_copies_combine() -> None:
    """HSDP with tensor parallelism along axis 1: copies along the first axis of the mesh."""
    mesh = Mesh((2, 2, 2), ("replicate", "fsdp", "tp"))
    held = boxes((4, 6), (Replicate(), Shard(0), Shard(1)), mesh)
    assert held.offsets[:4].tolist() == [[0, 0], [0, 3], [2, 0], [2, 3]]
    assert np.array_equal(held.offsets[:4], held.offsets[4:])
    assert set(map(tuple, held.sizes.tolist())) == {(2, 3)}


def test_a_tensor_without_axes_is_whole_everywhere() -> None:
    """Each rank has one box of no axes: one element."""
    held = boxes((), (Replicate(),), Mesh((3,), ("fsdp",)))
    assert held.offsets.shape == held.sizes.shape == (3, 0)


@pytest.mark.parametrize(
    ("fsdp", "tp", "sizes"),
    [
        (4, 2, [9, 17, 25, 33]),
        (3, 2, [7, 13, 19, 25, 31, 37]),
        (4, 4, [19, 22, 34, 35, 38]),
        (2, 2, []),
        (2, 3, []),
        (2, 4, []),
    ],
)
def test_uneven_strided_cuts_that_torch_saves_and_cannot_load(fsdp: int, tp: int, sizes: list[int]) -> None:
    """Of the sizes 1 to 40 exactly those at which torch was seen to fail are refused."""
    mesh, placements = Mesh((fsdp, tp), FSDP_TP), (StridedShard(0, tp), Shard(0))
    assert [n for n in range(1, 41) if unloadable((n, 4), placements, mesh) is not None] == sizes


def test_the_reason_names_rank_and_rows() -> None:
    """9 rows over fsdp 4 x tp 2: rank (3, 0) holds nothing and its box has one row."""
    reason = unloadable((9, 4), (StridedShard(0, 2), Shard(0)), Mesh((4, 2), FSDP_TP))
    assert reason == "axis 0 of 9 over (fsdp 4, tp 2): uneven, so that rank 6 would hold none and ask for 1 from 8"


def test_a_strided_cut_of_parts_that_nothing_makes_leaves_rows_apart() -> None:
    """Without a later axis that cuts in two, a rank would hold a piece of each half: no box says that."""
    reason = unloadable((8,), (StridedShard(0, 2),), Mesh((2,), ("fsdp",)))
    assert reason == "axis 0 of 8 over (fsdp 2): rank 0 would hold rows that do not follow each other"


def test_strided_cuts_come_after_those_that_they_stride_over() -> None:
    """Strided over ep and tp: last; over ep alone: behind that; over a product that no later axes have: unknown."""
    mesh = Mesh((2, 3, 2), ("fsdp", "ep", "tp"))
    assert order_of_cuts((StridedShard(0, 6), Shard(0), Shard(0)), mesh, 0) == [1, 2, 0]
    assert order_of_cuts((StridedShard(0, 3), Shard(0), Shard(1)), mesh, 0) == [1, 0]
    assert order_of_cuts((StridedShard(0, 4), Shard(0), Shard(0)), mesh, 0) is None


def test_parts_kept_in_one_tensor_give_each_rank_a_piece_of_each() -> None:
    """Gate and up projection in one: of 12 rows over 3 ranks, rank 1 holds 2, 3, 8 and 9."""
    held = held_as_sharded(12, (PartedShard(0, 2),), Mesh((3,), ("tp",)), 0)
    assert held.starts.tolist() == [[0, 6], [2, 8], [4, 10]]
    assert held.lengths.tolist() == [[2, 2]] * 3


@pytest.mark.parametrize(
    ("shape", "placements", "fragment"),
    [
        ((4,), (Shard(1),), "axis 1 is cut"),
        ((4,), (Shard(0), Shard(0)), "2 placements for a mesh of 1"),
        ((), (Shard(0),), "0 axes"),
    ],
)
def test_placements_that_do_not_fit_are_refused(
    shape: tuple[int, ...], placements: tuple[Shard, ...], fragment: str
) -> None:
    """An axis that is not there, or another number of placements than the mesh has axes."""
    with pytest.raises(InputError, match=fragment):
        boxes(shape, placements, Mesh((2,), ("fsdp",)))


def test_a_hundred_thousand_ranks_are_one_computation() -> None:
    """Sizes add up to the tensor for 131,072 ranks, most of which hold nothing."""
    held = boxes((1000, 2), (Shard(0),), Mesh((1 << 17,), ("fsdp",)))
    assert held.sizes[:, 0].sum() == 1000
    assert (held.offsets[1000:, 0] == 1000).all()

"""State of the optimizer follows its parameter."""

from __future__ import annotations

import pytest

from ckptplan.checkpoint.reshard.following import follow
from ckptplan.checkpoint.reshard.placement import Placements, Replicate, Shard, StridedShard


@pytest.mark.parametrize(
    ("key", "shape", "expected"),
    [
        ("exp_avg", (8, 6), (StridedShard(0, 2), Shard(1))),
        ("exp_avg_sq_row", (8,), (StridedShard(0, 2), Replicate())),
        ("exp_avg_sq_col", (6,), (Replicate(), Shard(0))),
        ("row_var", (8, 1), (StridedShard(0, 2), Replicate())),
        ("col_var", (1, 6), (Replicate(), Shard(1))),
        ("step", (), (Replicate(), Replicate())),
        ("other", (5,), (Replicate(), Replicate())),
        ("other", (5, 6), (Replicate(), Replicate())),
        ("other", (8, 6, 2), (Replicate(), Replicate())),
    ],
)
def test_cuts_of_axes_that_are_kept_stay(key: str, shape: tuple[int, ...], expected: Placements) -> None:
    """Factored moments of a matrix [8, 6], and state that has no axis of it."""
    assert follow(key, shape, (8, 6), (StridedShard(0, 2), Shard(1))) == expected


def test_of_two_equal_axes_the_key_tells_which_is_kept() -> None:
    """A square matrix: the row factor has its first axis, the column factor its last."""
    assert follow("exp_avg_sq_row", (8,), (8, 8), (Shard(0),)) == (Shard(0),)
    assert follow("exp_avg_sq_col", (8,), (8, 8), (Shard(0),)) == (Replicate(),)
    assert follow("exp_avg_sq_row", (4, 8), (4, 8, 8), (Shard(1),)) == (Shard(1),)
    assert follow("exp_avg_sq_col", (4, 8), (4, 8, 8), (Shard(2),)) == (Shard(1),)

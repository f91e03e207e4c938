from __future__ import annotations

import pytest

from ckptplan.checkpoint.naming.ranks import rank_of


@pytest.mark.parametrize(
    ("parts", "rank"),
    [
        (("rng", "rank_3"), 3), (("dataloader", "dp_rank_0"), 0), (("rng", "rank", "12", "torch"), 12),
        (("rng", "rank3"), 3), (("rng", "frank_3"), None), (("rng", "rank_x"), None), (("lora_rank",), None),
        (("rank_1234567890",), None), (("rank", "\u0663"), None), ((), None),
    ],
)  # fmt: skip
def test_ranks_in_names(parts, rank):
    """A whole part that says rank and a number; nothing that merely contains the word."""
    assert rank_of(parts) == rank

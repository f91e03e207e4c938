"""Placements read from text."""

from __future__ import annotations

import pytest

from ckptplan.checkpoint.reshard.placement import (
    PartedShard,
    Placement,
    Replicate,
    Shard,
    StridedShard,
    parse_placement,
)
from ckptplan.errors import InputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("R", Replicate()), ("Replicate()", Replicate()), ("S(0)", Shard(0)), ("Shard(dim=1)", Shard(1)),
        (" S( 2 ) ", Shard(2)), ("_S(0, 4)", StridedShard(0, 4)), ("_StridedShard(dim=0, sf=2)", StridedShard(0, 2)),
        ("_StridedShard(dim=1, split_factor=8)", StridedShard(1, 8)), ("P(1, 2)", PartedShard(1, 2)),
    ],
)  # fmt: skip
def test_torchs_own_words_are_read(text: str, expected: Placement) -> None:
    """What torch prints of a placement, short and long."""
    found = parse_placement(text)
    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize("placement", [Replicate(), Shard(3), StridedShard(0, 2), PartedShard(1, 2)])
def test_a_placement_reads_what_it_prints(placement: Placement) -> None:
    """Text and placement are each other's inverse."""
    assert parse_placement(str(placement)) == placement


@pytest.mark.parametrize(
    "text", ["", "S", "S(-1)", "S(0, 2)", "_S(0)", "_S(0, 0)", "_S(0, 9999999)", "Partial()", "S(0)" * 99, "S(²)"]
)
def test_all_else_is_refused_with_what_would_be_accepted(text: str) -> None:
    """Partial placements, negative axes, splits of nothing: an error with the accepted forms."""
    with pytest.raises(InputError, match="is no placement") as error:
        parse_placement(text)
    assert "S(0)" in (error.value.problems[0].hint or "")

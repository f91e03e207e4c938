"""Places of parameters in partitions, compared with cutting real vectors."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.checkpoint.formats.deepspeed.parts import Fragment
from ckptplan.checkpoint.formats.deepspeed.placing import (
    NOWHERE,
    Cut,
    Misplaced,
    by_fragments,
    cut_pieces,
    fragment_pieces,
)


def cut(lengths: list[int]) -> Cut:
    """Partitions of these lengths; one of 0 is missing."""
    return Cut({rank: length for rank, length in enumerate(lengths) if length}, len(lengths))


@pytest.mark.parametrize("seed", range(20))
def test_cut_pieces_are_those_of_a_padded_vector(seed):
    """Each element of the parameter is in one piece, at its place in the vectors of its rank."""
    draw = np.random.default_rng(seed)
    ranks = int(draw.integers(1, 9))
    total = int(draw.integers(0, 60))
    piece = -(-total // ranks)
    start = int(draw.integers(0, 10))
    lengths = _split(start + piece + int(draw.integers(0, 5)), draw)
    present = np.flatnonzero(draw.random(ranks) < 0.7)
    padded = np.concatenate([np.arange(total), np.full(piece * ranks - total, -1)]).reshape(ranks, piece)
    pieces = cut_pieces(total, start, lengths, present, ranks)
    seen: list[int] = []
    for at, size, rank, first, group in zip(*pieces, strict=True):
        assert size > 0
        seen.extend(range(at, at + size))
        if rank == NOWHERE:
            assert not set(range(at, at + size)) & set(padded[present].reshape(-1).tolist())
            continue
        vector = np.concatenate([np.full(start, -2), padded[rank], np.full(sum(lengths) - start - piece, -2)])
        own = np.split(vector, np.cumsum(lengths)[:-1])[group]
        assert own[first : first + size].tolist() == list(range(at, at + size))
    assert seen == list(range(total))


def _split(total: int, draw: np.random.Generator) -> list[int]:
    cuts = sorted(int(one) for one in draw.integers(0, total + 1, size=2))
    return [cuts[0], cuts[1] - cuts[0], total - cuts[1]]


@pytest.mark.parametrize(
    ("total", "found", "lengths", "expected"),
    [
        (10, [(0, Fragment(0, 4)), (1, Fragment(0, 4)), (2, Fragment(0, 2))], [4, 4, 4], [0, 4, 8]),
        (10, [(1, Fragment(0, 4)), (2, Fragment(0, 2))], [0, 4, 4], [4, 8]),  # its end is seen
        (10, [(0, Fragment(2, 2)), (2, Fragment(0, 4))], [4, 0, 4, 0], [0, 6]),  # its beginning is seen
        (10, [(3, Fragment(0, 4))], [0, 0, 0, 4], [6]),  # the last rank ends the last parameter
        (4, [(1, Fragment(0, 4))], [4, 4, 0], [0]),  # the rank before has nothing of it
    ],
)
def test_fragments_are_placed_by_what_is_at_hand(total, found, lengths, expected):
    """A beginning, an end or the distance between ranks."""
    assert by_fragments(total, found, cut(lengths)) == expected


def test_a_fragment_between_missing_ranks_has_no_place():
    """It fills its partition, and neither end of the parameter is seen."""
    with pytest.raises(Misplaced, match="not known"):
        by_fragments(100, [(2, Fragment(0, 10))], cut([0, 0, 10, 0, 0]))
    assert by_fragments(100, [(2, Fragment(0, 10))], cut([0, 0, 10, 0, 0]), 7) == [13]  # by the order of all parameters


@pytest.mark.parametrize(
    ("total", "found"),
    [
        (10, [(0, Fragment(0, 4)), (1, Fragment(0, 9))]),
        (3, [(0, Fragment(0, 4))]),
        (10, [(0, Fragment(0, 4)), (0, Fragment(2, 4))]),
    ],
)
def test_fragments_that_contradict_each_other(total, found):
    """They overlap, or hold more than the parameter has."""
    with pytest.raises(Misplaced):
        by_fragments(total, found, cut([10, 10]))


def test_what_missing_ranks_held_is_a_row_of_its_own():
    """Stretches between the pieces at hand are stored nowhere."""
    pieces = fragment_pieces(8, [(1, Fragment(0, 4))], cut([0, 4, 4]), 0)
    assert (pieces.offsets.tolist(), pieces.ranks.tolist()) == ([0, 4], [NOWHERE, 1])
    pieces = fragment_pieces(12, [(0, Fragment(0, 4)), (2, Fragment(0, 4))], cut([4, 0, 4]), 0)
    assert (pieces.offsets.tolist(), pieces.ranks.tolist()) == ([0, 4, 8], [0, NOWHERE, 2])

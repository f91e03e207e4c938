"""Blocks of groups that can be changed one by one: against every partition, tried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ckptplan.plan.comparison.merging import finest, members_of, unions

_MEMBERS = 5
_ALL = (1 << _MEMBERS) - 1


def _partitions(members: list[int]) -> Iterator[list[int]]:
    """Every partition of the members into blocks."""
    if not members:
        yield []
        return
    head, *rest = members
    for smaller in _partitions(rest):
        yield [head, *smaller]
        for place, block in enumerate(smaller):
            yield [*smaller[:place], block | head, *smaller[place + 1 :]]


def _holds(blocks: list[int] | tuple[int, ...], cannot: Callable[[int], bool]) -> bool:
    return not any(cannot(union) for union in unions(blocks))


def test_unions_are_all_subsets_of_single_members() -> None:
    """With every member a block of its own there are 2**n unions, each once."""
    assert sorted(unions(members_of(_ALL))) == list(range(_ALL + 1))
    assert list(unions((0b001, 0b110))) == [0, 0b001, 0b110, 0b111]


def test_without_obstacles_nothing_is_joined() -> None:
    """Every group is a cause of its own."""
    assert finest(_ALL, lambda _: False) == (1, 2, 4, 8, 16)


@pytest.mark.parametrize(("needs", "needed"), [(4, 3), (0, 4), (2, 1)])
def test_one_need_joins_exactly_two(needs: int, needed: int) -> None:
    """A group that cannot be changed without another one forms one block with it, and no third joins."""
    found = finest(_ALL, lambda s: bool(s >> needs & 1 and not s >> needed & 1))
    assert sorted(block.bit_count() for block in found) == [1, 1, 1, 2]
    assert (1 << needs | 1 << needed) in found


def test_a_choice_is_made_in_the_order_of_the_groups() -> None:
    """A group that needs either of two others is joined with the later one: the earlier is split off first."""
    found = finest(0b111, lambda s: bool(s & 4 and not s & 3))
    assert found == (1, 6)


@pytest.mark.parametrize("seed", range(30))
def test_needs_at_random_give_the_finest_partition(seed: int) -> None:
    """With needs of one group for another, the blocks are those of the finest of all partitions that work."""
    generator = np.random.default_rng(seed)
    pairs = [tuple(generator.choice(_MEMBERS, 2, replace=False)) for _ in range(int(generator.integers(1, 4)))]

    def cannot(s: int) -> bool:
        return any(s >> int(a) & 1 and not s >> int(b) & 1 for a, b in pairs)

    working = [blocks for blocks in _partitions(members_of(_ALL)) if _holds(blocks, cannot)]
    most = max(map(len, working))
    (best,) = [blocks for blocks in working if len(blocks) == most]
    assert sorted(finest(_ALL, cannot)) == sorted(best)


@pytest.mark.parametrize("seed", range(20))
def test_any_obstacles_leave_no_block_that_could_be_divided(seed: int) -> None:
    """Whatever cannot be planned: all unions of the result can, and no finer partition exists that works."""
    generator = np.random.default_rng(1000 + seed)
    bad = {int(s) for s in generator.integers(1, _ALL, 6)}
    found = finest(_ALL, bad.__contains__)
    assert _holds(found, bad.__contains__)
    for blocks in _partitions(members_of(_ALL)):
        finer = len(blocks) > len(found) and all(any(one & ~block == 0 for block in found) for one in blocks)
        assert not (finer and _holds(blocks, bad.__contains__))

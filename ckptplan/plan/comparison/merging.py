"""Which groups cannot be changed one by one, and so are one cause together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations


def members_of(group: int) -> list[int]:
    """The single members of a set, lowest first."""
    return [1 << place for place in range(group.bit_length()) if group >> place & 1]


def unions(blocks: Sequence[int]) -> Iterator[int]:
    """Every union of blocks: the empty one first, all of them last."""
    found = [0]
    for block in blocks:
        found += [union | block for union in found]
    return iter(found)


def finest(everything: int, cannot: Callable[[int], bool]) -> tuple[int, ...]:
    """Divide a set into blocks all of whose unions can be planned, and none of which can be divided further.

    Parameters
    ----------
    everything : int
        The set, as a sum of powers of two.
    cannot : callable
        Whether a subset cannot be planned; the empty and the full one can.

    Returns
    -------
    tuple of int
        The blocks, by their lowest member.

    Notes
    -----
    A division whose unions can all be planned stays one when blocks are joined. So whoever starts with one block and
    splits while he can ends where no finer division exists. Where each obstacle is that one group needs another one
    there is only one such end: the groups joined by their needs. Where there is a choice, groups that stand first are
    split off first.
    """
    blocks: tuple[int, ...] = (everything,)
    while (finer := _split(blocks, cannot)) is not None:
        blocks = finer
    return blocks


def _split(blocks: tuple[int, ...], cannot: Callable[[int], bool]) -> tuple[int, ...] | None:
    for place, block in enumerate(blocks):
        for part in _parts(block):
            finer = tuple(sorted((*blocks[:place], part, block & ~part, *blocks[place + 1 :]), key=_lowest))
            if not any(map(cannot, unions(finer))):
                return finer
    return None


def _parts(block: int) -> Iterator[int]:
    """What can be split off a block: single members first, and never more than what stays."""
    members = members_of(block)
    for size in range(1, len(members) // 2 + 1):
        for chosen in combinations(members, size):
            if 2 * size < len(members) or members[0] in chosen:  # of two halves, each division once
                yield sum(chosen)


def _lowest(block: int) -> int:
    return block & -block

"""Overlaps of boxes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ckptplan.checkpoint.reshard import intersect as module
from ckptplan.checkpoint.reshard.intersect import intersect
from ckptplan.errors import InputError


def every_pair(
    first: np.ndarray, first_sizes: np.ndarray, second: np.ndarray, second_sizes: np.ndarray
) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
    """Overlaps found by trying every pair."""
    found = {}
    for i, j in itertools.product(range(len(first)), range(len(second))):
        low = np.maximum(first[i], second[j])
        high = np.minimum(first[i] + first_sizes[i], second[j] + second_sizes[j])
        if (low < high).all():
            found[i, j] = (low.tolist(), (high - low).tolist())
    return found


@pytest.mark.parametrize("axes", [0, 1, 2, 3])
@pytest.mark.parametrize("block", [1 << 22, 3])
def test_overlaps_are_those_of_trying_every_pair(axes: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any boxes, empty and nested ones among them, in one block of memory or in many."""
    monkeypatch.setattr(module, "_BLOCK", block)
    rng = np.random.default_rng(axes)
    for _ in range(60):
        first, second = (rng.integers(0, 12, (rng.integers(0, 9), axes)) for _ in range(2))
        first_sizes, second_sizes = (rng.integers(0, 8, boxes.shape) for boxes in (first, second))
        found = intersect(first, first_sizes, second, second_sizes)
        assert (np.diff(found.wanted) >= 0).all()
        assert {
            (int(i), int(j)): (low.tolist(), length.tolist())
            for i, j, low, length in zip(found.wanted, found.stored, found.offsets, found.lengths, strict=True)
        } == every_pair(first, first_sizes, second, second_sizes)
        assert len(found.wanted) == len(set(zip(found.wanted.tolist(), found.stored.tolist(), strict=True)))


def test_cuts_that_cross_too_often_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows against columns: as many overlaps as pairs, which is said before the memory is gone."""
    number = np.arange(64)
    rows, columns = np.stack([number, 0 * number], axis=1), np.stack([0 * number, number], axis=1)
    boxes = rows, np.tile([1, 64], (64, 1)), columns, np.tile([64, 1], (64, 1))
    assert len(intersect(*boxes).wanted) == 64 * 64
    monkeypatch.setattr(module, "MOST_PAIRS", 4000)
    with pytest.raises(InputError, match="more than 4,000 reads of one tensor"):
        intersect(*boxes)
    monkeypatch.setattr(module, "MOST_CANDIDATES", 4000)
    with pytest.raises(InputError, match="meet 4,096 times"):
        intersect(*boxes)


def test_a_grid_costs_no_candidates_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,024 cuts of one axis against 768: as many candidates as overlaps, although the boxes come in no order."""
    checked: list[int] = []
    original = module._checked

    def counting(block: np.ndarray, low: np.ndarray, high: np.ndarray, *rest: object) -> object:
        checked.append(int((high - low)[block].sum()))
        return original(block, low, high, *rest)

    monkeypatch.setattr(module, "_checked", counting)
    order = np.random.default_rng(1).permutation(1024)
    stored = np.stack([order * 12, np.zeros(1024, dtype=np.int64)], axis=1)
    wanted = np.stack([np.arange(768) * 16, np.zeros(768, dtype=np.int64)], axis=1)
    found = intersect(wanted, np.tile([16, 64], (768, 1)), stored, np.tile([12, 64], (1024, 1)))
    assert len(found.wanted) == sum(checked) == 1536

"""Blocks: all elements, once, in order; and filled alike from shards of any layout."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.checkpoint.average.blocks import blocks, number_of_blocks
from ckptplan.checkpoint.average.filling import BlockSource
from ckptplan.errors import InputError
from tests.checkpoint.average.folders import Array, sharded

SHAPES = st.lists(st.integers(0, 7), max_size=4).map(tuple)


@given(SHAPES, st.integers(1, 40))
def test_blocks_are_runs_and_boxes_of_the_same_elements(shape: tuple[int, ...], most: int) -> None:
    """The elements of the boxes, one block after the other, are all elements in row-major order."""
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    at = 0
    assert number_of_blocks(shape, most) == len(list(blocks(shape, most)))
    for block in blocks(shape, most):
        inside = numbers[tuple(slice(low, high) for low, high in zip(block.lower, block.upper, strict=True))]
        assert (block.start, block.elements) == (at, inside.size)
        assert 1 <= block.elements <= most
        np.testing.assert_array_equal(inside.reshape(-1), np.arange(at, block.stop))
        at = block.stop
    assert at == numbers.size


def grid(*parts: int) -> object:
    """Cut each axis into so many pieces of unequal length."""

    def cut(array: Array) -> tuple[list, bool]:
        edges = [np.linspace(0, n, p + 1).astype(int) for n, p in zip(array.shape, parts, strict=False)]
        spans = [list(itertools.pairwise(edge.tolist())) for edge in edges]
        boxes = [(tuple(a for a, _ in box), tuple(b - a for a, b in box)) for box in itertools.product(*spans)]
        return boxes, False

    return cut


def flat(array: Array) -> tuple[list, bool]:
    """Three ranges of the elements, as DeepSpeed cuts."""
    edges = [0, array.size // 3 + 1, array.size // 2 + 2, array.size]
    return [((a,), (b - a,)) for a, b in itertools.pairwise(edges)], True


@pytest.mark.parametrize("how", ["plain", "packed", "strided"])
@pytest.mark.parametrize("cut", [grid(1, 1, 1), grid(4, 1, 1), grid(1, 3, 1), grid(1, 1, 2), grid(3, 2, 5), flat])
@pytest.mark.parametrize("most", [1, 7, 60, 10_000])
def test_any_layout_fills_the_same_blocks(tmp_path: Path, how: str, cut: object, most: int) -> None:
    """Along any axis, on a grid, as ranges; straight from the file, or by whole shards that are packed or strided."""
    array = np.random.default_rng(0).standard_normal((11, 6, 5)).astype(np.float32)
    manifest = sharded(tmp_path, {"a": array}, cut, how)
    found = np.empty(array.size, np.float32)
    with BlockSource(manifest) as source:
        for block in blocks(array.shape, most):
            source.fill(manifest.tensors[0], block, found[block.start : block.stop].view(np.uint8))
        source.forget(manifest.tensors[0])
    np.testing.assert_array_equal(found.reshape(array.shape), array)
    if how == "plain":
        assert manifest.source.reads == 0  # type: ignore[attr-defined]


def test_absurd_shapes_take_no_memory() -> None:
    """Blocks come one by one: a shape of 10^18 elements is no list of anything."""
    shape = (10**9, 10**9)
    assert next(blocks(shape, 1_000)).elements == 1_000
    assert number_of_blocks(shape, 1_000) == 10**15


def test_scalars_and_a_file_that_became_shorter(tmp_path: Path) -> None:
    """A tensor of no axes is one element; a file that lost bytes since it was listed is an error that names it."""
    manifest = sharded(tmp_path, {"s": np.array(2.5, np.float32)}, lambda _: ([((), ())], False))
    out = np.empty(4, np.uint8)
    (block,) = blocks((), 10)
    with BlockSource(manifest) as source:
        source.fill(manifest.tensors[0], block, out)
    assert out.view(np.float32).tolist() == [2.5]
    data = (tmp_path / "data.bin").read_bytes()
    (tmp_path / "data.bin").write_bytes(data[:-2])
    with BlockSource(manifest) as source, pytest.raises(InputError, match="had 8 bytes and now has 6"):
        source.fill(manifest.tensors[0], block, out)


def test_a_hole_is_an_error(tmp_path: Path) -> None:
    """Elements that no shard holds are never left as they were in memory."""
    array = np.zeros((4, 2), np.float32)
    manifest = sharded(tmp_path, {"a": array}, lambda _: ([((0, 0), (3, 2))], False))
    (block,) = blocks((4, 2), 100)
    with BlockSource(manifest) as source, pytest.raises(InputError, match="hold 6 of the 8 elements"):
        source.fill(manifest.tensors[0], block, np.empty(32, np.uint8))

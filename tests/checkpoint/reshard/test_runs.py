"""Runs of bytes against torch's own read plans, and against the address of every single element."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from ckptplan.checkpoint.manifest import Raw, row_major
from ckptplan.checkpoint.reshard.runs import Run, count_row_major, runs
from ckptplan.errors import InputError
from tests.checkpoint.reshard.from_truth import ORACLE, needs_oracle
from tests.checkpoint.shared_fixtures import truth_of


def _stored(source: str) -> dict[tuple[str, tuple[int, ...]], Raw]:
    truth = truth_of(source)
    found = {}
    for key, tensor in truth["tensors"].items():
        for shard in tensor["shards"]:
            size = tuple(shard["size"])
            strides = tuple(shard.get("stride") or row_major(size))
            found[key, tuple(shard["offset"])] = Raw(0, shard["data_offset"], tensor["dtype"], size, strides)
    return found


@needs_oracle
@pytest.mark.parametrize("case", ORACLE, ids=lambda path: path.stem)
def test_runs_are_those_of_the_oracle(case: Path) -> None:
    """Every item of every rank of every case has the runs that were read from the files and proved there."""
    oracle = json.loads(case.read_text())
    stored = _stored(oracle["source"])
    for rank in oracle["ranks"]:
        number = 0
        for item in rank["items"]:
            found = runs(stored[item["key"], tuple(item["chunk_offset"])], item["src_offset"], item["length"])
            assert [list(run) for run in found] == item["runs"]
            number += sum(run.times for run in found)
        assert number == rank["n_runs"]


def _bytes_of(found: list[Run]) -> list[int]:
    return [run.at + n * run.every + b for run in found for n in range(run.times) for b in range(run.bytes)]


def test_runs_cover_the_bytes_of_every_element_once() -> None:
    """For random boxes of up to four axes in any order of strides: the addresses of the elements, one by one."""
    generator = np.random.default_rng(11)
    for _ in range(600):
        axes = int(generator.integers(0, 5))
        shape = tuple(int(n) for n in generator.integers(1, 6, axes))
        order = generator.permutation(axes)
        strides = np.zeros(axes, dtype=int)
        step = int(generator.integers(1, 3))  # 2: a view of every other element
        for axis in order:
            strides[axis] = step
            step *= shape[axis]
        low = [int(generator.integers(0, n)) for n in shape]
        size = [int(generator.integers(0, n - a + 1)) for n, a in zip(shape, low, strict=True)]
        raw = Raw(0, 700, "float16", shape, tuple(int(s) for s in strides))
        boxes = np.indices(size).reshape(axes, math.prod(size)).T + np.array(low, dtype=int)
        wanted = sorted(700 + 2 * int(one @ strides) + b for one in boxes for b in range(2))
        found = runs(raw, low, size)
        assert sorted(_bytes_of(found)) == wanted
        assert _bytes_of(found)[:1] == wanted[:1]


def test_runs_that_touch_are_one() -> None:
    """No run begins where another ends, and a whole shard is a single run in any order of its axes."""
    assert runs(Raw(0, 64, "float32", (6, 5, 4), (20, 4, 1)), (0, 0, 0), (6, 5, 4)) == [Run(64, 480, 0, 1)]
    assert runs(Raw(0, 64, "float32", (6, 5, 4), (1, 6, 30)), (0, 0, 0), (6, 5, 4)) == [Run(64, 480, 0, 1)]
    assert runs(Raw(0, 0, "float32", (6, 5, 4), (20, 4, 1)), (1, 2, 0), (2, 1, 4)) == [Run(112, 16, 80, 2)]
    nested = runs(Raw(0, 0, "uint8", (2, 3, 4), (12, 4, 1)), (0, 0, 1), (2, 2, 2))
    assert nested == [Run(1, 2, 4, 2), Run(13, 2, 4, 2)]


def test_a_column_cut_over_all_rows_is_one_pattern() -> None:
    """Rows of several layers follow one another at the distance of rows: one pattern, as large as the layers are."""
    assert runs(Raw(0, 8, "bfloat16", (3, 4, 10), (40, 10, 1)), (0, 0, 5), (3, 4, 5)) == [Run(18, 10, 20, 12)]


def test_empty_boxes_and_scalars() -> None:
    """An empty box has no run, a tensor without axes one; what a stride of 0 repeats is read once."""
    assert runs(Raw(0, 9, "float32", (0, 4), (4, 1)), (0, 0), (0, 4)) == []
    assert runs(Raw(0, 9, "float64", (), ()), (), ()) == [Run(9, 8, 0, 1)]
    assert runs(Raw(0, 0, "float32", (5, 2), (0, 1)), (0, 0), (5, 2)) == [Run(0, 8, 0, 1)]


def test_elements_of_less_than_a_byte() -> None:
    """Whole bytes are read; a cut within a byte is refused."""
    raw = Raw(0, 100, "float4_e2m1fn", (4, 8), (8, 1))
    assert runs(raw, (1, 0), (2, 8)) == [Run(104, 8, 0, 1)]
    with pytest.raises(InputError, match="splits a byte"):
        runs(raw, (0, 1), (1, 2))


@pytest.mark.parametrize(
    ("strides", "low", "size"),
    [((3, 1), (0, 0), (3, 3)), ((3, 1), (-1, 0), (1, 1)), ((3,), (0, 0), (1, 1)), ((-3, 1), (0, 0), (1, 1))],
)
def test_a_box_that_leaves_its_shard_is_refused(
    strides: tuple[int, ...], low: tuple[int, ...], size: tuple[int, ...]
) -> None:
    """An item unlike its metadata must not lead to other bytes of the file."""
    with pytest.raises(InputError, match="not within"):
        runs(Raw(0, 0, "float32", (2, 3), strides), low, size)


def test_a_plan_of_absurd_length_is_refused() -> None:
    """A hostile shape cannot fill the memory with patterns."""
    shape = (10**4, 10**4, 10**4, 10**4)
    with pytest.raises(InputError, match="patterns"):
        runs(Raw(0, 0, "uint8", shape, row_major(shape)), (0, 0, 0, 0), (9999, 9999, 9999, 9999))


def test_counts_of_many_reads_are_those_of_each() -> None:
    """The count over arrays equals the runs of every single read, row by row."""
    generator = np.random.default_rng(3)
    for axes in range(4):
        shapes = generator.integers(1, 5, (200, axes))
        low = generator.integers(0, shapes) if axes else shapes
        lengths = generator.integers(0, shapes - low + 1) if axes else shapes
        expected = [
            sum(run.times for run in runs(Raw(0, 0, "int8", tuple(s), row_major(tuple(s))), o, n))
            for s, o, n in zip(shapes.tolist(), low.tolist(), lengths.tolist(), strict=True)
        ]
        assert count_row_major(shapes, lengths).tolist() == expected

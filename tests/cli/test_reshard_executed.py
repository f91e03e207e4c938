"""The printed JSON plan, carried out with nothing but itself and the files, gives the tensors of every rank."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from ckptplan.render.schemas import output_schema
from tests.checkpoint.archives.torch_zip import Storage, saved, tensor
from tests.checkpoint.reshard.from_truth import ORACLE, needs_oracle
from tests.checkpoint.reshard.test_oracle import SHORT
from tests.checkpoint.shared_fixtures import COLLECTION, truth_of
from tests.cli.harness import Tell

WIDTHS = {"float32": 4, "bfloat16": 2, "int32": 4, "int64": 8, "uint8": 1}
CASES = [pytest.param(path, id=path.stem) for path in ORACLE]


def plan_of(tell: Tell, *arguments: str) -> dict[str, Any]:
    """What the command prints, held against its schema."""
    told = tell("reshard", *arguments, "--without", "random,data-position", "--format", "json")
    assert told.code == 0, told.err
    found: dict[str, Any] = json.loads(told.out)
    jsonschema.validate(found, output_schema("reshard"))
    return found


def elements_of(data: bytes, width: int, length: list[int], order: list[int] | None) -> np.ndarray:
    """The elements of one read as the box that they are, by the order that the plan gives."""
    axes = [axis for axis, n in enumerate(length) if n > 1] if order is None else order
    found = np.frombuffer(data, f"V{width}").reshape([length[axis] for axis in axes])
    rising = sorted(axes)
    found = found.transpose([axes.index(axis) for axis in rising])
    return np.broadcast_to(
        found.reshape([length[axis] if axis in rising else 1 for axis in range(len(length))]), length
    )


def bytes_of(file: Path, runs: list[list[int]]) -> bytes:
    """What the runs of one read hold."""
    data = file.read_bytes()
    return b"".join(
        data[at + n * every : at + n * every + size] for at, size, every, times in runs for n in range(times)
    )


def carried_out(plan: dict[str, Any], root: Path) -> dict[str, np.ndarray]:
    """The tensors of the rank that a plan is of."""
    reads = plan["reads"]
    kinds = dict(zip(reads["keys"], reads["dtypes"], strict=True))
    held = {
        key: np.zeros(shape, f"V{WIDTHS[kinds[key]]}")
        for key, shape in zip(reads["keys"], reads["shapes"], strict=True)
    }
    one = reads["reads"]
    orders = one["order"] or [None] * len(one["key"])
    columns = (one["key"], one["file"], one["runs"], one["length"], one["dst"], orders)
    for number, file, runs, length, dst, order in zip(*columns, strict=True):
        key = reads["keys"][number]
        box = tuple(slice(a, a + n) for a, n in zip(dst, length, strict=True))
        data = bytes_of(root / reads["files"][file], runs)
        held[key][box] = elements_of(data, WIDTHS[kinds[key]], length, order)
    return held


def carried_out_of_all(plan: dict[str, Any], rank: int, root: Path) -> dict[str, np.ndarray]:
    """The same of one rank out of a plan of all: brought into the form of a plan of one."""
    reads = plan["reads"]
    names = ("file", "runs", "length", "dst")
    one: dict[str, Any] = {"key": [], "order": [], **{name: [] for name in names}}
    alone: dict[str, Any] = {"files": reads["files"], "keys": [], "dtypes": [], "shapes": [], "reads": one}
    for tensor_ in reads["tensors"]:
        if rank not in tensor_["ranks"]:
            continue
        number = tensor_["classes"][tensor_["ranks"].index(rank)]
        alone["keys"].append(tensor_["key"])
        alone["dtypes"].append(tensor_["dtype"])
        alone["shapes"].append(tensor_["shapes"][number])
        columns = tensor_["reads"]
        orders = columns["order"] or [None] * len(columns["class"])
        for row in (row for row, group in enumerate(columns["class"]) if group == number):
            one["key"].append(len(alone["keys"]) - 1)
            one["order"].append(orders[row])
            for name in names:
                one[name].append(columns[name][row])
    return carried_out({"reads": alone}, root)


@needs_oracle
@pytest.mark.parametrize("path", CASES)
def test_a_printed_plan_gives_the_tensors_of_every_rank(tell: Tell, path: Path) -> None:
    """On one rank the tensors have the known checksums; on many, each rank has the boxes that torch gives it."""
    case = json.loads(path.read_text())
    root = COLLECTION / case["source"] / case["source_root"]
    whole = carried_out(plan_of(tell, str(root), "--to", "1", "--rank", "0"), root)
    truth = truth_of(case["source"])["tensors"]
    for key, found in whole.items():
        assert hashlib.sha256(found.tobytes()).hexdigest() == truth[key]["sha256"], key
    of_all = plan_of(tell, str(root), "--to", SHORT[path.stem], "--reads")
    for rank in case["ranks"]:
        number = rank["rank"]
        ways = [carried_out_of_all(of_all, number, root)]
        if rank is case["ranks"][-1]:
            ways.append(carried_out(plan_of(tell, str(root), "--to", SHORT[path.stem], "--rank", str(number)), root))
        for held in ways:
            assert held.keys() == rank["local"].keys()
            for key, (offset, size) in rank["local"].items():
                box = tuple(slice(a, a + n) for a, n in zip(offset, size, strict=True))
                assert held[key].tobytes() == whole[key][box].tobytes(), (number, key)


def strided(tmp_path: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """A file of torch.save with a column-major matrix, turned axes, a repeated row, and one that is row-major."""
    base = np.arange(24, dtype=np.float32)
    views = {
        "plain": ((3, 2), (1, 3)), "turned": ((4, 2, 3), (1, 12, 4)), "repeated": ((4, 6), (0, 1)),
        "usual": ((4, 6), (6, 1)),
    }  # fmt: skip
    storage = Storage("float32", "0", 24)
    value = {key: tensor(storage, shape, strides) for key, (shape, strides) in views.items()}
    (tmp_path / "strided.pt").write_bytes(saved(value, {"0": base.tobytes()}))
    expected = {
        key: np.lib.stride_tricks.as_strided(base, shape, [4 * step for step in strides])
        for key, (shape, strides) in views.items()
    }
    return tmp_path / "strided.pt", expected


@pytest.mark.parametrize("cut", ["S(0)", "S(1)"])
def test_tensors_that_are_not_stored_row_by_row_are_put_in_order(tell: Tell, tmp_path: Path, cut: str) -> None:
    """Column-major, with turned axes or repeated elements, whole and cut along either axis."""
    path, expected = strided(tmp_path)
    layout = tmp_path / "layout.yaml"
    layout.write_text(f'mesh: "fsdp=2"\nplacements: {{"*": ["{cut}"]}}\n')
    of_all = plan_of(tell, str(path), "--layout-file", str(layout), "--reads")
    for rank in range(2):
        alone = plan_of(tell, str(path), "--layout-file", str(layout), "--rank", str(rank))
        axis = int(cut[2])
        for held in (carried_out(alone, tmp_path), carried_out_of_all(of_all, rank, tmp_path)):
            for key, whole in expected.items():
                each = -(-whole.shape[axis] // 2)
                box = (slice(None),) * axis + (slice(rank * each, (rank + 1) * each),)
                assert held[key].tobytes() == whole[box].tobytes(), (rank, key)


def test_the_order_is_marked_in_every_form(tell: Tell, tmp_path: Path) -> None:
    """Table, Markdown, CSV and JSON mark what is not row by row, and nothing else."""
    path, _ = strided(tmp_path)
    arguments = ("reshard", str(path), "--to", "1", "--rank", "0")
    for form in ("table", "markdown"):
        out = tell(*arguments, "--format", form).out.replace("\\[", "[").replace("\\]", "]")
        assert "order of axes" in out
        assert "[0, 2, 1]" not in out
        assert "[1, 2, 0]" in out
    rows = tell(*arguments, "--format", "csv").out.splitlines()
    place = rows[0].split(",").index("order")
    assert "order" in rows[0]
    assert any("[1, 2, 0]" in row for row in rows[1:])
    assert place > 0
    reads = json.loads(tell(*arguments, "--format", "json").out)["reads"]
    orders = dict(zip(reads["keys"], reads["reads"]["order"], strict=True))
    assert orders == {"plain": [1, 0], "turned": [1, 2, 0], "repeated": [1], "usual": None}


def test_where_all_is_row_by_row_nothing_is_added(tell: Tell, tmp_path: Path) -> None:
    """One null for all reads, and no column for people."""
    value = {"usual": tensor(Storage("float32", "0", 6), (3, 2), (2, 1))}
    (tmp_path / "usual.pt").write_bytes(saved(value, {"0": bytes(24)}))
    arguments = ("reshard", str(tmp_path / "usual.pt"), "--to", "1", "--rank", "0")
    assert json.loads(tell(*arguments, "--format", "json").out)["reads"]["reads"]["order"] is None
    assert "order of axes" not in tell(*arguments).out

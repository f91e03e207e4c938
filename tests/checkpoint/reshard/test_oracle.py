"""The plans are those that torch's own planner made, for every case of the resharding fixtures."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.manifest import Manifest
from ckptplan.checkpoint.reshard.document import layout_of
from ckptplan.checkpoint.reshard.layout import Layout, parse_layout
from ckptplan.checkpoint.reshard.plan import Plan, plan
from tests.checkpoint.reshard.from_truth import ORACLE, manifest_from_truth, needs_oracle
from tests.checkpoint.shared_fixtures import folder_of

pytestmark = needs_oracle
CASES = [pytest.param(path, id=path.stem) for path in ORACLE]

# Where the names alone give the layout that the case has; the others have placements of their own.
SHORT = {
    "ep2fsdp2-to-ep4": "ep=4",
    "fsdp10rows4-to-fsdp3": "fsdp=3",
    "fsdp1sharded4-to-fsdp3": "fsdp=3",
    "fsdp4-to-fsdp2xtp2": "fsdp=2,tp=2",
    "fsdp4-to-pp2fsdp2": "pp=2,fsdp=2",
    "fsdp4-to-tp2": "tp=2",
    "fsdp8-to-1": "1",
    "fsdp8-to-fsdp16": "dp_shard=16",
    "fsdp8-to-fsdp6": "6",
    "fsdptp-2x2-to-1x4": "fsdp=1,tp=4",
    "fsdptp-2x2-to-2x4": "tp=4,fsdp=2",
    "fsdptp-2x2-to-fsdp4": "zero3=4",
    "hsdp2x2-to-fsdp3": "fsdp=3",
    "megatron-tp2-to-tp4": "tp=4",
    "multifile2-to-fsdp4": "fsdp=4",
    "noncontiguous2-to-fsdp3": "fsdp=3",
    "pp2fsdp2-to-fsdp3": "fsdp=3",
    "titan4-to-fsdp6": "fsdp=6",
}


@cache
def oracle(path: Path) -> dict[str, Any]:
    """One case."""
    return json.loads(path.read_text())


def explicit(case: dict[str, Any]) -> Layout:
    """The placements of a case as a layout document; which stages hold a key is read off the ranks that read it."""
    load = case["load"]
    pp = load["names"].index("pp") if "pp" in load["names"] else None
    entries: dict[str, Any] = {}
    for key, placements in case["placements"].items():
        entries[key] = placements
        if pp is not None:
            stages = sorted({rank["coord"][pp] for rank in case["ranks"] if key in rank["local"]})
            whole = ["R"] * len(load["mesh"])
            entries[key] = {"placements": placements or whole, "stages": stages}
    return layout_of({"mesh": load["mesh"], "names": load["names"], "placements": entries})


def check(found: Plan, case: dict[str, Any], files: list[str]) -> None:
    """Boxes, reads in their order, bytes and files of every rank, and the totals."""
    assert [part.tensor.key for part in found.parts if part.tensor.key not in case["keys"]] == []
    assert found.layout.ranks == case["load"]["world_size"]
    for rank in case["ranks"]:
        check_rank(found, rank, files)
    totals, expected = found.totals, case["totals"]
    assert totals.wanted_bytes.sum() == expected["payload_bytes"]
    assert totals.wanted_bytes.max() == expected["max_rank_payload_bytes"]
    assert totals.whole_item_bytes.sum() == expected["whole_item_bytes"]
    assert totals.whole_item_bytes.max() == expected["max_rank_whole_item_bytes"]
    assert totals.files.sum() == expected["files_opened_sum_over_ranks"]
    assert totals.distinct_files == expected["distinct_files"]
    assert totals.reads.sum() == expected["items"]


def check_rank(found: Plan, rank: dict[str, Any], files: list[str]) -> None:
    """One rank against torch: its boxes, its reads key by key in torch's order, its sums."""
    number = rank["rank"]
    local, items, opened = {}, [], set()
    for part in found.parts:
        group = part.want.class_of(number)
        if group is None:
            continue
        local[part.tensor.key] = [part.want.offsets[group].tolist(), part.want.sizes[group].tolist()]
        reads, stored = part.reads_of(number), part.tensor.shards
        for row, src, dst, length in zip(reads.rows, reads.src, reads.dst, reads.lengths, strict=True):
            name = files[stored.files[row]]
            opened.add(name)
            items.append({
                "key": part.tensor.key, "chunk_offset": stored.offsets[row].tolist(), "src_offset": src.tolist(),
                "dst_offset": dst.tolist(), "length": length.tolist(), "file": name,
                "item_offset": int(stored.item_offsets[row]), "item_length": int(stored.item_bytes[row]),
                "bytes": int(np.prod(length, dtype=np.int64)) * (BITS[part.tensor.dtype] // 8),
            })  # fmt: skip
    assert local == rank["local"]
    expected = [{key: value for key, value in item.items() if key != "runs"} for item in rank["items"]]
    place = {part.tensor.key: n for n, part in enumerate(found.parts)}
    assert items == sorted(expected, key=lambda item: place[item["key"]])
    assert sorted(opened) == sorted(rank["files"])
    assert found.totals.wanted_bytes[number] == rank["payload_bytes"]
    assert found.totals.whole_item_bytes[number] == rank["whole_item_bytes"]
    assert found.totals.files[number] == rank["files_opened"]
    assert found.totals.reads[number] == rank["n_items"]


def source(case: dict[str, Any]) -> tuple[Manifest, list[str]]:
    """The checkpoint of a case, and its files by the names that the case has."""
    found = manifest_from_truth(case["source"])
    inside = case["source_root"].removeprefix("ckpt").lstrip("/")
    names = [file.name.removeprefix(f"{inside}/") if inside else file.name for file in found.files]
    return found, names


@pytest.mark.parametrize("path", CASES)
def test_placements_key_by_key_give_torchs_plan(path: Path) -> None:
    """With the placements of the case: boxes, reads in order, bytes, whole items, files and totals are torch's."""
    case = oracle(path)
    found, names = source(case)
    check(plan(found, explicit(case)), case, names)


@pytest.mark.parametrize("path", CASES)
def test_a_short_text_gives_torchs_plan(path: Path) -> None:
    """What a run of this mesh does with tensors of these names is known without any placements."""
    case = oracle(path)
    found, names = source(case)
    layout = parse_layout(SHORT[path.stem])
    assert list(layout.mesh.shape) == case["load"]["mesh"]
    assert list(layout.mesh.names) == case["load"]["names"]
    check(plan(found, layout), case, names)


@pytest.mark.parametrize("path", CASES)
def test_what_the_readers_find_gives_torchs_plan(path: Path) -> None:
    """The same from the files themselves, by placements and by the short text."""
    case = oracle(path)
    found = read_manifest(folder_of(case["source"]))
    names = [Path(file.name).name for file in found.files]
    for layout in (explicit(case), parse_layout(SHORT[path.stem])):
        check(plan(found, layout), case, names)


def test_every_case_is_planned() -> None:
    """All 18 cases are compared."""
    assert set(SHORT) == {path.stem for path in ORACLE}

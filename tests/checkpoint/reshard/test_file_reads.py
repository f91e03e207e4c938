"""Reads of every rank with their runs, from the checkpoint itself to the oracle's numbers."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.reshard.document import layout_of
from ckptplan.checkpoint.reshard.file_reads import FileRead, Places, count_runs, reads_of
from ckptplan.checkpoint.reshard.plan import Plan, plan
from tests.checkpoint.reshard.from_truth import ORACLE, needs_oracle
from tests.checkpoint.shared_fixtures import COLLECTION, SHARED, truth_of

pytestmark = needs_oracle


def planned(oracle: dict[str, Any]) -> Plan:
    """The plan of a case, from the files of its checkpoint; keys without a place on a stage are of another stage."""
    load = oracle["load"]
    placements = {key: {"placements": value} for key, value in oracle["placements"].items()}
    if "pp" in load["names"]:
        for key, entry in placements.items():
            axis = load["names"].index("pp")
            entry["stages"] = sorted({rank["coord"][axis] for rank in oracle["ranks"] if key in rank["local"]})
            entry["placements"] = entry["placements"] and _on_mesh(entry["placements"], load["names"])
    document = {"mesh": load["mesh"], "names": load["names"], "placements": placements}
    root = COLLECTION / oracle["source"] / oracle["source_root"]
    return plan(read_manifest(root), layout_of(document))


def _on_mesh(placements: list[str], names: list[str]) -> list[str]:
    """Placements on the mesh without pp, with pp in its place."""
    return placements if len(placements) == len(names) else [*(["R"] if names[0] == "pp" else []), *placements]


def as_item(read: FileRead, plan_: Plan) -> dict[str, Any]:
    """A read in the oracle's words."""
    return {
        "key": read.key,
        "src_offset": list(read.src),
        "dst_offset": list(read.dst),
        "length": list(read.length),
        "file": Path(plan_.manifest.files[read.file].name).name,
        "item_offset": read.item_offset,
        "item_length": read.item_bytes,
        "bytes": read.bytes,
        "runs": None if read.runs is None else [list(run) for run in read.runs],
    }


@pytest.mark.parametrize("case", ORACLE, ids=lambda path: path.stem)
def test_every_read_of_every_rank_is_the_oracles(case: Path) -> None:
    """File, item, boxes, bytes and runs of all items, and the sums of each rank."""
    oracle = json.loads(case.read_text())
    found = planned(oracle)
    places, counts = Places(found.manifest), count_runs(found)
    assert counts.exact
    wanted_keys = set(oracle["keys"])
    for rank in oracle["ranks"]:
        reads = [read for read in reads_of(found, rank["rank"], places) if read.key in wanted_keys]
        items = [as_item(read, found) for read in reads]
        expected = [{key: item[key] for key in items[0]} for item in rank["items"]]
        order = lambda item: (item["key"], item["dst_offset"])  # noqa: E731
        assert sorted(items, key=order) == sorted(expected, key=order)
        assert sum(read.bytes for read in reads) == rank["payload_bytes"]
        assert sum(read.item_bytes for read in reads) == rank["whole_item_bytes"]
        assert sorted({item["file"] for item in items}) == rank["files"]
        assert sum(run.times for read in reads for run in read.runs or ()) == rank["n_runs"]
        assert counts.of_ranks[rank["rank"]] == rank["n_runs"]
    assert int(found.totals.wanted_bytes.max()) == oracle["totals"]["max_rank_payload_bytes"]
    assert int(found.totals.whole_item_bytes.max()) == oracle["totals"]["max_rank_whole_item_bytes"]
    assert found.totals.distinct_files == oracle["totals"]["distinct_files"]
    assert int(found.totals.files.sum()) == oracle["totals"]["files_opened_sum_over_ranks"]
    assert not places.assumed


@pytest.mark.parametrize("case", ORACLE, ids=lambda path: path.stem)
def test_runs_carried_out_give_the_tensors(case: Path) -> None:
    """The bytes at the runs of all ranks, put where they go, are the tensors whose hashes the truth has."""
    oracle = json.loads(case.read_text())
    found = planned(oracle)
    truth = truth_of(oracle["source"])["tensors"]
    places = Places(found.manifest)
    wholes = {
        part.tensor.key: np.zeros((*part.tensor.shape, BITS[part.tensor.dtype] // 8), np.uint8) for part in found.parts
    }
    parts = {part.tensor.key: part for part in found.parts}
    files = [(found.manifest.root / file.name).read_bytes() for file in found.manifest.files]
    for rank in oracle["ranks"]:
        for read in reads_of(found, rank["rank"], places):
            assert read.runs is not None
            data = b"".join(
                files[read.file][run.at + n * run.every : run.at + n * run.every + run.bytes]
                for run in read.runs
                for n in range(run.times)
            )
            part = parts[read.key]
            raw = found.manifest.source.raw(part.tensor, read.shard)
            column_major = raw.strides[:1] == (1,) and len(raw.strides) > 1
            width = BITS[part.tensor.dtype] // 8
            size = read.length[::-1] if column_major else read.length
            box = np.frombuffer(data, np.uint8).reshape(*size, width)
            if column_major:
                box = np.moveaxis(box, range(len(size)), range(len(size))[::-1])
            want = part.want
            number = want.class_of(rank["rank"])
            low = want.offsets[np.searchsorted(want.box_classes, number)] + read.dst
            wholes[read.key][tuple(slice(a, a + n) for a, n in zip(low.tolist(), read.length, strict=True))] = box
    for key in oracle["keys"]:
        assert hashlib.sha256(wholes[key].tobytes()).hexdigest() == truth[key]["sha256"]


def test_row_major_is_assumed_only_where_nothing_else_is_known() -> None:
    """With places that are assumed, items that say where they lie are read by runs, and the others as items."""
    oracle = json.loads((SHARED / "reshard" / "fsdp4-to-tp2.json").read_text())
    found = planned(oracle)
    assumed = Places(found.manifest, assume=True)
    reads = list(reads_of(found, 0, assumed))
    assert assumed.assumed
    assert all(read.runs is None for read in reads)
    rows = count_runs(found, most=0)
    assert not rows.exact
    assert rows.of_ranks.tolist() == [rank["n_runs"] for rank in oracle["ranks"]]

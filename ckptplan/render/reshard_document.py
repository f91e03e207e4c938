"""The JSON document of ``ckptplan reshard``: columns instead of rows, one line for each part of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ckptplan import __version__
from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.reshard.batch import BatchSplits
from ckptplan.checkpoint.reshard.carry_over import NotCarried
from ckptplan.checkpoint.reshard.file_reads import FileRead, Places
from ckptplan.checkpoint.reshard.plan import Part
from ckptplan.render.reshard_page import ReshardPage
from ckptplan.render.reshard_sheet import way_sheet
from ckptplan.render.sheet import json_ready

_MOST_LEFT_OUT = 20
_COLUMNS = ("file", "item_offset", "item_bytes", "shard", "src", "dst", "length", "bytes")


def reshard_document(page: ReshardPage) -> dict[str, Any]:
    """The JSON document ``ckptplan.reshard/1``, without the reads."""
    plan, totals = page.plan, page.plan.totals
    mesh = plan.layout.mesh
    return {
        "schema": "ckptplan.reshard/1",
        "ckptplan": __version__,
        "path": page.source,
        "format": None if page.saved_by else str(plan.manifest.format),
        "saved_by": page.saved_by,
        "step": plan.manifest.step,
        "world_size": plan.manifest.world_size,
        "layout": {"text": plan.layout.text, "shape": mesh.shape, "names": mesh.names, "ranks": plan.layout.ranks},
        "loads": page.loads,
        "loads_as_saved": page.loads and not page.ends,
        "without": list(page.without),
        "ways": way_sheet(page).records(),
        "usual_way": way_sheet(page).rows[1 if page.in_whole_items else 0][0],
        "requests_exact": page.runs.exact,
        "gpus_per_node": page.loading.gpus_per_node,
        "restart_line": page.restart,
        "files_opened": int(totals.files.sum()),
        "distinct_files": totals.distinct_files,
        "ranks": {
            "wanted_bytes": totals.wanted_bytes.tolist(),
            "whole_item_bytes": totals.whole_item_bytes.tolist(),
            "items": totals.reads.tolist(),
            "runs": page.runs.of_ranks.tolist(),
            "files": totals.files.tolist(),
        },
        "not_carried": [_loss(one) for one in page.not_carried],
        "batch": None if page.batch is None else _batch(page.batch),
        "left_out": {"tensors": len(plan.left_out), "first": list(plan.left_out[:_MOST_LEFT_OUT])},
        "remarks": [*plan.manifest.remarks, *plan.remarks],
    }


def _loss(one: NotCarried) -> dict[str, Any]:
    return {"state": one.state, "message": one.message, "remedy": one.remedy, "refuses": one.refuses, "ends": one.ends}


def _batch(found: BatchSplits) -> dict[str, Any]:
    return {
        **found.batch._asdict(),
        "replicas": found.replicas,
        "splits": [{"micro_batch": one.micro_batch, "micro_batches": one.micro_batches} for one in found.even],
        "nearest_below": found.nearest.below,
        "nearest_above": found.nearest.above,
    }


def reads_as_json(page: ReshardPage, places: Places | None) -> str:
    """The reads, as text that is ready: of the rank that was asked for, else of all ranks if places are given."""
    names = [file.name for file in page.plan.manifest.files]
    one = page.one_rank
    if one is not None:
        held = [(part.tensor, shape) for part in page.plan.parts if (shape := part.shape_of(one.rank)) is not None]
        number = {tensor.key: place for place, (tensor, _) in enumerate(held)}
        columns = {"key": [number[read.key] for read in one.reads], **_columns(one.reads)}
        return _text({
            "rank": one.rank, "assumed": one.assumed, "files": names, "keys": list(number),
            "dtypes": [tensor.dtype for tensor, _ in held], "shapes": [shape for _, shape in held], "reads": columns,
        })  # fmt: skip
    if places is None:
        return "null"
    tensors = ",\n".join(_text(_tensor(part, places)) for part in page.plan.parts)
    return f'{{"files": {_text(names)}, "tensors": [\n{tensors}\n], "assumed": {_text(places.unknown)}}}'


def _tensor(part: Part, places: Places) -> dict[str, Any]:
    """All reads of one tensor: once for each class of ranks that want the same."""
    reads, shards, tensor = part.reads, part.tensor.shards, part.tensor
    lying = places.of_all(tensor, reads)
    offsets = shards.item_offsets[reads.rows].tolist()
    columns = {
        "class": reads.classes.tolist(),
        "file": shards.files[reads.rows].tolist(),
        "item_offset": [offset if offset >= 0 else None for offset in offsets],
        "item_bytes": shards.item_bytes[reads.rows].tolist(),
        "shard": reads.rows.tolist(),
        "src": reads.src.tolist(),
        "dst": reads.dst.tolist(),
        "length": reads.lengths.tolist(),
        "bytes": (reads.elements * BITS[tensor.dtype] // 8).tolist(),
        "runs": [one.runs for one in lying],
        "order": _orders([one.order for one in lying]),
    }
    return {
        "key": tensor.key,
        "dtype": tensor.dtype,
        "shape": tensor.shape,
        "placements": [str(placement) for placement in part.placements],
        "ranks": part.want.ranks.tolist(),
        "classes": part.want.classes.tolist(),
        "shapes": part.want.shapes.tolist(),
        "reads": columns,
    }


def _columns(reads: Sequence[FileRead]) -> dict[str, Any]:
    columns: dict[str, Any] = {name: [getattr(read, name) for read in reads] for name in _COLUMNS}
    columns["item_offset"] = [offset if offset >= 0 else None for offset in columns["item_offset"]]
    return {**columns, "runs": [read.runs for read in reads], "order": _orders([read.order for read in reads])}


def _orders(orders: list[tuple[int, ...] | None]) -> list[tuple[int, ...] | None] | None:
    """One null where every read is row by row, as nearly always."""
    return orders if any(order is not None for order in orders) else None


def as_lines(document: Mapping[str, Any], more: Mapping[str, str]) -> str:
    """A JSON object with one line for each of its keys; the values of ``more`` are JSON already."""
    values = {key: _text(json_ready(value)) for key, value in document.items()} | dict(more)
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {text}" for key, text in values.items()) + "\n}\n"


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)

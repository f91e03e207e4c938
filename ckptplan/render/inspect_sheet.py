"""Sheets and the document of ``ckptplan inspect``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ckptplan import __version__
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, File, Manifest, Object, Shards, Tensor
from ckptplan.checkpoint.summary import by_kind, cuttings, parameter_elements, sharing
from ckptplan.render.numbers import box, place, whole
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_size


class Shown(NamedTuple):
    """What was asked for beyond the summary, and the tensors and objects that were chosen."""

    manifest: Manifest
    tensors: tuple[Tensor, ...]
    objects: tuple[Object, ...]
    list_tensors: bool = False
    list_shards: bool = False
    list_files: bool = False


# States that a parameter has each: of the others bytes per parameter say nothing.
_PER_PARAMETER = {StateKind.PARAMETER, StateKind.MASTER, StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT, StateKind.EMA}


_KINDS = (
    Column("kind", "state", str, right=False),
    Column("tensors", "tensors", whole),
    Column("objects", "objects", whole),
    Column("logical_bytes", "size", format_size),
    Column("bytes_per_parameter", "B/parameter", lambda value: "-" if value is None else f"{value:.4g}"),
    Column("stored_bytes", "stored", format_size),
    Column("dtypes", "types", ", ".join, right=False),
)
_TENSORS = (
    Column("key", "tensor", str, right=False),
    Column("kind", "state", str, right=False),
    Column("dtype", "type", str, right=False),
    Column("shape", "shape", box, right=False),
    Column("shards", "shards", whole),
    Column("logical_bytes", "size", format_size),
    Column("stored_bytes", "stored", format_size),
    Column("parameter", show=None),
    Column("rank", show=None),
)
_OBJECTS = (
    Column("key", "object", str, right=False),
    Column("kind", "state", str, right=False),
    Column("type", "type", lambda value: value or "-", right=False),
    Column("file", "file", lambda value: value or "-", right=False),
    Column("item_offset", "at byte", place),
    Column("item_bytes", "stored", format_size),
    Column("rank", show=None),
)
_SHARDS = (
    Column("key", "tensor", str, right=False),
    Column("offset", "from", box, right=False),
    Column("size", "size", box, right=False),
    Column("flat", show=None),
    Column("file", "file", lambda value: value or "-", right=False),
    Column("item_offset", "item at byte", place),
    Column("item_bytes", "item bytes", whole),
    Column("data_offset", "data at byte", place),
)
_FILES = (
    Column("name", "file", str, right=False),
    Column("size_bytes", "size", format_size),
    Column("rank", "rank", lambda value: "-" if value is None else str(value)),
    Column("referenced", show=None),
    Column("holds", "holds", str, right=False),
)


def kind_sheet(manifest: Manifest) -> Sheet:
    """One row per kind of state."""
    parameters = parameter_elements(manifest)
    rows = tuple(
        (
            str(total.kind),
            total.tensors,
            total.objects,
            total.logical_bytes,
            total.distinct_bytes / parameters if parameters and total.kind in _PER_PARAMETER else None,
            total.stored_bytes - total.shared_bytes,
            [name for name, _ in total.dtypes],
        )
        for total in by_kind(manifest)
    )
    return Sheet(_KINDS, rows)


def tensor_sheet(tensors: Sequence[Tensor]) -> Sheet:
    """One row per logical tensor."""
    rows = tuple(
        (
            t.key,
            str(t.kind),
            t.dtype,
            list(t.shape),
            t.shards.number,
            t.logical_bytes,
            t.stored_bytes,
            t.parameter,
            t.rank,
        )
        for t in tensors
    )
    return Sheet(_TENSORS, rows)


def object_sheet(objects: Sequence[Object], files: Sequence[File]) -> Sheet:
    """One row per object."""
    rows = tuple(
        (o.key, str(o.kind), o.type, _name(files, o.file), o.item_offset, o.item_bytes, o.rank) for o in objects
    )
    return Sheet(_OBJECTS, rows)


def shard_sheet(tensors: Sequence[Tensor], files: Sequence[File]) -> Sheet:
    """One row per stored shard: its box, and where it lies."""
    return Sheet(_SHARDS, tuple(row for tensor in tensors for row in _shard_rows(tensor.key, tensor.shards, files)))


def _shard_rows(key: str, shards: Shards, files: Sequence[File]) -> list[tuple[Any, ...]]:
    columns = (
        shards.offsets.tolist(),
        shards.sizes.tolist(),
        shards.files.tolist(),
        shards.item_offsets.tolist(),
        shards.item_bytes.tolist(),
        shards.data_offsets.tolist(),
    )
    return [
        (key, offset, size, shards.flat, _name(files, file), at, length, data)
        for offset, size, file, at, length, data in zip(*columns, strict=True)
    ]


def file_sheet(files: Sequence[File]) -> Sheet:
    """One row per file."""
    rows = tuple(
        (f.name, f.size_bytes, f.rank, f.referenced, f.holds if f.referenced else f"{f.holds or 'a file'}, left over")
        for f in files
    )
    return Sheet(_FILES, rows)


def _name(files: Sequence[File], index: int) -> str | None:
    return files[index].name if index >= 0 else None


def inspect_document(shown: Shown) -> dict[str, Any]:
    """The JSON document ``ckptplan.manifest/1``; lists that were not asked for are null."""
    manifest = shown.manifest
    again = sharing(manifest.tensors)
    return {
        "schema": "ckptplan.manifest/1",
        "ckptplan": __version__,
        "path": str(manifest.path),
        "format": str(manifest.format),
        "producer": manifest.producer or None,
        "committed": manifest.committed,
        "step": manifest.step,
        "world_size": manifest.world_size,
        "mesh": None if manifest.mesh is None else {"shape": manifest.mesh.shape, "names": manifest.mesh.names},
        "writer_ranks": manifest.writer_ranks,
        "parameters": parameter_elements(manifest),
        "logical_bytes": sum(t.logical_bytes for t in manifest.tensors),
        "shared_tensors": len(again),
        "shared_bytes": sum(t.logical_bytes for t in again),
        "file_bytes": sum(f.size_bytes for f in manifest.files),
        "kinds": kind_sheet(manifest).records(),
        "elsewhere": [{"kind": str(kind), "where": where} for kind, where in manifest.elsewhere],
        "cuttings": [cutting._asdict() for cutting in cuttings(manifest)],
        "tensors": tensor_sheet(shown.tensors).records() if shown.list_tensors else None,
        "objects": object_sheet(shown.objects, manifest.files).records() if shown.list_tensors else None,
        "shards": [_packed(tensor) for tensor in shown.tensors] if shown.list_shards else None,
        "files": file_sheet(manifest.files).records() if shown.list_files or shown.list_shards else None,
        "faults": [fault_record(fault) for fault in manifest.faults],
        "remarks": list(manifest.remarks),
    }


def fault_record(fault: Fault) -> dict[str, Any]:
    """One fault for machines."""
    return {**fault._asdict(), "flaw": str(fault.flaw)}


def _packed(tensor: Tensor) -> dict[str, Any]:
    """The shards of one tensor as columns: a checkpoint of a large run has a million of them."""
    shards = tensor.shards
    return {
        "key": tensor.key,
        "flat": shards.flat,
        "offsets": shards.offsets.tolist(),
        "sizes": shards.sizes.tolist(),
        "files": shards.files.tolist(),
        "item_offsets": shards.item_offsets.tolist(),
        "item_bytes": shards.item_bytes.tolist(),
        "data_offsets": [at if at >= 0 else None for at in shards.data_offsets.tolist()],
    }

"""A manifest out of the metadata of DCP and the files beside it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp.looking import MOST_LOOKS, look
from ckptplan.checkpoint.formats.dcp.metadata_types import DcpMetadata, DcpTensor
from ckptplan.checkpoint.formats.dcp.placing import Placed, files, leftover, placed
from ckptplan.checkpoint.formats.dcp.scalars import step_of, whole_number
from ckptplan.checkpoint.formats.dcp.source import DcpSource
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import (
    UNKNOWN,
    Fault,
    File,
    Format,
    Ints,
    Manifest,
    Object,
    Shards,
    Tensor,
)
from ckptplan.checkpoint.naming.classify import Entry, Named, classify
from ckptplan.checkpoint.naming.numbers import guess_by_order

ROLES = {".metadata": "metadata", "metadata.json": "metadata of Megatron", "common.pt": "common state"}
_UNLIKELY_FAULTS = 200


class World(NamedTuple):
    """How many ranks saved, as far as it shows."""

    size: int | None
    remark: str | None


def manifest_of(folder: CheckpointFolder, metadata: DcpMetadata, format_: Format = Format.DCP) -> Manifest:
    """All that the metadata and the files say.

    Data offsets stay unknown until an item is opened; objects are opened up to a bound, to tell what they are.
    """
    where = placed(folder, metadata)
    found = files(folder, where.used, ROLES)
    source = DcpSource(folder, found, _packings(metadata))
    objects = _objects(metadata, where)
    names = [file.name for file in found]
    unnamed = [_tensor(tensor, _path(metadata, key), where) for key, tensor in metadata.tensors.items()]
    looked = look(source, unnamed, objects, names)
    named, guess = _named(metadata, looked.fp8)
    tensors = tuple(_known_tensor(tensor, named[tensor.key]) for tensor in unnamed)
    objects = [_known(entry, named[entry.key], looked.types.get(entry.key)) for entry in objects]
    writers = writer_ranks(found)
    world = world_of(found, tensors, objects, source)
    step, said_by = step_of(tensors, objects, source)
    remarks = [world.remark, guess, leftover(found), _said(step, said_by, tensors, objects)]
    if looked.opened >= MOST_LOOKS and len(objects) > looked.opened:
        remarks.append(f"{looked.opened:,} of {len(objects):,} objects were looked into; an audit opens all")
    truncated = {fault.file for fault in where.faults}
    seen = [fault for fault in looked.faults if fault.file not in truncated]
    return Manifest(
        format_,
        folder.root,
        tensors,
        tuple(objects),
        found,
        source,
        step=step,
        world_size=world.size,
        writer_ranks=writers,
        faults=(*metadata.faults, *where.faults, *seen[:_UNLIKELY_FAULTS]),
        remarks=tuple(remark for remark in remarks if remark is not None),
        producer=f"torch, metadata version {metadata.version}" if metadata.version else "torch",
    )


def writer_ranks(found: tuple[File, ...]) -> tuple[int, ...]:
    """Ranks that wrote a file to which something refers."""
    return tuple(sorted({file.rank for file in found if file.rank is not None and file.referenced}))


def world_of(found: tuple[File, ...], tensors: tuple[Tensor, ...], objects: list[Object], source: DcpSource) -> World:
    """The number of ranks that saved: no file says it, but files and states of ranks give a least number."""
    entries: list[Tensor | Object] = [*tensors, *objects]
    written = max(writer_ranks(found), default=-1) + 1
    own = max((entry.rank for entry in entries if entry.rank is not None), default=-1) + 1
    sizes = [entry for entry in objects if entry.key == "dataloader.world_size"]
    said = max((whole_number(entry, source) or 0 for entry in sizes), default=0)
    size = max(written, own, said)
    if size == 0 or size > 1 << 31:
        return World(None, None)
    reasons = [
        text
        for text, number in (
            ("the ranks that wrote files", written),
            ("the states of single ranks", own),
            ("the data loader", said),
        )
        if number == size
    ]
    return World(size, f"ranks that stored nothing do not show: the number of ranks is that of {' and '.join(reasons)}")


def _said(step: int | None, key: str | None, tensors: tuple[Tensor, ...], objects: list[Object]) -> str | None:
    """Where the step comes from, if not from the progress of the run."""
    if step is None:
        return None
    entries: list[Tensor | Object] = [*tensors, *objects]
    kinds = {entry.kind for entry in entries if entry.key == key}
    return f"step {step:,} is that of the optimizer, {key}" if StateKind.OPTIMIZER_STEP in kinds else None


def _named(metadata: DcpMetadata, fp8: dict[str, bool]) -> tuple[dict[str, Named], str | None]:
    """What every entry is, by its path where the planner kept it."""
    paths = metadata.paths or {}
    entries = [
        Entry(key, paths.get(key, ()), True, tensor.dtype, tensor.shape, fp8.get(key))
        for key, tensor in metadata.tensors.items()
    ]
    entries += [Entry(key, paths.get(key, ()), False, fp8=fp8.get(key)) for key in metadata.objects]
    named, guess = guess_by_order(entries, classify(entries))
    return {entry.key: name for entry, name in zip(entries, named, strict=True)}, guess


def _path(metadata: DcpMetadata, key: str) -> tuple[str | int, ...]:
    return (metadata.paths or {}).get(key, (key,))


def _tensor(tensor: DcpTensor, path: tuple[str | int, ...], where: Placed) -> Tensor:
    """A tensor whose kind is still open."""
    shards = Shards(
        tensor.offsets,
        tensor.sizes,
        _numbers(tensor.files, where.numbers),
        tensor.item_offsets,
        tensor.item_bytes,
        np.full(len(tensor.files), UNKNOWN, dtype=np.int64),
    )
    return Tensor(tensor.key, StateKind.OTHER, tensor.dtype, tensor.shape, shards, path)


def _numbers(names: Ints, numbers: Ints) -> Ints:
    """Indices of files that are there, for numbers of names."""
    if not len(numbers):
        return np.full(len(names), -1, dtype=np.int64)
    return np.where(names >= 0, numbers[np.maximum(names, 0)], -1)


def _objects(metadata: DcpMetadata, where: Placed) -> list[Object]:
    found = []
    for key, item in metadata.objects.items():
        path = _path(metadata, key)
        if item is None:
            found.append(Object(key, StateKind.OTHER, -1, path=path))
        else:
            file = int(where.numbers[item.file])
            found.append(Object(key, StateKind.OTHER, file, item.offset, item.length, path))
    return found


def _known_tensor(tensor: Tensor, named: Named) -> Tensor:
    return tensor._replace(kind=named.kind, parameter=named.parameter, rank=named.rank)


def _known(entry: Object, named: Named, type_: str | None) -> Object:
    return entry._replace(kind=named.kind, rank=named.rank, type=type_)


def _packings(metadata: DcpMetadata) -> dict[str, str]:
    found = {key: tensor.packed for key, tensor in metadata.tensors.items() if tensor.packed is not None}
    found |= {
        key: item.packed for key, item in metadata.objects.items() if item is not None and item.packed is not None
    }
    return found


def unread(
    folder: CheckpointFolder, faults: tuple[Fault, ...], format_: Format, remarks: tuple[str, ...] = ()
) -> Manifest:
    """A manifest of files alone, where the metadata is absent or cannot be read."""
    found = tuple(
        File(file.name, file.size_bytes, file.rank, True, file.holds if file.referenced else "")
        for file in files(folder, {}, ROLES)
    )
    ranks = writer_ranks(found)
    world = ranks[-1] + 1 if ranks else None
    source = DcpSource(folder, found, {})
    return Manifest(
        format_,
        folder.root,
        (),
        (),
        found,
        source,
        world_size=world,
        writer_ranks=ranks,
        faults=faults,
        remarks=remarks,
    )

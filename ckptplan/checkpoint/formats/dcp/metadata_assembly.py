"""Tensors and objects, each with the items that hold it."""

from __future__ import annotations

import numpy as np

from ckptplan.checkpoint.formats.dcp.metadata_content import Content, Header
from ckptplan.checkpoint.formats.dcp.metadata_faults import Faults
from ckptplan.checkpoint.formats.dcp.metadata_join import joined
from ckptplan.checkpoint.formats.dcp.metadata_tables import NO_OFFSET, Chunks, Storage
from ckptplan.checkpoint.formats.dcp.metadata_types import DcpItem, DcpMetadata, DcpTensor
from ckptplan.checkpoint.manifest import Ints


def assembled(content: Content, where: str) -> DcpMetadata:
    """Everything together, with what does not fit."""
    faults = Faults(content, where)
    tensors: dict[str, DcpTensor] = {}
    headers: dict[int, list[Header]] = {}
    for header in content.tensors:
        headers.setdefault(len(header.shape), []).append(header)
    repeated = 0
    for axes in sorted((set(headers) | set(content.storage)) - {NO_OFFSET}):
        repeated += _place_tensors(content, axes, headers.get(axes, []), tensors, faults)
    objects, more = _place_objects(content, faults)
    faults.of_places()
    ordered = {header.key: tensors[header.key] for header in content.tensors}
    entries = sum(len(table.keys) for table in content.storage.values()) - repeated - more
    return DcpMetadata(
        ordered, objects, content.files, content.paths, content.version, entries, tuple(faults.found),
        content.has_local_plans,
    )  # fmt: skip


def _place_tensors(
    content: Content, axes: int, headers: list[Header], tensors: dict[str, DcpTensor], faults: Faults
) -> int:
    """Fill in tensors of one number of axes; gives how many entries repeat the key of another."""
    none = np.empty((0, axes), np.int64)
    chunks = content.chunks.get(axes, Chunks(none, none))
    storage = content.storage.get(axes, _nothing(axes))
    numbers = np.array([content.names(header.key) for header in headers], np.int64)
    keys = np.repeat(numbers, [header.last - header.first for header in headers])
    found = joined(keys, chunks.offsets, storage.keys, storage.offsets)
    files, starts, sizes, packings = _placed(found.entries, storage)
    for header in headers:
        rows = slice(header.first, header.last)
        packed = content.packings[int(packings[rows].max(initial=0))] or None
        tensors[header.key] = DcpTensor(
            header.key, header.dtype, header.shape, chunks.offsets[rows], chunks.sizes[rows], files[rows],
            starts[rows], sizes[rows], packed,
        )  # fmt: skip
    faults.of_join(found, keys, chunks.offsets, storage)
    return len(found.repeated)


def _nothing(axes: int) -> Storage:
    empty = np.empty(0, np.int64)
    return Storage(empty, np.empty((0, axes), np.int64), empty, empty, empty, empty)


def _placed(entries: Ints, storage: Storage) -> tuple[Ints, Ints, Ints, Ints]:
    """File, place, length and packing of the item of each row; -1, -1, 0 and 0 without an entry."""
    there = entries >= 0
    at = entries[there]
    columns = ((storage.files, -1), (storage.item_offsets, -1), (storage.item_bytes, 0), (storage.packings, 0))
    found = []
    for column, without in columns:
        values = np.full(len(entries), without, np.int64)
        values[there] = column[at]
        found.append(values)
    return found[0], found[1], found[2], found[3]


def _place_objects(content: Content, faults: Faults) -> tuple[dict[str, DcpItem | None], int]:
    """Objects with their items; and how many entries repeat the key of another."""
    items: dict[int, DcpItem] = {}
    repeated = []
    storage = content.storage.get(NO_OFFSET, _nothing(0))
    columns = (storage.keys, storage.files, storage.item_offsets, storage.item_bytes, storage.packings)
    for key, file, start, size, packing in zip(*(column.tolist() for column in columns), strict=True):
        if key in items:
            repeated.append(key)
        items[key] = DcpItem(file, start, size, content.packings[packing] or None)
    found = {key: items.pop(content.names(key), None) for key in content.objects}
    faults.of_objects([key for key, item in found.items() if item is None], list(items), repeated)
    return found, len(repeated)

"""Stored items held against what the metadata says of them, and archived checksums against the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.archives.stored import span
from ckptplan.checkpoint.archives.zip_records import checksum_fits, has_checksums, read_records
from ckptplan.checkpoint.dtypes import size_bytes
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp.looking import foreign_fault, unreadable
from ckptplan.checkpoint.formats.dcp.source import LARGEST_OBJECT, DcpSource
from ckptplan.checkpoint.formats.dcp.unpacked import StreamedItem
from ckptplan.checkpoint.manifest import Fault, Flaw, Manifest, Object, Raw, Tensor
from ckptplan.errors import InputError

MOST_FAULTS = 1_000
_ZIP, _ZSTD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"
_ITEMS = ".distcp"
_ARCHIVE = 1 << 20  # bytes that an archive takes beside its data, generously
_MISMATCH_HINT = (
    "torch cannot load this shard; a cut along one axis over two axes of a mesh that does not come out even is saved so"
)
_CHECKSUM_HINT = "the data has changed since it was written: copy the file again, or take another checkpoint"


class _Stored(NamedTuple):
    """One part of a file with a name for messages."""

    file: int
    offset: int
    length: int
    key: str
    most_bytes: int  # that it may hold, if packed


def check_items(manifest: Manifest) -> tuple[Fault, ...]:
    """Open every stored item: type, shape and length of its data must be those of the metadata.

    Parameters
    ----------
    manifest : Manifest
        Of any format; what lies in files that are missing or cut off is not opened again.

    Returns
    -------
    tuple of Fault
        MISMATCH, UNREADABLE and FOREIGN_CODE; after 1,000 only their number.
    """
    return _bounded(_item_faults(manifest))


def check_crc(manifest: Manifest) -> tuple[Fault, ...]:
    """Hold the CRC-32 of every archived record against its data, in pieces.

    Parameters
    ----------
    manifest : Manifest
        Of any format. Archives of torch.save have checksums: the items of DCP, and whole files; others have none.

    Returns
    -------
    tuple of Fault
        CHECKSUM and UNREADABLE; after 1,000 only their number.
    """
    return _bounded(_checksum_faults(manifest))


def _item_faults(manifest: Manifest) -> Iterator[Fault]:
    lost: set[int] = set()  # files that cannot be read at all: nothing more in them is tried
    for tensor in manifest.tensors:
        for row in _rows_there(manifest, tensor):
            file = int(tensor.shards.files[row])
            fault = None if file in lost else _of_shard(manifest, tensor, row)
            if fault is not None:
                yield fault
                if fault.key is None:
                    lost.add(file)
    for entry in manifest.objects:
        if entry.file >= 0 and entry.item_offset + entry.item_bytes <= manifest.files[entry.file].size_bytes:
            fault = None if entry.file in lost else _of_object(manifest, entry)
            if fault is not None:
                yield fault
                if fault.key is None:
                    lost.add(entry.file)


def _rows_there(manifest: Manifest, tensor: Tensor) -> list[int]:
    """Shards whose items lie within files that are there, in the order in which they lie."""
    shards = tensor.shards
    if not manifest.files:
        return []
    sizes = np.array([file.size_bytes for file in manifest.files], dtype=np.int64)
    there = (shards.files >= 0) & (shards.item_offsets <= sizes[shards.files] - shards.item_bytes)
    rows = np.flatnonzero(there)
    return [int(row) for row in rows[np.lexsort((shards.item_offsets[rows], shards.files[rows]))]]


def _of_shard(manifest: Manifest, tensor: Tensor, row: int) -> Fault | None:
    """What is wrong with one stored shard."""
    file = manifest.files[int(tensor.shards.files[row])].name
    try:
        raw = manifest.source.raw(tensor, row)
    except InputError as error:
        return unreadable(error, file, tensor.key, _at(tensor, row))
    expected = tuple(tensor.shards.sizes[row].tolist())
    shape = raw.shape if not tensor.shards.flat else (math.prod(raw.shape),)
    if raw.dtype != tensor.dtype or shape != expected:
        message = (
            f"{_at(tensor, row)}: {tensor.dtype} {list(expected)} by the metadata, {raw.dtype} {list(shape)} as stored"
        )
        return Fault(Flaw.MISMATCH, message, file, tensor.key, _MISMATCH_HINT)
    short = _short(manifest, raw)
    return None if short is None else Fault(Flaw.MISMATCH, f"{_at(tensor, row)}: {short}", file, tensor.key)


def _short(manifest: Manifest, raw: Raw) -> str | None:
    """Whether a file holds fewer bytes than its elements take."""
    if raw.packed is not None:
        return None
    needed = size_bytes(raw.dtype, span(raw.shape, raw.strides))
    size = manifest.files[raw.file].size_bytes
    if raw.offset + needed > size:
        return f"its data reaches to byte {raw.offset + needed:,} of a file of {size:,}"
    return None


def _of_object(manifest: Manifest, entry: Object) -> Fault | None:
    """What is wrong with one stored object."""
    file = manifest.files[entry.file].name
    source = manifest.source
    try:
        if isinstance(source, DcpSource):
            archive = source.opened(source.item_of_object(entry), entry.key).archive
            return foreign_fault(entry, archive.foreign, file)
        source.value(entry)
    except InputError as error:
        return unreadable(error, file, entry.key)
    return None


def _at(tensor: Tensor, row: int) -> str:
    return f"shard at offset {tuple(tensor.shards.offsets[row].tolist())}"


def _checksum_faults(manifest: Manifest) -> Iterator[Fault]:
    items: dict[int, dict[tuple[int, int], _Stored]] = {}
    for stored in _stored(manifest):
        items.setdefault(stored.file, {}).setdefault((stored.offset, stored.length), stored)
    for number, file in enumerate(manifest.files):
        if not file.size_bytes:
            continue
        only_archives = not file.name.endswith(_ITEMS)
        whole = {(0, file.size_bytes): _Stored(number, 0, file.size_bytes, "", LARGEST_OBJECT)}
        with CheckpointFolder(manifest.root, only=file.name) as folder:
            for _, stored in sorted((whole if only_archives else items.get(number, {})).items()):
                found = tuple(_of_archive(folder, file.name, stored, only_archives=only_archives))
                yield from found
                if any(fault.flaw is Flaw.UNREADABLE and fault.key is None for fault in found):
                    break  # nothing more in this file can be read


def _stored(manifest: Manifest) -> Iterator[_Stored]:
    """All items in files of items that are there."""
    inside = [file.name.endswith(_ITEMS) for file in manifest.files]
    for tensor in manifest.tensors:
        shards = tensor.shards
        for row in _rows_there(manifest, tensor):
            file = int(shards.files[row])
            if inside[file]:
                elements = math.prod(max(0, size) for size in shards.sizes[row].tolist())
                most = size_bytes(tensor.dtype, elements) + _ARCHIVE
                yield _Stored(file, int(shards.item_offsets[row]), int(shards.item_bytes[row]), tensor.key, most)
    for entry in manifest.objects:
        file = entry.file
        if file >= 0 and inside[file] and entry.item_offset + entry.item_bytes <= manifest.files[file].size_bytes:
            yield _Stored(file, entry.item_offset, entry.item_bytes, entry.key, LARGEST_OBJECT)


def _of_archive(folder: CheckpointFolder, name: str, stored: _Stored, *, only_archives: bool) -> Iterator[Fault]:
    """Records of one archive whose data has another checksum."""
    key = stored.key or None
    try:
        head = folder.read(name, stored.offset, min(4, stored.length))
        if head != _ZIP and only_archives:
            return
        held, start, length = _unpacked(folder, name, stored, head)
        records = read_records(held, name, start, length)
        for record_name, record in records.items() if has_checksums(records) else ():
            if not checksum_fits(held, name, record):
                what = f"the record {record_name[:80]!a} at byte {record.offset:,}"
                yield Fault(Flaw.CHECKSUM, f"{what} is not what its CRC-32 says", name, key, _CHECKSUM_HINT)
    except InputError as error:
        yield unreadable(error, name, key)


def _unpacked(
    folder: CheckpointFolder, name: str, stored: _Stored, head: bytes
) -> tuple[CheckpointFolder, int, int | None]:
    if head != _ZSTD:
        return folder, stored.offset, stored.length
    return StreamedItem(folder, name, stored.offset, stored.length, stored.most_bytes), 0, None


def _bounded(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    found: list[Fault] = []
    more = 0
    for fault in faults:
        if len(found) < MOST_FAULTS:
            found.append(fault)
        else:
            more += 1
    if more:
        found.append(Fault(found[-1].flaw, f"and {more:,} more such faults"))
    return tuple(found)

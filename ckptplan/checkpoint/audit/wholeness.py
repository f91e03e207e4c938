"""Whether a checkpoint is whole: entries stored, boxes inside, tensors tiled, items as their metadata says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.audit.counted import lost_parameters
from ckptplan.checkpoint.audit.findings import GRAVITY, HARMLESS, Depth
from ckptplan.checkpoint.coverage import Coverage, coverage
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest, Shards, Tensor
from ckptplan.errors import InputError

MOST_FAULTS = 1_000  # are kept; the rest are counted
_PARTED = frozenset({Format.DCP, Format.DCP_RANK_LOCAL, Format.MEGATRON_DIST})  # every shard is an item of its own
_STRIDED = (
    "as uneven strided sharding is saved, one axis cut by two axes of the mesh that does not come out even: torch "
    "cannot load it"
)
_WRONG_BOX = "its box in the metadata is wrong"
_LOST = frozenset({Flaw.MISSING_FILE, Flaw.TRUNCATED, Flaw.UNREADABLE, Flaw.CORRUPT, Flaw.FOREIGN_CODE})


class Faults(NamedTuple):
    """The gravest first; ``more``: beyond those that are kept."""

    kept: tuple[Fault, ...]
    more: int


def faults_of(manifest: Manifest, depth: Depth = Depth.ITEMS) -> Faults:
    """All that is wrong with a checkpoint, as far down as asked."""
    found: dict[tuple[str | None, ...], Fault] = {}
    more = 0
    for fault in _all(manifest, depth):
        one = (fault.flaw, fault.key) if fault.key is not None else (fault.flaw, None, fault.file, fault.message)
        if len(found) < MOST_FAULTS:
            found.setdefault(one, fault)
        elif one not in found:
            more += 1
    explained = _explained(manifest.format, list(found.values()))
    return Faults(tuple(sorted(explained, key=lambda fault: GRAVITY.index(fault.flaw))), more)


def _all(manifest: Manifest, depth: Depth) -> Iterator[Fault]:
    yield from manifest.faults
    if not any(fault.flaw is Flaw.MISSING_FILE for fault in manifest.faults):  # which says it of its items
        yield from _unstored(manifest)
    yield from lost_parameters(manifest)
    yield from _uncovered(manifest)
    yield from _shared_items(manifest)
    yield from _items(manifest, depth)


def _explained(format_: Format, faults: list[Fault]) -> list[Fault]:
    """Why an item is unlike its metadata: a box that is wrong, or boxes that tile and are not what the ranks held."""
    misplaced = {fault.key for fault in faults if fault.flaw in {Flaw.OUTSIDE, Flaw.HOLE, Flaw.OVERLAP}}
    if format_ not in _PARTED:
        return faults
    return [
        fault._replace(hint=_WRONG_BOX if fault.key in misplaced else _STRIDED)
        if fault.flaw is Flaw.MISMATCH
        else fault
        for fault in faults
    ]


def _unstored(manifest: Manifest) -> Iterator[Fault]:
    """Shards and objects that are listed and stored nowhere."""
    for tensor in manifest.tensors:
        shards = tensor.shards
        gone = np.flatnonzero((shards.files < 0) & (shards.sizes > 0).all(axis=1))
        if len(gone):
            box = _box(shards.offsets[gone[0]].tolist(), shards.sizes[gone[0]].tolist())
            some = f"the shard {box} is" if len(gone) == 1 else f"{len(gone):,} shards, the first {box}, are"
            yield Fault(Flaw.MISSING_ENTRY, f"{some} listed and stored nowhere", key=tensor.key)
    for entry in manifest.objects:
        if entry.file < 0:
            yield Fault(Flaw.MISSING_ENTRY, "listed and stored nowhere", key=entry.key)


def _uncovered(manifest: Manifest) -> Iterator[Fault]:
    """Boxes that do not tile their tensor; tensors that are cut alike are judged once."""
    judged: dict[tuple[object, ...], Coverage] = {}
    for tensor in manifest.tensors:
        if manifest.format is Format.DCP_RANK_LOCAL:
            tensor = tensor._replace(shards=_without_copies(tensor.shards))  # noqa: PLW2901 - the same, seen as one
        shards = tensor.shards
        alike = (tensor.shape, shards.flat, shards.number, shards.offsets.tobytes(), shards.sizes.tobytes())
        if alike not in judged:
            judged[alike] = coverage(tensor.shape, shards.offsets, shards.sizes, shards.flat)
        if not judged[alike].tiles:
            yield from _of_coverage(tensor, judged[alike])


def _without_copies(shards: Shards) -> Shards:
    """Without the boxes that another rank stored too: ranks that save without asking each other store copies."""
    boxes = np.concatenate([shards.offsets, shards.sizes], axis=1)
    if not boxes.shape[1]:
        rows = np.arange(min(1, shards.number))
    else:
        rows = np.sort(np.unique(boxes, axis=0, return_index=True)[1])
    columns = {name: getattr(shards, name)[rows] for name in shards._fields if name != "flat"}
    return shards._replace(**columns)


def _of_coverage(tensor: Tensor, found: Coverage) -> Iterator[Fault]:
    shards, key = tensor.shards, tensor.key
    if found.outside:
        row = found.outside[0]
        box = _box(shards.offsets[row].tolist(), shards.sizes[row].tolist())
        some = "one box leaves" if len(found.outside) == 1 else f"{len(found.outside):,} boxes leave"
        yield Fault(Flaw.OUTSIDE, f"{some} the tensor of shape {list(tensor.shape)}: {box}", key=key)
    if found.missing:
        where = f", the first at {_box(*map(list, found.holes[0]))}" if found.holes else ""
        least = "" if found.decided else "at least "
        yield Fault(Flaw.HOLE, f"{least}{found.missing:,} elements are in no shard{where}", key=key)
    if found.overlapping:
        pairs = [
            " and ".join(_box(shards.offsets[row].tolist(), shards.sizes[row].tolist()) for row in pair)
            for pair in found.overlaps[:1]
        ]
        yield Fault(Flaw.OVERLAP, f"{found.overlapping:,} shards share elements: {''.join(pairs)}", key=key)
    if not found.decided and not (found.missing or found.overlapping):
        yield Fault(Flaw.CORRUPT, "its boxes are too intricate to prove that they tile it", key=key)


def _box(offsets: list[int], sizes: list[int]) -> str:
    """``[0:3, 0:16]``: half-open, as slices."""
    return "[" + ", ".join(f"{low}:{low + size}" for low, size in zip(offsets, sizes, strict=True)) + "]"


def _shared_items(manifest: Manifest) -> Iterator[Fault]:
    """Two shards that claim the same bytes, where every shard is an item of its own."""
    if manifest.format not in _PARTED:
        return
    columns = [
        (tensor.shards.files, tensor.shards.item_offsets, tensor.shards.item_bytes) for tensor in manifest.tensors
    ]
    objects = [(entry.file, entry.item_offset, entry.item_bytes) for entry in manifest.objects]
    owners = np.repeat(np.arange(len(columns)), [len(files) for files, _, _ in columns])
    owners = np.concatenate([owners, len(columns) + np.arange(len(objects))])
    placed = np.array(objects, dtype=np.int64).reshape(-1, 3)
    files, offsets, lengths = (
        np.concatenate([*(column[at] for column in columns), placed[:, at]]).astype(np.int64) for at in range(3)
    )
    stored = np.flatnonzero((files >= 0) & (lengths > 0) & (offsets >= 0))
    order = stored[np.lexsort((offsets[stored], files[stored]))]
    before, after = order[:-1], order[1:]
    meets = (files[before] == files[after]) & (offsets[after] - offsets[before] < lengths[before])
    keys = [*(tensor.key for tensor in manifest.tensors), *(entry.key for entry in manifest.objects)]
    for at in np.flatnonzero(meets).tolist():
        one, other = keys[owners[before[at]]], keys[owners[after[at]]]
        file = manifest.files[int(files[after[at]])].name if files[after[at]] < len(manifest.files) else None
        of = "another shard of its own" if one == other else one
        yield Fault(Flaw.CORRUPT, f"its item at byte {int(offsets[after[at]]):,} is also that of {of}", file, other)


def _items(manifest: Manifest, depth: Depth) -> Iterator[Fault]:
    """Items unlike their metadata, and records unlike their archived checksum."""
    from ckptplan.checkpoint.formats.dcp.items import check_crc, check_items

    checks = {Depth.METADATA: (), Depth.ITEMS: (check_items,), Depth.DATA: (check_items, check_crc)}
    for check in checks[depth]:
        try:
            yield from check(manifest)
        except InputError as error:
            yield from (Fault(Flaw.UNREADABLE, problem.message, hint=problem.hint) for problem in error.problems)


def broken_entries(manifest: Manifest, faults: Iterable[Fault]) -> dict[str, str]:
    """Entries that cannot be read, by their keys, with the reason."""
    faults = list(faults)
    lost = {fault.file: fault for fault in faults if fault.flaw in _LOST and fault.key is None and fault.file}
    broken = {fault.key: fault.message for fault in faults if fault.key and fault.flaw not in HARMLESS}
    names = [name for name, fault in lost.items() if fault.flaw is Flaw.MISSING_FILE]
    nowhere = f"{names[0]} is missing" if len(names) == 1 else "its file is missing"
    sizes = np.array([file.size_bytes for file in manifest.files] or [0], dtype=np.int64)
    gone = np.array([_is_gone(lost.get(file.name)) for file in manifest.files] or [False])
    for tensor in manifest.tensors:
        files, ends = tensor.shards.files, tensor.shards.item_offsets + tensor.shards.item_bytes
        held = (tensor.shards.sizes > 0).all(axis=1)
        if (held & (files < 0)).any():
            broken.setdefault(tensor.key, nowhere)
        inside = (files >= 0) & (files < len(manifest.files))
        at = np.where(inside, files, 0)
        cut = inside & held & (gone[at] | (ends > sizes[at]))
        if cut.any():
            broken.setdefault(tensor.key, _reason(manifest, int(files[int(np.argmax(cut))]), lost))
    for entry in manifest.objects:
        if entry.file < 0:
            broken.setdefault(entry.key, nowhere)
        elif entry.file < len(manifest.files):
            end = entry.item_offset + entry.item_bytes
            if gone[entry.file] or (entry.item_bytes and end > sizes[entry.file]):
                broken.setdefault(entry.key, _reason(manifest, entry.file, lost))
    return broken


def _is_gone(fault: Fault | None) -> bool:
    """Whether nothing of a file can be read; of one that is cut off, what lies before the end can."""
    return fault is not None and fault.flaw is not Flaw.TRUNCATED


def _reason(manifest: Manifest, file: int, lost: dict[str, Fault]) -> str:
    name = manifest.files[file].name
    fault = lost.get(name)
    if fault is None or fault.flaw is Flaw.TRUNCATED:
        return f"{name} ends before it"
    return f"{name} is missing" if fault.flaw is Flaw.MISSING_FILE else f"{name}: {fault.message}"

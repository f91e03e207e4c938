"""Metadata of single ranks: saves without collectives write one file per rank, which tells of that rank's items."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from ckptplan.checkpoint.folder import CheckpointFolder, flaw_of
from ckptplan.checkpoint.formats.dcp.assembling import manifest_of, unread
from ckptplan.checkpoint.formats.dcp.metadata import read_metadata
from ckptplan.checkpoint.formats.dcp.metadata_types import DcpItem, DcpMetadata, DcpTensor
from ckptplan.checkpoint.formats.dcp.placing import rank_of_file, some
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Ints, Manifest
from ckptplan.errors import InputError

RANK_FILE = re.compile(r"__(\d{1,7})\.metadata\Z")
_MOST_FAULTS = 100
_LARGEST = 1 << 30  # bytes of one file
_HINT = "take the checkpoint before this one"


def metadata_files(folder: CheckpointFolder) -> dict[str, int]:
    """Metadata of ranks, in the order of ranks."""
    found = {name: int(match.group(1)) for name in folder.sizes() if (match := RANK_FILE.match(name))}
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of all ranks together."""
    parts: list[DcpMetadata] = []
    faults: list[Fault] = []
    names = metadata_files(folder)
    for name in names:
        try:
            if folder.size(name) > _LARGEST:
                raise folder.refused(name, f"{folder.size(name):,} bytes of metadata", "no rank has so much")
            parts.append(read_metadata(folder.read(name, 0, folder.size(name)), name))
        except InputError as error:
            faults.append(Fault(flaw_of(error), error.problems[0].message, name, hint=error.problems[0].hint))
    faults += _unfinished(folder, names)
    if not parts:
        return unread(folder, tuple(faults), Format.DCP_RANK_LOCAL)
    merged, repeated, contradictions = merge(parts)
    manifest = manifest_of(folder, merged, Format.DCP_RANK_LOCAL)
    remarks = [f"{some(repeated, 'objects')} were written by several ranks: the first is listed"] if repeated else []
    copies = [tensor.key for tensor in manifest.tensors if _has_copies(tensor.shards.offsets)]
    if copies:
        remarks.append(f"{some(copies, 'tensors')} have boxes that several ranks stored alike")
    found = tuple(
        file._replace(
            rank=names.get(file.name, file.rank), holds="metadata of a rank" if file.name in names else file.holds
        )
        for file in manifest.files
    )
    return manifest._replace(
        files=found,
        faults=(
            *faults[:_MOST_FAULTS],
            *behind_the_last(manifest.world_size, names),
            *contradictions[:_MOST_FAULTS],
            *manifest.faults,
        ),
        remarks=(*manifest.remarks, *remarks),
    )


class _FileNumbers:
    """Numbers of the files of all parts: those of each part follow each other, and then one for no file."""

    def __init__(self, parts: list[DcpMetadata]) -> None:
        self.names: dict[str, int] = {}
        table: list[int] = []
        self._first: list[int] = []
        self._none: list[int] = []
        for part in parts:
            self._first.append(len(table))
            table.extend(self.names.setdefault(name, len(self.names)) for name in part.file_names)
            self._none.append(len(table))
            table.append(-1)
        self._table = np.array(table, dtype=np.int64)

    def of(self, part: int, file: int) -> int:
        """The number in the whole of a part's file."""
        return int(self._table[self._none[part] if file < 0 else self._first[part] + file])

    def of_rows(self, parts: list[int], held: list[DcpTensor]) -> Ints:
        """The same for the rows of tensors of several parts, one after another."""
        lengths = [len(tensor.files) for tensor in held]
        files = np.concatenate([tensor.files for tensor in held])
        first = np.repeat(np.array([self._first[part] for part in parts], dtype=np.int64), lengths)
        none = np.repeat(np.array([self._none[part] for part in parts], dtype=np.int64), lengths)
        found: Ints = self._table[np.where(files < 0, none, first + files)]
        return found


def merge(parts: Iterable[DcpMetadata]) -> tuple[DcpMetadata, list[str], list[Fault]]:
    """One metadata of all, the objects that several have, and where they contradict each other."""
    parts = list(parts)
    numbers = _FileNumbers(parts)
    tensors: dict[str, list[tuple[int, DcpTensor]]] = {}
    objects: dict[str, DcpItem | None] = {}
    paths: dict[str, tuple[str | int, ...]] = {}
    repeated: set[str] = set()
    for at, part in enumerate(parts):
        for key, tensor in part.tensors.items():
            tensors.setdefault(key, []).append((at, tensor))
        for key, item in part.objects.items():
            if objects.get(key) is not None:
                repeated.add(key)
            else:
                objects[key] = None if item is None else item._replace(file=numbers.of(at, item.file))
        paths.update(part.paths or {})
    faults = [fault for part in parts for fault in part.faults]
    joined = {}
    for key, held in tensors.items():
        joined[key], wrong = _join(held, numbers)
        faults += wrong
    metadata = DcpMetadata(
        joined,
        {key: item for key, item in objects.items() if key not in joined},
        tuple(numbers.names),
        paths if any(part.paths is not None for part in parts) else None,
        parts[0].version,
        sum(part.entries for part in parts),
        (),
        any(part.has_local_plans for part in parts),
    )
    return metadata, sorted(repeated), faults


def _join(held: list[tuple[int, DcpTensor]], numbers: _FileNumbers) -> tuple[DcpTensor, list[Fault]]:
    """The rows of all ranks that agree with the first."""
    first = held[0][1]
    alike = [
        (at, one)
        for at, one in held
        if one.dtype == first.dtype and one.shape == first.shape and one.packed == first.packed
    ]
    faults = []
    if len(alike) < len(held):
        unlike = len(held) - len(alike)
        some = "1 rank gives" if unlike == 1 else f"{unlike:,} ranks give"
        message = f"{some} it another type or shape than the first"
        faults.append(Fault(Flaw.CORRUPT, message, key=first.key, hint="the files are of different saves"))
    rows = [one for _, one in alike]
    joined = first._replace(
        offsets=np.concatenate([one.offsets for one in rows]),
        sizes=np.concatenate([one.sizes for one in rows]),
        files=numbers.of_rows([at for at, _ in alike], rows),
        item_offsets=np.concatenate([one.item_offsets for one in rows]),
        item_bytes=np.concatenate([one.item_bytes for one in rows]),
    )
    return joined, faults


def _unfinished(folder: CheckpointFolder, names: dict[str, int]) -> list[Fault]:
    """Ranks that wrote items and no metadata, and numbers that are left out."""
    there = set(names.values())
    wrote = {rank for name in folder.sizes() if "/" not in name and (rank := rank_of_file(name)) is not None}
    last = max(there | wrote, default=-1)
    open_ = sorted(wrote - there)
    absent = [rank for rank in range(min(last, 1 << 20)) if rank not in there and rank not in wrote]
    faults = []
    if open_:
        message = (
            f"{some([f'rank {rank}' for rank in open_], 'ranks')} wrote items and no metadata: the save never ended"
        )
        faults.append(Fault(Flaw.UNCOMMITTED, message, hint=_HINT))
    if absent:
        message = f"{some([f'rank {rank}' for rank in absent], 'ranks')} between others have no metadata"
        faults.append(Fault(Flaw.MISSING_FILE, message, hint="is the copy complete?"))
    return faults


def behind_the_last(world: int | None, names: dict[str, int]) -> list[Fault]:
    """Ranks beyond those whose metadata is there, where states of ranks or the data loader tell of them."""
    last = max(names.values())
    if world is None or world <= last + 1:
        return []
    few = ", ".join(str(rank) for rank in range(last + 1, min(world, last + 4)))
    message = f"{world - last - 1:,} of {world:,} ranks have no metadata: {few}{', ...' if world > last + 4 else ''}"
    return [Fault(Flaw.MISSING_FILE, message, f"__{last + 1}.metadata", hint="is the copy complete?")]


def _has_copies(offsets: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> bool:
    return len(offsets) > 1 and len(np.unique(offsets, axis=0)) < len(offsets)

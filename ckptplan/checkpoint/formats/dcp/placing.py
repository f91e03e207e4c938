"""Items of the metadata held against the files that are there: missing and cut-off files, and those left over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp.metadata_types import DcpMetadata, DcpTensor
from ckptplan.checkpoint.manifest import Fault, File, Flaw, Ints
from ckptplan.errors import printable

DATA_FILE = re.compile(r"__(\d{1,7})_(\d{1,9})\.distcp\Z")
_MOST_TOLD = 3  # keys in a message
_MOST_FAULTS = 1_000
_MISSING_HINT = "copy the file, or take another checkpoint: what is in it is lost"
_CUT_HINT = "copy the file again; what lies behind its end is lost"


class Use(NamedTuple):
    """What the items of a checkpoint use of one file name."""

    tensors: int
    objects: int
    end: int  # bytes that the file must have


class Placed(NamedTuple):
    """Names of the metadata with the files that they are."""

    numbers: Ints  # index of the files that are there for each name, -1 for one that is not
    faults: tuple[Fault, ...]
    used: dict[str, Use]  # by name of the file


def rank_of_file(name: str) -> int | None:
    """The rank that wrote a file of items."""
    found = DATA_FILE.match(PurePosixPath(name).name)
    return int(found.group(1)) if found else None


def placed(folder: CheckpointFolder, metadata: DcpMetadata) -> Placed:
    """Find every file that the metadata names, and what is wrong with it."""
    sizes = folder.sizes()
    order = {name: number for number, name in enumerate(sizes)}
    clean = [str(PurePosixPath(name)) if name else name for name in metadata.file_names]
    numbers = np.array([order.get(name, -1) for name in clean], dtype=np.int64)
    uses = _uses(metadata)
    lost = _lost(metadata, np.array([sizes.get(name, -1) for name in clean], dtype=np.int64))
    faults: list[Fault] = []
    for number, keys in sorted(lost.items()):
        name = clean[number]
        if name not in sizes:
            faults.append(_absent(folder, name, sorted(keys)))
        else:
            faults.append(_cut(name, sizes[name], uses[number].end, sorted(keys)))
        if len(faults) >= _MOST_FAULTS:
            faults.append(Fault(Flaw.MISSING_FILE, f"after {_MOST_FAULTS:,} faulty files no more are listed"))
            break
    used = {name: uses[number] for number, name in enumerate(clean) if name in sizes}
    return Placed(numbers, tuple(faults), used)


def files(folder: CheckpointFolder, used: Mapping[str, Use], others: Mapping[str, str]) -> tuple[File, ...]:
    """All files with what they hold; files of items that nothing refers to are not referenced."""
    found = []
    for name, size in folder.sizes().items():
        use = used.get(name)
        holds = _holds(use) if use else others.get(PurePosixPath(name).name, "")
        leftover = use is None and (name.endswith(".distcp") or name.endswith(".metadata.tmp"))
        if leftover:
            holds = "nothing that the metadata refers to"
        found.append(File(name, size, rank_of_file(name), not leftover, holds))
    return tuple(found)


def leftover(found: Iterable[File]) -> str | None:
    """A sentence on files to which nothing refers."""
    names = [file.name for file in found if not file.referenced]
    if not names:
        return None
    taken = sum(file.size_bytes for file in found if not file.referenced)
    return f"{some(names, 'files')} left over from another save: nothing refers to their {taken:,} bytes"


def some(names: Sequence[str], what: str) -> str:
    """How many there are, and the first few."""
    first = ", ".join(printable(name)[:80] for name in names[:_MOST_TOLD])
    more = ", ..." if len(names) > _MOST_TOLD else ""
    return f"{len(names):,} {what} ({first}{more})"


def _uses(metadata: DcpMetadata) -> list[Use]:
    """Tensors, objects and the farthest byte of each file name."""
    count = len(metadata.file_names)
    tensors, objects = np.zeros(count, np.int64), np.zeros(count, np.int64)
    ends = np.zeros(count, np.int64)
    for tensor in metadata.tensors.values():
        there = _there(tensor, count)
        numbers = tensor.files[there]
        tensors[np.unique(numbers)] += 1
        np.maximum.at(ends, numbers, _ends(tensor)[there])
    for item in metadata.objects.values():
        if item is not None and 0 <= item.file < count:
            objects[item.file] += 1
            ends[item.file] = max(ends[item.file], min(item.offset + item.length, np.iinfo(np.int64).max))
    return [Use(*row) for row in zip(tensors.tolist(), objects.tolist(), ends.tolist(), strict=True)]


def _there(tensor: DcpTensor, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return (tensor.files >= 0) & (tensor.files < count)


def _ends(tensor: DcpTensor) -> Ints:
    """Ends of items, at most the largest number there is."""
    room = np.iinfo(np.int64).max - np.maximum(tensor.item_offsets, 0)
    ends: Ints = np.maximum(tensor.item_offsets, 0) + np.minimum(np.maximum(tensor.item_bytes, 0), room)
    return ends


def _lost(metadata: DcpMetadata, sizes: Ints) -> dict[int, list[str]]:
    """Keys of what does not lie within its file, by the file; of a file that is not there all."""
    found: dict[int, list[str]] = {}
    for tensor in metadata.tensors.values():
        held = tensor.files[_there(tensor, len(sizes))]
        beyond = _ends(tensor)[_there(tensor, len(sizes))] > sizes[held]
        for number in np.unique(held[beyond]).tolist():
            found.setdefault(number, []).append(tensor.key)
    for key, item in metadata.objects.items():
        if item is not None and 0 <= item.file < len(sizes) and item.offset + item.length > sizes[item.file]:
            found.setdefault(item.file, []).append(key)
    return found


def _absent(folder: CheckpointFolder, name: str, keys: list[str]) -> Fault:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or not name:
        message = f"the metadata names a file outside of the checkpoint, {name[:200]!a}, for {some(keys, 'keys')}"
        return Fault(Flaw.CORRUPT, message, hint="nothing outside is ever opened")
    if name in folder.links:
        message = f"a link, which is not followed; it would hold {some(keys, 'keys')}"
        return Fault(Flaw.MISSING_FILE, message, name, hint="put the file itself in its place")
    if name in folder.special:
        message = f"a pipe or device, which is not opened; it would hold {some(keys, 'keys')}"
        return Fault(Flaw.MISSING_FILE, message, name, hint="put the file itself in its place")
    message = f"missing: items of {some(keys, 'keys')} are in it"
    return Fault(Flaw.MISSING_FILE, message, printable(name)[:200], hint=_MISSING_HINT)


def _cut(name: str, size: int, end: int, keys: list[str]) -> Fault:
    message = f"{size:,} bytes, but items reach to byte {end:,}: {some(keys, 'keys')} cannot be read"
    return Fault(Flaw.TRUNCATED, message, name, hint=_CUT_HINT)


def _holds(use: Use) -> str:
    parts = [word for word, count in (("tensors", use.tensors), ("objects", use.objects)) if count]
    return " and ".join(parts)

"""Checkpoints of DCP's HuggingFaceStorageWriter: each rank's shards in safetensors files, their places in the headers.

No file has the global shapes: they are the union of the boxes.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.dtypes import OF_SAFETENSORS, size_bytes
from ckptplan.checkpoint.folder import CheckpointFolder, flaw_of
from ckptplan.checkpoint.formats.numbered import missing_shards, shards_in
from ckptplan.checkpoint.formats.safetensors_header import StoredTensor, parse_json
from ckptplan.checkpoint.formats.weights import read_safetensors
from ckptplan.checkpoint.manifest import Fault, File, Flaw, Format, Manifest, Object, Raw, Shards, Tensor, row_major
from ckptplan.checkpoint.naming.classify import Entry, classify
from ckptplan.errors import InputError, printable

_SHARDING = "DCP_SHARDING_INFO"
_RANKED = re.compile(r"shard-(\d{1,7})-.*\.safetensors\Z")
_FARTHEST = 2**62  # elements
_HINT = "write the checkpoint again, or copy it again"


class _Box(NamedTuple):
    """A shard as a header has it."""

    file: int
    stored: StoredTensor
    offsets: tuple[int, ...]
    data_offset: int


def recognised(folder: CheckpointFolder) -> bool:
    """Whether the first safetensors file says where its tensors lie in global ones."""
    names = _names(folder)
    if not names:
        return False
    try:
        return _SHARDING in read_safetensors(folder, names[0]).metadata
    except InputError:
        return False


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of a folder of sharded safetensors files."""
    names = list(folder.sizes())
    boxes: dict[str, list[_Box]] = {}
    faults: list[Fault] = []
    for name in _names(folder):
        try:
            for key, box in _boxes(folder, name, names.index(name)):
                boxes.setdefault(key, []).append(box)
        except InputError as error:
            faults.extend(Fault(flaw_of(error), problem.message, name, hint=problem.hint) for problem in error.problems)
    tensors, contradictions = _tensors(boxes)
    ranks = sorted({rank for name in _names(folder) if (rank := _rank(name)) is not None})
    world = ranks[-1] + 1 if ranks else None
    files = tuple(
        File(name, size, _rank(name), holds="tensors" if _is_shard(name) else "")
        for name, size in folder.sizes().items()
    )
    remarks = ["global shapes are the union of the stored boxes: shards missing at the end of a tensor cannot be seen"]
    if world:
        remarks.append("ranks that stored nothing do not show: the number of ranks is that of the names of files")
    return Manifest(
        Format.DCP_SAFETENSORS,
        folder.root,
        tensors,
        (),
        files,
        SafetensorsSource(folder, files),
        world_size=world,
        writer_ranks=tuple(ranks),
        faults=(*faults, *contradictions, *_missing(ranks), *_missing_numbers(folder)),
        remarks=tuple(remarks),
    )


class SafetensorsSource:
    """Files whose tensors lie as plain row-major bytes."""

    def __init__(self, folder: CheckpointFolder, files: tuple[File, ...]) -> None:
        self._folder = folder
        self._files = files

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Where the elements of a shard lie."""
        shape = tuple(int(size) for size in tensor.shards.sizes[row])
        shards = tensor.shards
        held = int(shards.item_bytes[row])
        return Raw(
            int(shards.files[row]), int(shards.data_offsets[row]), tensor.dtype, shape, row_major(shape), None, held
        )

    def read(self, tensor: Tensor, row: int) -> NDArray[np.uint8]:
        """The bytes of a shard."""
        found = self.raw(tensor, row)
        data = self._folder.read(self._files[found.file].name, found.offset, found.data_bytes)
        return np.frombuffer(data, dtype=np.uint8)

    def value(self, entry: Object) -> Any:
        """No object is stored in this format."""
        raise InputError(f"{printable(entry.key)}: safetensors files hold no objects")


def _names(folder: CheckpointFolder) -> list[str]:
    return [name for name in folder.sizes() if _is_shard(name)]


def _is_shard(name: str) -> bool:
    return name.endswith(".safetensors") and len(PurePosixPath(name).parts) == 1


def _rank(name: str) -> int | None:
    found = _RANKED.match(name)
    return int(found.group(1)) - 1 if found and int(found.group(1)) > 0 else None


def _boxes(folder: CheckpointFolder, name: str, file: int) -> list[tuple[str, _Box]]:
    """The shards of one file."""
    header = read_safetensors(folder, name)
    text = header.metadata.get(_SHARDING, "{}")
    sharding = parse_json(text.encode("utf-8", "surrogatepass"), folder.root / name)
    found = []
    for stored, data_offset in zip(header.tensors, header.offsets, strict=True):
        entry = sharding.get(stored.name)
        # A tensor that is not listed is whole.
        offsets = [0] * len(stored.shape) if entry is None else _saved_offsets(entry)
        if (
            offsets is None
            or len(offsets) != len(stored.shape)
            or any(offset + size > _FARTHEST for offset, size in zip(offsets, stored.shape, strict=True))
        ):
            message = f"{_SHARDING} does not say where {printable(stored.name)[:80]} begins"
            raise folder.refused(name, message, _HINT)
        found.append((stored.name, _Box(file, stored, tuple(offsets), data_offset)))
    return found


def _saved_offsets(entry: Any) -> list[int] | None:
    offsets = entry.get("saved_offsets") if isinstance(entry, dict) else None
    if not isinstance(offsets, list) or not all(type(n) is int and 0 <= n <= _FARTHEST for n in offsets):
        return None
    return offsets


def _tensors(boxes: dict[str, list[_Box]]) -> tuple[tuple[Tensor, ...], list[Fault]]:
    """Global tensors from the boxes of all files."""
    faults, found = [], {}
    for key, held in boxes.items():
        first = held[0].stored
        alike = [b for b in held if b.stored.dtype == first.dtype and len(b.stored.shape) == len(first.shape)]
        if len(alike) < len(held):
            message = f"{len(held) - len(alike):,} files hold it with another type or another number of axes"
            faults.append(Fault(Flaw.CORRUPT, message, key=key, hint=_HINT))
        found[key] = _shards(alike)
    entries = [Entry(key, (key,), True, dtype, shape) for key, (dtype, shape, _) in found.items()]
    named = classify(entries)
    tensors = tuple(
        Tensor(entry.key, name.kind, entry.dtype or "", entry.shape, found[entry.key][2], entry.path, name.parameter)
        for entry, name in zip(entries, named, strict=True)
    )
    return tensors, faults


def _shards(boxes: list[_Box]) -> tuple[str, tuple[int, ...], Shards]:
    axes = len(boxes[0].offsets)
    dtype = OF_SAFETENSORS[boxes[0].stored.dtype]
    offsets = np.array([box.offsets for box in boxes], dtype=np.int64).reshape(len(boxes), axes)
    sizes = np.array([box.stored.shape for box in boxes], dtype=np.int64).reshape(len(boxes), axes)
    shape = tuple(max(b.offsets[axis] + b.stored.shape[axis] for b in boxes) for axis in range(axes))
    at = np.array([box.data_offset for box in boxes], dtype=np.int64)
    held = np.array([size_bytes(dtype, box.stored.elements) for box in boxes], dtype=np.int64)
    files = np.array([box.file for box in boxes], dtype=np.int64)
    return dtype, shape, Shards(offsets, sizes, files, at, held, at)


def _missing_numbers(folder: CheckpointFolder) -> list[Fault]:
    """Files of the model that no rank has a part of, by the numbers in the names of the others."""
    return [fault for one in shards_in(_names(folder)) for fault in missing_shards(one)]


def _missing(ranks: list[int]) -> tuple[Fault, ...]:
    """Numbers that are left out between those of files; ``ranks`` is sorted."""
    gaps = [(before + 1, after) for before, after in pairwise([-1, *ranks]) if after > before + 1]
    if not gaps:
        return ()
    count = sum(after - first for first, after in gaps)
    first = ", ".join(str(rank) for gap in gaps[:5] for rank in range(*gap)[:5])
    some = "1 rank" if count == 1 else f"{count:,} ranks"
    message = f"no file of {some} between those that have one: {first}"
    return (Fault(Flaw.MISSING_FILE, message, hint="is the copy complete?"),)

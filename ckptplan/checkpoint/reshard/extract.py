"""Chosen tensors of a checkpoint merged into safetensors: the plan of a single rank, carried out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Manifest, Mesh, Raw, Tensor
from ckptplan.checkpoint.reshard.boxes_of_files import blocks, read_box
from ckptplan.checkpoint.reshard.overlaps import Overlaps, fault_of, overlaps, stored_boxes
from ckptplan.checkpoint.reshard.placement import Replicate
from ckptplan.checkpoint.reshard.runs import row_major
from ckptplan.checkpoint.reshard.stored_items import raw_of
from ckptplan.checkpoint.reshard.wanted import wanted
from ckptplan.checkpoint.writing import SafetensorsWriter
from ckptplan.checkpoint.writing_header import Entry
from ckptplan.checkpoint.writing_sharded import ShardedSafetensorsWriter
from ckptplan.errors import InputError, printable

BLOCK_BYTES = 8 << 20  # written at a time
_ALONE = Mesh((1,), ("fsdp",))
_PLACED = (Replicate(),)
MODEL = (StateKind.PARAMETER, StateKind.BUFFER)


class Extracted(NamedTuple):
    """What was written."""

    path: Path
    tensors: int
    size_bytes: int  # of the elements
    shared: tuple[tuple[str, str], ...]  # tensors whose elements are the same bytes of a file: each is written


def chosen(manifest: Manifest, keys: Sequence[str] = (), kinds: Sequence[StateKind] = ()) -> tuple[Tensor, ...]:
    """Tensors whose key fits one of the patterns, and whose kind is one of the kinds; without either, the model.

    Raises
    ------
    InputError
        If a pattern or a kind names none.
    """
    wanted_kinds = tuple(kinds) or (tuple(StateKind) if keys else MODEL)
    of_kind = [tensor for tensor in manifest.tensors if tensor.kind in wanted_kinds]
    if not of_kind:
        there = sorted({str(tensor.kind) for tensor in manifest.tensors})
        hint = f"there are: {', '.join(there)}" if there else "there are no tensors in it"
        raise InputError(f"no tensor of {printable(str(manifest.root))} is of {', '.join(wanted_kinds)}", hint=hint)
    for pattern in keys:
        if not any(fnmatchcase(tensor.key, pattern) for tensor in of_kind):
            hint = f"such as {printable(of_kind[0].key)}; * and ? stand for any characters"
            raise InputError(f"no key fits {printable(pattern)}", hint=hint)
    return tuple(one for one in of_kind if not keys or any(fnmatchcase(one.key, pattern) for pattern in keys))


def extract(
    manifest: Manifest,
    out: Path,
    tensors: Sequence[Tensor],
    inputs: Sequence[Path] = (),
    block_bytes: int = BLOCK_BYTES,
) -> Extracted:
    """Write tensors whole, each byte once, into a safetensors file, or into a folder of them with an index.

    Parameters
    ----------
    manifest : Manifest
        The checkpoint.
    out : Path
        A name that ends in .safetensors is a file, any other a new folder.
    tensors : sequence of Tensor
        Those of the manifest to write.
    inputs : sequence of Path
        What must not be overwritten beside the files of the checkpoint.
    block_bytes : int
        At most so much is held of a tensor, unless it is stored packed: then one stored shard. [bytes]

    Returns
    -------
    Extracted

    Raises
    ------
    InputError
        For a hole or an overlap, a type that safetensors does not have, a file that is damaged or cannot be written.
    """
    entries = [Entry(one.key, one.dtype, one.shape) for one in tensors]
    plans = [_plan(tensor) for tensor in tensors]
    single = out.suffix == ".safetensors"
    kind = SafetensorsWriter if single else ShardedSafetensorsWriter
    read = [*inputs, *_sources(manifest)]
    with _folder(manifest) as folder, kind(out, entries, {"format": "pt"}, read) as writer:
        seen: dict[tuple[int, int], str] = {}
        shared = []
        for tensor, plan in zip(tensors, plans, strict=True):
            raws = _Raws(manifest, folder, tensor)
            for start, data in _pieces(tensor, plan, raws, block_bytes):
                writer.write(tensor.key, start, data)
            first = raws.first()
            if first is not None and tensor.logical_bytes:
                shared += [(seen[first], tensor.key)] if first in seen else []
                seen.setdefault(first, tensor.key)
        _refuse_changed(manifest, folder)
        writer.finish()
    return Extracted(out, len(tensors), sum(entry.size_bytes for entry in entries), tuple(shared))


def _plan(tensor: Tensor) -> Overlaps:
    """Every read of a rank that wants all of the tensor, proved to be complete."""
    want = wanted(tensor.shape, _PLACED, _ALONE)
    stored = stored_boxes(tensor.shape, tensor.shards)
    reads = overlaps(tensor.shape, tensor.shards, stored, want)
    fault = fault_of(tensor.shape, tensor.shards, stored, want, reads)
    if fault is not None:
        raise InputError(f"{printable(tensor.key)}: {fault}", hint="ckptplan audit says what else is wrong")
    return reads


def _sources(manifest: Manifest) -> list[Path]:
    """What is read, and must not be written: the files, and the folder unless it is that of a single file."""
    files = [manifest.root / file.name for file in manifest.files]
    return files if len(files) == 1 else [manifest.root, *files]


def _folder(manifest: Manifest) -> CheckpointFolder:
    only = manifest.files[0].name if len(manifest.files) == 1 else None
    return CheckpointFolder(manifest.root, only)


def _refuse_changed(manifest: Manifest, folder: CheckpointFolder) -> None:
    for file in manifest.files:
        if folder.size(file.name) != file.size_bytes:
            said = f"had {file.size_bytes:,} bytes and now has {folder.size(file.name):,}"
            raise folder.refused(file.name, said, "is a save still running?")
        folder.unchanged(file.name)


class _Raws:
    """Where the shards of one tensor lie, each looked up once; those that are packed are read whole, one at a time."""

    def __init__(self, manifest: Manifest, folder: CheckpointFolder, tensor: Tensor) -> None:
        self._manifest, self._folder, self._tensor = manifest, folder, tensor
        self._raws: dict[int, Raw] = {}

    def raw(self, row: int) -> Raw:
        """One shard; it must be what the metadata says."""
        if row not in self._raws:
            self._raws[row] = raw_of(self._manifest, self._tensor, row)
        return self._raws[row]

    def name(self, raw: Raw) -> str:
        """The file of a shard."""
        return self._manifest.files[raw.file].name

    def first(self) -> tuple[int, int] | None:
        """File and place of the first element, if it is known."""
        found = next(iter(self._raws.values()), None)
        return None if found is None or found.packed else (found.file, found.offset)

    def box(self, row: int, src: Sequence[int], size: Sequence[int], into: NDArray[np.uint8]) -> None:
        """A box of a shard; of a flat one the place of its first element in the range, and its size in the tensor."""
        raw = self.raw(row)
        if self._tensor.shards.flat:
            width = BITS[raw.dtype] // 8
            strides = row_major(self._tensor.shape)
            raw = raw._replace(offset=raw.offset + src[0] * width, shape=tuple(size), strides=strides)
            src = (0,) * len(size)
        read_box(partial(self._folder.read, self.name(raw)), raw, src, size, into)

    def whole(self, row: int) -> NDArray[np.uint8]:
        """All bytes of a shard, its elements in row-major order."""
        return self._manifest.source.read(self._tensor, row)


def _pieces(tensor: Tensor, reads: Overlaps, raws: _Raws, block_bytes: int) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """The bytes of a tensor in pieces with their places in it: in order, or shard by shard if one is packed."""
    rows = [int(row) for row in np.unique(reads.rows)]
    if BITS[tensor.dtype] % 8 or any(raws.raw(row).packed for row in rows):
        yield from _by_shards(tensor, reads, raws)
    else:
        yield from _by_blocks(tensor, reads, raws, block_bytes)


def _by_blocks(
    tensor: Tensor, reads: Overlaps, raws: _Raws, block_bytes: int
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    width = BITS[tensor.dtype] // 8
    strides = np.array(row_major(tensor.shape), dtype=np.int64)
    for low, size in blocks(tensor.shape, width, block_bytes):
        block = np.empty((*size, width), dtype=np.uint8)
        first = np.maximum(reads.dst, low)
        last = np.minimum(reads.dst + reads.lengths, np.add(low, size))
        for read in np.flatnonzero((first < last).all(axis=1)).tolist():
            moved = first[read] - reads.dst[read]
            if tensor.shards.flat:
                src = [int(reads.src[read, 0] + moved @ strides)]
            else:
                src = (reads.src[read] + moved).tolist()
            lengths = (last[read] - first[read]).tolist()
            place = tuple(slice(a, a + n) for a, n in zip((first[read] - low).tolist(), lengths, strict=True))
            raws.box(int(reads.rows[read]), src, lengths, block[place])
        yield width * int(np.dot(low, strides)), block.reshape(-1)


def _by_shards(tensor: Tensor, reads: Overlaps, raws: _Raws) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Each stored shard once; its boxes row by row of the tensor, joined where the tensor has them in one piece."""
    bits = BITS[tensor.dtype]
    strides = np.array(row_major(tensor.shape), dtype=np.int64)
    for row in np.unique(reads.rows).tolist():
        data = raws.whole(row)
        own = tuple(tensor.shards.sizes[row].tolist())
        inner = strides if tensor.shards.flat else np.array(row_major(own), dtype=np.int64)
        for read in np.flatnonzero(reads.rows == row).tolist():
            size = reads.lengths[read].tolist()
            whole = tensor.shape if tensor.shards.flat else own
            cut = _contiguous(size, whole, tensor.shape)
            run = math.prod(size[cut:])
            start = int(reads.src[read, 0]) if tensor.shards.flat else int(reads.src[read] @ inner)
            at = int(reads.dst[read] @ strides)
            for outer in np.ndindex(*size[:cut]):
                a = (start + int(np.dot(outer, inner[:cut]))) * bits
                b = (at + int(np.dot(outer, strides[:cut]))) * bits
                if a % 8 or b % 8 or run * bits % 8:
                    raise InputError(f"{printable(tensor.key)}: a cut between elements of {bits} bits splits a byte")
                yield b // 8, data[a // 8 : (a + run * bits) // 8]


def _contiguous(size: Sequence[int], *wholes: Sequence[int]) -> int:
    """The first axis from which on a box is of one piece in all of the tensors it is a box of."""
    axis = max(0, len(size) - 1)
    while axis > 0 and all(size[axis] == whole[axis] for whole in wholes):
        axis -= 1
    return axis

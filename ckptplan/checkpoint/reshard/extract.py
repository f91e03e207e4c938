"""Chosen tensors of a checkpoint merged into safetensors: the plan of a single rank, carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Manifest, Mesh, Tensor
from ckptplan.checkpoint.reshard.checksums import Checksums
from ckptplan.checkpoint.reshard.overlaps import Overlaps, fault_of, overlaps, stored_boxes
from ckptplan.checkpoint.reshard.pieces import StoredShards, pieces
from ckptplan.checkpoint.reshard.placement import Replicate
from ckptplan.checkpoint.reshard.wanted import wanted
from ckptplan.checkpoint.writing.header import Entry
from ckptplan.checkpoint.writing.sharded import ShardedSafetensorsWriter
from ckptplan.checkpoint.writing.single import SafetensorsWriter
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
    compared: int  # files whose checksums were compared
    without_checksums: tuple[str, ...]  # endings of the names of files that have none


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
    *,
    overwrite: bool = False,
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
        At most so much is held of a tensor; 64 MiB if it is stored by columns, one shard if it is packed. [bytes]
    overwrite : bool
        Replace a file, or a folder of such shards, that has the name.

    Returns
    -------
    Extracted

    Raises
    ------
    InputError
        For a hole or an overlap, a type that safetensors does not have, a file that is damaged (a record unlike its
        CRC-32, too) or cannot be written.
    """
    entries = [Entry(one.key, one.dtype, one.shape) for one in tensors]
    plans = [_plan(tensor) for tensor in tensors]
    single = out.suffix == ".safetensors"
    kind = SafetensorsWriter if single else ShardedSafetensorsWriter
    read = [*inputs, *_sources(manifest)]
    with _folder(manifest) as folder, kind(out, entries, {"format": "pt"}, read, overwrite=overwrite) as writer:
        checksums = Checksums(manifest, folder)
        seen: dict[tuple[int, int, int], str] = {}
        shared = []
        for tensor, plan in zip(tensors, plans, strict=True):
            raws = StoredShards(manifest, folder, tensor)
            _write(writer, tensor, pieces(tensor, plan, raws, block_bytes))
            checksums.after(tensor)
            first = raws.first()
            if first is not None and tensor.logical_bytes:
                place = (*first, tensor.logical_bytes)
                shared += [(seen[place], tensor.key)] if place in seen else []
                seen.setdefault(place, tensor.key)
        checksums.finish()
        _refuse_changed(manifest, folder, tensors)
        writer.finish()
    size = sum(entry.size_bytes for entry in entries)
    return Extracted(out, len(tensors), size, tuple(shared), checksums.compared, checksums.without)


def _write(
    writer: SafetensorsWriter | ShardedSafetensorsWriter,
    tensor: Tensor,
    pieces: Iterator[tuple[int, NDArray[np.uint8]]],
) -> None:
    """A function of its own, so that the room of one tensor is given back before that of the next is taken."""
    for start, data in pieces:
        writer.write(tensor.key, start, data)


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


def _refuse_changed(manifest: Manifest, folder: CheckpointFolder, tensors: Sequence[Tensor]) -> None:
    """Raise if a file that was read is not as long as when the checkpoint was listed."""
    for number in sorted({int(number) for tensor in tensors for number in np.unique(tensor.shards.files)} - {-1}):
        file = manifest.files[number]
        if folder.size(file.name) != file.size_bytes:
            said = f"had {file.size_bytes:,} bytes and now has {folder.size(file.name):,}"
            raise folder.refused(file.name, said, "is a save still running?")
        folder.unchanged(file.name)

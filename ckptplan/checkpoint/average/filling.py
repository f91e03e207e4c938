"""Blocks of logical tensors, filled from shards of any layout: from the file where its bytes lie as they are."""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.average.blocks import Block
from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.manifest import Manifest, Raw, Tensor
from ckptplan.errors import InputError, Place, Problem, printable

Bytes = NDArray[np.uint8]
_MOST_OPEN = 32  # files of one checkpoint that one thread holds open


class _Piece(NamedTuple):
    """What a block and a shard share: a run of the shard, and where it goes in the block."""

    row: int
    first: int  # element of the shard
    elements: int
    into: tuple[slice, ...]  # of the block in the shape of `box`
    box: tuple[int, ...]


class BlockSource:
    """The tensors of one checkpoint, block by block; threads may share it.

    Bytes that lie row by row in a file are read from there into the buffer, with no copy between. What is packed, or
    has other strides, is read shard by shard through the source of the manifest, and kept until ``forget``.
    """

    def __init__(self, manifest: Manifest, lock: threading.Lock | None = None) -> None:
        self.manifest = manifest
        self._own = threading.local()
        self._lock = lock or threading.Lock()  # of the source of the manifest, which is for one thread at a time
        self._raws: dict[str, dict[int, Raw | None]] = {}
        self._shards: dict[str, dict[int, Bytes]] = {}
        self._opened: list[OrderedDict[int, CheckpointFolder]] = []

    def __enter__(self) -> BlockSource:
        return self

    def __exit__(self, *_: object) -> None:
        for files in self._opened:
            while files:
                files.popitem()[1].close()

    def fill(self, tensor: Tensor, block: Block, out: Bytes) -> None:
        """The bytes of a block, in row-major order; an error where the shards do not hold all of it."""
        width = BITS[tensor.dtype] // 8
        filled = 0
        for piece in _pieces(tensor, block):
            filled += piece.elements
            start = _start(piece)
            if start is not None:
                self._read(tensor, piece, out[start * width : (start + piece.elements) * width])
                continue
            held = np.empty(piece.elements * width, dtype=np.uint8)
            self._read(tensor, piece, held)
            shape = tuple(part.stop - part.start for part in piece.into)
            out.reshape(*piece.box, width)[piece.into] = held.reshape(*shape, width)
        if filled != block.elements:
            said = f"{printable(tensor.key)}: its shards hold {filled:,} of the {block.elements:,} elements of a part"
            raise InputError(Problem(said, Place(str(self.manifest.root)), hint="ckptplan audit tells what is missing"))

    def forget(self, tensor: Tensor) -> None:
        """Let go of what was kept of one tensor."""
        self._raws.pop(tensor.key, None)
        self._shards.pop(tensor.key, None)

    def _read(self, tensor: Tensor, piece: _Piece, out: Bytes) -> None:
        width = BITS[tensor.dtype] // 8
        raw = self._raw(tensor, piece.row)
        if raw is None:
            shard = self._shard(tensor, piece.row)
            out[:] = shard[piece.first * width : (piece.first + piece.elements) * width]
            return
        self._from_file(raw.file, raw.offset + piece.first * width, out)

    def _raw(self, tensor: Tensor, row: int) -> Raw | None:
        """Where the elements of a shard lie, row by row; None if they lie otherwise."""
        known = self._raws.setdefault(tensor.key, {})
        if row in known:
            return known[row]
        with self._lock:
            raw = self.manifest.source.raw(tensor, row)
        box = tuple(tensor.shards.sizes[row].tolist())
        found = raw if raw.packed is None and raw.dtype == tensor.dtype and _row_major(raw) else None
        if found is not None and math.prod(raw.shape) != math.prod(box):
            said = f"{printable(tensor.key)}: a shard of {box} is stored as {raw.shape}"
            raise InputError(Problem(said, self._place(raw.file), hint="ckptplan audit tells which shards differ"))
        known[row] = found
        return found

    def _shard(self, tensor: Tensor, row: int) -> Bytes:
        with self._lock:
            kept = self._shards.setdefault(tensor.key, {})
            if row not in kept:
                kept[row] = self.manifest.source.read(tensor, row)
            shard = kept[row]
        expected = int(tensor.shards.sizes[row].prod()) * BITS[tensor.dtype] // 8
        if shard.size != expected:
            said = f"{printable(tensor.key)}: a shard of {expected:,} bytes holds {shard.size:,}"
            raise InputError(
                Problem(said, self._place(int(tensor.shards.files[row])), hint="ckptplan audit tells more")
            )
        return shard

    def _from_file(self, file: int, offset: int, out: Bytes) -> None:
        handle = self._folder(file).open(self.manifest.files[file].name).fileno()
        view, at = out.data, offset
        try:
            while view:
                read = os.preadv(handle, [view], at)
                if not read:
                    break
                view, at = view[read:], at + read
        except OSError as error:
            said = f"cannot be read: {error.strerror or error}"
            raise InputError(Problem(said, self._place(file), hint="is the storage at hand?")) from None
        if view:
            raise InputError(
                Problem(
                    f"ends {len(view):,} bytes before what it should hold",
                    self._place(file),
                    hint="the file is cut off, or a clean-up is running",
                )
            )

    def _folder(self, file: int) -> CheckpointFolder:
        """The folder with this one file in it: each thread has its own, so that none closes what another reads."""
        files: OrderedDict[int, CheckpointFolder] | None = getattr(self._own, "files", None)
        if files is None:
            files = self._own.files = OrderedDict()
            self._opened.append(files)
        folder = files.pop(file, None)
        if folder is None:
            listed = self.manifest.files[file]
            folder = CheckpointFolder(self.manifest.root, only=listed.name)
            if folder.size(listed.name) != listed.size_bytes:
                said = f"had {listed.size_bytes:,} bytes and now has {folder.size(listed.name):,}"
                raise folder.refused(listed.name, said, "is a save still running?")
            if len(files) >= _MOST_OPEN:
                files.popitem(last=False)[1].close()
        files[file] = folder
        return folder

    def _place(self, file: int) -> Place:
        name = self.manifest.files[file].name if 0 <= file < len(self.manifest.files) else "?"
        return Place(str(self.manifest.root / printable(name)))


def _row_major(raw: Raw) -> bool:
    expected = 1
    for length, stride in zip(reversed(raw.shape), reversed(raw.strides), strict=True):
        if length > 1 and stride != expected:
            return False
        expected *= max(1, length)
    return True


def _start(piece: _Piece) -> int | None:
    """The first element of the block that a piece fills, if it fills one run of it."""
    start, whole = 0, True  # of all axes after the one that is looked at
    behind = 1
    for part, length in zip(reversed(piece.into), reversed(piece.box), strict=True):
        taken = part.stop - part.start
        if not whole and taken > 1:
            return None
        whole = whole and taken == length
        start += part.start * behind
        behind *= length
    return start


def _pieces(tensor: Tensor, block: Block) -> list[_Piece]:
    """What each shard has of a block."""
    shards = tensor.shards
    if shards.flat or not tensor.shape:
        lower, upper = np.array([block.start]), np.array([block.stop])
        offsets = shards.offsets.reshape(shards.number, -1) if shards.flat else np.zeros((shards.number, 1), np.int64)
        sizes = shards.sizes.reshape(shards.number, -1) if shards.flat else np.ones((shards.number, 1), np.int64)
        if sizes.shape[1] == 0:  # a flat scalar
            offsets, sizes = np.zeros((shards.number, 1), np.int64), np.ones((shards.number, 1), np.int64)
    else:
        lower, upper, offsets, sizes = np.array(block.lower), np.array(block.upper), shards.offsets, shards.sizes
    low, high = np.maximum(lower, offsets), np.minimum(upper, offsets + sizes)
    found = np.flatnonzero((high > low).all(axis=1)).tolist()
    box = tuple((upper - lower).tolist())
    pieces = []
    for row in found:
        within, lengths = (low[row] - offsets[row]).tolist(), (high[row] - low[row]).tolist()
        first = 0
        for at, length in zip(within, sizes[row].tolist(), strict=True):
            first = first * length + at
        starts = (low[row] - lower).tolist()
        into = tuple(slice(start, start + length) for start, length in zip(starts, lengths, strict=True))
        pieces.append(_Piece(row, first, math.prod(lengths), into, box))
    return pieces

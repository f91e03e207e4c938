"""The stored items behind the manifest of a DCP checkpoint: each is a whole archive of torch.save."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.archives.elements import read_elements
from ckptplan.checkpoint.archives.foreign import hostile
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.archives.torch_file import TorchFile, read_torch
from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp.unpacked import StreamedItem
from ckptplan.checkpoint.manifest import File, Object, Raw, Tensor
from ckptplan.errors import InputError, Place, Problem, printable

LARGEST_OBJECT = 256 << 20  # bytes of an unpacked object
_ARCHIVE = 1 << 20  # bytes that an archive takes beside its data, generously
_HINT = "the file is damaged, or the metadata is of another save"


class Item(NamedTuple):
    """One stored item: a part of a file."""

    file: int  # index of Manifest.files, -1: nowhere
    offset: int  # bytes
    length: int  # bytes
    packed: str | None
    most_bytes: int  # that it may hold unpacked


class OpenItem(NamedTuple):
    """An item with its archive read; ``folder`` is where its bytes are, which for packed ones is memory."""

    folder: CheckpointFolder
    archive: TorchFile
    packed: str | None


class DcpSource:
    """Opens items at the places that the metadata gives."""

    def __init__(self, folder: CheckpointFolder, files: tuple[File, ...], packings: Mapping[str, str]) -> None:
        self._folder = folder
        self._files = files
        self._packings = packings  # by key, of what is packed
        self._last: tuple[Item, OpenItem] | None = None

    def item(self, tensor: Tensor, row: int) -> Item:
        """The item of one shard."""
        shards = tensor.shards
        elements = 1
        for size in shards.sizes[row].tolist():
            elements *= max(0, size)
        length = int(shards.item_bytes[row])
        most = elements * BITS[tensor.dtype] // 8 + _ARCHIVE
        return Item(int(shards.files[row]), int(shards.item_offsets[row]), length, self._packings.get(tensor.key), most)

    def item_of_object(self, entry: Object) -> Item:
        """The item of an object."""
        return Item(entry.file, entry.item_offset, entry.item_bytes, self._packings.get(entry.key), LARGEST_OBJECT)

    def opened(self, item: Item, key: str) -> OpenItem:
        """An item with its archive read; the last one is kept, since what lies in it is asked for next."""
        if self._last is not None and self._last[0] == item:
            return self._last[1]
        if item.file < 0:
            raise self._wrong(key, item, "stored in no file that is there", "is the copy complete?")
        name = self._files[item.file].name
        folder, start, length = self._folder, item.offset, item.length
        if item.packed == "zstd":
            folder = StreamedItem(self._folder, name, start, length, item.most_bytes)
            start, length = 0, folder.size(name)
        elif item.packed is not None:
            message = f"packed by {printable(item.packed)[:80]}, which is none that can be read"
            raise self._wrong(key, item, message, "load it with torch and save it without transforms")
        found = OpenItem(folder, read_torch(folder, name, start, length), item.packed)
        self._last = (item, found)
        return found

    def stored(self, tensor: Tensor, row: int) -> StoredTensor:
        """The tensor that a shard's item holds, by the item's own description."""
        item = self.item(tensor, row)
        found = self.opened(item, tensor.key).archive.value
        if not isinstance(found, StoredTensor):
            raise self._wrong(tensor.key, item, "the item holds no plain tensor", _HINT)
        return found

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Where the elements of a shard lie."""
        stored = self.stored(tensor, row)
        packed = self._packings.get(tensor.key) or ("deflate" if stored.deflated_bytes is not None else None)
        return Raw(
            int(tensor.shards.files[row]),
            stored.data_offset,
            stored.dtype,
            stored.shape,
            stored.strides,
            packed,
            stored.storage_bytes,
        )

    def read(self, tensor: Tensor, row: int) -> NDArray[np.uint8]:
        """The bytes of a shard in row-major order; an error where the item is unlike the metadata."""
        stored = self.stored(tensor, row)
        expected = tuple(tensor.shards.sizes[row].tolist())
        if stored.dtype != tensor.dtype or stored.shape != expected:
            message = f"the item holds {stored.dtype} {list(stored.shape)}, not {tensor.dtype} {list(expected)}"
            raise self._wrong(tensor.key, self.item(tensor, row), message, _HINT)
        return read_elements(self.opened(self.item(tensor, row), tensor.key).folder, stored)

    def value(self, entry: Object) -> Any:
        """An object as inert values; an error that says what reading it with torch would call."""
        item = self.item_of_object(entry)
        archive = self.opened(item, entry.key).archive
        harmful = hostile(archive.foreign)
        if harmful:
            message = f"loading it with torch would call {listed(harmful)}"
            raise self._wrong(entry.key, item, message, "do not load it; ask where the checkpoint comes from")
        return archive.value

    def _wrong(self, key: str, item: Item, message: str, hint: str) -> InputError:
        name = self._files[item.file].name if item.file >= 0 else ""
        place = Place(str(self._folder.root / printable(name)))
        return InputError(Problem(message, place, key=printable(key)[:200], hint=hint))


def listed(names: tuple[Any, ...], most: int = 3) -> str:
    """The first few names, for a message."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(ascii(str(name))[1:-1][:80] for name in names[:most]) + more

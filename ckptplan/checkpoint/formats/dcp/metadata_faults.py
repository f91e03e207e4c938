"""Faults that reading the metadata brings to light: what does not fit together, told for the first few of each kind."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ckptplan.checkpoint.formats.dcp.metadata_content import Content
from ckptplan.checkpoint.formats.dcp.metadata_join import Joined, overlapping
from ckptplan.checkpoint.formats.dcp.metadata_tables import Storage
from ckptplan.checkpoint.manifest import Fault, Flaw, Ints

MOST_TOLD = 20  # of one kind


class Faults:
    """Faults of one metadata file."""

    def __init__(self, content: Content, where: str) -> None:
        self._content = content
        self._names = content.names.texts()
        self._where = where
        self.found: list[Fault] = []

    def _add(self, flaw: Flaw, sentences: Iterable[tuple[str, str]], number: int, what: str) -> None:
        """Faults of one kind: sentences with their keys; how many there are, and their name."""
        for count, (message, key) in enumerate(sentences):
            if count == MOST_TOLD:
                self.found.append(Fault(flaw, f"{number - count:,} more {what}", self._where))
                return
            self.found.append(Fault(flaw, message, self._where, key))

    def of_join(self, found: Joined, keys: Ints, offsets: Ints, storage: Storage) -> None:
        """Chunks and entries that have no partner, or more than one."""
        names = self._names
        missing = np.flatnonzero(found.entries < 0)
        lost = ((f"no storage entry for the chunk at {_at(offsets[row])}", names[keys[row]]) for row in missing)
        self._add(Flaw.MISSING_ENTRY, lost, len(missing), "chunks without a storage entry")
        twice = ((f"two chunks at {_at(offsets[row])}, one stored item", names[keys[row]]) for row in found.shared)
        self._add(Flaw.OVERLAP, twice, len(found.shared), "chunks that have their item from another")
        again = ((f"two storage entries for {_at(storage.offsets[r])}", names[storage.keys[r]]) for r in found.repeated)
        self._add(Flaw.CORRUPT, again, len(found.repeated), "storage entries for the same chunk")
        unlisted = (
            (self._unlisted(int(storage.keys[row]), storage.offsets[row]), names[storage.keys[row]])
            for row in found.unlisted
        )
        self._add(Flaw.CORRUPT, unlisted, len(found.unlisted), "storage entries of chunks that are not listed")

    def _unlisted(self, key: int, offset: Ints | None) -> str:
        if key >= self._content.listed:
            return "a storage entry of a key that is not listed"
        if offset is None:
            return "a storage entry without an offset, and a tensor of this name"
        return f"a storage entry for {_at(offset)}, where no chunk is listed"

    def of_objects(self, missing: list[str], unlisted: list[int], repeated: list[int]) -> None:
        """Objects without an entry, and entries without an object."""
        lost = (("no storage entry for this object", key) for key in missing)
        self._add(Flaw.MISSING_ENTRY, lost, len(missing), "objects without a storage entry")
        foreign = ((self._unlisted(key, None), self._names[key]) for key in unlisted)
        self._add(Flaw.CORRUPT, foreign, len(unlisted), "storage entries of objects that are not listed")
        again = (("two storage entries for this object", self._names[key]) for key in repeated)
        self._add(Flaw.CORRUPT, again, len(repeated), "storage entries for the same object")

    def of_places(self) -> None:
        """Items at places that no file has, items that share bytes, and boxes with negative numbers."""
        # By the number of axes: of two items at one place the later is told, whichever was read first.
        tables = [table for _, table in sorted(self._content.storage.items())]
        if tables:
            columns = ("keys", "files", "item_offsets", "item_bytes")
            self._items(*(np.concatenate([getattr(table, column) for table in tables]) for column in columns))
        for chunks in self._content.chunks.values():
            below = np.flatnonzero((chunks.offsets < 0).any(axis=1) | (chunks.sizes < 0).any(axis=1))
            negative = (
                (f"a chunk at {_at(chunks.offsets[r])}, sizes {tuple(chunks.sizes[r].tolist())}", "") for r in below
            )
            self._add(Flaw.CORRUPT, negative, len(below), "chunks with negative numbers")

    def _items(self, keys: Ints, files: Ints, starts: Ints, sizes: Ints) -> None:
        names, paths = self._names, self._content.files
        below = np.flatnonzero((starts < 0) | (sizes < 0))
        negative = ((f"an item of {sizes[row]:,} bytes at {starts[row]:,}", names[keys[row]]) for row in below)
        self._add(Flaw.CORRUPT, negative, len(below), "items at negative places")
        twice = overlapping(files, starts, sizes)
        shared = (
            (f"its item at byte {starts[row]:,} of {paths[files[row]]} shares bytes with another", names[keys[row]])
            for row in twice
        )
        self._add(Flaw.OVERLAP, shared, len(twice), "items that share bytes with others")


def _at(offset: Ints) -> str:
    return f"offset {tuple(offset.tolist())}"

"""Checksums of the records that an extraction reads, held against the data: while they are still in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

import numpy as np

from ckptplan.checkpoint.archives.zip_records import Record, checksum_fits, has_checksums, read_records
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp.items import check_crc
from ckptplan.checkpoint.manifest import Manifest, Tensor
from ckptplan.errors import InputError, Place, Problem, printable

BATCH_BYTES = 256 << 20  # of tensors that are checked together
MOST_PROBLEMS = 20
_ITEMS, _ZIP, _ZSTD = ".distcp", b"PK\x03\x04", b"\x28\xb5\x2f\xfd"
_HINT = "the data has changed since it was written: copy the file again, or take another checkpoint"


class Checksums:
    """The CRC-32 of archived records, compared in batches; what has none is noted by the names of its files."""

    def __init__(self, manifest: Manifest, folder: CheckpointFolder, batch_bytes: int = BATCH_BYTES) -> None:
        self._manifest, self._folder, self._batch_bytes = manifest, folder, batch_bytes
        self._waiting: list[Tensor] = []
        self._bytes = 0
        self._records: dict[int, dict[str, Record]] = {}  # of files that are one archive; empty: without checksums
        self._seen: set[tuple[int, int]] = set()
        self.compared = 0  # files with checksums
        self.without: tuple[str, ...] = ()  # kinds of files without any, by the endings of their names
        self._files: dict[int, bool] = {}

    def after(self, tensor: Tensor) -> None:
        """A tensor that has been read."""
        self._waiting.append(tensor)
        self._bytes += tensor.logical_bytes
        if self._bytes >= self._batch_bytes:
            self.finish()

    def finish(self) -> None:
        """Check what is left; raises for every record that is unlike its checksum."""
        tensors, self._waiting, self._bytes = self._waiting, [], 0
        files = {int(file) for tensor in tensors for file in np.unique(tensor.shards.files)} - {-1}
        problems = [*self._of_items(tensors, files), *self._of_archives(tensors, files)]
        names = [PurePosixPath(self._manifest.files[file].name) for file, has in self._files.items() if not has]
        self.without = tuple(sorted({name.suffix or "other" for name in names}))
        self.compared = sum(self._files.values())
        if problems:
            raise InputError(problems[:MOST_PROBLEMS])

    def _of_items(self, tensors: list[Tensor], files: set[int]) -> Iterator[Problem]:
        """Items of DCP: an archive for each shard of a tensor."""
        inside = {file for file in files if self._manifest.files[file].name.endswith(_ITEMS)}
        for tensor in tensors:
            for file in inside - self._files.keys():
                self._look(tensor, file)
        if not inside:
            return
        listed = tuple(
            file if number in inside else file._replace(size_bytes=0)
            for number, file in enumerate(self._manifest.files)
        )
        only = self._manifest._replace(tensors=tuple(tensors), objects=(), files=listed)
        for fault in check_crc(only):
            yield Problem(fault.message, self._place(fault.file or ""), key=fault.key, hint=fault.hint)

    def _of_archives(self, tensors: list[Tensor], files: set[int]) -> Iterator[Problem]:
        """Files that are one archive: the records that hold these tensors."""
        for file in sorted(files):
            name = self._manifest.files[file].name
            if name.endswith(_ITEMS):
                continue
            records = self._listed(file)
            self._files[file] = bool(records)
            starts = np.array(sorted({record.offset for record in records.values()}), dtype=np.int64)
            places = {offset for tensor in tensors for offset in _places(tensor, file)}
            wanted = {int(starts[at - 1]) for at in np.searchsorted(starts, sorted(places), side="right") if at}
            for key, record in records.items():
                if record.offset not in wanted or (file, record.offset) in self._seen:
                    continue
                self._seen.add((file, record.offset))
                if not checksum_fits(self._folder, name, record):
                    said = f"the record {printable(key[:80])} at byte {record.offset:,} is not what its CRC-32 says"
                    yield Problem(said, self._place(name), hint=_HINT)

    def _look(self, tensor: Tensor, file: int) -> None:
        """Whether a file of items has checksums, by one of its items; what is packed is archived inside."""
        shards = tensor.shards
        rows = np.flatnonzero((shards.files == file) & (shards.item_offsets >= 0))
        if len(rows):
            at, length = int(shards.item_offsets[rows[0]]), int(shards.item_bytes[rows[0]])
            records = self._read(file, at, length)
            packed = self._folder.read(self._manifest.files[file].name, at, len(_ZSTD)) == _ZSTD
            self._files[file] = packed if records is None else has_checksums(records)

    def _listed(self, file: int) -> dict[str, Record]:
        if file not in self._records:
            found = self._read(file, 0, self._manifest.files[file].size_bytes) or {}
            kept = found if has_checksums(found) else {}
            self._records[file] = {name: record for name, record in kept.items() if record.size_bytes}
        return self._records[file]

    def _read(self, file: int, at: int, length: int) -> dict[str, Record] | None:
        """The records of an archive, None for what is no archive."""
        name = self._manifest.files[file].name
        zipped = length >= len(_ZIP) and self._folder.read(name, at, len(_ZIP)) == _ZIP
        return read_records(self._folder, name, at, length) if zipped else None

    def _place(self, name: str) -> Place:
        return Place(str(self._manifest.root / printable(name)))


def _places(tensor: Tensor, file: int) -> Iterator[int]:
    """Where in a file the elements of a tensor begin, shard by shard; -1 is not known, and is before any record."""
    shards = tensor.shards
    yield from shards.data_offsets[(shards.files == file) & (shards.sizes > 0).all(axis=1)].tolist()

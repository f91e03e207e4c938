"""The central directory of a zip archive: found from the archive's end, which must fit what stands before it."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ckptplan.checkpoint.folder import CheckpointFolder

MOST_RECORDS = 500_000
LARGEST_DIRECTORY = 128 << 20  # bytes
DAMAGED = "the file is cut off or damaged; copy it again or take an older one"
_LONGEST_TAIL = 22 + 0xFFFF  # the end record and the longest comment
_SMALLEST_ENTRY = 46  # bytes of a record in the directory

_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")


class Directory(NamedTuple):
    """Where the central directory lies in the file."""

    offset: int
    size_bytes: int
    entries: int


def find_directory(folder: CheckpointFolder, name: str, start: int, end: int) -> Directory:
    """The end of the archive: where its central directory is."""
    tail_start = max(start, end - _LONGEST_TAIL)
    tail = folder.read(name, tail_start, end - tail_start)
    at = tail.rfind(b"PK\x05\x06")
    while at >= 0 and at + 22 + int.from_bytes(tail[at + 20 : at + 22].ljust(2, b"\xff"), "little") != len(tail):
        at = tail.rfind(b"PK\x05\x06", 0, at)
    if at < 0:
        raise folder.refused(name, "the end of the zip archive is missing", DAMAGED)
    _, disk, first_disk, here, entries, size_bytes, offset, _ = _END.unpack_from(tail, at)
    closes = tail_start + at  # the directory ends here, unless a zip64 end stands between
    if closes - start >= _LOCATOR.size + _END64.size:
        locator = folder.read(name, closes - _LOCATOR.size, _LOCATOR.size)
        if locator[:4] == b"PK\x06\x07":
            closes, disk, first_disk, here, entries, size_bytes, offset = _end64(folder, name, start, locator, closes)
    if disk or first_disk or here != entries:
        raise folder.refused(name, "a zip archive over several files", "only single archives are read")
    if start + offset + size_bytes != closes:
        raise folder.refused(name, "the zip archive's directory is not where its end says", DAMAGED)
    if entries > MOST_RECORDS or size_bytes > LARGEST_DIRECTORY or entries * _SMALLEST_ENTRY > size_bytes:
        message = f"a zip directory of {entries:,} records in {size_bytes:,} bytes"
        raise folder.refused(name, message, f"at most {MOST_RECORDS:,} records are read")
    return Directory(start + offset, size_bytes, entries)


def _end64(
    folder: CheckpointFolder, name: str, start: int, locator: bytes, closes: int
) -> tuple[int, int, int, int, int, int, int]:
    """The zip64 end: its place, two disk numbers, entries here and in all, size and offset of the directory."""
    at = start + _LOCATOR.unpack(locator)[2]
    if not start <= at <= closes - _LOCATOR.size - _END64.size:
        raise folder.refused(name, "the zip64 end of the archive is not where it should be", DAMAGED)
    end = _END64.unpack(folder.read(name, at, _END64.size))
    if end[0] != b"PK\x06\x06" or at + 12 + end[1] != closes - _LOCATOR.size:
        raise folder.refused(name, "the zip64 end of the archive is damaged", DAMAGED)
    return at, *end[4:10]

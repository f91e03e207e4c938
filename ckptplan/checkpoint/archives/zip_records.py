"""Records of a zip archive that lies anywhere in a file, by its central directory; every claim is checked first.

torch writes local headers with zero sizes and checksums (flag bit 3), so sizes come from the central directory and the
place of the data from the local header. Archives are stored without packing; packed records are read up to a bound.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from ckptplan.checkpoint.archives.zip_directory import DAMAGED, Directory, find_directory
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.errors import printable

_LONGEST_NAME = 4096
_PIECE = 1 << 20
_MARKED = 0xFFFFFFFF  # the real value is in the zip64 extension
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x2041  # flag bits: encrypted, strongly, with masked headers

_ENTRY = struct.Struct("<4s6H3I5H2I")
_LOCAL = struct.Struct("<4s5H3I2H")


class Record(NamedTuple):
    """One record of an archive."""

    offset: int  # of its data in the file, bytes
    size_bytes: int  # unpacked
    crc: int  # CRC-32 of the unpacked data
    packed_bytes: int  # in the file
    deflated: bool = False


class _Entry(NamedTuple):
    """A record by the central directory; ``header`` is the place of its local header in the file."""

    name: str
    raw_name: bytes
    header: int
    size_bytes: int
    packed_bytes: int
    crc: int
    deflated: bool


def read_records(folder: CheckpointFolder, name: str, start: int = 0, length: int | None = None) -> dict[str, Record]:
    """The records of the zip archive in [start, start + length) of a file, by their names.

    Parameters
    ----------
    folder : CheckpointFolder
        Where the file is.
    name : str
        The file.
    start : int
        Where the archive begins. [bytes]
    length : int, optional
        How long it is; to the end of the file if not given. [bytes]

    Returns
    -------
    dict of str to Record

    Raises
    ------
    InputError
        If there is no archive, or its parts contradict each other.
    """
    size = folder.size(name)
    end = size if length is None else start + length
    if not 0 <= start <= end <= size:
        raise folder.refused(name, f"an archive at bytes {start:,} to {end:,} of a file of {size:,}", DAMAGED)
    directory = find_directory(folder, name, start, end)
    entries = list(_entries(folder, name, directory, start))
    _check_apart(folder, name, entries, directory)
    found: dict[str, Record] = {}
    for entry in entries:
        if entry.name in found:
            raise folder.refused(name, f"the record {_shown(entry.name)} stands twice in the archive", DAMAGED)
        found[entry.name] = _record(folder, name, entry, directory.offset)
    return found


def read_record(folder: CheckpointFolder, name: str, record: Record, most_bytes: int) -> bytes:
    """The unpacked data of one record, if it has at most so many bytes."""
    if record.size_bytes > most_bytes:
        message = f"a record of {record.size_bytes:,} bytes where at most {most_bytes:,} are read"
        raise folder.refused(name, message, "is this a checkpoint?")
    packed = folder.read(name, record.offset, record.packed_bytes)
    return packed if not record.deflated else b"".join(_inflated(folder, name, record, iter((packed,))))


def has_checksums(records: Mapping[str, Record]) -> bool:
    """Whether an archive was written with checksums: torch.serialization.set_crc32_options(False) leaves 0 in all."""
    return any(record.crc for record in records.values())


def checksum_fits(folder: CheckpointFolder, name: str, record: Record) -> bool:
    """Whether the CRC-32 of a record's data is the one in the archive; read in pieces."""
    places = range(record.offset, record.offset + record.packed_bytes, _PIECE)
    end = record.offset + record.packed_bytes
    pieces = (folder.read(name, at, min(_PIECE, end - at)) for at in places)
    crc = 0
    for piece in _inflated(folder, name, record, pieces) if record.deflated else pieces:
        crc = zlib.crc32(piece, crc)
    return crc == record.crc


def _entries(folder: CheckpointFolder, name: str, directory: Directory, start: int) -> Iterator[_Entry]:
    data = folder.read(name, directory.offset, directory.size_bytes)
    at = 0
    for _ in range(directory.entries):
        if at + _ENTRY.size > len(data):
            raise folder.refused(name, "the zip directory ends within a record", DAMAGED)
        fields = _ENTRY.unpack_from(data, at)
        lengths = fields[10:13]
        following = at + _ENTRY.size + sum(lengths)
        if fields[0] != b"PK\x01\x02" or following > len(data):
            raise folder.refused(name, "the zip directory is damaged", DAMAGED)
        names = at + _ENTRY.size
        extra = data[names + lengths[0] : names + lengths[0] + lengths[1]]
        found = _entry(folder, name, fields, data[names : names + lengths[0]], extra)
        yield found._replace(header=start + found.header)
        at = following
    if at != len(data):
        raise folder.refused(name, "the zip directory is longer than its records", DAMAGED)


def _entry(folder: CheckpointFolder, name: str, fields: tuple[int, ...], raw_name: bytes, extra: bytes) -> _Entry:
    flags, method, crc, packed, size, disk, header = (*fields[3:5], *fields[7:10], fields[13], fields[16])
    record = _name(folder, name, raw_name)
    if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED):
        message = f"the record {_shown(record)} is encrypted or packed in an unknown way"
        raise folder.refused(name, message, "stored and deflated records are read")
    if _MARKED in (size, packed, header):
        size, packed, header = _extension(folder, name, extra, (size, packed, header))
    if disk not in (0, 0xFFFF) or (method == _STORED and packed != size):
        raise folder.refused(name, f"the record {_shown(record)} contradicts itself", DAMAGED)
    return _Entry(record, raw_name, header, size, packed, crc, method == _DEFLATED)


def _name(folder: CheckpointFolder, name: str, raw: bytes) -> str:
    try:
        found = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise folder.refused(name, "a record of the archive has a name that is not UTF-8", DAMAGED) from None
    parts = found.split("/")
    if not found or len(raw) > _LONGEST_NAME or ".." in parts or parts[0] == "" or "\0" in found or "\\" in found:
        message = f"the archive names a record {_shown(found)}"
        raise folder.refused(name, message, "such names lead out of a folder: torch.save writes none")
    return found


def _extension(folder: CheckpointFolder, name: str, extra: bytes, values: tuple[int, int, int]) -> tuple[int, int, int]:
    """Unpacked size, packed size and place, those from the zip64 extension that are marked to be there."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            held = extra[at + 4 : at + 4 + length]
            whole = [int.from_bytes(held[k : k + 8], "little") for k in range(0, len(held) - 7, 8)]
            marked = sum(value == _MARKED for value in values)
            if len(whole) >= marked:
                rest = iter(whole)
                size, packed, header = (next(rest) if value == _MARKED else value for value in values)
                return size, packed, header
        at += 4 + length
    raise folder.refused(name, "a record of the archive lacks its 64-bit sizes", DAMAGED)


def _check_apart(folder: CheckpointFolder, name: str, entries: list[_Entry], directory: Directory) -> None:
    """Raise where records lie over each other or over the directory: what small bombs are made of."""
    ordered = sorted(entries, key=lambda entry: entry.header)
    ends = [entry.header + _LOCAL.size + len(entry.raw_name) + entry.packed_bytes for entry in ordered]
    for end, (entry, following) in zip(ends, pairwise([*ordered, None]), strict=True):
        if entry is not None and end > (directory.offset if following is None else following.header):
            raise folder.refused(name, f"the record {_shown(entry.name)} lies over what follows it", DAMAGED)


def _record(folder: CheckpointFolder, name: str, entry: _Entry, limit: int) -> Record:
    """The record behind its local header, which must be there and of the same name."""
    local = folder.read(name, entry.header, _LOCAL.size + len(entry.raw_name))
    fields = _LOCAL.unpack_from(local)
    if fields[0] != b"PK\x03\x04" or local[_LOCAL.size :] != entry.raw_name or fields[9] != len(entry.raw_name):
        raise folder.refused(name, f"the record {_shown(entry.name)} is not where the directory says", DAMAGED)
    offset = entry.header + len(local) + fields[10]
    if offset + entry.packed_bytes > limit:
        raise folder.refused(name, f"the record {_shown(entry.name)} goes on into the directory", DAMAGED)
    return Record(offset, entry.size_bytes, entry.crc, entry.packed_bytes, entry.deflated)


def _inflated(folder: CheckpointFolder, name: str, record: Record, packed: Iterator[bytes]) -> Iterator[bytes]:
    """Unpacked pieces, never more than the record is said to hold."""
    unpacker, left = zlib.decompressobj(-15), record.size_bytes
    for piece in packed:
        data = piece
        while data:
            try:
                found = unpacker.decompress(data, min(_PIECE, left + 1))
            except zlib.error:
                raise folder.refused(name, "a packed record cannot be unpacked", DAMAGED) from None
            left -= len(found)
            if left < 0:
                raise folder.refused(name, "a packed record holds more than the archive says", DAMAGED)
            yield found
            data = unpacker.unconsumed_tail
    if left or not unpacker.eof:
        raise folder.refused(name, "a packed record holds less than the archive says", DAMAGED)


def _shown(name: str) -> str:
    return ascii(printable(name[:80]))

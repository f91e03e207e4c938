"""Streams of torch.save before 1.6: five pickles one after another, then the storages as they are in memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from ckptplan.checkpoint.archives.resolving import resolved
from ckptplan.checkpoint.archives.storages import Storage, Tensors
from ckptplan.checkpoint.archives.stored import MOST, OF_STORAGE
from ckptplan.checkpoint.archives.zip_records import Record
from ckptplan.checkpoint.dtypes import size_bytes
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.pickles.loading import load_pickle
from ckptplan.checkpoint.pickles.values import Built, Global, Loaded, Reference
from ckptplan.errors import InputError

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
_MAGIC_BYTES = MAGIC.to_bytes(10, "little")
_LARGEST_FRONT = 256 << 20  # bytes of the pickles before the data
_FIRST_FRONT = 1 << 20
_HINT = "the file is damaged; copy it again or take an older one"


class _Front(NamedTuple):
    """The pickles of a stream."""

    value: Any
    foreign: tuple[Global, ...]
    keys: list[Any]
    end: int  # bytes from the beginning of the stream


def is_legacy(head: bytes) -> bool:
    """Whether a file begins with the pickled magic number."""
    return head.startswith(b"\x80") and _MAGIC_BYTES in head[:16]


def read_legacy(
    folder: CheckpointFolder, name: str, start: int, end: int, allowed: frozenset[tuple[str, str]] | None
) -> tuple[Any, tuple[Global, ...], dict[str, Record]]:
    """Values, foreign names and storages of one stream."""
    front = _front(folder, name, start, end, allowed)
    kinds = _kinds(front.value)
    records: dict[str, Record] = {}
    at = start + front.end
    for key in front.keys:
        if str(key) not in kinds or str(key) in records:
            raise folder.refused(name, f"the storage {str(key)[:40]!a} belongs to no tensor or stands twice", _HINT)
        dtype = OF_STORAGE[kinds[str(key)]]
        elements = int.from_bytes(folder.read(name, at, 8), "little")
        length = size_bytes(dtype, elements)
        if elements > MOST or at + 8 + length > end:
            raise folder.refused(name, f"a storage of {length:,} bytes goes on beyond the end of the file", _HINT)
        records[str(key)] = Record(at + 8, length, 0, length)
        at += 8 + length
    tensors = Tensors(folder, name, {key: Storage(found.offset, found.size_bytes) for key, found in records.items()})
    return resolved(front.value, tensors.resolved, tensors.whole), front.foreign, records


def _front(
    folder: CheckpointFolder, name: str, start: int, end: int, allowed: frozenset[tuple[str, str]] | None
) -> _Front:
    """The pickles; more of the file is read as long as they seem to be cut off."""
    length = _FIRST_FRONT
    while True:
        data = folder.read(name, start, min(length, end - start))
        try:
            return _pickles(folder, name, data, allowed)
        except InputError:
            if len(data) == end - start or length >= _LARGEST_FRONT:
                raise
            length *= 16


def _pickles(folder: CheckpointFolder, name: str, data: bytes, allowed: frozenset[tuple[str, str]] | None) -> _Front:
    where, at = str(folder.root / name), 0
    found: list[Loaded] = []
    for number in range(5):
        found.append(load_pickle(data, where, allowed if number == 3 else frozenset(), start=at))
        at = found[-1].end
        if number == 1 and (found[0].value != MAGIC or found[1].value != PROTOCOL):
            raise folder.refused(name, "a stream of an unknown version", "load it with torch and save it again")
    system, keys = found[2].value, found[4].value
    if not isinstance(system, dict) or not isinstance(keys, list):
        raise folder.refused(name, "a stream without a list of storages", _HINT)
    if system.get("little_endian") is False:
        raise folder.refused(name, "written by a big-endian machine", "load it with torch and save it again")
    return _Front(found[3].value, found[3].foreign, keys, at)


def _kinds(value: Any) -> dict[str, str]:
    """The class of every storage that the object refers to, by its key."""
    found: dict[str, str] = {}
    seen: set[int] = set()
    todo = [value]
    while todo:
        here = todo.pop()
        if isinstance(here, Reference):
            of = here.id
            storage = isinstance(of, tuple) and len(of) > 2 and of[0] == "storage" and isinstance(of[1], Global)
            if storage and of[1].name in OF_STORAGE:
                found.setdefault(str(of[2]), of[1].name)
        elif isinstance(here, dict | list | tuple | Built) and id(here) not in seen:
            seen.add(id(here))
            todo.extend(_held(here))
    return found


def _held(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, Built):
        return [*value.args, value.state, *value.items, *value.pairs.values()]
    return [] if isinstance(value, Global) else list(value)

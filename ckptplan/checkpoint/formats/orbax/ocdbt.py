"""OCDBT, the database of tensorstore that Orbax writes: manifest, B+tree nodes, and where every value lies.

The format is described in tensorstore's documentation (kvstore/ocdbt, "storage format"). A manifest or node is magic,
length, version, compression and body, then a CRC-32C. Numbers stand in columns of varints.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax.compression import unzstd
from ckptplan.checkpoint.formats.orbax.stores import Store, Value
from ckptplan.checkpoint.formats.orbax.varints import LARGEST, Cursor, Malformed

MANIFEST_MAGIC = bytes.fromhex("0cdb3a2a")
NODE_MAGIC = bytes.fromhex("0cdb20de")
MOST_NODE_BYTES = 128 << 20  # Orbax allows nodes of 100 MB
MOST_DECODED_BYTES = 512 << 20
MOST_RATIO = 200  # of decoded to stored bytes; keys that count up compress 50 times at most
MOST_KEYS = 4_000_000
DEEPEST = 32

_HEAD = 14  # magic, length, version and compression, each of the last two one byte
_NUMBERED = re.compile(r"manifest\.[0-9a-f]{16}")


class _Place(NamedTuple):
    """A node: which file, where, and the folder against which its own file names are read."""

    file: str
    base: str
    offset: int
    length: int


def _whole(folder: CheckpointFolder, name: str) -> _Place:
    return _Place(name, "", 0, folder.size(name))


class _Budget:
    """What has been decoded so far."""

    def __init__(self) -> None:
        self.decoded_bytes = 0
        self.keys = 0

    def spend(self, decoded_bytes: int, keys: int) -> None:
        self.decoded_bytes += decoded_bytes
        self.keys += keys
        if self.decoded_bytes > MOST_DECODED_BYTES or self.keys > MOST_KEYS:
            raise Malformed(f"more than {MOST_KEYS:,} keys or {MOST_DECODED_BYTES:,} bytes of nodes")


class Database(NamedTuple):
    """The newest version of a database."""

    values: Store  # every key, with the place of its value
    nodes: frozenset[str]  # files that hold nodes of its tree


def read_database(folder: CheckpointFolder, prefix: str) -> Database:
    """All keys of the newest version, without the values that do not stand in the nodes themselves."""
    name = prefix + "manifest.ocdbt"
    try:
        root, height = _newest(folder, prefix, name)
        return Database({}, frozenset()) if root is None else _walk(folder, root, height)
    except Malformed as error:
        raise folder.refused(name, f"an OCDBT database that cannot be read: {error}", "is the copy complete?") from None


def _walk(folder: CheckpointFolder, root: _Place, height: int) -> Database:
    """Every node once, without recursion."""
    found: Store = {}
    budget = _Budget()
    waiting = [(root, height, b"")]
    seen: set[_Place] = set()
    while waiting:
        place, level, start = waiting.pop()
        if place in seen:
            raise Malformed("two nodes have the same child")
        seen.add(place)
        cursor = Cursor(_body(folder, place, NODE_MAGIC))
        if cursor.byte() != level:
            raise Malformed("a node is not at the height where its parent says")
        files = _file_table(cursor, place.base)
        keys = _keys(cursor, start, level > 0)
        budget.spend(len(cursor.body), len(keys))
        if level == 0:
            found.update(_leaf(cursor, keys, files, place))
            continue
        for child, key in zip(_references(cursor, files, len(keys)), keys, strict=True):
            waiting.append((child, level - 1, key))
    return Database(found, frozenset(place.file for place in seen))


def _newest(folder: CheckpointFolder, prefix: str, name: str) -> tuple[_Place | None, int]:
    cursor = Cursor(_body(folder, _whole(folder, name), MANIFEST_MAGIC))
    if _config(cursor) == 1:
        last = max((one for one in folder.sizes() if _NUMBERED.fullmatch(one.removeprefix(prefix))), default=None)
        if last is None:
            raise Malformed("its numbered manifest is not there")
        cursor = Cursor(_body(folder, _whole(folder, last), MANIFEST_MAGIC))
        _config(cursor)
    files = _file_table(cursor, prefix)
    number = cursor.count()
    if number == 0:
        return None, 0
    generations = cursor.varints(number)
    heights = cursor.take(number)
    places = _references(cursor, files, number)
    newest = int(np.argmax(generations))
    if places[newest].offset == LARGEST:  # the mark of a tree without a node
        return None, 0
    if heights[newest] > DEEPEST:
        raise Malformed(f"a tree of height {heights[newest]}")
    return places[newest], heights[newest]


def _config(cursor: Cursor) -> int:
    """Skip the settings; whether manifests are numbered."""
    cursor.take(16)  # uuid
    kind = cursor.varint()
    cursor.varints(2)  # longest inline value, largest node
    cursor.byte()
    if cursor.varint() == 1:
        cursor.take(4)  # level of zstd
    if kind > 1:
        raise Malformed(f"a manifest of kind {kind}, which is not known here")
    return kind


def _body(folder: CheckpointFolder, place: _Place, magic: bytes) -> bytes:
    """The decoded body of a manifest or node."""
    name, length = place.file, place.length
    if length < _HEAD + 4 or length > MOST_NODE_BYTES:
        raise Malformed(f"{name} has a manifest or node of {length:,} bytes")
    data = folder.read(name, place.offset, length)
    if data[:4] != magic or int.from_bytes(data[4:12], "little") != length:
        raise Malformed(f"no manifest or node at byte {place.offset:,} of {name}")
    if data[12] != 0 or data[13] > 1:
        raise Malformed(f"version {data[12]} with compression {data[13]} in {name}, which are not known here")
    packed = data[_HEAD:-4]
    return unzstd(packed, min(MOST_NODE_BYTES, max(1 << 24, MOST_RATIO * length))) if data[13] == 1 else packed


def _file_table(cursor: Cursor, base: str) -> list[tuple[str, str]]:
    """Names of data files and the base of each: prefixes are shared with the name before."""
    number = cursor.count()
    if number == 0:
        return []
    shared = [0, *cursor.varints(number - 1).tolist()]
    suffix_lengths = cursor.varints(number)
    base_lengths = cursor.varints(number).tolist()
    names: list[tuple[str, str]] = []
    total = 0
    before = b""
    for length, suffix, base_length in zip(shared, cursor.pieces(suffix_lengths), base_lengths, strict=True):
        if length > len(before):
            raise Malformed("a shared prefix is longer than what it is shared with")
        before = before[:length] + suffix
        total += len(before)
        if base_length > len(before) or total > MOST_NODE_BYTES:
            raise Malformed("a table of files that contradicts itself")
        own = base + _text(before[:base_length])
        names.append((_inside(own + _text(before[base_length:])), own))
    return names


def _inside(name: str) -> str:
    if ".." in PurePosixPath(name).parts or name.startswith("/"):
        raise Malformed("it names a file outside of the checkpoint")
    return name


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Malformed("a name that is no UTF-8") from None


def _keys(cursor: Cursor, start: bytes, interior: bool) -> list[bytes]:
    """Keys of a node; those of an interior one are cut to what all keys below share."""
    number = cursor.count()
    if number == 0:
        raise Malformed("a node without keys")
    shared = [0, *cursor.varints(number - 1).tolist()]
    suffix_lengths = cursor.varints(number)
    common = cursor.varints(number).tolist() if interior else None
    keys: list[bytes] = []
    before = b""
    total = 0
    for length, suffix in zip(shared, cursor.pieces(suffix_lengths), strict=True):
        before = before[:length] + suffix
        total += len(before)
        if total > MOST_NODE_BYTES:
            raise Malformed("keys that share too much")
        keys.append(before)
    if common is not None:
        keys = [key[:length] for key, length in zip(keys, common, strict=True)]
    return [start + key for key in keys]


def _references(cursor: Cursor, files: list[tuple[str, str]], number: int) -> list[_Place]:
    """Places of nodes; the statistics that follow are skipped."""
    ids, offsets, lengths = cursor.varints(number), cursor.varints(number), cursor.varints(number)
    cursor.varints(3 * number)
    if number and int(ids.max()) >= len(files):
        raise Malformed("a file that its table does not have")
    return [
        _Place(files[one][0], files[one][1], offset, length)
        for one, offset, length in zip(ids.tolist(), offsets.tolist(), lengths.tolist(), strict=True)
    ]


def _leaf(cursor: Cursor, keys: list[bytes], files: list[tuple[str, str]], node: _Place) -> Store:
    """Values of one node, by key."""
    lengths = cursor.varints(len(keys))
    kinds = np.frombuffer(cursor.take(len(keys)), np.uint8)
    if int(kinds.max()) > 1:
        raise Malformed("a value of a kind that is not known here")
    outside, inside = np.flatnonzero(kinds == 1), np.flatnonzero(kinds == 0)
    ids, offsets = cursor.varints(len(outside)), cursor.varints(len(outside))
    if len(outside) and int(ids.max()) >= len(files):
        raise Malformed("a file that its table does not have")
    found: Store = {}
    for row, one, offset in zip(outside.tolist(), ids.tolist(), offsets.tolist(), strict=True):
        found[_text(keys[row])] = Value(files[one][0], offset, int(lengths[row]))
    for row, data in zip(inside.tolist(), cursor.pieces(lengths[inside]), strict=True):
        found[_text(keys[row])] = Value(node.file, node.offset, len(data), data)
    return found

"""The key-value store under a tree of arrays: plain files, or the values of an OCDBT database."""

from __future__ import annotations

from typing import NamedTuple

from ckptplan.checkpoint.folder import CheckpointFolder


class Value(NamedTuple):
    """Where one value lies. An inline value is part of a compressed node of the database, and was read with it."""

    file: str
    offset: int  # of the value; of the node if inline. [bytes]
    length: int  # of the value. [bytes]
    inline: bytes | None = None


Store = dict[str, Value]


def plain_store(folder: CheckpointFolder, prefix: str) -> Store:
    """Every file below a folder as a value, its name relative to the folder as key."""
    return {
        name.removeprefix(prefix): Value(name, 0, size)
        for name, size in folder.sizes().items()
        if name.startswith(prefix)
    }


def value_bytes(folder: CheckpointFolder, value: Value, start: int = 0, length: int | None = None) -> bytes:
    """A value, or a part of it."""
    length = value.length - start if length is None else length
    if value.inline is not None:
        return value.inline[start : start + length]
    return folder.read(value.file, value.offset + start, length)

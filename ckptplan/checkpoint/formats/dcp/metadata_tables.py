"""Rows of the metadata as arrays: chunks of tensors and entries of storage, apart by their number of axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ckptplan.checkpoint.formats.dcp.metadata_names import CHUNK, INDEX, STORAGE
from ckptplan.checkpoint.manifest import Ints
from ckptplan.checkpoint.pickles.values import Built

MOST_AXES = 64  # of torch
MOST = 1 << 60  # a number whose sums with others stay within 64 bits
NO_OFFSET = -1  # "axes" of an object


class Unreadable(Exception):  # noqa: N818 - turned into an InputError with the file
    """A part of the metadata that is not what it must be; the message says which and how."""


class Chunks(NamedTuple):
    """Chunks of all tensors with the same number of axes, those of one tensor next to each other: [n, axes]."""

    offsets: Ints
    sizes: Ints


class Storage(NamedTuple):
    """Entries of storage whose keys have offsets with the same number of axes; one row each."""

    keys: Ints  # numbers of names
    offsets: Ints  # [n, axes]
    files: Ints  # numbers of files
    item_offsets: Ints  # bytes
    item_bytes: Ints  # bytes
    packings: Ints  # numbers of packings


class Numbering:
    """Texts by the order in which they were first seen."""

    def __init__(self, first: Iterable[str] = ()) -> None:
        self.numbers: dict[str, int] = {text: number for number, text in enumerate(first)}

    def __call__(self, text: str) -> int:
        """The number of a text."""
        return self.numbers.setdefault(text, len(self.numbers))

    def texts(self) -> tuple[str, ...]:
        """All of them by number."""
        return tuple(self.numbers)


def state_of(value: Any, names: Iterable[tuple[str, str]], what: str) -> dict[str, Any]:
    """The fields of an object that must be of one of some classes."""
    if not isinstance(value, Built) or value.call not in names:
        raise Unreadable(f"{what} is {described(value)}")
    state = {} if value.state is None else value.state
    if not isinstance(state, dict):
        raise Unreadable(f"{what} has a state that is a {type(state).__name__}")
    return state


def described(value: Any) -> str:
    """What something is, in a few words."""
    return f"a {value.call}" if isinstance(value, Built) else f"a {type(value).__name__}"


def number(value: Any, what: str) -> int:
    """A whole number within 64 bits, with room for sums."""
    if type(value) is not int or not -MOST < value < MOST:
        shown = value if type(value) is float or (type(value) is int and value.bit_length() < 200) else described(value)
        raise Unreadable(f"{what} is {shown}, no whole number within {MOST:.2g}")
    return value


def lengths(value: Any, what: str) -> tuple[int, ...]:
    """Numbers, one for each axis."""
    if type(value) is not tuple or len(value) > MOST_AXES:
        raise Unreadable(f"{what} is {described(value)}, no list of at most {MOST_AXES} lengths")
    for each in value:
        if type(each) is not int or not -MOST < each < MOST:
            number(each, what)
    return value


def chunk_row(chunk: Any, axes: int, key: str) -> tuple[int, ...]:
    """Offsets, then sizes, of one chunk of a tensor."""
    what = f"a chunk of {key!r}"
    state = state_of(chunk, (CHUNK,), what)
    offsets, sizes = (
        lengths(state.get("offsets"), f"offsets of {what}"),
        lengths(state.get("sizes"), f"sizes of {what}"),
    )
    if len(offsets) != axes or len(sizes) != axes:
        raise Unreadable(f"{what} has {len(offsets)} offsets and {len(sizes)} sizes; the tensor has {axes} axes")
    return offsets + sizes


class ChunkRows:
    """Chunks of all tensors, collected tensor by tensor."""

    def __init__(self) -> None:
        self._rows: dict[int, list[tuple[int, ...]]] = {}  # by number of axes: those behind the last piece
        self._pieces: dict[int, list[Chunks]] = {}
        self._numbers: dict[int, int] = {}

    def add(self, chunk: Any, axes: int, key: str) -> None:
        """One chunk of a tensor."""
        self._rows.setdefault(axes, []).append(chunk_row(chunk, axes, key))
        self._numbers[axes] = self.number(axes) + 1

    def add_piece(self, piece: Chunks, axes: int) -> None:
        """Many chunks of a tensor."""
        pieces = self._pieces.setdefault(axes, [])
        if self._rows.get(axes):
            pieces.append(_chunks(self._rows.pop(axes), axes))
        pieces.append(piece)
        self._numbers[axes] = self.number(axes) + len(piece.offsets)

    def number(self, axes: int) -> int:
        """How many chunks there are with so many axes."""
        return self._numbers.get(axes, 0)

    def tables(self) -> dict[int, Chunks]:
        """All rows by number of axes."""
        found = {}
        for axes in self._numbers:
            pieces = [*self._pieces.get(axes, ()), _chunks(self._rows.get(axes, []), axes)]
            found[axes] = Chunks(*(np.concatenate(part) for part in zip(*pieces, strict=True)))
        return found


def _chunks(rows: list[tuple[int, ...]], axes: int) -> Chunks:
    table = np.array(rows, np.int64).reshape(len(rows), 2 * axes)
    return Chunks(np.ascontiguousarray(table[:, :axes]), np.ascontiguousarray(table[:, axes:]))


class StorageRows:
    """Entries of storage, collected one by one."""

    def __init__(self, name: Callable[[str], int], file: Callable[[str], int], packing: Callable[[str], int]) -> None:
        self.numberings = self._name, self._file, self._packing = name, file, packing
        self._rows: dict[int, list[tuple[int, ...]]] = {}
        self._pieces: dict[int, list[Storage]] = {}

    def add_pieces(self, pieces: dict[int, list[Storage]]) -> None:
        """Many entries, by number of axes."""
        for axes, each in pieces.items():
            self._pieces.setdefault(axes, []).extend(each)

    def add(self, index: Any, info: Any) -> None:
        """One entry."""
        key = state_of(index, (INDEX,), "a key of the storage entries")
        item = state_of(info, (STORAGE,), "a storage entry")
        name, path = key.get("fqn"), item.get("relative_path")
        if type(name) is not str or type(path) is not str:
            raise Unreadable("a storage entry without the name of its tensor or of its file")
        offset = key.get("offset")
        place = () if offset is None else lengths(offset, f"the offset of a storage entry of {name!r}")
        start = number(item.get("offset"), f"the place of an item of {name!r}")
        length = number(item.get("length"), f"the length of an item of {name!r}")
        packing = self._packing(packed_by(item.get("transform_descriptors")))
        row = (self._name(name), self._file(path), start, length, packing, *place)
        self._rows.setdefault(NO_OFFSET if offset is None else len(place), []).append(row)

    def tables(self) -> dict[int, Storage]:
        """All rows by number of axes."""
        found = {}
        for axes in (*self._rows, *(self._pieces.keys() - self._rows.keys())):
            pieces = [_storage(self._rows.get(axes, []), max(axes, 0)), *self._pieces.get(axes, ())]
            found[axes] = Storage(*(np.concatenate(part) for part in zip(*pieces, strict=True)))
        return found


def _storage(rows: list[tuple[int, ...]], axes: int) -> Storage:
    table = np.array(rows, np.int64).reshape(len(rows), 5 + axes)
    keys, files, starts, sizes, packings = (np.ascontiguousarray(table[:, column]) for column in range(5))
    return Storage(keys, np.ascontiguousarray(table[:, 5:]), files, starts, sizes, packings)


def packed_by(descriptors: Any) -> str:
    """How items are packed: empty for not at all, zstd, or the descriptors as they are."""
    if not descriptors:
        return ""
    if not isinstance(descriptors, list | tuple) or not all(type(each) is str for each in descriptors):
        raise Unreadable("transform descriptors that are no list of texts")
    whole = ", ".join(descriptors)
    return "zstd" if len(descriptors) == 1 and whole.startswith("stream.zstd") else whole

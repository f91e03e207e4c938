"""Tensors and objects while a manifest is put together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ckptplan.checkpoint.archives.flatten import Path as Keys
from ckptplan.checkpoint.archives.flatten import dotted, leaves, type_name
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Object, Shards, Tensor
from ckptplan.checkpoint.naming.classify import Entry, classify
from ckptplan.errors import Place

# Numbers that optimizers keep as tensors without axes are read as objects; only these types can be.
_NUMBERS = frozenset({"float32", "float64", "int32", "int64"})


class Collected:
    """What was found so far; keys are taken once."""

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self.root = root
        self.numbers = {name: index for index, name in enumerate(files)}
        self.tensors: dict[str, Tensor] = {}
        self.objects: dict[str, Object] = {}
        self.whole: dict[str, StoredTensor] = {}
        self.values: dict[str, Any] = {}

    def add_whole(
        self, key: str, kind: StateKind, stored: StoredTensor, *, path: Keys = (), parameter: str | None = None,
        rank: int | None = None,
    ) -> None:  # fmt: skip
        """A tensor that one file holds as a whole."""
        shards = whole_shards(stored, self.numbers[stored.file])
        self.whole[key] = stored
        self.tensors[key] = Tensor(key, kind, stored.dtype, stored.shape, shards, path, parameter, rank)

    def add_object(
        self, key: str, kind: StateKind, file: str, value: Any, *, path: Keys, rank: int | None = None
    ) -> None:
        """A value within a file."""
        entry = Object(key, kind, self.numbers[file], path=path, rank=rank, type=_type(value))
        self.objects[key] = entry
        self.values[key] = value

    def add_state(self, file: str, label: str, root: Keys, value: Any, rank: int | None = None) -> None:
        """Everything below a state of a file, its kinds by names; `rank` is whose own the file is, if any one's."""
        found = [((*root, *path), leaf) for path, leaf in leaves(value, Place(str(self.root / file)))]
        entries = [
            Entry(label + dotted(path), path, isinstance(leaf, StoredTensor), *_described(leaf)) for path, leaf in found
        ]
        for (path, leaf), entry, named in zip(found, entries, classify(entries), strict=True):
            own = rank if named.rank is None and named.kind in _OF_A_RANK else named.rank
            if isinstance(leaf, StoredTensor) and not (leaf.shape == () and leaf.dtype in _NUMBERS):
                self.add_whole(entry.key, named.kind, leaf, path=path, rank=own)
            else:
                self.add_object(entry.key, named.kind, file, leaf, path=path, rank=own)


_OF_A_RANK = frozenset({StateKind.RANDOM, StateKind.DATA_POSITION})


def whole_shards(stored: StoredTensor, file: int) -> Shards:
    """The one shard of a tensor that is stored as a whole."""

    def column(value: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array([value], np.int64)

    return Shards(
        offsets=np.zeros((1, len(stored.shape)), np.int64),
        sizes=np.array([stored.shape], np.int64).reshape(1, -1),
        files=column(file),
        item_offsets=column(stored.data_offset),
        item_bytes=column(stored.size_bytes),
        data_offsets=column(stored.data_offset),
    )


def _described(leaf: Any) -> tuple[str | None, tuple[int, ...]]:
    return (leaf.dtype, leaf.shape) if isinstance(leaf, StoredTensor) else (None, ())


def _type(value: Any) -> str:
    return f"{value.dtype} number" if isinstance(value, StoredTensor) else type_name(value)

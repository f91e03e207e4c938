"""Values of a checkpoint that has whole checkpoints in folders of its own."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.manifest import Manifest, Object, Raw, Source, Tensor
from ckptplan.checkpoint.naming.classify import Entry, classify


def linked(tensors: list[Tensor]) -> list[Tensor]:
    """States of an optimizer with the keys of their parameters, which may lie in another part."""
    named = classify([Entry(t.key, t.path, True, t.dtype, t.shape) for t in tensors])
    return [
        tensor._replace(parameter=name.parameter) if tensor.parameter is None and tensor.kind is name.kind else tensor
        for tensor, name in zip(tensors, named, strict=True)
    ]


class JoinedSource:
    """Sends every question to the source that the tensor or object came from."""

    def __init__(self, own: Source) -> None:
        self._own = own
        self._tensors: dict[str, tuple[Source, Tensor]] = {}
        self._objects: dict[str, tuple[Source, Object]] = {}
        self._files: dict[int, NDArray[np.int64]] = {}  # by the source's id: its files' numbers in the whole

    def add(
        self, folder: str, part: Manifest, numbers: Mapping[str, int], taken: Set[str]
    ) -> tuple[list[Tensor], list[Object]]:
        """The tensors and objects of a part, with the whole's file numbers; keys that are taken get its folder."""
        files = np.array([numbers.get(f"{folder}/{file.name}", -1) for file in part.files] + [-1], dtype=np.int64)
        self._files[id(part.source)] = files
        tensors, objects = [], []
        for tensor in part.tensors:
            key = f"{folder}:{tensor.key}" if tensor.key in taken else tensor.key
            self._tensors[key] = (part.source, tensor)
            shards = tensor.shards._replace(files=files[tensor.shards.files])
            tensors.append(tensor._replace(key=key, shards=shards))
        for entry in part.objects:
            key = f"{folder}:{entry.key}" if entry.key in taken else entry.key
            self._objects[key] = (part.source, entry)
            objects.append(entry._replace(key=key, file=int(files[entry.file])))
        return tensors, objects

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Where the elements of a shard lie."""
        source, inner = self._tensors.get(tensor.key, (self._own, tensor))
        found = source.raw(inner, row)
        return found if source is self._own else found._replace(file=int(self._files[id(source)][found.file]))

    def read(self, tensor: Tensor, row: int) -> NDArray[np.uint8]:
        """The bytes of a whole shard."""
        source, inner = self._tensors.get(tensor.key, (self._own, tensor))
        return source.read(inner, row)

    def value(self, entry: Object) -> Any:
        """An object as inert values."""
        source, inner = self._objects.get(entry.key, (self._own, entry))
        return source.value(inner)

"""Persistent ids and rebuild calls of torch.save: which tensor they mean, checked against what the file stores."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ckptplan.checkpoint.archives.stored import (
    MOST,
    MOST_AXES,
    OF_STORAGE,
    STORAGE_MODULES,
    StoredTensor,
    span,
)
from ckptplan.checkpoint.dtypes import BITS, size_bytes
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.pickles.values import Built, Global, Reference

_HINT = "the file is damaged; copy it again or take an older one"
_MOST_WRAPPERS = 8  # a tensor subclass around a subclass

_STRIDED = frozenset({"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3"})
_PARAMETERS = frozenset({"_rebuild_parameter", "_rebuild_parameter_with_state"})


class Storage(NamedTuple):
    """One storage of a file."""

    offset: int  # bytes
    size_bytes: int
    crc: int | None = None
    deflated_bytes: int | None = None


class Window(NamedTuple):
    """The part of a storage that a persistent id names: old files have views on storages."""

    storage: str
    dtype: str
    elements: int
    offset: int = 0  # elements


class Tensors:
    """Turns rebuild calls of one file into StoredTensors; what it does not know it leaves as it is."""

    def __init__(self, folder: CheckpointFolder, name: str, storages: dict[str, Storage]) -> None:
        self._folder = folder
        self._name = name
        self._storages = storages

    def resolved(self, built: Built) -> Any:
        """The tensor that a call rebuilds, or the call itself."""
        found = self._called(built.call, built.args, 0)
        return built if found is None else found

    def whole(self, reference: Reference) -> Any:
        """A bare storage as a tensor of one axis, or the reference itself."""
        window = self.window(reference)
        if window is None:
            return reference
        return self._tensor(window, window.dtype, 0, (window.elements,), (1,))

    def window(self, reference: Any) -> Window | None:
        """What a persistent id names; None if it is none of a storage."""
        found = reference.id if isinstance(reference, Reference) else None
        if not isinstance(found, tuple) or len(found) not in (5, 6) or found[0] != "storage":
            return None
        kind, key, elements = found[1], found[2], found[4]
        dtype = OF_STORAGE.get(kind.name) if isinstance(kind, Global) and kind.module in STORAGE_MODULES else None
        if dtype is None or not _count(elements):
            return None
        view = found[5] if len(found) == 6 else None
        if view is None:
            return Window(str(key), dtype, elements)
        if not isinstance(view, tuple) or len(view) != 3 or not _count(view[1]) or not _count(view[2]):
            raise self._folder.refused(self._name, "a view on a storage that is none", _HINT)
        return Window(str(key), dtype, view[2], view[1])

    def _called(self, call: Any, args: Any, depth: int) -> Any:
        """What one call gives; None if it is no call for a tensor."""
        if not isinstance(call, Global) or not isinstance(args, tuple) or depth > _MOST_WRAPPERS:
            return None
        found: Any = None
        if call == Global("torch._tensor", "_rebuild_from_type_v2") and len(args) == 4:
            found = self._called(args[0], args[2], depth + 1) or _inner(args[3])
        elif call.module == "torch._utils" and call.name in _STRIDED:
            found = self._strided(call.name, args)
        elif call.module == "torch._utils" and call.name in _PARAMETERS and args:
            found = args[0] if isinstance(args[0], StoredTensor) else None
        elif call == Global("torch._utils", "_rebuild_qtensor") and len(args) > 4:
            found = _named(call, {"int_repr": self._strided("_rebuild_tensor", args[:4]), "quantizer": args[4]})
        elif call == Global("torch._utils", "_rebuild_sparse_tensor") and len(args) == 2:
            found = self._sparse(call, args[1])
        return found

    def _sparse(self, call: Global, parts: Any) -> Built | None:
        """A sparse tensor: its parts under the names that torch gives them."""
        if not isinstance(parts, tuple):
            return None
        names = (
            ("indices", "values", "size")
            if len(parts) < 5
            else ("compressed_indices", "plain_indices", "values", "size")
        )
        return _named(call, dict(zip(names, parts, strict=False)))

    def _strided(self, call: str, args: tuple[Any, ...]) -> Any:
        """A dense tensor: (storage, offset, size, stride, ...), version 3 with the type of its elements."""
        window = self.window(args[0]) if len(args) >= 4 else None
        if window is None:
            return None
        dtype: str | None = window.dtype
        if call == "_rebuild_tensor_v3":
            given = args[6] if len(args) > 6 else None
            dtype = given.name if isinstance(given, Global) and given.module == "torch" else None
            dtype = "uint8" if dtype == "float4_e2m1fn_x2" else dtype  # two elements in a byte: kept as bytes
        if dtype not in BITS:
            return None
        offset, shape, strides = args[1:4]
        if not (_count(offset) and _counts(shape) and _counts(strides)) or len(shape) != len(strides):
            raise self._folder.refused(self._name, "a tensor whose size or strides are no counts", _HINT)
        tensor = self._tensor(window, dtype, offset, tuple(shape), tuple(strides))
        flags = args[-1] if call != "_rebuild_tensor_v3" and len(args) > 6 else args[7] if len(args) > 7 else None
        if isinstance(flags, dict) and any(flags.get(flag) for flag in ("conj", "neg")):
            return _named(Global("torch", "Tensor"), {"unconjugated" if flags.get("conj") else "unnegated": tensor})
        return tensor

    def _tensor(
        self, window: Window, dtype: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> StoredTensor:
        storage = self._storages.get(window.storage)
        if storage is None:
            message = f"the file does not hold the storage {window.storage[:40]!a} of a tensor"
            raise self._folder.refused(self._name, message, _HINT)
        reach = span(shape, strides)
        start = size_bytes(window.dtype, window.offset) + size_bytes(dtype, offset)
        end = start + size_bytes(dtype, reach)
        if math.prod(shape) > MOST or end > MOST:
            raise self._folder.refused(self._name, f"a tensor of {math.prod(shape):,} elements", _HINT)
        most = min(storage.size_bytes, size_bytes(window.dtype, window.offset + window.elements))
        if reach and end > most:
            message = f"a tensor reaches to byte {end:,} of a storage of {most:,}"
            raise self._folder.refused(self._name, message, _HINT)
        packed = storage.deflated_bytes is not None
        return StoredTensor(
            dtype=dtype,
            shape=shape,
            strides=strides,
            storage=window.storage,
            storage_offset=offset + (window.offset if window.dtype == dtype else start // (BITS[dtype] // 8) - offset),
            file=self._name,
            data_offset=start if packed else storage.offset + start,
            storage_offset_bytes=storage.offset,
            storage_bytes=storage.size_bytes,
            crc=storage.crc,
            deflated_bytes=storage.deflated_bytes,
        )


def _inner(state: Any) -> StoredTensor | None:
    """The tensor inside a wrapper class: of a DTensor the part of the rank that saved."""
    for held in state if isinstance(state, tuple) else (state,):
        found = held.get("_local_tensor") if isinstance(held, dict) else None
        if isinstance(found, StoredTensor):
            return found
    return None


def _named(call: Global, parts: dict[str, Any]) -> Built:
    """A stand-in for a tensor that is no plain one: its parts by their names."""
    found = Built(call, ())
    found.state = parts
    return found


def _count(found: Any) -> bool:
    return type(found) is int and 0 <= found <= MOST


def _counts(found: Any) -> bool:
    return isinstance(found, tuple | list) and len(found) <= MOST_AXES and all(_count(n) for n in found)

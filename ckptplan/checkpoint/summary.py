"""A manifest in few numbers: bytes by kind of state, how tensors are cut, which types of elements."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.dtypes import BITS, FLOATING
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Manifest, Tensor


class KindTotal(NamedTuple):
    """All states of one kind."""

    kind: StateKind
    tensors: int
    objects: int
    logical_bytes: int  # of the tensors, each counted once
    stored_bytes: int  # what their items, and those of the objects, take in the files
    dtypes: tuple[tuple[str, int], ...]  # with the elements of each, the most frequent first
    shared_bytes: int = 0  # of tensors that lie where another of this kind lies: counted above, stored once
    shared_elements: int = 0

    @property
    def elements(self) -> int:
        """Elements of the tensors, those that several share counted once."""
        return sum(count for _, count in self.dtypes) - self.shared_elements

    @property
    def distinct_bytes(self) -> int:
        """Bytes of the tensors, those that several share counted once. [bytes]."""
        return self.logical_bytes - self.shared_bytes


class Cutting(NamedTuple):
    """How many tensors are cut alike: along which axes, in how many pieces each. No axis: they are stored whole.

    `flat`: the one axis is that of the elements in row-major order.
    """

    axes: tuple[int, ...]
    pieces: tuple[int, ...]
    flat: bool
    tensors: int


def by_kind(manifest: Manifest) -> tuple[KindTotal, ...]:
    """Bytes by kind of state, in the order of `StateKind`.

    Parameters
    ----------
    manifest : Manifest
        Of any format.

    Returns
    -------
    tuple of KindTotal
        Of the kinds that are there. [bytes]
    """
    tensors: dict[StateKind, list[Tensor]] = defaultdict(list)
    for tensor in manifest.tensors:
        tensors[tensor.kind].append(tensor)
    objects: Counter[StateKind] = Counter()
    object_bytes: Counter[StateKind] = Counter()
    for entry in manifest.objects:
        objects[entry.kind] += 1
        object_bytes[entry.kind] += entry.item_bytes
    return tuple(
        _total(kind, tensors[kind], objects[kind], object_bytes[kind])
        for kind in StateKind
        if tensors[kind] or objects[kind]
    )


def _total(kind: StateKind, tensors: list[Tensor], objects: int, object_bytes: int) -> KindTotal:
    again = sharing(tensors)
    return KindTotal(
        kind,
        len(tensors),
        objects,
        sum(tensor.logical_bytes for tensor in tensors),
        sum(tensor.stored_bytes for tensor in tensors) + object_bytes,
        _types(tensors),
        sum(tensor.logical_bytes for tensor in again),
        sum(tensor.elements for tensor in again),
    )


def sharing(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Tensors whose elements lie where those of an earlier one lie: tied weights in a file of torch.save.

    torch DCP stores a tied weight twice, and nothing tells it from a copy.
    """
    seen: set[tuple[bytes, bytes, bytes]] = set()
    found = []
    for tensor in tensors:
        shards = tensor.shards
        if not tensor.elements or not shards.number or min(shards.files.min(), shards.data_offsets.min()) < 0:
            continue
        where = (shards.files.tobytes(), shards.data_offsets.tobytes(), shards.item_bytes.tobytes())
        if where in seen:
            found.append(tensor)
        seen.add(where)
    return found


def parameter_elements(manifest: Manifest) -> int:
    """Parameters of the model, tied ones counted once; those of the masters where these alone are stored."""
    for kind in (StateKind.PARAMETER, StateKind.MASTER):
        weights = [tensor for tensor in manifest.tensors if tensor.kind is kind]
        number = sum(tensor.elements for tensor in weights) - sum(tensor.elements for tensor in sharing(weights))
        if number:
            return number
    return 0


def cuttings(manifest: Manifest) -> tuple[Cutting, ...]:
    """How the tensors are cut, the most frequent way first; tensors of a rank's own are left out."""
    found: Counter[tuple[tuple[int, ...], tuple[int, ...], bool]] = Counter()
    for tensor in manifest.tensors:
        if tensor.rank is None and tensor.shape:
            found[_cut(tensor)] += 1
    return tuple(Cutting(*cut, count) for cut, count in found.most_common())


def _cut(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    offsets = tensor.shards.offsets[(tensor.shards.sizes > 0).all(axis=1)]
    counts = [len(np.unique(offsets[:, axis])) for axis in range(offsets.shape[1])]
    axes = tuple(axis for axis, count in enumerate(counts) if count > 1)
    return axes, tuple(counts[axis] for axis in axes), tensor.shards.flat and bool(axes)


def _types(tensors: list[Tensor]) -> tuple[tuple[str, int], ...]:
    found: Counter[str] = Counter()
    for tensor in tensors:
        found[tensor.dtype] += tensor.elements
    return tuple(found.most_common())


def is_low_precision(dtype: str) -> bool:
    """Whether a floating type has fewer than 32 bits."""
    return dtype in FLOATING and BITS[dtype] < 32

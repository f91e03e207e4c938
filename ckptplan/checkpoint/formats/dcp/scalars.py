"""Single numbers out of stored tensors and objects: the step of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ckptplan.checkpoint.formats.steps import NAMES
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Object, Source, Tensor
from ckptplan.errors import InputError

_NUMPY = {
    "int32": "<i4", "int64": "<i8", "int16": "<i2", "uint8": "u1", "int8": "i1", "float32": "<f4", "float64": "<f8",
    "uint32": "<u4", "uint64": "<u8", "uint16": "<u2",
}  # fmt: skip
_LARGEST = 2**53
_MOST_TRIES = 8


def step_of(tensors: Sequence[Tensor], objects: Sequence[Object], source: Source) -> tuple[int | None, str | None]:
    """The training step, and the key that it was taken from; None where nothing says it.

    Progress comes first, by the last part of its name; then the step that the optimizer keeps, which may be another
    one and says nothing where the progress is there and cannot be read.
    """
    entries: list[Tensor | Object] = [*tensors, *objects]
    progress = [entry for entry in entries if entry.kind is StateKind.PROGRESS]
    named = [entry for name in NAMES for entry in progress if _leaf(entry) == name]
    kept = [tensor for tensor in tensors if tensor.kind is StateKind.OPTIMIZER_STEP][:2]
    tried: list[Tensor | Object] = list(named[:_MOST_TRIES]) or list(kept)
    for entry in tried:
        found = whole_number(entry, source)
        if found is not None:
            return found, entry.key
    return None, None


def whole_number(entry: Tensor | Object, source: Source) -> int | None:
    """The value of a tensor of one element or of an object that is a number; None for anything else."""
    try:
        value: Any = _element(entry, source) if isinstance(entry, Tensor) else source.value(entry)
    except InputError:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= _LARGEST else None


def _leaf(entry: Tensor | Object) -> str:
    """The last part of the name; a flat state dict has the dots within one part of the path."""
    return str(entry.path[-1] if entry.path else entry.key).rpartition(".")[2]


def _element(tensor: Tensor, source: Source) -> int | float | None:
    form = _NUMPY.get(tensor.dtype)
    if form is None or tensor.elements != 1 or not tensor.shards.number:
        return None
    raw = source.read(tensor, 0)
    found: int | float = (
        np.frombuffer(raw.tobytes(), dtype=form)[0].item() if len(raw) == np.dtype(form).itemsize else -1
    )
    return found

"""Whether the tensors that are averaged are all there, before any of them is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ckptplan.checkpoint.coverage import coverage
from ckptplan.checkpoint.formats.dcp.items import check_crc
from ckptplan.checkpoint.manifest import DATA_INTACT, Fault, Flaw, Format, Manifest, Tensor, problem_of
from ckptplan.errors import InputError, Place, Problem

_MOST = 20
# None in them, or (the CRC-32C of Orbax) none that are compared here.
_WITHOUT_CHECKSUMS = frozenset({Format.SAFETENSORS, Format.DCP_SAFETENSORS, Format.TORCH_LEGACY, Format.ORBAX})


def refuse_damage(manifest: Manifest, tensors: Sequence[Tensor]) -> None:
    """Raise if a fault of a checkpoint concerns tensors that are to be read; 20 at most, then a count."""
    found = [*_faults(manifest, tensors), *(() if not tensors else _uncovered(manifest, tensors))]
    _refuse(found, manifest)


def refuse_changed(manifest: Manifest, tensors: Sequence[Tensor]) -> None:
    """Raise if the data of tensors that are to be read is not what the checksums beside it say: all of it is read."""
    used = _files(manifest, tensors)
    # Only files that these tensors lie in: those without bytes are passed over.
    files = tuple(file if file.name in used else file._replace(size_bytes=0) for file in manifest.files)
    faults = check_crc(manifest._replace(tensors=tuple(tensors), objects=(), files=files))
    _refuse([problem_of(fault, manifest) for fault in faults], manifest)


def has_checksums(manifest: Manifest, tensors: Sequence[Tensor]) -> bool:
    """Whether the data of tensors has checksums that can be compared: archives as torch.save writes them."""
    if manifest.format in _WITHOUT_CHECKSUMS:
        return False
    return any(not name.endswith(".safetensors") for name in _files(manifest, tensors))


def _refuse(found: list[Problem], manifest: Manifest) -> None:
    if not found:
        return
    shown = found[:_MOST]
    if len(found) > _MOST:
        shown.append(Problem(f"and {len(found) - _MOST:,} more", Place(str(manifest.root))))
    raise InputError(shown)


def _faults(manifest: Manifest, tensors: Sequence[Tensor]) -> Iterator[Problem]:
    keys = {tensor.key for tensor in tensors}
    files = _files(manifest, tensors)
    for fault in manifest.faults:
        if fault.flaw not in DATA_INTACT and _concerns(fault, keys, files, listed=bool(manifest.tensors)):
            yield problem_of(fault, manifest)


def _concerns(fault: Fault, keys: set[str], files: set[str], *, listed: bool) -> bool:
    if fault.key is not None:
        return fault.key in keys
    if fault.file is not None and listed and fault.flaw is not Flaw.UNCOMMITTED:
        return fault.file in files
    return True


def _files(manifest: Manifest, tensors: Iterable[Tensor]) -> set[str]:
    used = [np.unique(tensor.shards.files) for tensor in tensors]
    rows = np.unique(np.concatenate(used)).tolist() if used else []
    return {manifest.files[row].name for row in rows if 0 <= row < len(manifest.files)}


def _uncovered(manifest: Manifest, tensors: Sequence[Tensor]) -> Iterator[Problem]:
    """Tensors whose shards are nowhere, or leave holes, or overlap."""
    named = {fault.key for fault in manifest.faults}
    for tensor in tensors:
        shards = tensor.shards
        empty = (shards.sizes == 0).any(axis=1) if shards.sizes.size else np.zeros(shards.number, np.bool_)
        said = None
        if (shards.files[~empty] < 0).any():
            said = f"{int((shards.files[~empty] < 0).sum()):,} of its shards are stored nowhere"
        elif tensor.shape or shards.flat:
            found = coverage(tensor.shape, shards.offsets, shards.sizes, shards.flat)
            if not found.tiles:
                said = _sentence(found.missing, found.overlapping, len(found.outside))
        elif shards.number != 1:
            said = f"one element in {shards.number} shards"
        if said is not None and tensor.key not in named and tensor.elements:
            yield Problem(said, Place(str(manifest.root)), key=tensor.key, hint="ckptplan audit tells more")


def _sentence(missing: int, overlapping: int, outside: int) -> str:
    said = [
        f"{missing:,} elements are in no shard" if missing else "",
        f"{overlapping:,} shards overlap" if overlapping else "",
        f"{outside:,} shards leave the tensor" if outside else "",
    ]
    return "; ".join(part for part in said if part) or "its shards are too many to prove that they tile it"

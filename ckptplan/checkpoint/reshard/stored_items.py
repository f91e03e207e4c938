"""A stored shard by its own description, held against what the metadata says of it."""

from __future__ import annotations

import math

from ckptplan.checkpoint.manifest import Manifest, Raw, Tensor
from ckptplan.errors import InputError, Place, Problem, printable


def raw_of(manifest: Manifest, tensor: Tensor, row: int) -> Raw:
    """Where a shard lies.

    Raises
    ------
    InputError
        If it cannot be looked into, or is of another type or shape than the metadata says: an uneven strided cut is
        saved so, and every later byte would go to the wrong place.
    """
    found = manifest.source.raw(tensor, row)
    sizes = tuple(tensor.shards.sizes[row].tolist())
    alike = math.prod(found.shape) == math.prod(sizes) if tensor.shards.flat else found.shape == sizes
    if found.dtype == tensor.dtype and alike:
        return found
    said = (
        f"the stored item is {found.dtype} of shape {list(found.shape)}, and its metadata says {tensor.dtype} of shape "
        f"{list(sizes)}"
    )
    place = Place(str(manifest.root / printable(manifest.files[found.file].name)))
    raise InputError(
        Problem(said, place, key=tensor.key, hint="the save went wrong: ckptplan audit tells what else it hit")
    )

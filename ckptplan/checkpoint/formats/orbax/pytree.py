"""One pytree of arrays: its tensors, what is only known by name, and what is wrong with it."""

from __future__ import annotations

import math
from typing import NamedTuple

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax.arrays import Array, Unlike, zarr2_array, zarr3_array
from ckptplan.checkpoint.formats.orbax.chunks import chunk_shards
from ckptplan.checkpoint.formats.orbax.documents import parse_json
from ckptplan.checkpoint.formats.orbax.ocdbt import Database, read_database
from ckptplan.checkpoint.formats.orbax.sharding import Layouts, cuts, read_layouts
from ckptplan.checkpoint.formats.orbax.steps import TREE, Item
from ckptplan.checkpoint.formats.orbax.stores import Store, plain_store, value_bytes
from ckptplan.checkpoint.formats.orbax.tree import Leaf, Tree, kind_of, read_tree
from ckptplan.checkpoint.manifest import Fault, Flaw, Object, Tensor
from ckptplan.errors import InputError

MOST_DESCRIPTION_BYTES = 1_000_000
MOST_CHUNKS = 8_000_000  # of all arrays
_SHOWN = 3
_ARRAYS = ("array", "jax.Array", "np.ndarray", "scalar")  # the first is our own word, the others are those of Orbax


class Pytree(NamedTuple):
    """What one item holds."""

    label: str  # that its keys begin with
    numbers: dict[str, int]  # index of each file in the manifest
    fills_left_out: bool  # chunks that hold the fill value only are not stored
    tensors: list[Tensor]
    objects: list[Object]
    arrays: dict[str, Array]  # by key of the tensor
    store: Store
    nodes: frozenset[str]  # files of the database that hold its tree
    layouts: Layouts
    faults: list[Fault]
    remarks: list[str]


def read_pytree(folder: CheckpointFolder, item: Item, label: str, numbers: dict[str, int]) -> Pytree:
    """Everything in one item; keys begin with the label."""
    faults: list[Fault] = []
    name = item.prefix + TREE
    tree = read_tree(folder, name) if folder.has(name) else Tree((), True, True, 0)
    layouts = read_layouts(folder, item.prefix + "_sharding")
    database = _store(folder, item, faults)
    found = Pytree(
        label,
        numbers,
        tree.fills_left_out,
        [],
        [],
        {},
        database.values,
        database.nodes,
        layouts,
        faults,
        list(layouts.remarks),
    )
    if tree.odd:
        faults.append(Fault(Flaw.CORRUPT, f"{tree.odd} entries of the tree cannot be understood", name))
    described = _descriptions(folder, found.store, item.prefix, faults)
    if sum(array.number for array, _ in described.values()) > MOST_CHUNKS:
        raise folder.refused(name, f"more than {MOST_CHUNKS:,} chunks", "no checkpoint has so many")
    listed = {leaf.name: leaf for leaf in tree.leaves}
    for leaf in [*tree.leaves, *(Leaf(tuple(one.split(".")), None, "") for one in described if one not in listed)]:
        if leaf.name in described:
            _add_tensor(found, leaf, *described[leaf.name])
        else:
            _add_named(found, leaf)
    _tell_unsized(found, item.prefix)
    return found._replace(tensors=_with_parameters(found.tensors))


def _store(folder: CheckpointFolder, item: Item, faults: list[Fault]) -> Database:
    if not folder.has(item.prefix + "manifest.ocdbt"):
        return Database(plain_store(folder, item.prefix), frozenset())
    try:
        return read_database(folder, item.prefix)
    except InputError as error:
        problem = error.problems[0]
        faults.append(Fault(Flaw.UNREADABLE, problem.message, item.prefix + "manifest.ocdbt", hint=problem.hint))
        return Database({}, frozenset())


def _descriptions(
    folder: CheckpointFolder, store: Store, prefix: str, faults: list[Fault]
) -> dict[str, tuple[Array, str]]:
    """Every array by its name, with the file that describes it."""
    found: dict[str, tuple[Array, str]] = {}
    for key, value in store.items():
        name, _, last = key.rpartition("/")
        if last not in (".zarray", "zarr.json") or not name:
            continue
        try:
            if value.length > MOST_DESCRIPTION_BYTES:
                raise Unlike(f"a description of {value.length:,} bytes")
            text = parse_json(folder, value.file, value_bytes(folder, value))
            found[name] = (zarr2_array if last == ".zarray" else zarr3_array)(name, text), value.file
        except Unlike as error:
            faults.append(Fault(Flaw.UNREADABLE, f"{name}: {error}", value.file, name))
        except InputError as error:
            faults.append(Fault(Flaw.CORRUPT, f"{name}: {error.problems[0].message}", value.file, name))
    return found


def _add_tensor(found: Pytree, leaf: Leaf, array: Array, file: str) -> None:
    key = found.label + leaf.name
    if key in found.arrays:
        return
    shards, missing = chunk_shards(array, found.store, found.numbers, file)
    if missing and not found.fills_left_out:
        shown = ", ".join(missing[:_SHOWN]) + (", ..." if len(missing) > _SHOWN else "")
        message = f"{len(missing):,} of {array.number:,} chunks are stored nowhere: {shown}"
        found.faults.append(Fault(Flaw.MISSING_FILE, message, file, key, "is the copy complete?"))
        shards = shards._replace(files=shards.files.copy())
        shards.files[shards.item_bytes == 0] = -1
    kind, _ = kind_of(leaf.path)
    found.arrays[key] = array
    found.tensors.append(Tensor(key, kind, array.dtype, array.shape, shards, path=leaf.path))


def _add_named(found: Pytree, leaf: Leaf) -> None:
    """A leaf whose array cannot be read: neither dtype nor bytes are known, so that it is no tensor."""
    layout = found.layouts.of.get(leaf.name)
    text = leaf.type
    if leaf.write_shape is not None:
        text = f"array written in parts of {list(leaf.write_shape)}"
        parts = cuts(layout, len(leaf.write_shape)) if layout is not None else None
        if parts is not None and math.prod(parts) > 1:
            whole = [size * part for size, part in zip(leaf.write_shape, parts, strict=True)]
            text += f", at least {whole} in all by its layout"
    found.objects.append(Object(found.label + leaf.name, kind_of(leaf.path)[0], -1, path=leaf.path, type=text))


def _tell_unsized(found: Pytree, prefix: str) -> None:
    """What a reader of the report must know where arrays are known by name only."""
    arrays = sum((entry.type or "").startswith(_ARRAYS) for entry in found.objects)
    if not arrays:
        return
    if any(fault.flaw is Flaw.UNREADABLE for fault in found.faults):
        found.remarks.append(
            f"{prefix}: {arrays} arrays are known by name and layout only; their sizes are inferred from the part that"
            " one process wrote and from the mesh, and types and values are not known"
        )
    else:
        message = f"{arrays} arrays of the tree are stored nowhere"
        found.faults.append(Fault(Flaw.MISSING_FILE, message, prefix + TREE, hint="is the copy complete?"))


def _with_parameters(tensors: list[Tensor]) -> list[Tensor]:
    """Tensors with the key of the parameter that each belongs to."""
    below = {kind_of(_path(one))[1]: one.key for one in tensors if one.kind.value == "parameters"}
    return [
        one._replace(parameter=below.get(kind_of(_path(one))[1]) if _has_parameter(one) else None) for one in tensors
    ]


def _has_parameter(tensor: Tensor) -> bool:
    return bool(kind_of(_path(tensor))[1])


def _path(tensor: Tensor) -> tuple[str, ...]:
    return tuple(str(part) for part in tensor.path)

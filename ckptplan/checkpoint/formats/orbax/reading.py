"""Orbax checkpoints: the folder of one step as a manifest."""

from __future__ import annotations

import math
import re

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax.pytree import Pytree, read_pytree
from ckptplan.checkpoint.formats.orbax.sharding import Layouts, common_mesh
from ckptplan.checkpoint.formats.orbax.source import OrbaxSource
from ckptplan.checkpoint.formats.orbax.steps import (
    Item,
    commit_faults,
    folder_name,
    handlers_of,
    items_of,
    step_of,
    step_prefixes,
)
from ckptplan.checkpoint.formats.orbax.tree import kind_of
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, File, Flaw, Format, Manifest, Object
from ckptplan.errors import InputError

_PROCESS = re.compile(r"(?:.*/)?(?:process_|ocdbt\.process_)(\d{1,9})(?:[-./].*)?")
_PER_PROCESS = re.compile(r"process_(\d{1,9})-of-\d{1,9}\.json")
_HOLDS = {
    "_CHECKPOINT_METADATA": "items, times of beginning and end",
    "_METADATA": "names of the arrays",
    "_sharding": "mesh and layout of the arrays",
    "commit_success.txt": "mark of the end of the save",
    "manifest.ocdbt": "manifest of the database",
    ".zarray": "shape, type and chunks of one array",
    "zarr.json": "shape, type and chunks of one array",
}
_IN_CODE = "optax keeps the learning rate and its schedule in code: they follow from the step"


def recognised(folder: CheckpointFolder) -> bool:
    """Whether this is the folder of one Orbax step, or one that holds just one."""
    return len(step_prefixes(folder)) == 1


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of one Orbax step."""
    prefixes = step_prefixes(folder)
    if len(prefixes) != 1:
        names = ", ".join(one.rstrip("/") for one in prefixes[:10])
        message = f"{len(prefixes)} Orbax checkpoints" if prefixes else "no Orbax checkpoint"
        raise InputError(f"{folder.root}: {message}", hint=f"name one of {names}" if names else None)
    prefix = prefixes[0]
    numbers = {name: index for index, name in enumerate(folder.sizes())}
    items = items_of(folder, prefix)
    trees = [item for item in items if item.tree]
    found = [read_pytree(folder, one, f"{one.name}:" if len(trees) > 1 else "", numbers) for one in trees]
    objects, json_files = _other_items(folder, prefix, [item for item in items if not item.tree], numbers)
    arrays = {key: (array, tree.store) for tree in found for key, array in tree.arrays.items()}
    files = _files(folder, found)
    tree_faults = [fault for tree in found for fault in tree.faults]
    manifest = Manifest(
        format=Format.ORBAX,
        root=folder.root,
        tensors=tuple(tensor for tree in found for tensor in tree.tensors),
        objects=(*(entry for tree in found for entry in tree.objects), *objects),
        files=files,
        source=OrbaxSource(folder, files, arrays, json_files),
        step=step_of(folder_name(folder, prefix)),
        writer_ranks=tuple(sorted({file.rank for file in files if file.rank is not None})),
        faults=(*commit_faults(folder, prefix, items), *_linked(folder), *tree_faults),
        remarks=tuple(remark for tree in found for remark in tree.remarks),
    )
    return _with_mesh(_with_what_is_in_code(manifest), found)


def _with_mesh(manifest: Manifest, trees: list[Pytree]) -> Manifest:
    """The devices that held the arrays; each process wrote for those that it drove."""
    mesh = common_mesh(Layouts({key: layout for tree in trees for key, layout in tree.layouts.of.items()}))
    if mesh is None:
        return manifest
    return manifest._replace(mesh=mesh, world_size=math.prod(mesh.shape))


def _with_what_is_in_code(manifest: Manifest) -> Manifest:
    tensors = {tensor.kind for tensor in manifest.tensors}
    kinds = tensors | {entry.kind for entry in manifest.objects}
    if StateKind.OPTIMIZER_STEP not in kinds or StateKind.HYPERPARAMETERS in kinds:
        return manifest
    return manifest._replace(elsewhere=((StateKind.HYPERPARAMETERS, _IN_CODE), (StateKind.SCHEDULER, _IN_CODE)))


def _other_items(
    folder: CheckpointFolder, prefix: str, items: list[Item], numbers: dict[str, int]
) -> tuple[list[Object], dict[str, str]]:
    """Items that are no pytrees: JSON, or files that only their own handler reads."""
    handlers = handlers_of(folder, prefix)
    objects: list[Object] = []
    readable: dict[str, str] = {}
    for item in items:
        inside = [name for name in folder.sizes() if name.startswith(item.prefix)]
        states = [name for name in inside if not name.endswith("commit_success.txt")]
        kind = kind_of((item.name,))[0]
        for name in states:
            key, rank = _object_key(item, name, len(states))
            is_json = name.endswith(".json") or handlers.get(item.name) == "JsonCheckpointHandler"
            if is_json or name == item.prefix + "metadata":
                readable[key] = name
            objects.append(Object(key, kind, numbers[name], 0, folder.size(name), (item.name,), rank))
    return objects, readable


def _object_key(item: Item, name: str, states: int) -> tuple[str, int | None]:
    rest = name.removeprefix(item.prefix)
    match = _PER_PROCESS.fullmatch(rest)
    if match:
        return f"{item.name}.process_{int(match[1])}", int(match[1])
    return (item.name if states == 1 else f"{item.name}/{rest}"), None


def _files(folder: CheckpointFolder, trees: list[Pytree]) -> tuple[File, ...]:
    """Files with their roles. What every process wrote before the merge is dead where nothing refers to it."""
    used = {value.file for tree in trees for value in tree.store.values()}.union(*(tree.nodes for tree in trees))
    unread = any(fault.flaw is Flaw.UNREADABLE for tree in trees for fault in tree.faults)
    found: list[File] = []
    for file in folder.files():
        match = _PROCESS.fullmatch(file.name)
        database = "ocdbt.process_" in file.name or "/d/" in f"/{file.name}"
        last = file.name.rsplit("/", 1)[-1]
        found.append(
            file._replace(
                rank=int(match[1]) if match else None,
                referenced=not database or file.name in used or unread,
                holds=_HOLDS.get(last, _role(file.name, database)),
            )
        )
    return tuple(found)


def _role(name: str, database: bool) -> str:
    if "ocdbt.process_" in name:
        return "what one process wrote, before the merge"
    if database:
        return "values and nodes of the database"
    if "array_metadatas/" in name:
        return "shapes that one process wrote"
    return "state" if name.endswith((".json", "/metadata")) else "one chunk" if name.count("/") > 1 else ""


def _linked(folder: CheckpointFolder) -> list[Fault]:
    return [
        Fault(Flaw.MISSING_FILE, "a link, which is not followed", name, hint="copy the file itself")
        for name in folder.links[:20]
    ]

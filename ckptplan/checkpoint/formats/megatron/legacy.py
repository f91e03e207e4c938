"""Megatron's older layout: one torch.save file for every tensor- and pipeline-parallel rank."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.archives.flatten import dotted, leaves
from ckptplan.checkpoint.archives.foreign import hostile
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.archives.torch_file import read_torch
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.megatron.common import Common, attributes, read_common
from ckptplan.checkpoint.formats.megatron.grid import (
    MODEL,
    OPTIMIZER,
    Part,
    Sizes,
    joined,
    missing,
    parts_of,
    place_of,
    sizes_of,
)
from ckptplan.checkpoint.formats.pieces import DATA_SUFFIXES
from ckptplan.checkpoint.formats.stored_source import StoredSource
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import (
    UNKNOWN,
    Fault,
    File,
    Flaw,
    Format,
    Manifest,
    Mesh,
    Shards,
    Tensor,
)
from ckptplan.checkpoint.naming.classify import Entry, Named, classify
from ckptplan.checkpoint.naming.numbers import guess_by_order
from ckptplan.checkpoint.pickles.values import Global
from ckptplan.errors import InputError, Place

_NO_SIZES = "no file says how many model-parallel ranks there were: only gaps between their folders are seen"
_BUCKETS = {"param": StateKind.MASTER, "exp_avg": StateKind.FIRST_MOMENT, "exp_avg_sq": StateKind.SECOND_MOMENT}
_STATES = frozenset(
    {StateKind.PARAMETER, StateKind.BUFFER, StateKind.MASTER, StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT}
)


class _Read(NamedTuple):
    """What one file holds."""

    common: Common
    tensors: dict[str, tuple[tuple[str | int, ...], StoredTensor]]
    faults: tuple[Fault, ...]
    sizes: Sizes = Sizes(None, None, None)
    distributed: bool = False  # whether the optimizer's states are in a file of their own


def recognised(folder: CheckpointFolder) -> bool:
    """Whether there is a file of a model-parallel rank."""
    return any(part.last == MODEL for part in parts_of(folder.sizes()))


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of one iteration: every file's tensors by the file's name, since nothing says how they were cut."""
    parts = list(parts_of(folder.sizes()))
    found = [_read_part(folder, part) for part in parts]
    named, remarks = _named(found)
    numbers = {name: at for at, name in enumerate(folder.sizes())}
    stored = {key: tensor for one in found for key, (_, tensor) in one.tensors.items()}
    tensors = tuple(_tensor(entry, name, stored[entry.key], numbers) for entry, name in named if name.kind in _STATES)
    common = [one.common for one in found]
    mesh = next((one.mesh for one in common if one.mesh is not None), None)
    sizes = joined([one.sizes for one in found])
    if sizes.tensor is None and sizes.pipeline is None:
        remarks.append(_NO_SIZES)
    ranks = {part.name: rank for part in parts if (rank := _rank(part, mesh, sizes)) is not None}
    steps = {one.step for one in common if one.step is not None}
    faults = [fault for one in found for fault in one.faults]
    if len(steps) > 1:
        message = f"files of different iterations: {', '.join(str(step) for step in sorted(steps)[:5])}"
        faults.append(Fault(Flaw.CORRUPT, message, hint="the copy mixes two saves"))
    return Manifest(
        Format.MEGATRON_LEGACY,
        folder.root,
        tensors,
        (),
        tuple(_file(name, size, ranks) for name, size in folder.sizes().items()),
        StoredSource(folder, stored, {}, numbers),
        step=max(steps, default=None),
        world_size=next((one.world_size for one in common if one.world_size is not None), None),
        mesh=mesh,
        writer_ranks=tuple(sorted(set(ranks.values()))),
        faults=(*faults, *missing(parts, sizes, any(one.distributed for one in found))),
        remarks=tuple(remarks),
        elsewhere=_elsewhere(common),
        producer=next((one.producer for one in common if one.producer), ""),
    )


def _read_part(folder: CheckpointFolder, part: Part) -> _Read:
    """One file; what cannot be read is a fault, so that the others are still seen."""
    try:
        loaded = read_torch(folder, part.name)
        held = leaves(loaded.value, Place(str(folder.root / part.name)))
    except InputError as error:
        message = error.problems[0].message
        fault = Fault(Flaw.UNREADABLE, message, part.name, hint=error.problems[0].hint)
        return _Read(read_common({}, part.name), {}, (fault,))
    tensors = {f"{part.name}:{dotted(path)}": (path, leaf) for path, leaf in held if isinstance(leaf, StoredTensor)}
    harmful = hostile(loaded.foreign)
    faults: tuple[Fault, ...] = ()
    if harmful:
        message = f"reading it with torch would call {_listed(harmful)}"
        faults = (Fault(Flaw.FOREIGN_CODE, message, part.name, hint="do not load this file"),)
    held_keys = loaded.value if isinstance(loaded.value, dict) else {}
    arguments = attributes(held_keys.get("args"))
    # The optimizer of a save without it is left out; one that is distributed keeps its groups here.
    distributed = arguments.get("use_distributed_optimizer") is True and "optimizer" in held_keys
    return _Read(
        read_common(loaded.value, part.name),
        tensors,
        faults,
        sizes_of(arguments),
        distributed and arguments.get("ckpt_format", "torch") == "torch",
    )


def _named(found: list[_Read]) -> tuple[list[tuple[Entry, Named]], list[str]]:
    """What every tensor is, file by file: each has a model and an optimizer of its own."""
    named: list[tuple[Entry, Named]] = []
    remarks: dict[str, None] = {}
    for one in found:
        entries = [Entry(key, path, True, held.dtype, held.shape) for key, (path, held) in one.tensors.items()]
        kinds, remark = guess_by_order(entries, classify(entries))
        named.extend((entry, _of_bucket(entry) or name) for entry, name in zip(entries, kinds, strict=True))
        if remark is not None:
            remarks.setdefault(remark)
    return named, list(remarks)[:5]


def _of_bucket(entry: Entry) -> Named | None:
    """A flat bucket of the distributed optimizer, by its last key."""
    if f"/{OPTIMIZER}:" not in entry.key:
        return None
    kind = _BUCKETS.get(str(entry.path[-1]) if entry.path else "", StateKind.OTHER)
    return Named(kind)


def _tensor(entry: Entry, name: Named, stored: StoredTensor, numbers: dict[str, int]) -> Tensor:
    axes = len(stored.shape)
    at = UNKNOWN if stored.deflated_bytes is not None else stored.data_offset
    shards = Shards(
        np.zeros((1, axes), dtype=np.int64),
        np.array([stored.shape], dtype=np.int64).reshape(1, axes),
        np.array([numbers[stored.file]], dtype=np.int64),
        np.array([at], dtype=np.int64),
        np.array([stored.size_bytes], dtype=np.int64),
        np.array([at], dtype=np.int64),
    )
    return Tensor(entry.key, name.kind, stored.dtype, stored.shape, shards, entry.path, name.parameter, name.rank)


def _elsewhere(common: list[Common]) -> tuple[tuple[StateKind, str], ...]:
    """Each kind once, with how many files have it."""
    places: dict[StateKind, list[str]] = {}
    for one in common:
        for kind, where in one.elsewhere:
            places.setdefault(kind, []).append(where)
    return tuple(
        (kind, where[0] if len(where) == 1 else f"{where[0]} and the same of {len(where) - 1:,} more")
        for kind, where in places.items()
    )


def _rank(part: Part, mesh: Mesh | None, sizes: Sizes) -> int | None:
    """The rank that wrote a file: the first of its data-parallel group, in Megatron's default order of ranks."""
    if mesh is None or len(mesh.shape) != 3:
        return None
    pipeline, data, tensor = mesh.shape
    place = place_of(part, sizes)
    if place.tensor >= tensor or place.pipeline >= pipeline or place.expert:
        return None
    return place.pipeline * data * tensor + place.tensor


def _listed(names: tuple[Global, ...]) -> str:
    return ", ".join(ascii(str(name))[1:-1][:80] for name in names[:3])


def _file(name: str, size: int, ranks: dict[str, int]) -> File:
    last = PurePosixPath(name).name
    holds = {MODEL: "tensors of the model, optimizer, random-number states", OPTIMIZER: "optimizer"}.get(last, "")
    return File(name, size, ranks.get(name), bool(holds) or not name.endswith(DATA_SUFFIXES), holds)

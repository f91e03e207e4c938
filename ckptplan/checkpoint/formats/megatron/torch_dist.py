"""Megatron's torch_dist: a DCP checkpoint with a common state beside it, and objects by their place in a grid."""

from __future__ import annotations

import math
import re
from collections import defaultdict

from ckptplan.checkpoint.archives.foreign import hostile
from ckptplan.checkpoint.archives.torch_file import read_torch
from ckptplan.checkpoint.folder import CheckpointFolder, UnreadableFileError
from ckptplan.checkpoint.formats.dcp import reader
from ckptplan.checkpoint.formats.dcp.placing import some
from ckptplan.checkpoint.formats.dcp.source import listed
from ckptplan.checkpoint.formats.json_file import read_json
from ckptplan.checkpoint.formats.megatron.common import Common, read_common
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest
from ckptplan.errors import InputError

BACKEND = "metadata.json"
COMMON = "common.pt"
_SHARD = re.compile(r"(.+)/shard_(\d{1,9}(?:\.\d{1,9}){0,7})_(\d{1,9}(?:\.\d{1,9}){0,7})\Z")
_LARGEST_BACKEND = 1 << 16  # bytes
_WITHOUT_BACKEND = "missing: it is written last, and without it Megatron takes the folder for one of its older layout"
_HINT = "copy it again: Megatron does not load the checkpoint without it"


def recognised(folder: CheckpointFolder) -> bool:
    """Whether parts of DCP lie beside Megatron's common state, or beside the name of its backend."""
    return reader.recognised(folder) and (folder.has(COMMON) or _backend(folder) == "torch_dist")


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of one iteration."""
    base = reader.read(folder)
    common, faults = _common(folder)
    if not folder.has(BACKEND):
        faults.append(Fault(Flaw.MISSING_FILE, _WITHOUT_BACKEND, BACKEND, hint=_HINT))
    remarks = [remark for remark in base.remarks if common.world_size is None or " ranks, taken from " not in remark]
    incomplete = _incomplete(base)
    if incomplete:
        remarks.append(f"not every place of the grid of {some(incomplete, 'objects')} is stored")
    return base._replace(
        format=Format.MEGATRON_DIST,
        files=tuple(
            file._replace(holds="arguments, iteration, scheduler, groups of the optimizer")
            if file.name == COMMON
            else file
            for file in base.files
        ),
        step=base.step if common.step is None else common.step,
        world_size=base.world_size if common.world_size is None else common.world_size,
        mesh=common.mesh,
        faults=(*base.faults, *faults),
        remarks=tuple(remarks),
        elsewhere=common.elsewhere,
        producer=", ".join(part for part in (common.producer, base.producer) if part),
    )


def _backend(folder: CheckpointFolder) -> str:
    """The backend that Megatron says it wrote with."""
    if not folder.has(BACKEND) or folder.size(BACKEND) > _LARGEST_BACKEND:
        return ""
    try:
        return str(read_json(folder, BACKEND).get("sharded_backend", ""))
    except InputError:
        return ""


def _common(folder: CheckpointFolder) -> tuple[Common, list[Fault]]:
    """The common state, and what is wrong with its file."""
    nothing = read_common({}, COMMON)
    if not folder.has(COMMON):
        message = "missing: arguments, iteration, scheduler and groups of the optimizer are in it"
        return nothing, [Fault(Flaw.MISSING_FILE, message, COMMON, hint=_HINT)]
    try:
        loaded = read_torch(folder, COMMON)
    except InputError as error:
        hint = error.problems[0].hint if isinstance(error, UnreadableFileError) else _HINT
        return nothing, [Fault(Flaw.UNREADABLE, error.problems[0].message, COMMON, hint=hint)]
    bad = hostile(loaded.foreign)
    if bad:
        message = f"loading it with torch would call {listed(bad)}"
        return nothing, [Fault(Flaw.FOREIGN_CODE, message, COMMON, hint="do not load it; ask where it comes from")]
    return read_common(loaded.value, COMMON), []


def _incomplete(manifest: Manifest) -> list[str]:
    """Objects by place whose grid has more places than are stored."""
    places: dict[tuple[str, str], set[str]] = defaultdict(set)
    for entry in manifest.objects:
        found = _SHARD.match(entry.key)
        if found:
            places[found.group(1), found.group(3)].add(found.group(2))
    return sorted(
        name for (name, grid), stored in places.items() if len(stored) < math.prod(int(n) for n in grid.split("."))
    )

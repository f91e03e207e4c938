"""Checkpoints of other formats in folders of a Trainer's or accelerate's checkpoint."""

from __future__ import annotations

import re

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.pieces import Pieces
from ckptplan.checkpoint.manifest import Manifest

_DCP = re.compile(r"(pytorch_model_fsdp|optimizer|model|dcp)(_\d+)?\Z")
_DEEPSPEED = re.compile(r"(global_step\d+|pytorch_model(_\d+)?)\Z")


def add_inner(pieces: Pieces) -> list[Manifest]:
    """Add the folders that FSDP or DeepSpeed wrote within a checkpoint."""
    found: list[Manifest] = []
    for name in _folders(pieces.folder):
        inner = CheckpointFolder(pieces.folder.root / name)
        manifest = pieces.read(lambda inner=inner: _read(inner), name)  # type: ignore[misc]
        if manifest is not None:
            pieces.part(name, manifest)
            found.append(manifest)
    return found


def _folders(folder: CheckpointFolder) -> list[str]:
    names = dict.fromkeys(name.partition("/")[0] for name in folder.sizes() if "/" in name)
    return [name for name in names if _DCP.match(name) or _DEEPSPEED.match(name)]


def _read(folder: CheckpointFolder) -> Manifest | None:
    from ckptplan.checkpoint.formats.registry import format_of

    return None if (found := format_of(folder)) is None else found.read(folder)

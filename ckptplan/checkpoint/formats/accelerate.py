"""Folders that accelerate's ``save_state`` writes."""

from __future__ import annotations

import re

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.inner import add_inner
from ckptplan.checkpoint.formats.pieces import Pieces
from ckptplan.checkpoint.formats.roles import add_roles, world_of
from ckptplan.checkpoint.formats.safetensors import add_configurations
from ckptplan.checkpoint.formats.weights import add_weights, at_root
from ckptplan.checkpoint.manifest import Format, Manifest

_STATES = re.compile(r"random_states_\d{1,9}\.pkl\Z")


def recognised(folder: CheckpointFolder) -> bool:
    """Whether random-number states are there under accelerate's names, which it always writes."""
    return any(_STATES.match(name) for name in at_root(folder))


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of one folder of accelerate."""
    pieces = Pieces(folder)
    add_weights(pieces)
    ranks = add_roles(pieces)
    parts = add_inner(pieces)
    add_configurations(pieces)
    worlds = [world_of(ranks, pieces), *(part.world_size for part in parts)]
    return pieces.manifest(
        Format.ACCELERATE,
        world_size=max((world for world in worlds if world is not None), default=None),
        step=next((part.step for part in parts if part.step is not None), None),
        mesh=next((part.mesh for part in parts if part.mesh is not None), None),
        writer_ranks=tuple(sorted({*ranks, *(rank for part in parts for rank in part.writer_ranks)})),
    )

"""Checkpoints of the Hugging Face Trainer: ``checkpoint-N``."""

from __future__ import annotations

import re
from typing import Any

from ckptplan.checkpoint.archives.torch_file import read_torch
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.inner import add_inner
from ckptplan.checkpoint.formats.json_file import read_json
from ckptplan.checkpoint.formats.pieces import Pieces
from ckptplan.checkpoint.formats.roles import add_roles, has_role, world_of
from ckptplan.checkpoint.formats.safetensors import add_configurations, producer
from ckptplan.checkpoint.formats.weights import add_weights
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Format, Manifest
from ckptplan.checkpoint.pickles.values import Built

STATE = "trainer_state.json"
ARGUMENTS = "training_args.bin"
_INNER = re.compile(r"checkpoint-\d+/")


def recognised(folder: CheckpointFolder) -> bool:
    """Whether this is one checkpoint of a Trainer, not the folder of a run with its checkpoints in it."""
    return folder.has(STATE) and not any(_INNER.match(name) for name in folder.sizes())


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of one checkpoint of a Trainer."""
    pieces = Pieces(folder)
    add_weights(pieces)
    ranks = add_roles(pieces)
    parts = add_inner(pieces)
    state = pieces.read(lambda: read_json(folder, STATE), STATE) or {}
    pieces.holds(STATE, "progress")
    pieces.object(STATE, STATE, lambda: read_json(folder, STATE), kind=StateKind.PROGRESS, type="dict")
    arguments = _arguments(pieces)
    add_configurations(pieces)
    if arguments.get("fp16") is True and not has_role(folder, StateKind.LOSS_SCALER) and not parts:
        pieces.remarks.append("the run used fp16, and no scaler.pt holds the state of its loss scaler")
    inner_worlds = (part.world_size for part in parts if part.world_size is not None)
    world = world_of(ranks, pieces) or next(inner_worlds, None) or _processes(arguments)
    step = state.get("global_step")
    return pieces.manifest(
        Format.TRAINER,
        step=step if type(step) is int and 0 <= step < 2**53 else None,
        world_size=world,
        writer_ranks=tuple(sorted({*ranks, *(rank for part in parts for rank in part.writer_ranks)})),
        mesh=next((part.mesh for part in parts if part.mesh is not None), None),
        producer=pieces.read(lambda: producer(folder), "config.json") or "",
    )


def _arguments(pieces: Pieces) -> dict[Any, Any]:
    """The arguments of the run, which are a pickle of the library's own class: read as a stand-in."""
    folder = pieces.folder
    if not folder.has(ARGUMENTS):
        return {}
    pieces.holds(ARGUMENTS, "arguments of the run")
    found = pieces.read(lambda: read_torch(folder, ARGUMENTS), ARGUMENTS)
    if found is None:
        return {}
    pieces.judge(ARGUMENTS, found, quiet=True)
    state = found.value.state if isinstance(found.value, Built) else None
    return state if isinstance(state, dict) else {}


def _processes(arguments: dict[Any, Any]) -> int | None:
    """The number of processes that accelerate noted in the arguments."""
    held = arguments.get("distributed_state")
    state = held.state if isinstance(held, Built) else None
    found = state.get("num_processes") if isinstance(state, dict) else None
    return found if type(found) is int and 0 < found < 2**31 else None

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
from ckptplan.checkpoint.formats.weights import add_weights, at_root
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest
from ckptplan.checkpoint.pickles.values import Built

STATE = "trainer_state.json"
ARGUMENTS = "training_args.bin"
_INNER = re.compile(r"checkpoint-\d+/")
_NAMED = re.compile(r"(?:tmp-)?checkpoint-\d+\Z")
_RANDOM = re.compile(r"rng_state(?:_\d{1,9})?\.pth\Z")
_NEVER_ENDED = "missing: a Trainer writes it once weights and optimizer are written, so that the save never ended"


def recognised(folder: CheckpointFolder) -> bool:
    """Whether this is one checkpoint of a Trainer, not the folder of a run with its checkpoints in it.

    Without its state one is known by the arguments of the run, which a Trainer writes beside the weights, with any
    other state or in a folder ``checkpoint-N``; or by all such states under its names. Weights and arguments alone
    elsewhere are a model that was saved at the end.
    """
    if any(_INNER.match(name) for name in folder.sizes()):
        return False
    if folder.has(STATE):
        return True
    names = set(at_root(folder))
    states = ["optimizer.pt" in names, "scheduler.pt" in names, any(map(_RANDOM.match, names))]
    if ARGUMENTS not in names:
        return all(states)
    return any(states) or (_NAMED.match(folder.root.name) is not None and len(names) > 1)


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of one checkpoint of a Trainer."""
    pieces = Pieces(folder)
    add_weights(pieces)
    ranks = add_roles(pieces)
    parts = add_inner(pieces)
    state = _state(pieces)
    arguments = _arguments(pieces)
    add_configurations(pieces)
    if arguments.get("fp16") is True and not has_role(folder, StateKind.LOSS_SCALER) and not parts:
        pieces.remarks.append("the run used fp16, and no scaler.pt holds the state of its loss scaler")
    worlds = [world_of(ranks, pieces), _processes(arguments), *(part.world_size for part in parts)]
    step = state.get("global_step")
    return pieces.manifest(
        Format.TRAINER,
        step=step if type(step) is int and 0 <= step < 2**53 else None,
        world_size=max((world for world in worlds if world is not None), default=None),
        writer_ranks=tuple(sorted({*ranks, *(rank for part in parts for rank in part.writer_ranks)})),
        mesh=next((part.mesh for part in parts if part.mesh is not None), None),
        producer=pieces.read(lambda: producer(folder), "config.json") or "",
    )


def _state(pieces: Pieces) -> dict[str, Any]:
    """The progress of the run; without it the save is one that was cut short."""
    folder = pieces.folder
    if not folder.has(STATE):
        hint = "take the checkpoint before this one"
        pieces.faults.append(Fault(Flaw.UNCOMMITTED, _NEVER_ENDED, STATE, hint=hint))
        return {}
    pieces.holds(STATE, "progress")
    pieces.object(STATE, STATE, lambda: read_json(folder, STATE), kind=StateKind.PROGRESS, type="dict")
    return pieces.read(lambda: read_json(folder, STATE), STATE) or {}


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

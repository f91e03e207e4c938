"""What the files of model states hold: weights and buffers, frozen parameters, scheduler, progress, client state."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.formats.deepspeed.collecting import Collected
from ckptplan.checkpoint.formats.deepspeed.names import StateFile
from ckptplan.checkpoint.formats.deepspeed.parts import ModelPart, Reader
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Shards, Tensor

# By DeepSpeed's own names; everything else at the top is client state, and is known by its name or not at all.
_KINDS = {
    "lr_scheduler": StateKind.SCHEDULER,
    "global_steps": StateKind.PROGRESS,
    "global_samples": StateKind.PROGRESS,
    "skipped_steps": StateKind.PROGRESS,
    "data_sampler": StateKind.DATA_POSITION,
    "random_ltd": StateKind.OTHER,  # which tokens are dropped
}
MANY_FILES = 64
_SAMPLES = ("consumed_samples", "consumed_train_samples", "consumed_tokens", "step", "iteration", "epoch")


def read_models(reader: Reader, files: list[StateFile]) -> list[ModelPart]:
    """Model states. Stage 3 writes a file for every rank, which repeat each other unless they hold states of a rank."""
    found: list[ModelPart] = []
    for mp in sorted({file.mp for file in files}):
        own = [file for file in files if file.mp == mp]
        parts: list[ModelPart] = []
        for file in own:
            if len(own) > MANY_FILES and parts and not _differs_by_rank(parts[0]):
                break
            part = reader.model(file)
            parts += [part] if part is not None else []
        found += parts
    return found


def add_model(found: Collected, parts: list[ModelPart], label: str, ranks: int) -> None:
    """All states of one model-parallel rank. What the files of all ranks repeat is taken from the first."""
    first = parts[0]
    _add_module(found, first, label)
    _add_frozen(found, parts, label, ranks)
    for part in parts:
        for key, value in part.rest.items():
            if value is not None:
                _add_rest(found, part, first, key, value)


def _add_module(found: Collected, part: ModelPart, label: str) -> None:
    """Weights of the model, and its buffers. Stage 3 leaves an empty tensor in the place of each weight."""
    shapes = {name: shape for group in part.shapes for name, shape in group.items()}
    shapes.update({name: shape for name, (shape, _) in part.frozen.items()})
    for name, stored in part.module.items():
        if stored.elements == 0 and math.prod(shapes.get(name, (0,))) > 0:
            continue
        if stored.elements == 0 and name in part.shared:
            continue
        kind = StateKind.BUFFER if name in part.buffers else StateKind.PARAMETER
        key = f"{label}module:{name}"
        found.add_whole(key, kind, stored, path=("module", name), parameter=key if name not in part.buffers else None)


def _add_frozen(found: Collected, parts: list[ModelPart], label: str, ranks: int) -> None:
    """Parameters that are not trained. Stage 3 cuts them as it cuts all others; else `module` has them whole."""
    for name, (shape, _) in parts[0].frozen.items():
        if f"{label}module:{name}" in found.tensors:
            continue
        key = f"{label}frozen:{name}"
        pieces = [
            (part, fragment)
            for part in parts
            if (fragment := part.frozen.get(name, ((), None))[1]) is not None and fragment.row_major
        ]
        if not pieces:
            continue
        shards = _frozen_shards(found, math.prod(shape), pieces, ranks)
        dtype = pieces[0][1].dtype
        found.tensors[key] = Tensor(key, StateKind.PARAMETER, dtype, shape, shards, ("frozen", name), key)


def _frozen_shards(found: Collected, total: int, pieces: list[tuple[ModelPart, StoredTensor]], ranks: int) -> Shards:
    cut = len(pieces) > 1 or pieces[0][1].elements != total
    piece = -(-total // ranks)
    rows: list[tuple[int, int, int, int]] = []
    end = 0
    for part, stored in sorted(pieces, key=lambda one: one[0].file.dp or 0) if cut else pieces[:1]:
        first = min((part.file.dp or 0) * piece if cut else 0, total)
        size = min(stored.elements, total - first)
        if first > end:
            rows.append((end, first - end, -1, 0))
        if size > 0:
            rows.append((first, size, found.numbers[stored.file], stored.data_offset))
        end = first + size
    if end < total:
        rows.append((end, total - end, -1, 0))
    width = pieces[0][1].element_bytes
    table = np.array(rows, np.int64).reshape(-1, 4)
    there = table[:, 2] >= 0
    return Shards(
        offsets=table[:, :1].copy(),
        sizes=table[:, 1:2].copy(),
        files=table[:, 2].copy(),
        item_offsets=table[:, 3].copy(),
        item_bytes=np.where(there, table[:, 1] * width, 0),
        data_offsets=np.where(there, table[:, 3], -1),
        flat=True,
    )


def _add_rest(found: Collected, part: ModelPart, first: ModelPart, key: str, value: Any) -> None:
    """One state at the top of a file."""
    name = part.file.name.rsplit("/", 1)[-1]
    own = part.file.dp  # whose random numbers and data position are in a file of one rank
    before = set(found.objects) | set(found.tensors)
    found.add_state(part.file.name, f"{name}:", (key,), value, own)
    for new in [one for one in (*found.objects, *found.tensors) if one not in before]:
        entry = found.objects.get(new) or found.tensors[new]
        kind = _KINDS.get(key) or (StateKind.PROGRESS if key in _SAMPLES else entry.kind)
        if part is not first and kind not in (StateKind.RANDOM, StateKind.DATA_POSITION):
            # Every rank's file repeats it: it is there once already.
            found.objects.pop(new, None)
            found.tensors.pop(new, None)
        elif new in found.objects:
            found.objects[new] = found.objects[new]._replace(kind=kind)
        else:
            found.tensors[new] = found.tensors[new]._replace(kind=kind)


def _differs_by_rank(part: ModelPart) -> bool:
    """Whether the files of the other ranks must be read too: for random numbers, data position, or frozen pieces."""
    probe = Collected(Path(), [part.file.name])
    for key, value in part.rest.items():
        if value is not None:
            probe.add_state(part.file.name, "", (key,), value)
    kinds = {entry.kind for entry in probe.objects.values()} | {tensor.kind for tensor in probe.tensors.values()}
    return bool(part.frozen or kinds & {StateKind.RANDOM, StateKind.DATA_POSITION})

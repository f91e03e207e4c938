"""DeepSpeed universal checkpoints: one folder for each parameter, one file for each of its states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.deepspeed.collecting import Collected
from ckptplan.checkpoint.formats.deepspeed.completeness import absent_models
from ckptplan.checkpoint.formats.deepspeed.files import told_files
from ckptplan.checkpoint.formats.deepspeed.model_states import add_model, read_models
from ckptplan.checkpoint.formats.deepspeed.names import StateFile, universal_files
from ckptplan.checkpoint.formats.deepspeed.parts import MASTER, ModelPart, Reader, Shape, whole_number
from ckptplan.checkpoint.formats.deepspeed.source import PartitionSource
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest
from ckptplan.checkpoint.naming.optimizer import kind_of_slot
from ckptplan.errors import InputError, printable

_ONLY_MASTERS = "the weights are there as fp32 masters"
_MOST_RANKS = 1 << 17
_NUMBER_SLOTS = frozenset({"step"})


def read_universal(folder: CheckpointFolder, prefix: str, states: list[StateFile]) -> Manifest:
    """The manifest of a universal checkpoint."""
    reader = Reader(folder)
    found = Collected(folder.root, folder.sizes())
    parameters = universal_files(folder, prefix)
    models = read_models(reader, states)
    shapes = {name: shape for part in models for group in part.shapes for name, shape in group.items()}
    for parameter, slots in parameters.items():
        for slot, name in slots.items():
            _add_state(reader, found, parameter, slot, name)
            _shape(found, f"{slot}:{parameter}", shapes.get(parameter))
    reader.faults += [*_absent(parameters, prefix), *_absent_parameters(parameters, shapes, prefix)]
    ranks = max((whole_number(part.values.get("dp_world_size")) or 1 for part in models), default=1)
    reader.faults += absent_models(states, min(ranks, _MOST_RANKS))
    if models:
        add_model(found, models[:1], "", 1)
    _add_common(reader, found, f"{prefix}zero/optimizer_state.pt")
    if not found.tensors:
        raise InputError(f"{folder.root}: no file of the checkpoint can be read: {reader.faults[0].message}")
    return _assembled(folder, prefix, found, models, reader.faults)


def _assembled(
    folder: CheckpointFolder, prefix: str, found: Collected, models: list[ModelPart], faults: list[Fault]
) -> Manifest:
    files = told_files(folder, prefix)
    kinds = {tensor.kind for tensor in found.tensors.values()}
    values: dict[str, Any] = models[0].values if models else {}
    version = values.get("ds_version")
    return Manifest(
        format=Format.DEEPSPEED_UNIVERSAL,
        root=folder.root,
        tensors=tuple(found.tensors.values()),
        objects=tuple(found.objects.values()),
        files=files,
        source=PartitionSource(folder, files, found.whole, found.values),
        step=whole_number(values.get("global_steps")),
        world_size=whole_number(values.get("dp_world_size")),
        writer_ranks=tuple(sorted({file.rank for file in files if file.rank is not None})),
        faults=tuple(faults),
        elsewhere=() if StateKind.PARAMETER in kinds else ((StateKind.PARAMETER, _ONLY_MASTERS),),
        producer=f"DeepSpeed {printable(version)[:40]}" if isinstance(version, str) else "",
    )


def _add_state(reader: Reader, found: Collected, parameter: str, slot: str, name: str) -> None:
    """One file: a tensor, or a dict with the tensor as `param` and how tensor parallelism had cut it."""
    value = reader.value(name)
    stored = value.get("param") if isinstance(value, dict) else value
    kind = StateKind.MASTER if slot == MASTER else kind_of_slot(slot) or StateKind.OTHER
    key = f"{slot}:{parameter}"
    if slot in _NUMBER_SLOTS and stored is not None:
        found.add_object(key, StateKind.OPTIMIZER_STEP, name, stored, path=(slot, parameter))
    elif isinstance(stored, StoredTensor):
        found.add_whole(key, kind, stored, path=(slot, parameter), parameter=f"{MASTER}:{parameter}")
    elif value is not None:
        reader.faults.append(Fault(Flaw.CORRUPT, "no tensor", name, key))


def _shape(found: Collected, key: str, shape: Shape | None) -> None:
    """Stage 3 leaves flat vectors, whose shapes the model states tell."""
    tensor = found.tensors.get(key)
    flat = tensor is not None and len(tensor.shape) == 1 and found.whole[key].row_major
    if tensor is None or shape is None or not flat or math.prod(shape) != tensor.elements or shape == tensor.shape:
        return
    del found.whole[key]
    found.tensors[key] = tensor._replace(shape=shape, shards=tensor.shards._replace(flat=True))


def _absent_parameters(parameters: Mapping[str, object], shapes: Mapping[str, Shape], prefix: str) -> list[Fault]:
    """Parameters that the model states list and that have no folder, where the others' folders have those names."""
    gone = [name for name in shapes if name not in parameters]
    if not gone or len(gone) == len(shapes):
        return []
    message = f"{len(gone):,} of {len(shapes):,} parameters have no folder, this one the first"
    return [Fault(Flaw.MISSING_FILE, message, f"{prefix}zero/{printable(gone[0])[:200]}", hint="is the copy complete?")]


def _absent(parameters: dict[str, dict[str, str]], prefix: str) -> list[Fault]:
    """States that most parameters have and some lack."""
    counts: dict[str, int] = {}
    for slots in parameters.values():
        for slot in slots:
            counts[slot] = counts.get(slot, 0) + 1
    usual = [slot for slot, count in counts.items() if 2 * count > len(parameters)]
    return [
        Fault(Flaw.MISSING_FILE, f"{slot} of {parameter} is not there", f"{prefix}zero/{parameter}/{slot}.pt")
        for parameter, slots in parameters.items()
        for slot in usual
        if slot not in slots
    ][:20]


def _add_common(reader: Reader, found: Collected, name: str) -> None:
    """Hyperparameters, step and loss scaler. Its flat vectors are those of one rank and repeat the files beside it."""
    value = reader.value(name) if name in found.numbers else None
    if not isinstance(value, dict):
        return
    label = "optimizer_state.pt:"
    inner = value.get("optimizer_state_dict")
    base = inner if isinstance(inner, dict) else value
    groups = value.get("param_groups", base.get("param_groups"))
    before = set(found.objects)
    if groups is not None:
        found.add_state(name, label, ("param_groups",), groups)
    for key in set(found.objects) - before:
        found.objects[key] = found.objects[key]._replace(kind=StateKind.HYPERPARAMETERS)
    for index, slots in base["state"].items() if isinstance(base.get("state"), dict) else ():
        step = slots.get("step") if isinstance(slots, dict) else None
        if step is not None:
            key = f"{label}state.{index}.step"
            found.add_object(key, StateKind.OPTIMIZER_STEP, name, step, path=("state", str(index), "step"))
    if "loss_scaler" in value:
        found.add_object(
            f"{label}loss_scaler", StateKind.LOSS_SCALER, name, value["loss_scaler"], path=("loss_scaler",)
        )

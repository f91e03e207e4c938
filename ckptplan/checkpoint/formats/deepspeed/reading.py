"""DeepSpeed ZeRO checkpoints of stages 0 to 3: one tag as a manifest."""

from __future__ import annotations

from ckptplan.checkpoint.archives.flatten import Path as Keys
from ckptplan.checkpoint.archives.flatten import dotted
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.deepspeed.collecting import Collected
from ckptplan.checkpoint.formats.deepspeed.completeness import (
    absent_models,
    lost_parameters,
    missing_files,
    steps_differ,
)
from ckptplan.checkpoint.formats.deepspeed.files import told_files
from ckptplan.checkpoint.formats.deepspeed.model_states import add_model, read_models
from ckptplan.checkpoint.formats.deepspeed.names import StateFile, other_files, state_files, tag_prefix
from ckptplan.checkpoint.formats.deepspeed.partitions import Partitions, add_partitions
from ckptplan.checkpoint.formats.deepspeed.parts import MASTER, ModelPart, OptimizerPart, Reader, whole_number
from ckptplan.checkpoint.formats.deepspeed.source import PartitionSource
from ckptplan.checkpoint.formats.deepspeed.universal import read_universal
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest, Mesh, Tensor
from ckptplan.errors import InputError, printable

MOST_RANKS = 1 << 17

_UNKNOWN_AXES = "slices of tensor parallelism are told rank by rank: no file says along which axis they were cut"
_FILE_BY_FILE = "told file by file, nothing maps their parameters to the partitions"
_ONLY_MASTERS = "the weights are there as fp32 masters only: stage 3 stores no copy of 16 bits"


def recognised(folder: CheckpointFolder) -> bool:
    """Whether this is the folder of a DeepSpeed tag, or holds the one that `latest` names."""
    return tag_prefix(folder) is not None


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of one tag."""
    prefix = tag_prefix(folder)
    if prefix is None:
        raise InputError(f"{folder.root}: no DeepSpeed checkpoint", hint="name the folder of a tag, or the one above")
    files = state_files(folder, prefix)
    if not any(file.optimizer for file in files) and any(name.startswith(f"{prefix}zero/") for name in folder.sizes()):
        return read_universal(folder, prefix, files)
    reader = Reader(folder)
    found = Collected(folder.root, folder.sizes())
    optimizers = [part for part in map(reader.optimizer, (one for one in files if one.optimizer)) if part is not None]
    models = read_models(reader, [one for one in files if not one.optimizer])
    if not optimizers and not models:
        raise InputError(f"{folder.root}: no file of the checkpoint can be read: {reader.faults[0].message}")
    ranks = _ranks(optimizers, models, files)
    model_parallel = sorted({file.mp for file in files})
    model_ranks = max(_model_ranks(models), model_parallel[-1] + 1)
    faults = _add_optimizers(found, optimizers, models, ranks, several=model_ranks > 1)
    others = other_files(folder, prefix)
    faults += missing_files(files, others, models, ranks, model_ranks)
    faults += steps_differ(folder, optimizers, models)
    faults += lost_parameters(models, others, max((part.stage for part in optimizers), default=0))
    for mp in sorted({one.file.mp for one in models}):
        own = [one for one in models if one.file.mp == mp]
        add_model(found, own, _label(mp, model_ranks > 1), ranks)
    for name in others:
        value = reader.value(name)
        if value is not None:
            found.add_state(name, f"{name.removeprefix(prefix)}:", (), value)
    manifest = _assembled(folder, prefix, found, models, optimizers)
    grid = (ranks, model_ranks)
    mesh = Mesh(grid, ("data parallel", "model parallel")) if grid[1] > 1 else Mesh(grid[:1], ("data parallel",))
    remarks = list(manifest.remarks)
    remarks += [_UNKNOWN_AXES] if grid[1] > 1 else []
    remarks += [f"{len(others):,} files of pipeline layers or experts: {_FILE_BY_FILE}"] if others else []
    return manifest._replace(
        mesh=mesh,
        world_size=ranks * model_ranks,
        faults=(*reader.faults, *faults, *absent_models(files, ranks)),
        remarks=tuple(remarks),
    )


def _label(mp: int, several: bool) -> str:
    """What keys begin with: nothing says along which axes tensor parallelism cuts, so that its ranks stay apart."""
    return f"mp_rank_{mp:02d}:" if several else ""


def _ranks(optimizers: list[OptimizerPart], models: list[ModelPart], files: list[StateFile]) -> int:
    """Data-parallel ranks: what the files say, and no fewer than there are files of."""
    said = [part.ranks for part in optimizers]
    said += [whole_number(part.values.get("dp_world_size")) or 0 for part in models]
    ranks = max([1, *said, *((file.dp or 0) + 1 for file in files)])
    if ranks > MOST_RANKS:
        raise InputError(f"a checkpoint of {ranks:,} data-parallel ranks", hint=f"at most {MOST_RANKS:,} are read")
    return ranks


def _model_ranks(models: list[ModelPart]) -> int:
    """Model-parallel ranks, as the files say."""
    ranks = max((whole_number(part.values.get("mp_world_size")) or 1 for part in models), default=1)
    if ranks > MOST_RANKS:
        raise InputError(f"a checkpoint of {ranks:,} model-parallel ranks", hint=f"at most {MOST_RANKS:,} are read")
    return ranks


def _add_optimizers(
    found: Collected, optimizers: list[OptimizerPart], models: list[ModelPart], ranks: int, several: bool
) -> list[Fault]:
    faults: list[Fault] = []
    for mp in sorted({part.file.mp for part in optimizers}):
        parts = {part.file.dp or 0: part for part in optimizers if part.file.mp == mp}
        model = next((one for one in models if one.file.mp == mp), None)
        partitions = Partitions(parts, ranks, model.shapes if model else [], _label(mp, several))
        if model is None:
            message = f"no model states of model-parallel rank {mp}: shapes of parameters are not known"
            faults.append(Fault(Flaw.MISSING_FILE, message, hint="is the copy complete?"))
        faults += add_partitions(found, partitions)
        if mp == min(part.file.mp for part in optimizers):
            _add_optimizer_rest(found, partitions.first)
    return faults


def _add_optimizer_rest(found: Collected, part: OptimizerPart) -> None:
    """Hyperparameters, steps and loss scaler; every rank's file repeats them."""
    label = part.file.name.rsplit("/", 1)[-1] + ":"
    base_name = "base_optimizer_state" if "base_optimizer_state" in part.rest else "optimizer_state_dict"
    base = part.rest.get(base_name)
    root = ("optimizer_state_dict", base_name)
    if isinstance(base, dict):
        found.add_state(part.file.name, label, (*root, "param_groups"), base.get("param_groups"))
        for index, states in base["state"].items() if isinstance(base.get("state"), dict) else ():
            step = states.get("step") if isinstance(states, dict) else None
            if step is not None:
                path: Keys = (*root, "state", index if isinstance(index, int) else str(index), "step")
                key = label + dotted(path)
                found.add_object(key, StateKind.OPTIMIZER_STEP, part.file.name, step, path=path)
    for name in ("loss_scaler", "dynamic_loss_scale", "cur_scale"):
        if name in part.rest:
            where: Keys = ("optimizer_state_dict", name)
            found.add_object(label + dotted(where), StateKind.LOSS_SCALER, part.file.name, part.rest[name], path=where)
    for key, entry in found.objects.items():
        if "param_groups" in entry.path[:3]:
            found.objects[key] = entry._replace(kind=StateKind.HYPERPARAMETERS)


def _assembled(
    folder: CheckpointFolder,
    prefix: str,
    found: Collected,
    models: list[ModelPart],
    optimizers: list[OptimizerPart],
) -> Manifest:
    model = models[0] if models else None
    kinds = {tensor.kind for tensor in found.tensors.values()}
    masters_only = StateKind.MASTER in kinds and StateKind.PARAMETER not in kinds
    versions = [part.version for part in optimizers if part.version]
    files = told_files(folder, prefix)
    remarks = [
        f"{name} is the same weight as {other}" for part in models[:1] for name, other in list(part.shared.items())[:20]
    ]
    return Manifest(
        format=Format.DEEPSPEED,
        root=folder.root,
        tensors=tuple(_with_parameters(found)),
        objects=tuple(found.objects.values()),
        files=files,
        source=PartitionSource(folder, files, found.whole, found.values),
        step=whole_number(model.values.get("global_steps")) if model else None,
        writer_ranks=tuple(sorted({file.rank for file in files if file.rank is not None})),
        remarks=tuple(remarks),
        elsewhere=((StateKind.PARAMETER, _ONLY_MASTERS),) if masters_only else (),
        producer=f"DeepSpeed {printable(versions[0])[:40]}" if versions else "",
    )


def _with_parameters(found: Collected) -> list[Tensor]:
    """States with the key of their parameter: the copy of 16 bits, or the master where there is none."""
    tensors: list[Tensor] = []
    for tensor in found.tensors.values():
        if tensor.parameter is not None and tensor.kind not in (StateKind.PARAMETER, StateKind.BUFFER):
            slot, name = str(tensor.path[0]), str(tensor.path[-1])
            label = tensor.key[: len(tensor.key) - len(f"{slot}:{name}")]
            copy = f"{label}module:{name}"
            tensors.append(tensor._replace(parameter=copy if copy in found.tensors else f"{label}{MASTER}:{name}"))
        else:
            tensors.append(tensor)
    return tensors

"""A model and its ledger from a checkpoint of training: parameters, bytes of every state, the layout that is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ckptplan.checkpoint.dtypes import BITS, TO_SAFETENSORS
from ckptplan.checkpoint.formats.safetensors_header import StoredTensor
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Format, Manifest, Tensor
from ckptplan.checkpoint.summary import KindTotal, by_kind, sharing
from ckptplan.cost.architecture import Architecture
from ckptplan.cost.ledgers import ADDITIONS, FIRST, MASTER, SECOND, SMALL_STATES, WEIGHTS
from ckptplan.cost.scenario import Kind, Ledger, Scope, State
from ckptplan.errors import InputError
from ckptplan.readers.models.stored_model import architecture_of

_STACKED = re.compile(r"(?<=\.layers\.)(?![0-9])")
_MOST_NAMES = 100_000
_TRAINERS = ("trainer_state.json", "optimizer.pt", "optimizer.bin", "random_states_0.pkl", ".metadata")
_PIECES = frozenset({Format.MEGATRON_LEGACY, Format.FSDP1_FLAT})
_AXES = {
    "tp": "tensor", "tensor": "tensor", "tensor_parallel": "tensor", "model": "tensor", "model parallel": "tensor",
    "pp": "pipeline", "pipeline": "pipeline", "stage": "pipeline",
    "cp": "context", "context": "context", "ep": "expert", "expert": "expert",
}  # fmt: skip
_BY_PARAMETER = {
    StateKind.MASTER: MASTER,
    StateKind.FIRST_MOMENT: FIRST,
    StateKind.SECOND_MOMENT: SECOND,
    StateKind.EMA: ADDITIONS["ema"],
}
_STEP, _POSITION, _RANDOM, _SCALER = SMALL_STATES
_SMALL = {
    StateKind.OPTIMIZER_STEP: ("optimizer step", Kind.PROGRESS, FIRST.loss),
    StateKind.HYPERPARAMETERS: ("hyperparameters of the optimizer", Kind.PROGRESS, _STEP.loss),
    StateKind.SCHEDULER: ("scheduler", Kind.PROGRESS, _STEP.loss),
    StateKind.PROGRESS: ("progress", Kind.PROGRESS, _STEP.loss),
    StateKind.DATA_POSITION: ("data-loader position", Kind.PROGRESS, _POSITION.loss),
    StateKind.RANDOM: ("random-number states", Kind.RANDOM, _RANDOM.loss),
    StateKind.LOSS_SCALER: ("loss scaler", Kind.SCALER, _SCALER.loss),
    StateKind.FP8: ("FP8 scales and histories", Kind.SCALER, _SCALER.loss),
    StateKind.BUFFER: ("buffers", Kind.PROGRESS, ""),
    StateKind.OTHER: ("other states", Kind.PROGRESS, ""),
}
_OF_EVERY_RANK = frozenset({StateKind.RANDOM, StateKind.DATA_POSITION})


class SavedState(NamedTuple):
    """What a checkpoint of training says of a spec. `ledger` None: weights alone."""

    architecture: Architecture
    remarks: tuple[str, ...]
    ledger: Ledger | None = None
    axes: Mapping[str, int] = MappingProxyType({})  # of the layout: model-parallel ranks, where known


def read_saved(path: Path) -> SavedState:
    """The model of a checkpoint, and what else a plan takes from it.

    Parameters
    ----------
    path : Path
        Weights as safetensors (a file, an index or their folder), or a checkpoint of training in any format.

    Returns
    -------
    SavedState

    Raises
    ------
    InputError
        For files that cannot be read, and formats that do not tell the shapes of tensors.
    """
    from ckptplan.readers.models.stored_model import read_stored_model

    if not _is_weights(path):
        from ckptplan.checkpoint.formats.detect import read_manifest

        manifest = read_manifest(path)
        if manifest.format is not Format.SAFETENSORS:
            return saved_state(manifest)
        path = manifest.root
    return SavedState(*read_stored_model(path)[:2])


def _is_weights(path: Path) -> bool:
    """Whether there are safetensors files and no trace of a trainer."""
    if not path.is_dir():
        return path.suffix not in {".pt", ".pth", ".bin", ".ckpt"}
    names = {entry.name for entry in islice(path.iterdir(), _MOST_NAMES)}
    weights = any(name.endswith((".safetensors", ".safetensors.index.json")) for name in names)
    return weights and not any(name in names for name in _TRAINERS)


def saved_state(manifest: Manifest) -> SavedState:
    """What a plan takes from a manifest.

    Parameters
    ----------
    manifest : Manifest
        Of any format that tells the global shapes of its tensors.

    Returns
    -------
    SavedState

    Raises
    ------
    InputError
        Where only the pieces of ranks are known, or no parameter is there.
    """
    if manifest.format in _PIECES:
        message = f"{manifest.format}: the files hold the pieces of ranks, and do not say how these make up tensors"
        raise InputError(message, hint="write config: ./config.json or parameters: 405e9")
    weights = _weights(manifest)
    if not weights:
        raise InputError("the checkpoint lists no parameters", hint="ckptplan inspect shows what is in it")
    architecture = architecture_of(_stored(weights))._replace(source=f"{manifest.root}: {len(weights):,} tensors")
    totals = {total.kind: total for total in by_kind(manifest)}
    trained = set(totals) - {StateKind.PARAMETER, StateKind.BUFFER}
    ledger = _ledger(manifest, totals, architecture.total) if trained else None
    axes = _axes(manifest)
    remarks = tuple(f"{fault.message}: ckptplan audit tells more" for fault in manifest.faults[:3])
    return SavedState(architecture, remarks, ledger, axes)


def _weights(manifest: Manifest) -> list[Tensor]:
    for kind in (StateKind.PARAMETER, StateKind.MASTER):
        found = [tensor for tensor in manifest.tensors if tensor.kind is kind and tensor.elements]
        if found:
            tied = {tensor.key for tensor in sharing(found)}
            return [tensor for tensor in found if tensor.key not in tied]
    return []


def _stored(tensors: list[Tensor]) -> Iterator[StoredTensor]:
    """Tensors under names that count their layers: Megatron stacks the layers on the first axis."""
    for tensor in tensors:
        name = tensor.parameter or tensor.key
        stacked = _STACKED.search(name)
        dtype = TO_SAFETENSORS.get(tensor.dtype, "F32")
        if stacked is None or len(tensor.shape) < 2:
            yield StoredTensor(name, dtype, tensor.shape)
            continue
        for layer in range(tensor.shape[0]):
            at = stacked.start()
            yield StoredTensor(f"{name[:at]}{layer}.{name[at:]}", dtype, tensor.shape[1:])


def _ledger(manifest: Manifest, totals: Mapping[StateKind, KindTotal], parameters: int) -> Ledger:
    """Every kind of state with its true bytes."""
    large = [total for total in totals.values() if _is_large(total.kind) and total.elements]
    states = [_per_parameter(total, parameters, totals) for total in large]
    states += [_small(total, manifest) for total in totals.values() if not _is_large(total.kind)]
    return Ledger("as stored", tuple(states), source=str(manifest.root))


def _is_large(kind: StateKind) -> bool:
    return kind is StateKind.PARAMETER or kind in _BY_PARAMETER


def _per_parameter(total: KindTotal, parameters: int, totals: Mapping[StateKind, KindTotal]) -> State:
    elements = total.elements
    model = _BY_PARAMETER.get(total.kind, WEIGHTS)
    if total.kind is StateKind.PARAMETER and BITS[total.dtypes[0][0]] >= 32 and StateKind.MASTER not in totals:
        model = MASTER  # a sharded fp32 parameter is the master itself
    each, share = total.distinct_bytes / elements, elements / parameters
    kinds = ", ".join(name for name, _ in total.dtypes[:3])
    return State(f"{total.kind} ({kinds})", model.kind, each, share=share, loss=model.loss, source=str(total.kind))


def _small(total: KindTotal, manifest: Manifest) -> State:
    name, kind, loss = _SMALL[total.kind]
    size = float(max(total.stored_bytes, total.logical_bytes))
    if total.kind in _OF_EVERY_RANK and manifest.world_size:
        scope = Scope.RANK if total.kind is StateKind.RANDOM else Scope.DATA_RANK
        return State(name, kind, size / manifest.world_size, scope, loss=loss, source=str(total.kind))
    return State(name, kind, size, Scope.JOB, loss=loss, source=str(total.kind))


def _axes(manifest: Manifest) -> dict[str, int]:
    if manifest.mesh is None:
        return {}
    named = zip(manifest.mesh.names, manifest.mesh.shape, strict=True)
    return {_AXES[name]: size for name, size in named if name in _AXES and size > 1}

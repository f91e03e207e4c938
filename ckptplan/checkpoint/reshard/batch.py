"""The global batch that a checkpoint was trained with, and the ways to keep it on another number of replicas."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ckptplan.checkpoint.archives.torch_file import read_torch
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.manifest import Manifest
from ckptplan.checkpoint.pickles.values import Built
from ckptplan.cost.batches import EvenSplit, Nearest, even_splits, nearest_replicas
from ckptplan.errors import InputError

LARGEST_MICRO_BATCH = 4096  # sequences: more of them fit in no memory
LARGEST_BATCH = 10**12
MOST_TRIED = 3  # files: where one of many ranks does not say it, the others do not either


class GlobalBatch(NamedTuple):
    """Sequences of one optimizer step, and where that is written."""

    sequences: int
    source: str
    micro_batch: int | None = None  # sequences
    samples_read: int | None = None  # up to this checkpoint


class BatchSplits(NamedTuple):
    """The ways to keep a global batch on a number of data-parallel replicas."""

    batch: GlobalBatch
    replicas: int
    even: tuple[EvenSplit, ...]  # the largest micro-batch first; empty: there is none
    nearest: Nearest  # numbers of replicas that have one


def batch_splits(batch: GlobalBatch, replicas: int) -> BatchSplits:
    """Micro-batch sizes and counts whose product with the replicas is the global batch, and the nearest replicas."""
    sizes = range(1, min(LARGEST_MICRO_BATCH, batch.sequences // replicas) + 1)
    even = even_splits(batch.sequences, replicas, sizes)
    return BatchSplits(batch, replicas, even, nearest_replicas(batch.sequences, replicas, 1))


def recorded_batch(manifest: Manifest) -> GlobalBatch | None:
    """The global batch as the settings beside the tensors have it: of Megatron, DeepSpeed or the Trainer.

    None where none of them is there, or says it in full.
    """
    readers = {"common.pt": _megatron, "model_optim_rng.pt": _megatron, "training_args.bin": _trainer}
    tried = 0
    for file in manifest.files:
        name = PurePosixPath(file.name).name
        reader = _deepspeed if name.endswith("_model_states.pt") else readers.get(name)
        if reader is None:
            continue
        tried += 1
        if tried > MOST_TRIED:
            break
        found = reader(_value(manifest, file.name), manifest, file.name)
        if found is not None and 0 < found.sequences <= LARGEST_BATCH:
            return found
    return None


def _value(manifest: Manifest, name: str) -> Any:
    """A file of torch.save as inert values; None if it is unreadable, which is for the audit to say."""
    try:
        with CheckpointFolder(manifest.root) as folder:
            return read_torch(folder, name).value
    except InputError:
        return None


def _megatron(value: Any, _: Manifest, name: str) -> GlobalBatch | None:
    args = attributes(value.get("args")) if isinstance(value, Mapping) else {}
    sequences = _whole(args.get("global_batch_size"))
    if sequences is None:
        return None
    read, micro = _whole(args.get("consumed_train_samples")), _whole(args.get("micro_batch_size"))
    return GlobalBatch(sequences, f"args of {name}", micro, read)


def _deepspeed(value: Any, manifest: Manifest, name: str) -> GlobalBatch | None:
    if not isinstance(value, Mapping):
        return None
    config = attributes(value.get("ds_config"))
    micro, source = _whole(config.get("train_micro_batch_size_per_gpu")), f"ds_config of {name}"
    read, whole = _whole(value.get("global_samples")), _whole(config.get("train_batch_size"))
    ranks = _whole(value.get("dp_world_size")) or manifest.world_size
    if whole is None and micro is not None and ranks is not None:
        whole = micro * ranks * (_whole(config.get("gradient_accumulation_steps")) or 1)
    return None if whole is None else GlobalBatch(whole, source, micro, read)


def _trainer(value: Any, manifest: Manifest, name: str) -> GlobalBatch | None:
    args = attributes(value)
    micro = _whole(args.get("per_device_train_batch_size"))
    ranks = manifest.world_size
    if micro is None or ranks is None:
        return None
    sequences = micro * ranks * (_whole(args.get("gradient_accumulation_steps")) or 1)
    read = None if manifest.step is None else manifest.step * sequences
    return GlobalBatch(sequences, f"{name}, on {ranks:,} rank{'' if ranks == 1 else 's'}", micro, read)


def attributes(value: Any) -> Mapping[Any, Any]:
    """What an object that was not built would hold: a namespace, a class of settings, or a plain dict."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, Built):
        return {}
    state = value.state
    if isinstance(state, tuple) and len(state) == 2:  # with slots: (dict, slots)
        state = state[0] if isinstance(state[0], Mapping) else state[1]
    return state if isinstance(state, Mapping) else value.pairs


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST_BATCH else None

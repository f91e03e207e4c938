"""The learning rate at which a checkpoint was saved, and how far it has decayed, wherever its framework keeps it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ckptplan.checkpoint.archives.torch_file import read_torch
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Format, Manifest, Object
from ckptplan.errors import InputError

_MOST_READ = 256  # objects that are looked into: frameworks store the rate once for each parameter
_MEGATRON = {Format.MEGATRON_DIST: "common.pt", Format.MEGATRON_LEGACY: "model_optim_rng.pt"}
_NOW = ("lr", "_last_lr", "learning_rate")
_PEAK = ("initial_lr", "base_lrs", "max_lr")


class Rate(NamedTuple):
    """Learning rates of one checkpoint: groups of parameters may have several. None: not known."""

    highest: float | None = None
    lowest: float | None = None
    peak: float | None = None  # that the schedule decays from

    @property
    def share_of_peak(self) -> float | None:
        """The highest rate over the peak."""
        return self.highest / self.peak if self.highest is not None and self.peak else None


def rate_of(manifest: Manifest) -> Rate:
    """The learning rate from the optimizer's groups or the scheduler; unknown where neither is there or readable.

    The rate in a checkpoint is that of the next step, since schedulers are stepped before a save.
    """
    now: list[float] = []
    peak: list[float] = []
    try:
        for name, value in _found(manifest):
            (now if name in _NOW else peak).extend(_numbers(value))
    except InputError:
        pass  # what cannot be read is not known
    if not now:
        return Rate(peak=max(peak, default=None))
    return Rate(max(now), min(now), max(peak, default=None))


def _found(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    """Rates by the names that frameworks give them."""
    objects = [entry for entry in manifest.objects if entry.kind in (StateKind.HYPERPARAMETERS, StateKind.SCHEDULER)]
    direct = [(name, entry) for entry in objects if (name := _last_name(entry)) in (*_NOW, *_PEAK)]
    groups = {name for name, _ in direct}
    for wanted in (_NOW, _PEAK):
        of_one = [(name, entry) for name, entry in direct if name in wanted]
        in_optimizer = [pair for pair in of_one if pair[1].kind is StateKind.HYPERPARAMETERS] or of_one
        for name, entry in in_optimizer[:_MOST_READ]:
            yield name, manifest.source.value(entry)
    if not groups:
        whole = [entry for entry in objects if _last_name(entry) in ("param_groups", "lr_scheduler", "scheduler")]
        for entry in whole:
            yield from _within(manifest.source.value(entry))
    yield from _trainer(manifest) if not groups.intersection(_NOW) else ()
    yield from _megatron(manifest) if manifest.format in _MEGATRON else ()


def _last_name(entry: Object) -> str:
    last = str(entry.path[-1]) if entry.path else entry.key
    return last.rpartition(":")[2].rpartition(".")[2]


def _within(value: Any) -> Iterator[tuple[str, Any]]:
    """Rates in a stored list of groups, or in the state of a scheduler."""
    for group in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(group, dict):
            yield from ((name, group[name]) for name in (*_NOW, *_PEAK) if name in group)


def _trainer(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    """The last logged rate of Hugging Face's Trainer, and the highest one."""
    for entry in manifest.objects:
        if entry.key.rpartition("/")[2] != "trainer_state.json":
            continue
        state = manifest.source.value(entry)
        history = state.get("log_history") if isinstance(state, dict) else None
        logged = [row.get("learning_rate") for row in history or () if isinstance(row, dict)]
        rates = [rate for value in logged for rate in _numbers(value)]
        if rates:
            yield "learning_rate", rates[-1]
            yield "max_lr", max(rates)


def _megatron(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    wanted = _MEGATRON[manifest.format]
    for file in manifest.files:
        if file.name.rpartition("/")[2] != wanted:
            continue
        with CheckpointFolder(manifest.root, only=file.name) as folder:
            value = read_torch(folder, file.name).value
        if isinstance(value, dict):
            yield from _within(value.get("opt_param_scheduler"))
            yield from _within(_groups(value.get("optimizer")))
        return


def _groups(optimizer: Any) -> Any:
    """Groups of Megatron's optimizers, which wrap each other."""
    for _ in range(4):
        if not isinstance(optimizer, dict) or "param_groups" in optimizer:
            break
        optimizer = optimizer.get("optimizer")
    return optimizer.get("param_groups") if isinstance(optimizer, dict) else None


def _numbers(value: Any) -> list[float]:
    """Finite rates of at least 0 in a number or a list of numbers."""
    values: Sequence[Any] = value if isinstance(value, (list, tuple)) else [value]
    numbers = [v for v in values[:_MOST_READ] if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return [float(v) for v in numbers if math.isfinite(v) and v >= 0.0]

"""ZeRO checkpoints written by the tests: parameters are flattened, padded and cut as DeepSpeed does, without it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.checkpoint.archives.torch_zip import Call, Name, Storage, saved, tensor

SLOTS = ("fp32", "exp_avg", "exp_avg_sq")
Vector = np.ndarray[Any, np.dtype[np.float32]]


class Run(NamedTuple):
    """A run: its groups of parameters, and how it is cut."""

    stage: int
    ranks: int
    groups: list[dict[str, tuple[int, ...]]]
    model_ranks: int = 1
    prefix: str = ""
    mapped: bool = True  # with param_slice_mappings
    weights: bool = True  # stages 1 and 2 store the weights too
    align: int = 2  # groups of stages 1 and 2 are padded to a multiple of ranks times this
    client: dict[str, Any] = {}  # noqa: RUF012 - never changed
    frozen: dict[str, tuple[int, ...]] = {}  # noqa: RUF012 - never changed


class File:
    """One file of torch.save that is being put together."""

    def __init__(self) -> None:
        self.storages: dict[str, bytes] = {}

    def stored(self, values: np.ndarray[Any, Any], shape: tuple[int, ...] | None = None) -> Call:
        """What the pickle says of a tensor whose elements are these."""
        shape = values.shape if shape is None else shape
        key = str(len(self.storages))
        self.storages[key] = np.ascontiguousarray(values).tobytes()
        strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
        return tensor(Storage("float32", key, values.size), shape, strides)

    def write(self, path: Path, value: Any) -> None:
        """Write it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(saved(value, self.storages))


def values_of(run: Run, model_rank: int = 0) -> dict[str, dict[str, Vector]]:
    """Elements of every state of every parameter: slot -> name -> values."""
    draw = np.random.default_rng(100 * run.stage + 10 * run.ranks + model_rank)
    shapes = {name: shape for group in run.groups for name, shape in group.items()}
    return {
        slot: {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()} for slot in SLOTS
    }


def write(run: Run, root: Path, tag: str = "global_step5") -> Path:
    """The whole checkpoint with its `latest`; the folder of the tag."""
    folder = root / tag
    for model_rank in range(run.model_ranks):
        values = values_of(run, model_rank)
        parts = _cut(run, values) if run.stage == 3 else _sliced(run, values)
        for rank, (vectors, mappings) in enumerate(parts):
            name = f"{run.prefix}zero_pp_rank_{rank}_mp_rank_{model_rank:02d}_optim_states.pt"
            _write_optimizer(run, folder / name, vectors, mappings)
        _write_models(run, folder, model_rank, values)
    (root / "latest").write_text(tag)
    (folder / "zero_to_fp32.py").write_text("raise SystemExit('never run')\n")
    return folder


Part = tuple[dict[str, list[Vector]], list[dict[str, Call]]]


def _sliced(run: Run, values: dict[str, dict[str, Vector]]) -> list[Part]:
    """Stages 1 and 2: a group is one vector, padded at its end and cut in equal partitions."""
    parts: list[Part] = [({slot: [] for slot in SLOTS}, []) for _ in range(run.ranks)]
    for group in run.groups:
        total = sum(math.prod(shape) for shape in group.values())
        unit = run.ranks * run.align
        padded = max(unit, -(-total // unit) * unit)
        length = padded // run.ranks
        for slot in SLOTS:
            flat = np.concatenate([values[slot][name].reshape(-1) for name in group] or [np.zeros(0, np.float32)])
            flat = np.concatenate([flat, np.full(padded - total, -7, np.float32)])
            for rank in range(run.ranks):
                parts[rank][0][slot].append(flat[rank * length : (rank + 1) * length])
        for rank in range(run.ranks):
            parts[rank][1].append(_mapping(group, rank * length, (rank + 1) * length))
    return parts


def _mapping(group: dict[str, tuple[int, ...]], first: int, last: int) -> dict[str, Call]:
    found: dict[str, Call] = {}
    at = 0
    for name, shape in group.items():
        begin, end = max(at, first), min(at + math.prod(shape), last)
        if begin < end:
            found[name] = Call("deepspeed.utils.tensor_fragment", "fragment_address", (end - begin, begin - first))
        at += math.prod(shape)
    return found


def _cut(run: Run, values: dict[str, dict[str, Vector]]) -> list[Part]:
    """Stage 3: each parameter is padded and cut; sub-groups hold a few parameters each."""
    parts: list[Part] = [({slot: [] for slot in SLOTS}, []) for _ in range(run.ranks)]
    for slot in SLOTS:
        for group in run.groups:
            cut = [_padded(values[slot][name].reshape(-1), run.ranks) for name in group]
            for rank in range(run.ranks):
                pieces = [one.reshape(run.ranks, -1)[rank] for one in cut]
                parts[rank][0][slot].append(np.concatenate(pieces or [np.zeros(0, np.float32)]))
    return parts


def _padded(flat: Vector, ranks: int) -> Vector:
    return np.concatenate([flat, np.full(-flat.size % ranks, -7, np.float32)])


def _write_optimizer(run: Run, path: Path, vectors: dict[str, list[Vector]], mappings: list[dict[str, Call]]) -> None:
    file = File()
    stored = {slot: [file.stored(one) for one in vectors[slot]] for slot in SLOTS}
    state = {
        index: {
            "step": file.stored(np.array(5, np.float32)),
            **{slot: stored[slot][index] for slot in SLOTS[1:]},
        }
        for index in range(len(run.groups))
    }
    base = {"state": state, "param_groups": [{"lr": 0.01, "params": [0]} for _ in run.groups]}
    scaler = Call("deepspeed.runtime.fp16.loss_scaler", "LossScaler", (1.0,))
    stage = Call("deepspeed.runtime.zero.config", "ZeroStageEnum", (run.stage,))
    common = {"zero_stage": stage, "loss_scaler": scaler, "ds_version": "0.16.0"}
    if run.stage == 3:
        states = {
            **common,
            "partition_count": run.ranks,
            "optimizer_state_dict": base,
            "fp32_flat_groups": stored["fp32"],
        }
    else:
        states = {
            **common, "partition_count": [run.ranks] * len(run.groups), "base_optimizer_state": base,
            "single_partition_of_fp32_groups": stored["fp32"],
        }  # fmt: skip
        if run.mapped:
            states["param_slice_mappings"] = mappings
    file.write(path, {"optimizer_state_dict": states, "ds_version": "0.16.0"})


def _write_models(run: Run, folder: Path, model_rank: int, values: dict[str, dict[str, Vector]]) -> None:
    for rank in range(run.ranks if run.stage == 3 else 1):
        file = File()
        module = {
            name: file.stored(np.zeros(0, np.float32) if run.stage == 3 else value)
            for name, value in values["fp32"].items()
            if run.weights
        }
        frozen = {}
        for number, (name, shape) in enumerate(run.frozen.items()):
            whole = frozen_values(number, shape)
            piece = _padded(whole.reshape(-1), run.ranks).reshape(run.ranks, -1)[rank] if run.stage == 3 else whole
            frozen[name] = file.stored(piece)
        sizes = [{name: Call("torch", "Size", (shape,)) for name, shape in group.items()} for group in run.groups]
        state = {
            "module": {**module, "norm.running_mean": file.stored(np.arange(3, dtype=np.float32))},
            "buffer_names": ["norm.running_mean"], "param_shapes": sizes, "shared_params": {},
            "frozen_param_shapes": {name: Call("torch", "Size", (shape,)) for name, shape in run.frozen.items()},
            "frozen_param_fragments": frozen, "lr_scheduler": {"last_epoch": 5}, "global_steps": 5,
            "dp_world_size": run.ranks, "mp_world_size": run.model_ranks, "ds_version": "0.16.0", **run.client,
        }  # fmt: skip
        name = f"mp_rank_{model_rank:02d}_model_states.pt"
        file.write(folder / (f"zero_pp_rank_{rank}_{name}" if run.stage == 3 else name), state)


def frozen_values(number: int, shape: tuple[int, ...]) -> Vector:
    """Elements of a parameter that is not trained."""
    return np.random.default_rng(900 + number).normal(size=shape).astype(np.float32)


HARM = Name("os", "system")  # a name that no reader may follow

"""Manifests made by hand: a checkpoint of a small model, whole and complete until a test takes something away."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import File, Format, Manifest, Object, Raw, Shards, Tensor
from ckptplan.errors import InputError

ROWS, COLUMNS, RANKS = 10, 4, 4
ITEM_BYTES = 2_000


class MadeSource:
    """Values of objects by their keys; every shard is stored in row-major order."""

    def __init__(self, values: dict[str, object]) -> None:
        self.values = values

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Right behind the start of the item."""
        shape = tuple(int(n) for n in tensor.shards.sizes[row])
        strides = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
        offset = int(tensor.shards.item_offsets[row])
        return Raw(int(tensor.shards.files[row]), offset, tensor.dtype, shape, strides)

    def read(self, tensor: Tensor, row: int) -> np.ndarray:
        """Nothing but zeros."""
        return np.zeros(int(tensor.shards.sizes[row].prod()) * 4, dtype=np.uint8)

    def value(self, entry: Object) -> object:
        """The value that the test gave."""
        if entry.key not in self.values:
            raise InputError(f"{entry.key}: no such object")
        return self.values[entry.key]


class Maker:
    """Collects tensors and objects, each in an item of its own, in the files of four ranks."""

    def __init__(self, ranks: int = RANKS) -> None:
        self.ranks = ranks
        self.tensors: list[Tensor] = []
        self.objects: list[Object] = []
        self.values: dict[str, object] = {}
        self.ends = [0] * ranks

    def item(self, rank: int) -> int:
        """Where the next item of a rank's file begins."""
        self.ends[rank] += ITEM_BYTES
        return self.ends[rank] - ITEM_BYTES

    def tensor(self, key, kind, shape=(ROWS, COLUMNS), dtype="float32", path=(), parameter=None, rank=None):
        """A tensor cut along its rows as torch cuts, with one box without elements if ranks are left over."""
        boxes = _cut(shape, self.ranks if shape and rank is None else 1)
        files = [at if rank is None else rank for at in range(len(boxes))]
        offsets = [self.item(file) for file in files]
        axes = len(shape)
        shards = Shards(
            np.array([box[0] for box in boxes], dtype=np.int64).reshape(len(boxes), axes),
            np.array([box[1] for box in boxes], dtype=np.int64).reshape(len(boxes), axes),
            np.array(files, dtype=np.int64),
            np.array(offsets, dtype=np.int64),
            np.full(len(boxes), ITEM_BYTES, dtype=np.int64),
            np.array(offsets, dtype=np.int64),
        )
        self.tensors.append(Tensor(key, kind, dtype, tuple(shape), shards, path, parameter, rank))

    def object(self, key, kind, value=0, path=(), rank=None):
        """An object in the file of its rank, or of the first one."""
        file = rank or 0
        self.objects.append(Object(key, kind, file, self.item(file), ITEM_BYTES, path, rank))
        self.values[key] = value

    def manifest(self, **changes) -> Manifest:
        """The manifest of all that was collected."""
        files = tuple(File(f"__{rank}_0.distcp", end, rank) for rank, end in enumerate(self.ends))
        made = Manifest(
            Format.DCP, Path("/run/step-3"), tuple(self.tensors), tuple(self.objects), files, MadeSource(self.values),
            step=3, world_size=self.ranks, writer_ranks=tuple(range(self.ranks)),
        )  # fmt: skip
        return made._replace(**changes)


def _cut(shape, ranks):
    """Boxes of torch.chunk along the first axis; the empty ranks share one box at the end."""
    if ranks == 1 or not shape:
        return [((0,) * len(shape), tuple(shape))]
    rows = -(-shape[0] // ranks)
    rest = tuple(shape[1:])
    boxes = [((start, *(0,) * len(rest)), (min(rows, shape[0] - start), *rest)) for start in range(0, shape[0], rows)]
    return boxes if len(boxes) == ranks else [*boxes, ((shape[0], *(0,) * len(rest)), (0, *rest))]


WEIGHTS = ("embed.weight", "layers.0.wq.weight", "layers.0.wo.weight", "norm.weight")


def add_parameters(maker: Maker, dtype: str = "float32") -> None:
    """The weights of the small model."""
    for name in WEIGHTS:
        key = f"model.{name}"
        maker.tensor(key, StateKind.PARAMETER, dtype=dtype, path=("model", name), parameter=key)


def add_state(maker: Maker, slot: str, kind: StateKind, names=WEIGHTS) -> None:
    """One state of the optimizer for the named parameters."""
    for name in names:
        shape = () if slot == "step" else (ROWS, COLUMNS)
        path = ("optim", "state", name, slot)
        maker.tensor(f"optim.state.{name}.{slot}", kind, shape, path=path, parameter=f"model.{name}")


def add_groups(maker: Maker, names=WEIGHTS) -> None:
    """One group of parameters with its hyperparameters."""
    for word, value in (("lr", 1e-3), ("params", list(names))):
        path = ("optim", "param_groups", 0, word)
        maker.object(f"optim.param_groups.0.{word}", StateKind.HYPERPARAMETERS, value, path)


def add_rest(maker: Maker, ranked=None) -> None:
    """Scheduler, progress, and for the given ranks the data position and the random-number state."""
    maker.object("lr_scheduler.last_epoch", StateKind.SCHEDULER, 3, ("lr_scheduler", "last_epoch"))
    maker.tensor("train.step", StateKind.PROGRESS, (), "int64", ("train", "step"))
    for rank in range(maker.ranks) if ranked is None else ranked:
        maker.object(f"dataloader.rank_{rank}", StateKind.DATA_POSITION, {}, ("dataloader", f"rank_{rank}"), rank)
        maker.object(f"rng.rank_{rank}.python", StateKind.RANDOM, (), ("rng", f"rank_{rank}", "python"), rank)
        maker.tensor(
            f"rng.rank_{rank}.torch", StateKind.RANDOM, (16,), "uint8", ("rng", f"rank_{rank}", "torch"), rank=rank
        )


def complete() -> Maker:
    """All that exact resume with AdamW needs, saved by four ranks."""
    maker = Maker()
    add_parameters(maker)
    add_state(maker, "exp_avg", StateKind.FIRST_MOMENT)
    add_state(maker, "exp_avg_sq", StateKind.SECOND_MOMENT)
    add_state(maker, "step", StateKind.OPTIMIZER_STEP)
    add_groups(maker)
    add_rest(maker)
    return maker

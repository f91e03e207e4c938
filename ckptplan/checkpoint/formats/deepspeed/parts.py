"""What DeepSpeed's files hold, read rank by rank: partitions of the optimizer and states of the model."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ckptplan.checkpoint.archives.foreign import hostile
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.archives.torch_file import read_torch
from ckptplan.checkpoint.folder import CheckpointFolder, flaw_of
from ckptplan.checkpoint.formats.deepspeed.names import StateFile
from ckptplan.checkpoint.manifest import Fault, Flaw
from ckptplan.checkpoint.pickles.values import Built, Global
from ckptplan.errors import InputError, printable

Shape = tuple[int, ...]

MOST_ELEMENTS = 2**59
MASTER = "fp32"

# Classes whose objects DeepSpeed itself saves; exact pairs. None of them is imported here.
OWN = frozenset({
    ("deepspeed.runtime.fp16.loss_scaler", "LossScaler"),
    ("deepspeed.runtime.fp16.loss_scaler", "DynamicLossScaler"),
    ("deepspeed.runtime.zero.config", "ZeroStageEnum"),
    ("deepspeed.utils.tensor_fragment", "fragment_address"),
})  # fmt: skip


class Fragment(NamedTuple):
    """The part of one parameter in one partition, in elements of the partition."""

    start: int
    number: int


class Group(NamedTuple):
    """One group of parameters on one rank: flat vectors of equal length, one for each state."""

    states: dict[str, StoredTensor]  # MASTER, exp_avg, ...
    fragments: dict[str, Fragment] | None  # by parameter, where the file has a map

    @property
    def elements(self) -> int:
        """Length of the vectors."""
        return self.states[MASTER].elements


class OptimizerPart(NamedTuple):
    """The optimizer file of one rank."""

    file: StateFile
    stage: int
    ranks: int  # partitions of each group, from the file; 0 if it does not say
    groups: list[Group]
    rest: dict[str, Any]  # what is no partition: param_groups, steps, loss_scaler
    version: str


class ModelPart(NamedTuple):
    """A file of model states."""

    file: StateFile
    module: dict[str, StoredTensor]
    buffers: frozenset[str]
    shapes: list[dict[str, Shape]]  # of the parameters that are trained, group by group
    frozen: dict[str, tuple[Shape, StoredTensor | None]]
    shared: dict[str, str]  # names of shared weights, and whose they are
    rest: dict[str, Any]  # scheduler, progress, client state
    values: dict[str, Any]  # all


class Reader:
    """Reads files and keeps what is wrong with them, so that one broken file does not hide the others."""

    def __init__(self, folder: CheckpointFolder) -> None:
        self.folder = folder
        self.faults: list[Fault] = []

    def value(self, name: str) -> Any:
        """What a file holds; None if it cannot be read."""
        try:
            found = read_torch(self.folder, name)
        except InputError as error:
            problem = error.problems[0]
            self.faults.append(Fault(flaw_of(error), problem.message, name, hint=problem.hint))
            return None
        bad = [str(one) for one in hostile(found.foreign) if (one.module, one.name) not in OWN]
        if bad:
            shown = ", ".join(printable(one)[:80] for one in bad[:5]) + (", ..." if len(bad) > 5 else "")
            message = f"loading it with torch would call {shown}"
            self.faults.append(Fault(Flaw.FOREIGN_CODE, message, name, hint="load it only if you trust its writer"))
        return found.value

    def optimizer(self, file: StateFile) -> OptimizerPart | None:
        """The partitions of one rank."""
        value = self.value(file.name)
        states = _dict(value).get("optimizer_state_dict")
        if value is None or not isinstance(states, dict):
            self._without(value, file, "no optimizer_state_dict")
            return None
        flat = states.get("single_partition_of_fp32_groups", states.get("fp32_flat_groups"))
        base = states.get("base_optimizer_state", states.get("optimizer_state_dict"))
        vectors = flat if isinstance(flat, list) else []
        if not vectors or not all(_is_vector(one) for one in vectors):
            self._without(value, file, "no flat fp32 partitions")
            return None
        slots = _dict(_dict(base).get("state"))
        mappings = states.get("param_slice_mappings")
        maps = mappings if isinstance(mappings, list) and len(mappings) == len(vectors) else [None] * len(vectors)
        groups = [
            Group({MASTER: vector, **_vectors(slots.get(index), vector.elements)}, _fragments(found))
            for index, (vector, found) in enumerate(zip(vectors, maps, strict=True))
        ]
        version = value.get("ds_version", states.get("ds_version"))
        stage = 3 if "fp32_flat_groups" in states else _stage(states.get("zero_stage"))
        return OptimizerPart(
            file,
            stage,
            _count(states.get("partition_count")),
            groups,
            states,
            version if isinstance(version, str) else "",
        )

    def model(self, file: StateFile) -> ModelPart | None:
        """The states of a model."""
        value = self.value(file.name)
        if not isinstance(value, dict):
            self._without(value, file, "no dict of model states")
            return None
        module = {
            name: one
            for name, one in _dict(value.get("module")).items()
            if isinstance(name, str) and isinstance(one, StoredTensor)
        }
        shapes = value.get("param_shapes")
        buffers = value.get("buffer_names")
        fragments = _dict(value.get("frozen_param_fragments"))
        return ModelPart(
            file=file,
            module=module,
            buffers=frozenset(name for name in buffers if isinstance(name, str))
            if isinstance(buffers, list)
            else frozenset(),
            shapes=[_shapes(group) for group in (shapes if isinstance(shapes, list) else [])],
            frozen={
                name: (shape, found if isinstance(found := fragments.get(name), StoredTensor) else None)
                for name, shape in _shapes(value.get("frozen_param_shapes")).items()
            },
            shared={
                name: other
                for name, other in _dict(value.get("shared_params")).items()
                if isinstance(name, str) and isinstance(other, str)
            },
            rest={key: one for key, one in value.items() if isinstance(key, str) and key not in _STRUCTURE},
            values=value,
        )

    def _without(self, value: Any, file: StateFile, message: str) -> None:
        if value is not None:  # else it has its fault already
            self.faults.append(Fault(Flaw.CORRUPT, message, file.name, hint="is it a file of DeepSpeed?"))


_STRUCTURE = frozenset({
    "module", "buffer_names", "param_shapes", "frozen_param_shapes", "frozen_param_fragments", "shared_params",
    "ds_config", "ds_version", "dp_world_size", "mp_world_size", "checkpoint_parallel_dimensions",
})  # fmt: skip


def whole_number(value: Any) -> int | None:
    """A number of ranks, steps or samples; None for anything else."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62
    return value if good else None


def _dict(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _is_vector(value: Any) -> bool:
    return isinstance(value, StoredTensor) and len(value.shape) == 1 and value.row_major and not value.deflated_bytes


def _vectors(slots: Any, elements: int) -> dict[str, StoredTensor]:
    """States of one group that have an element for each of its parameters'."""
    return {
        name: one
        for name, one in _dict(slots).items()
        if isinstance(name, str) and name != MASTER and _is_vector(one) and one.elements == elements
    }


def _fragments(found: Any) -> dict[str, Fragment] | None:
    if not isinstance(found, dict):
        return None
    fragments: dict[str, Fragment] = {}
    for name, address in found.items():
        state = address.state if isinstance(address, Built) else None
        number, start = (whole_number(_dict(state).get(part)) for part in ("numel", "start"))
        if isinstance(address, Built) and not state and len(address.args) == 2:  # a named tuple by its arguments
            number, start = whole_number(address.args[0]), whole_number(address.args[1])
        if not isinstance(name, str) or number is None or start is None:
            return None
        fragments[name] = Fragment(start, number)
    return fragments


def _stage(value: Any) -> int:
    """The number in ``ZeroStageEnum(2)``, or the bare number of older versions."""
    if isinstance(value, Built) and isinstance(value.call, Global) and value.args:
        value = value.args[0]
    return whole_number(value) or 0


def _count(value: Any) -> int:
    """One number of partitions, or the largest of those of the groups."""
    counts = [whole_number(one) or 0 for one in (value if isinstance(value, list) else [value])]
    return max(counts, default=0)


def _shapes(value: Any) -> dict[str, Shape]:
    found: dict[str, Shape] = {}
    for name, shape in _dict(value).items():
        good = (
            isinstance(shape, tuple | list) and len(shape) <= 64 and all(whole_number(one) is not None for one in shape)
        )
        if isinstance(name, str) and good and math.prod(shape) < MOST_ELEMENTS:
            found[name] = tuple(shape)
    return found

"""What Megatron keeps beside its tensors: arguments of the run, iteration, scheduler, groups of the optimizer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Mesh
from ckptplan.checkpoint.pickles.values import Built
from ckptplan.errors import printable

_LARGEST = 1 << 31  # of a step or a number of ranks
_DEEPEST = 6


class Common(NamedTuple):
    """The common state of one file."""

    step: int | None
    world_size: int | None
    mesh: Mesh | None
    elsewhere: tuple[tuple[StateKind, str], ...]
    producer: str


def read_common(value: Any, file: str) -> Common:
    """What a loaded ``common.pt`` or ``model_optim_rng.pt`` says of the run; absent or odd parts are left out."""
    held = value if isinstance(value, dict) else {}
    arguments = attributes(held.get("args"))
    mesh = _mesh(arguments)
    world = _count(arguments.get("world_size"))
    return Common(
        _count(held.get("iteration"), least=0),
        world if world is not None else None if mesh is None else math.prod(mesh.shape),
        mesh,
        tuple(_elsewhere(held, arguments, file)),
        _producer(held, arguments),
    )


def attributes(value: Any) -> Mapping[str, Any]:
    """Attributes of an argparse.Namespace or of another object, or the keys of a dict."""
    if isinstance(value, Built):
        value = value.state
    return value if isinstance(value, dict) else {}


def _elsewhere(held: dict[Any, Any], arguments: Mapping[str, Any], file: str) -> Iterable[tuple[StateKind, str]]:
    groups = [path for path, _ in _groups(held.get("optimizer"), "optimizer", 0)]
    stepped = [path for path, group in _groups(held.get("optimizer"), "optimizer", 0) if "step" in group]
    if groups:
        yield StateKind.HYPERPARAMETERS, f"{groups[0]} in {file}"
    if stepped:
        yield StateKind.OPTIMIZER_STEP, f"{stepped[0]}.step in {file}"
    if held.get("opt_param_scheduler") or held.get("lr_scheduler"):
        name = "opt_param_scheduler" if held.get("opt_param_scheduler") else "lr_scheduler"
        yield StateKind.SCHEDULER, f"{name} in {file}"
    if _count(held.get("iteration"), least=0) is not None:
        yield StateKind.PROGRESS, f"iteration in {file}"
    if _count(arguments.get("consumed_train_samples"), least=0) is not None:
        yield StateKind.DATA_POSITION, f"args.consumed_train_samples in {file}"
    if held.get("rng_state"):
        yield StateKind.RANDOM, f"rng_state in {file}"
    if isinstance(held.get("optimizer"), dict) and held["optimizer"].get("grad_scaler"):
        yield StateKind.LOSS_SCALER, f"optimizer.grad_scaler in {file}"


def _groups(value: Any, path: str, depth: int) -> Iterable[tuple[str, dict[Any, Any]]]:
    """The first groups of every optimizer within: several are chained in a dict or a list."""
    if depth > _DEEPEST:
        return
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inner:
        if key == "param_groups" and isinstance(held, list) and held and isinstance(held[0], dict):
            yield f"{path}.param_groups", held[0]
        elif isinstance(held, dict) or (isinstance(held, list) and depth == 0):
            yield from _groups(held, f"{path}.{printable(str(key))[:40]}", depth + 1)


def _mesh(arguments: Mapping[str, Any]) -> Mesh | None:
    """The grid of ranks, slowest first as Megatron numbers them by default: pp, dp, tp."""
    axes = (("pp", "pipeline"), ("tp", "tensor"))
    sizes = {short: _count(arguments.get(f"{long}_model_parallel_size")) for short, long in axes}
    tensor, pipeline = sizes["tp"], sizes["pp"]
    if tensor is None or pipeline is None:
        return None
    context = _count(arguments.get("context_parallel_size")) or 1
    data = _count(arguments.get("data_parallel_size"))
    if data is None:  # which is what the other axes leave of the world
        rest = divmod(_count(arguments.get("world_size")) or 0, tensor * pipeline * context)
        data = rest[0] if rest[0] and not rest[1] else None
    if data is None:
        return None
    shape, names = [pipeline, data, tensor], ["pp", "dp", "tp"]
    if context > 1:
        shape.insert(2, context)
        names.insert(2, "cp")
    return Mesh(tuple(shape), tuple(names))


def _producer(held: dict[Any, Any], arguments: Mapping[str, Any]) -> str:
    version = held.get("checkpoint_version")
    number = f" checkpoint version {version}" if isinstance(version, int | float) else ""
    return f"Megatron{number}" if arguments or number else ""


def _count(value: Any, least: int = 1) -> int | None:
    return value if type(value) is int and least <= value < _LARGEST else None

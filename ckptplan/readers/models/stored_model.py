"""A model from the headers of its safetensors files: by the configuration beside them, or by the names of tensors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ckptplan.checkpoint.formats.safetensors_header import StoredTensor, refused, several
from ckptplan.cost.architecture import Architecture, Cut, Experts, TensorKind, Tensors
from ckptplan.errors import InputError, printable
from ckptplan.readers.models.shards import read_shards
from ckptplan.readers.models.tensor_names import Role, is_no_weight, is_packed, role_of
from ckptplan.readers.models.whole_models import missing_parts, refuse_what_is_no_model

_MOST_STACKED = 4096  # experts on the first axis of a matrix; more are rows of experts run together
_MOST_PATTERNS = 20_000  # a model has some hundred
_MOST_REMARKS = 3
_CONFIG = "config.json"


class StoredModel(NamedTuple):
    """A model as its files describe it. ``remarks`` are sentences on what was doubtful."""

    architecture: Architecture
    remarks: tuple[str, ...]
    tensors: int
    elements_by_type: tuple[tuple[str, int], ...]  # of all tensors, the most frequent type first


class _Alike(NamedTuple):
    """What tensors of different layers share."""

    pattern: str
    shape: tuple[int, ...]
    extra: bool
    buffer: bool


def read_stored_model(path: str | Path) -> StoredModel:
    """The model of a safetensors file, an index or a folder with one of these.

    Parameters
    ----------
    path : str or Path
        What ``ckptplan.readers.models.shards.read_shards`` takes.

    Returns
    -------
    StoredModel
        With the layers of the config.json in the same folder, whose count is held against that of the files; without
        one, with the layers and experts that the names of tensors tell.

    Raises
    ------
    InputError
        For files that cannot be read, for adapters and states of an optimizer, and, without a config.json that counts
        the weights, for layers or experts that are missing and for weights packed into fewer bits than a byte.
    """
    stored = read_shards(path)
    refuse_what_is_no_model(path, stored.tensors)
    roles = _roles(stored.tensors)
    missing = missing_parts(roles)
    types: Counter[str] = Counter()
    for tensor in stored.tensors:
        types[tensor.dtype] += tensor.elements
    packed = next((tensor for tensor in stored.tensors if is_packed(tensor.name, tensor.dtype)), None)
    config, remarks = _config_beside(stored.folder)
    if config is None:
        if packed is not None:
            message = "weights packed into a few bits, whose number the shapes do not tell"
            raise refused(path, message, "put its config.json beside it, or write config: ./config.json")
        if missing:
            hint = "fetch the other files, or write config: ./config.json"
            raise several([f"a part of a model: {text}" for text in missing], path, hint)
        architecture = _by_names(roles)
        if architecture.total < 1:
            raise refused(path, "no tensor of weights in the files", "are these the files of a model?")
        architecture = architecture._replace(assumed=_guesses(architecture))
    else:
        architecture = config
        remarks += _disagreement(_by_names(roles), config, packed is not None)
        remarks += tuple(f"the files are a part of the model: {text}" for text in missing[:_MOST_REMARKS])
    kinds = ", ".join(f"{name} {count:,}" for name, count in types.most_common(6))
    architecture = architecture._replace(source=f"{path}: {len(stored.tensors):,} tensors; elements: {kinds}")
    return StoredModel(architecture, (*stored.remarks, *remarks), len(stored.tensors), tuple(types.most_common()))


def architecture_of(stored: Iterable[StoredTensor]) -> Architecture:
    """The layers of a model by the names and shapes of its tensors.

    Parameters
    ----------
    stored : iterable of StoredTensor
        Every tensor, each name once.

    Returns
    -------
    Architecture
        Without a head it has a tied one. How many experts a token uses is not in the files: all count as used.

    Raises
    ------
    InputError
        For more than 20,000 different tensors.
    """
    return _by_names(_roles(stored))


def _roles(stored: Iterable[StoredTensor]) -> list[tuple[StoredTensor, Role]]:
    return [(tensor, role_of(tensor.name, len(tensor.shape))) for tensor in stored if tensor.elements]


def _by_names(roles: Sequence[tuple[StoredTensor, Role]]) -> Architecture:
    # A layer that joins two inputs is a module of multi-token prediction, numbered as if it were a layer.
    predicts = {role.layer for _, role in roles if ".eh_proj." in role.pattern}
    found: dict[_Alike, Counter[int | None]] = defaultdict(Counter)
    samples: dict[_Alike, Role] = {}
    for tensor, role in roles:
        extra = role.extra or (role.layer is not None and role.layer in predicts)
        buffer = role.buffer or is_no_weight(tensor.name, tensor.dtype)
        key = _Alike(role.pattern, tensor.shape, extra, buffer)
        found[key][role.layer] += 1
        samples[key] = role
    if len(found) > _MOST_PATTERNS:
        message = f"more than {_MOST_PATTERNS:,} kinds of tensors by name and shape"
        raise InputError(message, hint="write config: ./config.json: names that count no layers tell no model")
    parts: dict[bool, list[Tensors]] = {False: [], True: []}
    for alike, layers in found.items():
        parts[alike.extra] += _grouped(samples[alike], alike.shape, layers, alike.buffer)
    tensors = tuple(parts[False])
    kinds = {t.kind for t in tensors if not t.layers}
    return Architecture(
        family="by the names of its tensors",
        layers=max((t.layers[-1] + 1 for t in tensors if t.layers), default=1),
        tensors=tensors,
        tied_head=TensorKind.EMBEDDING in kinds and TensorKind.HEAD not in kinds,
        experts=_experts(tensors),
        extra=tuple(parts[True]),
    )


def _grouped(role: Role, shape: tuple[int, ...], layers: Counter[int | None], buffer: bool) -> Iterable[Tensors]:
    """Tensors of one pattern and shape; layers with as many of them together."""
    stacked = role.kind is TensorKind.EXPERT and role.expert is None and len(shape) > 1
    stacked = stacked and (len(shape) == 3 or shape[0] <= _MOST_STACKED)
    kind = role.kind
    if kind is TensorKind.EXPERT and role.expert is None and not stacked:
        kind = TensorKind.MLP  # experts that are not told apart: no rank is known to hold a part of them
    by_count: dict[int, list[int]] = defaultdict(list)
    for layer, count in layers.items():
        by_count[count] += [] if layer is None else [layer]
    for count, numbers in by_count.items():
        yield Tensors(
            role.pattern,
            shape,
            kind,
            tuple(sorted(numbers)),
            count,
            Cut.COLUMN if stacked and len(shape) > 2 else Cut.REPLICATED if stacked else role.cut,
            buffer,
            axis=1 if stacked else None,
            experts=shape[0] if stacked else 1,
            at_end=role.at_end,
        )


def _experts(tensors: tuple[Tensors, ...]) -> Experts | None:
    routed = [t for t in tensors if t.kind is TensorKind.EXPERT and not t.buffer]
    if not routed:
        return None
    number = max(t.each * t.experts for t in routed)
    layers = {layer for t in routed for layer in t.layers}
    return Experts(number, number, len(layers), sum(t.total for t in routed) // (number * max(len(layers), 1)))


def _config_beside(folder: Path) -> tuple[Architecture | None, tuple[str, ...]]:
    """The configuration in the folder; where it cannot be used, why."""
    path = folder / _CONFIG
    try:
        there = path.exists() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # RuntimeError: a link that leads to itself
        there = False
    if not there:
        return None, ()
    from ckptplan.readers.models.model_config import read_model_config

    try:
        return read_model_config(path), ()
    except InputError as error:
        return None, (f"the config.json beside the files is not used: {_told(error)}; layers are read from names",)


def _told(error: InputError) -> str:
    """The first fault with its line and key, in one line."""
    first, others = error.problems[0], len(error.problems) - 1
    line = f"line {first.place.line}" if first.place and first.place.line else ""
    where = ": ".join(part for part in (line, printable(first.key or ""), first.message) if part)
    return where if not others else f"{where} (and {others:,} more fault{'' if others == 1 else 's'})"


def _disagreement(stored: Architecture, config: Architecture, packed: bool) -> tuple[str, ...]:
    if packed:
        return ("weights are packed into a few bits: they are counted by the config.json beside the files",)
    total = stored.total
    if total in {config.total, config.with_tied_copies}:
        return ()
    return (
        f"the files hold {total:,} parameters, but the config.json beside them gives {config.total:,}, which is used",
    )


def _guesses(architecture: Architecture) -> tuple[str, ...]:
    """What the names do not tell, and was taken for granted."""
    said = []
    if architecture.tied_head:
        said.append("the output matrix is the input table")
    if architecture.experts:
        said.append("a token uses every expert")
    return tuple(said)

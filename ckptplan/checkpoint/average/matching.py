"""Which tensors of several checkpoints are the same one, and what becomes of each: averaged, or taken from the last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.average.differences import refuse_differences
from ckptplan.checkpoint.dtypes import BITS, FLOATING
from ckptplan.checkpoint.elements import REAL_PARTS
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Format, Manifest, Shards, Tensor
from ckptplan.errors import InputError, printable

K = StateKind
MODEL = frozenset({K.PARAMETER, K.BUFFER})


class Matched(NamedTuple):
    """One tensor of the result, with the tensors that it is made of."""

    name: str
    kind: StateKind
    dtype: str  # of the result
    tensors: tuple[Tensor, ...]  # one per checkpoint
    averaged: bool  # False: taken from the last checkpoint

    @property
    def from_masters(self) -> bool:
        """Whether fp32 masters stand for a parameter."""
        return self.kind is K.PARAMETER and self.tensors[-1].kind is K.MASTER


class Choice(NamedTuple):
    """What is wanted of the checkpoints."""

    dtype: str | None = None  # of what is averaged; None: as it is stored
    include: frozenset[StateKind] = frozenset()  # besides parameters: buffers, masters
    masters: bool = True  # average the masters of parameters of lower precision, and round once
    strip_prefix: str = ""


def match(manifests: Sequence[Manifest], choice: Choice, labels: Sequence[str]) -> list[Matched]:
    """The tensors of the result, in the order of the last checkpoint.

    Parameters and buffers are matched by their names, whatever the layouts of the checkpoints. Keys that name a file or
    a part of the state in front of a colon are known without it where that is enough.

    Raises
    ------
    InputError
        If the checkpoints differ in the keys, shapes or types of what would be averaged; the first differences are
        named. If there is nothing to average.
    """
    manifests = [_single(manifest) for manifest in manifests]
    plain = _labels_can_go(manifests)
    models = [_model(manifest, plain, choice.strip_prefix) for manifest in manifests]
    masters = [_masters(manifest, plain, choice.strip_prefix) for manifest in manifests]
    chosen = [dict(model) for model in models]
    buffers = {name for model in models for name, tensor in model.items() if tensor.kind is K.BUFFER}
    for name in _use_masters(models, masters, choice.masters) - buffers:
        for found, own in zip(chosen, masters, strict=True):
            found[name] = own[name]
    refuse_differences(chosen, labels)
    stored = [models[-1].get(name, tensor).dtype for name, tensor in chosen[-1].items()]
    result = [
        _matched(
            name, K.BUFFER if name in buffers else K.PARAMETER, tuple(found[name] for found in chosen), dtype, choice
        )
        for name, dtype in zip(chosen[-1], stored, strict=True)
    ]
    if K.MASTER in choice.include:
        result += _own_masters(manifests, labels, choice)
    _refuse_nothing(result, choice)
    return result


def idle(manifests: Sequence[Manifest], choice: Choice) -> Iterator[str]:
    """What was asked for without effect on the result, in sentences."""
    plain = _labels_can_go(manifests)
    models = [_model(manifest, plain, "") for manifest in manifests]
    prefix = choice.strip_prefix
    if prefix and not any(name.startswith(prefix) for model in models for name in model):
        example = max(models[-1], key=len, default="")
        yield f"--strip-prefix {printable(prefix)} changes no name; the longest is {printable(example)}"
    masters = [_masters(manifest, plain, "") for manifest in manifests]
    if not choice.masters and _use_masters(models, masters, True) == _use_masters(models, masters, False):
        found = (
            "fp32 masters of all checkpoints stand for no parameter" if all(masters) else "there are no fp32 masters"
        )
        yield f"--no-masters changes nothing: {found}"
    if K.MASTER in choice.include and not any(masters):
        yield "--include masters adds nothing: there are no fp32 masters"
    buffers = [tensor for model in models for tensor in model.values() if tensor.kind is K.BUFFER]
    if K.BUFFER in choice.include and not any(tensor.dtype in REAL_PARTS for tensor in buffers):
        yield "--include buffers changes nothing: there are no buffers of a floating type"


def _matched(name: str, kind: StateKind, tensors: tuple[Tensor, ...], stored: str, choice: Choice) -> Matched:
    averaged = all(tensor.dtype in REAL_PARTS for tensor in tensors) and (
        kind is not K.BUFFER or K.BUFFER in choice.include
    )
    if not averaged:
        return Matched(name, kind, tensors[-1].dtype, tensors, False)
    real = stored in REAL_PARTS and not stored.startswith("complex")
    return Matched(name, kind, choice.dtype if choice.dtype and real else stored, tensors, True)


def _own_masters(manifests: Sequence[Manifest], labels: Sequence[str], choice: Choice) -> list[Matched]:
    """Masters as tensors of the result beside the parameters, under their own keys."""
    found = [{tensor.key: tensor for tensor in manifest.tensors if tensor.kind is K.MASTER} for manifest in manifests]
    refuse_differences(found, labels)
    return [
        Matched(
            key, K.MASTER, found[-1][key].dtype, tuple(one[key] for one in found), found[-1][key].dtype in REAL_PARTS
        )
        for key in found[-1]
    ]


def _refuse_nothing(result: Sequence[Matched], choice: Choice) -> None:
    if not any(matched.averaged for matched in result):
        raise InputError(
            "the checkpoints hold no parameters of a floating type", hint="ckptplan inspect shows what they hold"
        )
    twice = [name for name, count in Counter(matched.name for matched in result).items() if count > 1]
    if twice:
        said = f"two tensors of the result would be called {printable(twice[0])}"
        raise InputError(said, hint="leave --include masters out" if K.MASTER in choice.include else None)


def _single(manifest: Manifest) -> Manifest:
    """Without the copies that ranks have of the same box, where each rank saves by itself."""
    if manifest.format is not Format.DCP_RANK_LOCAL:
        return manifest
    return manifest._replace(tensors=tuple(_without_copies(tensor) for tensor in manifest.tensors))


def _without_copies(tensor: Tensor) -> Tensor:
    shards = tensor.shards
    boxes = np.concatenate([shards.offsets, shards.sizes], axis=1)
    kept = (
        np.arange(min(1, shards.number))
        if not boxes.shape[1]
        else np.sort(np.unique(boxes, axis=0, return_index=True)[1])
    )
    if len(kept) == shards.number:
        return tensor
    rows = {name: getattr(shards, name)[kept] for name in Shards._fields if name != "flat"}
    return tensor._replace(shards=shards._replace(**rows))


def _labels_can_go(manifests: Sequence[Manifest]) -> bool:
    """Whether names are unique without what stands before their first colon."""
    for manifest in manifests:
        names = [_without_label(tensor.key) for tensor in manifest.tensors if tensor.kind in MODEL]
        if len(set(names)) < len(names):
            return False
    return True


def _without_label(key: str) -> str:
    return key.partition(":")[2] or key


def _name(key: str, plain: bool, prefix: str) -> str:
    return (_without_label(key) if plain else key).removeprefix(prefix)


def _model(manifest: Manifest, plain: bool, prefix: str) -> dict[str, Tensor]:
    return _by_name(((_name(t.key, plain, prefix), t) for t in manifest.tensors if t.kind in MODEL), prefix)


def _masters(manifest: Manifest, plain: bool, prefix: str) -> dict[str, Tensor]:
    masters = [tensor for tensor in manifest.tensors if tensor.kind is K.MASTER]
    return _by_name(((_name(t.parameter or t.key, plain, prefix), t) for t in masters), prefix)


def _by_name(named: Iterable[tuple[str, Tensor]], prefix: str) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for name, tensor in named:
        if name in found:
            said = f"{printable(found[name].key)} and {printable(tensor.key)} would both be called {printable(name)}"
            raise InputError(said, hint=f"leave --strip-prefix {prefix} out" if prefix else None)
        found[name] = tensor
    return found


def _use_masters(
    models: Sequence[Mapping[str, Tensor]], masters: Sequence[Mapping[str, Tensor]], wanted: bool
) -> set[str]:
    """Names whose masters are averaged: all checkpoints have one, and some no parameter, or one of lower precision."""
    everywhere = set(masters[0]).intersection(*masters[1:])
    alone = any(all(tensor.kind is not K.PARAMETER for tensor in model.values()) for model in models)
    names = set()
    for name in everywhere:
        stored = [model.get(name) for model in models]
        missing = alone and any(tensor is None for tensor in stored)
        coarser = any(
            tensor is not None and tensor.dtype in FLOATING and BITS[tensor.dtype] < BITS[own[name].dtype]
            for tensor, own in zip(stored, masters, strict=True)
        )
        alike = all(t is None or t.shape == own[name].shape for t, own in zip(stored, masters, strict=True))
        there = alone or all(tensor is not None for tensor in stored)
        if alike and there and (missing or (wanted and coarser)):
            names.add(name)
    return names

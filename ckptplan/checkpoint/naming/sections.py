"""States of a run outside of model and optimizer, by the parts of their names: which kind, and of which rank."""

from __future__ import annotations

import re

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.naming.entries import Entry, Spelling
from ckptplan.checkpoint.naming.ranks import rank_of
from ckptplan.checkpoint.naming.vocabulary import (
    AVERAGES,
    BUFFER_LEAVES,
    EMA_COMPANIONS,
    MODELS,
    PARAMETER_LEAVES,
    RANDOM_WORDS,
    SECTIONS,
)

_RANK = r"(?:dp_|global_|world_|data_parallel_|local_)?rank_?\d{1,7}"
# rank_0_rng, rng_rank_0, dataloader_rank0, rng_0, loss_scaler0
_OF_ONE = re.compile(
    rf"(?P<before>{_RANK}_)?(?P<name>[a-zA-Z][a-zA-Z_]*?)(?P<after>_?{_RANK}|_?(?P<number>\d{{1,7}}))?\Z"
)
_NUMBERED = frozenset({StateKind.RANDOM, StateKind.DATA_POSITION, StateKind.SCHEDULER, StateKind.LOSS_SCALER})
_BY_RANK = frozenset({StateKind.RANDOM, StateKind.DATA_POSITION})
_OF_DEVICES = frozenset({"cuda", "gpu", "device", "devices", "xpu", "npu"})  # their numbers are not those of ranks
# torch's Mersenne Twister on the CPU, and Philox on a GPU: seed and offset. [bytes]
_CPU_GENERATOR, _GPU_GENERATOR = 5_056, 16


def section_of(part: str) -> StateKind | None:
    """The kind that a part of a name gives, also where it holds the rank or a number, or a word for generators."""
    if part in SECTIONS:
        return SECTIONS[part]
    found = _OF_ONE.match(part)
    kind = SECTIONS.get(found["name"]) if found else None
    if kind in _NUMBERED:
        return kind
    words = frozenset(part.lower().split("_"))
    if words & RANDOM_WORDS:
        return StateKind.RANDOM
    return StateKind.DATA_POSITION if words & {"dataloader", "dataloaders"} else None


def rank_in(parts: tuple[str, ...]) -> int | None:
    """The rank that a state of a run is of: ``rank_3``, ``rng_rank_3``, and ``rng_3``, the number of a rank there."""
    rank = rank_of(parts)
    if rank is not None:
        return rank
    for part in parts:
        found = _OF_ONE.match(part) if section_of(part) in _BY_RANK else None
        if found is None or (found["number"] is not None and _OF_DEVICES & set(part.split("_"))):
            continue
        named = found["before"] or found["after"]
        if named:
            return int(re.sub(r"\D", "", named))
    return None


def is_average(parts: tuple[str, ...]) -> bool:
    """Whether the tensor or object belongs to averaged weights, by the first part."""
    words = frozenset(parts[0].lower().split("_"))
    return parts[0] in AVERAGES or ("ema" in words and words <= EMA_COMPANIONS)


def may_be_average(parts: tuple[str, ...]) -> bool:
    """Whether it is called as averaged weights within a model are: so may be any module of the model."""
    return parts[0] in MODELS and len(parts) > 2 and parts[1] in AVERAGES


def generator_state(entry: Entry, name: Spelling, *, in_module: bool) -> bool:
    """Whether a tensor is the state of a random-number generator: whole numbers under such a name, or of its size.

    Sixteen bytes within a module that has weights are a buffer; 5,056 bytes are nothing but torch's own generator.
    """
    if is_floating(entry) or name.parts[-1] in BUFFER_LEAVES:
        return False
    if any(frozenset(part.lower().split("_")) & RANDOM_WORDS for part in name.parts):
        return name.parts[-1] not in PARAMETER_LEAVES
    if entry.dtype != "uint8" or len(entry.shape) != 1:
        return False
    return entry.shape[0] == _CPU_GENERATOR or (entry.shape[0] == _GPU_GENERATOR and not in_module)


def is_floating(entry: Entry) -> bool:
    """Whether a tensor has floating or complex elements, or a type that is not known."""
    return entry.dtype is None or not entry.dtype.startswith(("int", "uint", "bool"))

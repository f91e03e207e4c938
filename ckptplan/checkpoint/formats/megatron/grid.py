"""The files that Megatron's older layout must have: one folder for each tensor-, pipeline- and expert-parallel rank."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import product
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ckptplan.checkpoint.manifest import Fault, Flaw

MODEL = "model_optim_rng.pt"
OPTIMIZER = "distrib_optim.pt"
AXES = ("tp", "pp", "ep")
MOST_RANKS = 1 << 20
_FOLDER = re.compile(r"mp_rank_(\d{2,5})(?:_(\d{3,5}))?(?:_(\d{3,5}))?\Z")
_SIZES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size")
_SHOWN = 3
_HINT = "is the copy complete?"


class Place(NamedTuple):
    """One model-parallel rank; only runs with experts spread over ranks have an expert rank."""

    tensor: int
    pipeline: int
    expert: int


class Sizes(NamedTuple):
    """Model-parallel ranks along each axis; None: no file says it."""

    tensor: int | None
    pipeline: int | None
    expert: int | None


class Part(NamedTuple):
    """One file of a model-parallel rank; the numbers are those of its folder, in the order of the name."""

    name: str
    numbers: tuple[int, ...]

    @property
    def last(self) -> str:
        """The name within its folder."""
        return PurePosixPath(self.name).name


def parts_of(names: Collection[str]) -> Iterator[Part]:
    """The files of model-parallel ranks among others."""
    for name in names:
        steps = PurePosixPath(name).parts
        found = _FOLDER.match(steps[0]) if len(steps) == 2 and steps[1] in {MODEL, OPTIMIZER} else None
        if found:
            yield Part(name, tuple(int(number) for number in found.groups() if number is not None))


def sizes_of(arguments: Mapping[str, Any]) -> Sizes:
    """What the arguments of a run say."""
    held = (arguments.get(name) for name in _SIZES)
    return Sizes(*(value if type(value) is int and 0 < value < 1 << 31 else None for value in held))


def joined(several: Collection[Sizes]) -> Sizes:
    """The largest that any file says."""
    said = [[one[axis] for one in several if one[axis] is not None] for axis in range(len(AXES))]
    return Sizes(*(max((number or 0 for number in numbers), default=None) for numbers in said))


def place_of(part: Part, sizes: Sizes) -> Place:
    """The rank of a folder: the second number is the expert rank where there is one pipeline stage and experts."""
    first, *rest = part.numbers
    if len(rest) == 2:
        return Place(first, rest[0], rest[1])
    number = rest[0] if rest else 0
    by_expert = (sizes.pipeline or 1) == 1 and (sizes.expert or 1) > 1
    return Place(first, 0, number) if by_expert else Place(first, number, 0)


def folder_of(place: Place, sizes: Sizes, sample: Part) -> str:
    """The name of a rank's folder, as Megatron writes it and as the folders that are there are written."""
    name = f"mp_rank_{place.tensor:02d}"
    if (sizes.pipeline or 1) > 1 or (sizes.pipeline is None and len(sample.numbers) > 1):
        name += f"_{place.pipeline:03d}"
    return name + (f"_{place.expert:03d}" if (sizes.expert or 1) > 1 or len(sample.numbers) > 2 else "")


def missing(parts: list[Part], sizes: Sizes, distributed: bool) -> list[Fault]:
    """Ranks without a file, by the arguments of the run, or by the gaps where these say nothing.

    ``distributed``: each rank must have a file of the distributed optimizer.
    """
    faults: list[Fault] = []
    there = {name: {place_of(part, sizes) for part in parts if part.last == name} for name in (MODEL, OPTIMIZER)}
    all_ = there[MODEL] | there[OPTIMIZER]
    whole = [max(sizes[axis] or 1, *(place[axis] + 1 for place in all_)) for axis in range(len(AXES))]
    number = whole[0] * whole[1] * whole[2]
    if number > MOST_RANKS:
        return [Fault(Flaw.CORRUPT, f"arguments and folders tell of {number:,} model-parallel ranks", hint=_HINT)]
    for name in (MODEL, OPTIMIZER):
        if name == OPTIMIZER and not (distributed or there[OPTIMIZER]):
            continue
        lacking = [place for place in (Place(*one) for one in product(*map(range, whole))) if place not in there[name]]
        lacking.sort(key=lambda place: (place.expert, place.pipeline, place.tensor))
        if lacking:
            faults.append(_fault(lacking, number, f"{folder_of(lacking[0], sizes, parts[0])}/{name}", name))
    return faults


def _fault(lacking: list[Place], of: int, file: str, name: str) -> Fault:
    experts = any(place.expert for place in lacking)
    shown = [f"tp {p.tensor} pp {p.pipeline}" + (f" ep {p.expert}" if experts else "") for p in lacking[:_SHOWN]]
    first = ", ".join(shown) + (", ..." if len(lacking) > _SHOWN else "")
    message = f"{len(lacking):,} of {of:,} model-parallel ranks have no {name}: {first}"
    return Fault(Flaw.MISSING_FILE, message, file, hint=_HINT)

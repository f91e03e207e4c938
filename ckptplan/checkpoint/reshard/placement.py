"""How a tensor lies on a mesh of ranks: one placement for each axis of the mesh, as torch's DTensor has them."""

from __future__ import annotations

import re
from typing import NamedTuple

from ckptplan.errors import InputError

MOST_SPLIT = 1 << 20  # pieces of an axis: more than any mesh has ranks


class Replicate(NamedTuple):
    """Every rank along this axis of the mesh holds all."""

    def __str__(self) -> str:
        return "R"


class Shard(NamedTuple):
    """The ranks along this axis of the mesh hold consecutive pieces of an axis of the tensor, by torch.chunk's rule."""

    axis: int

    def __str__(self) -> str:
        return f"S({self.axis})"


class StridedShard(NamedTuple):
    """A piece of each of `split` parts: a later axis of the mesh cut the tensor's axis into those parts first."""

    axis: int
    split: int

    def __str__(self) -> str:
        return f"_S({self.axis}, {self.split})"


class PartedShard(NamedTuple):
    """A piece of each of `parts` equal parts, kept one after another in one tensor: gate and up projection in one."""

    axis: int
    parts: int

    def __str__(self) -> str:
        return f"P({self.axis}, {self.parts})"


Placement = Replicate | Shard | StridedShard | PartedShard
Placements = tuple[Placement, ...]

_WHOLE = re.compile(r"R|Replicate(\(\))?")
_CUT = re.compile(
    r"(?P<name>_S|S|P|Shard|_StridedShard|StridedShard|PartedShard)\(\s*((dim|axis)\s*=\s*)?(?P<axis>\d{1,2})"
    r"(\s*,\s*((sf|split_factor|split|parts)\s*=\s*)?(?P<split>\d{1,7}))?\s*\)"
)
ACCEPTED = "R, S(0), _S(0, 2) or P(0, 2): whole, cut along axis 0, strided over 2 parts, a piece of each of 2 parts"


def parse_placement(text: str) -> Placement:
    """One placement as torch prints it: ``R``, ``S(0)``, ``_S(0, 2)``, ``_StridedShard(dim=0, sf=2)``."""
    written = text.strip()
    if _WHOLE.fullmatch(written):
        return Replicate()
    found = _CUT.fullmatch(written)
    if found is not None:
        axis, split = int(found["axis"]), int(found["split"] or 0)
        if found["name"] in ("S", "Shard"):
            if not found["split"]:
                return Shard(axis)
        elif 1 <= split <= MOST_SPLIT:
            return PartedShard(axis, split) if found["name"].startswith("P") else StridedShard(axis, split)
    raise InputError(f"{text[:60]!r} is no placement", hint=f"one of {ACCEPTED}")

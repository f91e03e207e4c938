"""The layout that a run will load in: a mesh of ranks, and how each tensor lies on it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import NamedTuple

from ckptplan.checkpoint.manifest import Mesh
from ckptplan.checkpoint.reshard.placement import Placements
from ckptplan.errors import InputError, Place, Problem

MOST_RANKS = 1 << 18
MOST_AXES = 8  # of a mesh

# From the slowest axis of the mesh to the fastest, as torch and torchtitan have them: neighbouring ranks differ in the
# last one. Context-parallel ranks hold what their neighbours hold; where parameters are sharded over them too, as
# torchtitan does, they count as fsdp ranks. With ep beside fsdp, what is no expert is sharded over fsdp alone; where it
# is sharded over both, as torchtitan does, a layout file says so: "*.experts.*": ["S(1)", "S(0)"] and
# "*": ["S(0)", "S(0)"].
AXES = ("pp", "replicate", "fsdp", "ep", "cp", "tp")
ALIASES = {
    "pipeline": "pp", "dp_replicate": "replicate", "replicas": "replicate", "hsdp": "replicate", "dp": "fsdp",
    "dp_shard": "fsdp", "data": "fsdp", "zero3": "fsdp", "expert": "ep", "context": "cp", "tensor": "tp",
}  # fmt: skip


class Rule(NamedTuple):
    """Where the tensors that a pattern names lie; the first rule that fits a key counts."""

    pattern: str  # the key itself, or with * and ? for any characters
    placements: Placements | None = None  # one for each axis of the mesh; None: as their names say
    stages: tuple[int, ...] | None = None  # of the pipeline that hold them; None: as their names say


class Layout(NamedTuple):
    """A mesh and what is known of the tensors on it; what no rule names is placed by `placing.place`."""

    mesh: Mesh
    rules: tuple[Rule, ...] = ()
    # Layers of each pipeline stage; empty: as even as can be. More stages than pp ranks: interleaved, stage s is on
    # rank s modulo pp.
    layers_per_stage: tuple[int, ...] = ()
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()  # that the run which loads expects
    text: str = ""  # as asked for
    places: Mapping[str, Place] | None = None  # of the keys of a layout file: placements.*.wq.weight, layers_per_stage

    def place(self, key: str) -> Place | None:
        """Where a file has a key."""
        return None if self.places is None else self.places.get(key)

    @property
    def ranks(self) -> int:
        """How many ranks load."""
        return math.prod(self.mesh.shape)

    def axis(self, name: str) -> int | None:
        """Place of a named axis in the mesh."""
        return self.mesh.names.index(name) if name in self.mesh.names else None

    def size(self, name: str) -> int:
        """Ranks along a named axis, 1 if there is none."""
        axis = self.axis(name)
        return 1 if axis is None else self.mesh.shape[axis]


def is_pattern(text: str) -> bool:
    """Whether a rule names more than one key. Brackets are part of names."""
    return "*" in text or "?" in text


def parse_layout(text: str) -> Layout:
    """A layout from a short text: ``fsdp=4``, ``fsdp=2,tp=2``, ``pp=2,fsdp=2``, ``replicate=2,fsdp=4``, ``960``.

    The axes are pp, replicate (dp_replicate), fsdp (dp, dp_shard, zero3), ep, cp and tp; the mesh has them in this
    order, whatever the order in the text, and the last one varies fastest from rank to rank. A plain number is fsdp.
    """
    problems: list[Problem] = []
    sizes: dict[str, int] = {}
    for part in text.split(",") if "=" in text else [f"fsdp={text}"]:
        name, _, number = (word.strip() for word in part.partition("="))
        axis = ALIASES.get(name, name)
        if axis not in AXES:
            problems.append(unknown_axis(name))
        elif axis in sizes:
            problems.append(Problem(f"the layout has {axis} twice", hint=_twice(axis)))
        elif (size := _positive(number)) is None:
            problems.append(Problem(f"{axis} is {number[:40]!r} and not a number of ranks", hint="for example fsdp=8"))
        else:
            sizes[axis] = size
    if not problems and math.prod(sizes.values()) > MOST_RANKS:
        problems.append(Problem(f"a layout of {math.prod(sizes.values()):,} ranks; at most {MOST_RANKS:,}"))
    if problems:
        raise InputError(problems)
    names = tuple(axis for axis in AXES if axis in sizes)
    return Layout(Mesh(tuple(sizes[name] for name in names), names), text=text.strip())


def _positive(number: str) -> int | None:
    digits = number.replace("_", "")
    whole = digits.isascii() and digits.isdigit() and len(digits) <= 12
    return int(digits) if whole and int(digits) > 0 else None


def unknown_axis(name: str) -> Problem:
    """The fault of a name that no axis has."""
    near = difflib.get_close_matches(name, (*AXES, *ALIASES), n=1)
    hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(AXES)}, as in pp=2,fsdp=8,tp=4"
    return Problem(f"{name[:40]!r} is no axis of a layout", hint=hint)


def _twice(axis: str) -> str | None:
    others = [alias for alias, name in ALIASES.items() if name == axis]
    return f"{', '.join(others)} mean {axis} too" if others else None

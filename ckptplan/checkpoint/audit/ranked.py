"""States that each rank has its own of: whether all ranks of the saved world have left theirs."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Manifest, Object, Tensor
from ckptplan.errors import InputError

_GRID = re.compile(r"(?P<name>.+)/shard_(?P<place>\d{1,7}(?:\.\d{1,7}){0,5})_(?P<grid>\d{1,7}(?:\.\d{1,7}){0,5})\Z")
_OWN = re.compile(r"rank_?0*(\d{1,7})(?!\d)[.:/]?([^.:/]*)")
_DATA_RANK = re.compile(r"dp_rank_?\d")
_MOST_RANKS = 10_000_000


class Ranks(NamedTuple):
    """Which ranks left theirs, of how many; ``of`` None: it cannot be known how many there were."""

    saved: tuple[int, ...]
    of: int | None
    word: str  # rank, data-parallel rank, place of the grid

    @property
    def all_there(self) -> bool:
        """Whether none is missing, as far as that can be known."""
        wanted = len(self.saved) if self.of is None else self.of
        return self.saved == tuple(range(wanted))


def ranks_of(manifest: Manifest, kind: StateKind) -> Ranks | None:
    """Who left theirs; None if the states of this kind are not by rank."""
    entries: list[Tensor | Object] = [tensor for tensor in manifest.tensors if tensor.kind is kind]
    entries += [entry for entry in manifest.objects if entry.kind is kind]
    grid = _grid(entries)
    if grid is not None:
        return grid
    own = [entry for entry in entries if entry.rank is not None]
    if not own:
        return None
    saved = _complete(own) if kind is StateKind.RANDOM else {entry.rank for entry in own}
    ordered = tuple(sorted(rank for rank in saved if rank is not None))
    if any(_DATA_RANK.search(entry.key) for entry in own):
        return Ranks(ordered, _data_ranks(manifest, ordered), "data-parallel rank")
    return Ranks(ordered, _world(manifest, ordered), "rank")


def _complete(own: Sequence[Tensor | Object]) -> set[int | None]:
    """Ranks that left all that any rank left: python's, numpy's, torch's and the GPU's."""
    parts: dict[int | None, set[str]] = defaultdict(set)
    for entry in own:
        found = _OWN.search(entry.key)
        parts[entry.rank].add(found.group(2) if found and int(found.group(1)) == entry.rank else "")
    wanted = set().union(*parts.values())
    return {rank for rank, left in parts.items() if left == wanted}


def _world(manifest: Manifest, saved: tuple[int, ...]) -> int | None:
    """Ranks of the world that saved: as said, or by the highest rank that wrote or left anything."""
    if manifest.world_size is not None:
        return manifest.world_size
    seen = [*saved, *manifest.writer_ranks]
    return min(max(seen) + 1, _MOST_RANKS) if seen else None


def _data_ranks(manifest: Manifest, saved: tuple[int, ...]) -> int | None:
    """Data-parallel ranks: as the loader says, else as few as there can have been."""
    said = _said(manifest)
    if said is not None:
        return said
    least = max(saved) + 1 if saved else 0
    world = manifest.world_size
    return least if not world or (least and world % least == 0) else world


def _said(manifest: Manifest) -> int | None:
    """The number of ranks that the data loader itself has stored."""
    for entry in manifest.objects:
        if entry.kind is StateKind.DATA_POSITION and entry.rank is None and entry.key.endswith("world_size"):
            try:
                value = manifest.source.value(entry)
            except InputError:
                return None
            return value if isinstance(value, int) and 0 < value <= _MOST_RANKS else None
    return None


def _grid(entries: Sequence[Tensor | Object]) -> Ranks | None:
    """Objects that Megatron stores by their place in a grid: each place must be there."""
    for entry in entries:
        found = _GRID.match(entry.key)
        if found is None:
            continue
        name, size = found["name"], tuple(int(part) for part in found["grid"].split("."))
        places = [
            tuple(int(part) for part in other["place"].split("."))
            for other in map(_GRID.match, (one.key for one in entries))
            if other is not None and other["name"] == name and other["grid"] == found["grid"]
        ]
        saved = {_number(place, size) for place in places if len(place) == len(size)}
        return Ranks(tuple(sorted(saved)), min(math.prod(size), _MOST_RANKS), "grid place")
    return None


def _number(place: tuple[int, ...], size: tuple[int, ...]) -> int:
    number = 0
    for at, length in zip(place, size, strict=True):
        number = number * length + at
    return number

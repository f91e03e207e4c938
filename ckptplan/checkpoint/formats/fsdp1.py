"""FSDP1 flat checkpoints: one file of torch.save per rank, with pieces of flat vectors that no name can be given to.

``StateDictType.LOCAL_STATE_DICT`` flattens all parameters of a wrapped module into one vector, pads it to a multiple
of the ranks and saves each rank's piece. Nothing in the files maps elements to parameters.
"""

from __future__ import annotations

import re
from typing import Any

from ckptplan.checkpoint.archives.flatten import leaves
from ckptplan.checkpoint.archives.torch_file import is_torch, read_torch
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.pieces import Pieces
from ckptplan.checkpoint.formats.steps import step_of
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest
from ckptplan.errors import InputError

MOST_RANKS = 1 << 17
FLAT = frozenset({"_flat_param", "flat_param"})  # the second before torch 2.0

_RANKED = re.compile(r"(?P<stem>[^/]*?)(?P<mark>rank|shard)[_-]?(?P<rank>\d{1,5})(?P<rest>[^/]*)\.(?:pt|pth|bin|ckpt)")
_WHY_NOT = (
    "flat vectors without a map of their parameters, padded to a multiple of the ranks: load it on as many ranks as"
    " saved it, and save a sharded state dict from there"
)
_SHOWN = 20


def recognised(folder: CheckpointFolder) -> bool:
    """Whether the files of ranks hold flat parameters."""
    names = rank_files(folder)
    if not names:
        return False
    try:
        first = names[min(names)]
        if not is_torch(folder, first):
            return False
        return any(_is_flat(path) for path, _ in leaves(read_torch(folder, first).value))
    except InputError:
        return False


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of all ranks; every piece is a tensor of its own, under the name of its file."""
    names = rank_files(folder)
    pieces = Pieces(folder)
    found: dict[int, Any] = {}
    for rank, name in sorted(names.items()):
        one = pieces.torch(name, f"{name}:", rank=rank)
        pieces.holds(name, f"flat parameters and optimizer of rank {rank}", rank)
        if one is not None:
            found[rank] = one.value
    ranks = _ranks(names, found)
    pieces.faults += _missing(names, ranks)
    pieces.faults.append(Fault(Flaw.NOT_RESHARDABLE, _WHY_NOT))
    first = next(iter(found.values()), None)
    return pieces.manifest(Format.FSDP1_FLAT, step=step_of(first), world_size=ranks, writer_ranks=tuple(sorted(names)))


def rank_files(folder: CheckpointFolder) -> dict[int, str]:
    """Files at the root whose names differ in their rank only, by rank; the largest set of them."""
    sets: dict[tuple[str, str], dict[int, str]] = {}
    for name in folder.sizes():
        if match := _RANKED.fullmatch(name):
            sets.setdefault((match["stem"] + match["mark"], match["rest"]), {})[int(match["rank"])] = name
    return max(sets.values(), key=len, default={})


def _is_flat(path: tuple[str | int, ...]) -> bool:
    return any(str(part).rsplit(".", 1)[-1] in FLAT for part in path)


def _ranks(names: dict[int, str], found: dict[int, Any]) -> int:
    """Ranks that saved: what the files say, and no fewer than there are files of."""
    said = [value.get("world_size") for value in found.values() if isinstance(value, dict)]
    counts = [one for one in said if isinstance(one, int) and not isinstance(one, bool) and 0 < one <= MOST_RANKS]
    return max([max(names, default=0) + 1, *counts])


def _missing(names: dict[int, str], ranks: int) -> list[Fault]:
    absent = [rank for rank in range(ranks) if rank not in names]
    first = names[min(names)]
    match = _RANKED.fullmatch(first)
    begin, end = match.span("rank") if match else (0, 0)
    faults = [
        Fault(
            Flaw.MISSING_FILE,
            f"the file of rank {rank} is not there: its piece of every flat parameter is missing",
            f"{first[:begin]}{rank}{first[end:]}",
            hint="is the copy complete?",
        )
        for rank in absent[:_SHOWN]
    ]
    if len(absent) > _SHOWN:
        faults.append(
            Fault(Flaw.MISSING_FILE, f"{len(absent) - _SHOWN:,} more of {ranks:,} files of ranks are missing")
        )
    return faults

"""Files of Hugging Face's Trainer and accelerate by their names: what each holds, and of which rank."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ckptplan.checkpoint.archives.flatten import Path
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.pieces import Pieces
from ckptplan.checkpoint.formats.weights import at_root
from ckptplan.checkpoint.kinds import StateKind


class Role(NamedTuple):
    """What files of a certain name are; without a kind the keys in them decide."""

    name: re.Pattern[str]
    holds: str
    kind: StateKind | None = None


_NUMBER = r"(?:_\d{1,9})?"
_RANK = r"(?:[_-]?(?:dp_)?rank[_-]?(?P<rank>\d{1,9}))?"
_ROLES = (
    Role(re.compile(rf"optimizer{_NUMBER}\.(?:pt|bin)\Z"), "optimizer state"),
    Role(re.compile(rf"scheduler{_NUMBER}\.(?:pt|bin)\Z"), "scheduler", StateKind.SCHEDULER),
    Role(re.compile(r"(?:rng_state|random_states)(?:_(?P<rank>\d{1,9}))?\.(?:pth|pkl)\Z"), "random-number states",
         StateKind.RANDOM),
    Role(re.compile(rf"(?:rng|random|rngs)(?:[_-]states?)?{_RANK}\.(?:pth|pkl|pt|bin)\Z"), "random-number states",
         StateKind.RANDOM),
    Role(re.compile(r"scaler\.pt\Z"), "loss scaler", StateKind.LOSS_SCALER),
    Role(re.compile(rf"(?:dl_state_dict|sampler){_NUMBER}\.bin\Z"), "data position", StateKind.DATA_POSITION),
    Role(re.compile(rf"(?:train[_-])?(?:dataloader|data_loader|sampler|dataset_state)(?:[_-]state(?:[_-]dict)?)?{_RANK}"
                    r"\.(?:pth|pkl|pt|bin)\Z"), "data position", StateKind.DATA_POSITION),
    Role(re.compile(r"custom_checkpoint_\d{1,9}\.pkl\Z"), "registered object"),
)  # fmt: skip


def role_of(name: str) -> tuple[Role, int | None] | None:
    """The role of a file and its rank, or None."""
    for role in _ROLES:
        found = role.name.match(name)
        if found:
            rank = found.groupdict().get("rank")
            return role, None if rank is None else int(rank)
    return None


def add_roles(pieces: Pieces, prefix: str = "") -> tuple[int, ...]:
    """Add every file with a role, its keys behind its name; the ranks that have random-number states."""
    ranks: list[int] = []
    alone = True
    for name in at_root(pieces.folder):
        found = role_of(name)
        if found is None:
            continue
        role, rank = found
        if role.kind is StateKind.RANDOM:
            alone, rank = rank is None, rank or 0
            ranks.append(rank)
        told = f"{role.holds} of rank {rank}" if role.kind is StateKind.RANDOM and not alone else role.holds
        pieces.holds(name, told, rank)
        pieces.torch(name, f"{prefix}{name}:", rank=rank, kind_of=_kind_within(role))
    return tuple(sorted(ranks))


def world_of(ranks: tuple[int, ...], pieces: Pieces) -> int | None:
    """How many ranks saved, by their random-number states; gaps are remarked."""
    if not ranks:
        return None
    absent = sorted(set(range(ranks[-1] + 1)) - set(ranks))[:10] if ranks[-1] < 1_000_000 else []
    if absent:
        several = ", ".join(map(str, absent))
        pieces.remarks.append(f"random-number states of ranks {several} are not there, those of {ranks[-1]} are")
    return ranks[-1] + 1


def has_role(folder: CheckpointFolder, kind: StateKind) -> bool:
    """Whether a file of such a kind is there."""
    return any(found is not None and found[0].kind is kind for found in map(role_of, at_root(folder)))


def _kind_within(role: Role) -> Callable[[Path], StateKind | None]:
    def kind(path: Path) -> StateKind | None:
        counted: Any = role.kind is StateKind.RANDOM and path == ("step",)  # accelerate counts its steps there
        return StateKind.PROGRESS if counted else role.kind

    return kind

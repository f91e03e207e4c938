"""What an audit finds: each kind of state, each fault, and the verdict in one sentence."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from ckptplan.checkpoint.audit.words import OnOtherRanks
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Flaw, Manifest


class Standing(StrEnum):
    """Whether a state is there."""

    PRESENT = "present"
    PARTIAL = "partial"
    ABSENT = "absent"
    UNREADABLE = "unreadable"


class Depth(StrEnum):
    """How far down a checkpoint is looked into."""

    METADATA = "metadata"  # and the lengths of the files
    ITEMS = "items"  # each stored item opened, its data not read
    DATA = "data"  # read, and compared with the archived checksums


class Need(StrEnum):
    """Which runs a state is needed by."""

    EVERY_RUN = "every run"
    IF_USED = "runs that use it"
    NONE = "none"


class State(NamedTuple):
    """One kind of state in one checkpoint."""

    kind: StateKind
    standing: Standing
    need: Need
    required: bool  # by this audit: `--require` and `--allow` choose
    tensors: int
    objects: int
    logical_bytes: int
    stored_bytes: int
    detail: str  # where it is, for which ranks or parameters, why it cannot be read
    loss: str
    other_ranks: OnOtherRanks
    ranks: tuple[int, ...] = ()  # that saved theirs, where each rank has its own
    of: int | None = None  # ranks that should have

    @property
    def missing(self) -> bool:
        """Whether this audit asks for it and it is not all there."""
        return self.required and self.standing is not Standing.PRESENT

    @property
    def allowed(self) -> bool:
        """Whether every run needs it, it is not all there, and this audit goes on without it."""
        return self.need is Need.EVERY_RUN and not self.required and self.standing is not Standing.PRESENT


# The first of these that a checkpoint has is named in its verdict.
GRAVITY = (
    Flaw.FOREIGN_CODE,
    Flaw.UNCOMMITTED,
    Flaw.MISSING_FILE,
    Flaw.TRUNCATED,
    Flaw.CORRUPT,
    Flaw.MISSING_ENTRY,
    Flaw.OUTSIDE,
    Flaw.MISMATCH,
    Flaw.HOLE,
    Flaw.OVERLAP,
    Flaw.CHECKSUM,
    Flaw.UNREADABLE,
    Flaw.NOT_RESHARDABLE,
)
HARMLESS = frozenset({Flaw.NOT_RESHARDABLE})  # true of whole checkpoints too


class Audit(NamedTuple):
    """The verdict on one checkpoint, and all that it rests on."""

    path: Path
    manifest: Manifest | None  # None: it could not be read at all
    states: tuple[State, ...]
    faults: tuple[Fault, ...]  # the gravest first
    more_faults: int  # beyond those that are kept
    leftovers: tuple[str, ...]  # files that nothing refers to
    leftover_bytes: int
    notes: tuple[str, ...]
    depth: Depth

    @property
    def whole(self) -> bool:
        """Whether nothing is broken."""
        return all(fault.flaw in HARMLESS for fault in self.faults)

    @property
    def missing(self) -> tuple[State, ...]:
        """States that this audit asks for and that are not all there."""
        return tuple(state for state in self.states if state.missing)

    @property
    def allowed(self) -> tuple[State, ...]:
        """States that every run needs, that are not all there, and that this audit does not ask for."""
        return tuple(state for state in self.states if state.allowed)

    @property
    def complete(self) -> bool:
        """Whether all states that this audit asks for are there."""
        return bool(self.states) and not self.missing

    @property
    def usable(self) -> bool:
        """Whether a run can go on from it as if never interrupted."""
        return self.whole and self.complete

    @property
    def step(self) -> int | None:
        """The training step, where it is known."""
        return None if self.manifest is None else self.manifest.step

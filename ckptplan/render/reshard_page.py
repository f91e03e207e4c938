"""What one page of ``ckptplan reshard`` shows."""

from __future__ import annotations

from typing import NamedTuple

from ckptplan.checkpoint.manifest import Format
from ckptplan.checkpoint.reshard.batch import BatchSplits
from ckptplan.checkpoint.reshard.carry_over import NotCarried
from ckptplan.checkpoint.reshard.file_reads import FileRead, RunCounts
from ckptplan.checkpoint.reshard.loading import Loading, Loads, restart_line
from ckptplan.checkpoint.reshard.plan import Plan

_WHOLE_ITEMS = (Format.DCP, Format.DCP_RANK_LOCAL, Format.MEGATRON_DIST)


class RankReads(NamedTuple):
    """All reads of one rank."""

    rank: int
    reads: tuple[FileRead, ...]
    assumed: str | None = None  # why places in files are not known, or only assumed


class ReshardPage(NamedTuple):
    """A plan, and what it means."""

    source: str  # the checkpoint as the user named it, or the model and the layout that would save it
    plan: Plan
    loading: Loading
    runs: RunCounts
    not_carried: tuple[NotCarried, ...]
    batch: BatchSplits | None
    saved_by: str | None = None  # the layout of a run that has not saved yet; None: a checkpoint on disk
    one_rank: RankReads | None = None
    without: tuple[str, ...] = ()  # kinds of state that are left out of the load, as one types them

    @property
    def loads(self) -> bool:
        """Whether the framework will load its tensors."""
        return not any(one.refuses for one in self.not_carried)

    @property
    def ends(self) -> tuple[NotCarried, ...]:
        """Where a load of everything as it was saved ends, though the tensors load."""
        return tuple(one for one in self.not_carried if one.ends)

    @property
    def in_whole_items(self) -> bool:
        """Whether the usual loader of this format reads stored items in full."""
        return self.plan.manifest.format in _WHOLE_ITEMS

    @property
    def as_usual(self) -> Loads:
        """What the usual loader of this format reads."""
        return self.loading.whole_items if self.in_whole_items else self.loading.ranges

    @property
    def restart(self) -> str | None:
        """The line to paste into a spec."""
        return None if self.as_usual.time is None else restart_line(self.as_usual.time)

"""What guards a run beside its saves: watchdog, verification, retention, spares, prediction."""

from __future__ import annotations

import math
from typing import NamedTuple


class Watchdog(NamedTuple):
    """The timeout that finds hangs, and how often healthy pauses would outlast it.

    ``false_alarms_per_s`` were seen at a timeout of ``seen_at_s``; they become fewer by a factor e for every
    ``decay_s`` that the timeout is longer. [s, 1/s]
    """

    timeout_s: float | None = None  # None: the default of the framework
    false_alarms_per_s: float | None = None
    seen_at_s: float = 0.0
    decay_s: float = 0.0

    def false_alarms_at(self, timeout_s: float, step_time_s: float | None) -> float:
        """False alarms at a timeout; below the one at which they were seen the same law is taken, one per step at most.

        [1/s]
        """
        most = math.inf if not step_time_s else 1.0 / step_time_s
        if not self.false_alarms_per_s:
            return 0.0
        grown = math.log(self.false_alarms_per_s) + (self.seen_at_s - timeout_s) / self.decay_s
        return min(math.exp(min(grown, 700.0)), most)


class Verification(NamedTuple):
    """A check of the state that finds silent corruption. [s, 1]."""

    time_s: float
    per_save: int | None = None  # None: as many as are best


class Retention(NamedTuple):
    """Which saves are kept: all of the last time, then sparser, then an archive for ever. [s, 1].

    A save is kept while it is younger than ``keep_all_s``, or is one of every ``then_every_s`` and younger than
    ``then_for_s``, or is one of every ``archive_every_s``.
    """

    probability: float = 0.999  # wanted, of finding a clean save
    keep: int | None = None  # a plain number of newest saves, instead of the times
    keep_all_s: float | None = None
    then_every_s: float | None = None
    then_for_s: float | None = None
    archive_every_s: float | None = None
    capacity_bytes: float | None = None  # of what the tier that holds them has room for


class Spares(NamedTuple):
    """Nodes that stand by, and how the job goes on when none is left. [1, s]."""

    nodes: int
    repair_s: float  # mean time until a node that failed is back
    most_waiting: float = 0.01  # wanted, share of time
    always_failing: bool = False  # every node fails all the time, not only while the job runs
    reshard_s: float | None = None  # elastic: time to shrink or regrow; None: the job waits


class Prediction(NamedTuple):
    """A predictor of failures. [1, s]."""

    recall: float
    precision: float
    save_s: float | None = None  # a save that it triggers; None: as long as any other

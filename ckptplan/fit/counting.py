"""How a record is to be counted: what counts as an interruption, per what, and when two of them are one."""

from enum import StrEnum
from typing import NamedTuple

from ckptplan.fit.record import Outcome

MERGE_S = 60.0  # two failures of one job within a minute have one cause: no restart is faster
LEVEL = 0.95
SIGNIFICANCE = 0.05  # of the tests of trend, bursts and laws
# What a user may count, by the words of the command line, of a spec and of reports.
COUNTED = {"failures": Outcome.FAILURE, "preemptions": Outcome.PREEMPTED, "maintenance": Outcome.MAINTENANCE}


class Per(StrEnum):
    """What the rate is a rate of."""

    JOB = "job"
    NODE = "node"
    GPU = "gpu"


class Counting(NamedTuple):
    """Choices of the user; None lets the record decide.

    ``gpus``, ``gpus_per_node`` and ``nodes`` are of what was recorded, where the record does not say.
    """

    per: Per | None = None
    outcomes: frozenset[Outcome] | None = None  # None: failures, or what interrupts where no failure was recorded
    merge_s: float = MERGE_S
    gpus: float | None = None
    gpus_per_node: float | None = None
    nodes: float | None = None
    recent: bool = False  # only the latest part, over which the rate is steady
    level: float = LEVEL

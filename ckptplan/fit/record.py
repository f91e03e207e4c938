"""What a record of failures says, whatever file it was read from: arrays in seconds, and what was left out of them.

Readers make these; the arithmetic of this room knows no file. Times on a calendar are seconds since 1970 in UTC, others
seconds from the start of the record.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


class Outcome(IntEnum):
    """How a stretch of running ended, or what kind of outage an outage is."""

    CENSORED = 0  # not by a failure: completed, time limit, cancelled by its user, still running
    FAILURE = 1
    PREEMPTED = 2
    MAINTENANCE = 3


class Allocations(NamedTuple):
    """Stretches in which a job (or a node of a spot market) ran, one row each, in any order.

    ``job`` numbers the job: all requeues of one job have the same number. ``cause`` indexes ``causes``. ``nodes`` and
    ``gpus`` are nan where they are not known. A job's name and a start say which run of which file is the same one.
    """

    start_s: Floats
    end_s: Floats
    outcome: Codes  # of Outcome
    nodes: Floats
    gpus: Floats
    job: Codes
    cause: Codes
    causes: tuple[str, ...]
    names: tuple[str, ...] = ()  # of jobs, by number: the id that the scheduler gave; empty where jobs have none

    def only(self, rows: NDArray[np.bool_]) -> "Allocations":
        """Some of the rows."""
        return self._replace(
            start_s=self.start_s[rows],
            end_s=self.end_s[rows],
            outcome=self.outcome[rows],
            nodes=self.nodes[rows],
            gpus=self.gpus[rows],
            job=self.job[rows],
            cause=self.cause[rows],
        )


class Outages(NamedTuple):
    """Failures that were noted by themselves, one row each, in any order: of nodes, or of one whole system.

    ``end_s`` is nan where it is not known, and ``until_s`` of an outage that lasts. ``unit`` numbers the node, -1 for
    the whole system; ``units`` is how many there are, 1 for events of one system. The window is the time that was
    watched: one for all, or one for each unit where units came and went.
    """

    start_s: Floats
    end_s: Floats
    outcome: Codes
    unit: Codes
    cause: Codes
    causes: tuple[str, ...]
    units: int
    from_s: Floats  # of one element, or of each unit
    until_s: Floats  # as from_s
    ends_at_last: bool = False  # nobody said when watching ended: it is taken to end with the last event
    unit_names: tuple[str, ...] = ()  # by number; empty where units have no name

    def only(self, rows: NDArray[np.bool_]) -> "Outages":
        """Some of the rows."""
        return self._replace(
            start_s=self.start_s[rows],
            end_s=self.end_s[rows],
            outcome=self.outcome[rows],
            unit=self.unit[rows],
            cause=self.cause[rows],
        )


class Lifetimes(NamedTuple):
    """Times to failure, or gaps between failures, with no calendar: one row each, in the order of the record."""

    time_s: Floats
    failed: NDArray[np.bool_]  # False: watching ended before a failure
    in_order: bool = True  # gaps follow each other; False for a sample of separate parts, which can show no trend


class Marks(NamedTuple):
    """Lines of other logs that may say why: kernel Xids, NCCL watchdogs. Never failures by themselves."""

    at_s: Floats  # nan where the line has no time
    cause: Codes
    causes: tuple[str, ...]
    node: tuple[str, ...]  # empty where not known


class Counts(NamedTuple):
    """Failures counted by cause, without their times; one element for each row of the table."""

    failures: Floats
    outcome: Codes
    cause: Codes
    causes: tuple[str, ...]
    watched_s: float  # the time in which they were counted; nan where nobody said


class LeftOut(NamedTuple):
    """Rows that were read and do not count, and why, in a few words that complete "left out:"."""

    reason: str
    rows: int


class FailureRecord(NamedTuple):
    """One file, read. ``rows`` is what it held; every row is used or left out by a reason."""

    file: str
    format: str  # for people: "Slurm sacct, parsable2"
    rows: int
    left_out: tuple[LeftOut, ...]
    content: Allocations | Outages | Lifetimes | Marks | Counts
    on_calendar: bool = False
    zone: str | None = None  # how stamps without a zone were read
    warnings: tuple[str, ...] = ()  # sentences with a remedy: what makes the record less than it seems
    facts: tuple[str, ...] = ()  # sentences for the report: how rows were judged
    recoveries: "Recoveries | None" = None


class Recoveries(NamedTuple):
    """How long it took to run again, event by event, as far as the record shows it; nan where it does not. [s]."""

    phase: str  # "requeue": end of a run to the start of the next; "repair": start to end of an outage; ...
    cause: Codes
    seconds: Floats

"""A record reduced to what the statistics need: time at risk, interruptions in it, times to each, and their clock.

Time at risk per node is time times nodes, so that jobs of different sizes count by what they used.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.fit.counting import Counting, Per
from ckptplan.fit.record import Allocations, Counts, Floats, Outages, Outcome

Flags = NDArray[np.bool_]


class Lives(NamedTuple):
    """Times from a start to an interruption, or to what ended the watching. [s].

    ``of`` says what lives: a run of a job, a node that is up, or the job from one interruption to the next.
    """

    time_s: Floats
    failed: Flags
    of: str
    sizes_differ: bool = False  # times of runs of other sizes were scaled to the mean size


class OperatingClock(NamedTuple):
    """Interruptions on the clock of the time at risk, which runs as fast as units are at risk. [unit s].

    Of interruptions of several units within the window of each other, ``distinct_s`` has the first: a power cut that
    ends ten jobs is one event of a trend, and ten interruptions of the rate.
    """

    instants_s: Floats  # in order
    distinct_s: Floats
    end_s: float
    until_failure: bool
    calendar_s: Floats  # corners of the clock on the calendar
    operating_s: Floats  # the clock there

    def date_of(self, operating_s: float) -> float:
        """When the clock showed a time. [s since 1970, or from the start of the record]."""
        return float(np.interp(operating_s, self.operating_s, self.calendar_s))


class Exposure(NamedTuple):
    """Time at risk and the interruptions in it.

    ``nodes`` and ``gpus`` are those of the job, the mean over its time, None where not known. ``merged`` of ``events``
    came within the window of the one before and are not counted.
    """

    per: Per
    outcomes: frozenset[Outcome]
    failures: int
    events: int
    merged: int
    exposure_s: float  # time times units
    until_failure: bool
    lives: Lives
    clock: OperatingClock | None
    nodes: float | None
    gpus: float | None
    facts: tuple[str, ...] = ()


def counted_outcomes(content: Allocations | Outages | Counts, counting: Counting) -> frozenset[Outcome]:
    """What is counted: as asked, else failures, else preemptions if no failure was recorded."""
    if counting.outcomes is not None:
        return counting.outcomes
    if not np.any(content.outcome == Outcome.FAILURE) and np.any(content.outcome == Outcome.PREEMPTED):
        return frozenset({Outcome.PREEMPTED})
    return frozenset({Outcome.FAILURE})


def is_counted(outcome: NDArray[np.int32], outcomes: frozenset[Outcome]) -> Flags:
    """Which rows have one of the outcomes."""
    return np.isin(outcome, [int(one) for one in outcomes])


def clock_of(start_s: Floats, end_s: Floats, units: Floats, failed: Flags, window_s: float) -> OperatingClock:
    """The time at risk of all stretches together, as the calendar goes on; a stretch that failed did so at its end."""
    at_s = np.concatenate((start_s, end_s))
    order = np.argsort(at_s, kind="stable")
    at_s = at_s[order]
    at_risk = np.cumsum(np.concatenate((units, -units))[order])
    operating_s = np.concatenate(((0.0,), np.cumsum(at_risk[:-1] * np.diff(at_s))))
    ends_s = np.sort(end_s[failed])
    instants_s = np.interp(ends_s, at_s, operating_s)
    distinct_s = instants_s[np.diff(ends_s, prepend=-np.inf) > window_s]
    total_s = float(operating_s[-1])
    ends = bool(instants_s.size and instants_s[-1] >= total_s * (1.0 - 1e-12))
    return OperatingClock(instants_s, distinct_s, total_s, ends, at_s, operating_s)


def longer_than_nothing(lives: Lives) -> Lives:
    """Without times of zero, of which a law can say nothing."""
    kept = lives.time_s > 0.0
    return lives._replace(time_s=lives.time_s[kept], failed=lives.failed[kept])


def gpus_of(nodes: float | None, counting: Counting) -> float | None:
    """GPUs of what was recorded, as told, or by its nodes."""
    if counting.gpus is not None:
        return counting.gpus
    return None if nodes is None or counting.gpus_per_node is None else nodes * counting.gpus_per_node

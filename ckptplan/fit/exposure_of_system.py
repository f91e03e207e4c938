"""Events of one job or system as a whole: the clock is that of the wall, and runs through outages."""

from typing import NamedTuple

import numpy as np

from ckptplan.errors import InputError
from ckptplan.fit.counting import Counting, Per
from ckptplan.fit.exposure import (
    Exposure,
    Lives,
    OperatingClock,
    counted_outcomes,
    gpus_of,
    is_counted,
    longer_than_nothing,
)
from ckptplan.fit.record import Counts, FailureRecord, Floats, Lifetimes, Outages, Outcome


class _Watched(NamedTuple):
    """Interruptions in the time that was watched, in order."""

    from_s: float
    until_s: float
    instants_s: Floats
    until_failure: bool


def exposure_of_system(record: FailureRecord, outages: Outages, counting: Counting, per: Per, units: int) -> Exposure:
    """Interruptions of whatever runs on all of it."""
    outcomes = counted_outcomes(outages, counting)
    from_s, until_s = float(np.min(outages.from_s)), float(np.max(outages.until_s))
    start_s = np.sort(outages.start_s[is_counted(outages.outcome, outcomes)])
    start_s = start_s[(start_s >= from_s) & (start_s <= until_s)]
    new = np.diff(start_s, prepend=-np.inf) > counting.merge_s
    kept_s = start_s[new]
    facts: tuple[str, ...] = ()
    if kept_s.size and kept_s[0] <= from_s:
        kept_s = kept_s[1:]
        facts = ("counting starts with the first event, which is not counted itself",)
    if not until_s > from_s:
        raise InputError(f"{record.file}: no time passes between its events", hint="give --since and --until")
    watched = _Watched(from_s, until_s, kept_s, outages.ends_at_last and kept_s.size > 0)
    nodes = float(units) if units > 1 else counting.nodes
    scale = _units(record, per, nodes, counting)
    return Exposure(
        per=per,
        outcomes=outcomes,
        failures=kept_s.size,
        events=start_s.size,
        merged=int(np.count_nonzero(~new)),
        exposure_s=(until_s - from_s) * scale,
        until_failure=watched.until_failure,
        lives=longer_than_nothing(_gaps(watched)),
        clock=_clock(watched, scale),
        nodes=nodes,
        gpus=gpus_of(nodes, counting),
        facts=facts,
    )


def exposure_of_times(record: FailureRecord, lifetimes: Lifetimes, counting: Counting) -> Exposure:
    """Times to failure, or gaps, that have no calendar."""
    ends_s = np.cumsum(lifetimes.time_s)
    total_s = float(ends_s[-1]) if ends_s.size else 0.0  # not np.sum, whose last digit differs from the last end
    if not total_s > 0.0:
        raise InputError(f"{record.file}: the times add up to nothing", hint="give times to failure above 0")
    per = counting.per or Per.JOB
    scale = _units(record, per, counting.nodes, counting)
    failures = int(np.count_nonzero(lifetimes.failed))
    until_failure = bool(np.all(lifetimes.failed))
    watched = _Watched(0.0, total_s, ends_s[lifetimes.failed], until_failure)
    return Exposure(
        per=per,
        outcomes=frozenset({Outcome.FAILURE}),
        failures=failures,
        events=failures,
        merged=0,
        exposure_s=total_s * scale,
        until_failure=until_failure,
        lives=longer_than_nothing(Lives(lifetimes.time_s, lifetimes.failed, "job")),
        clock=_clock(watched, scale) if lifetimes.in_order else None,
        nodes=counting.nodes,
        gpus=gpus_of(counting.nodes, counting),
    )


def exposure_of_counts(record: FailureRecord, counts: Counts, counting: Counting) -> Exposure:
    """Numbers of failures over a time, without the times of each."""
    if not counts.watched_s > 0.0:
        message = f"{record.file}: the table does not say in what time its failures were counted"
        raise InputError(message, hint="give it with --until 54d, or until: 54 d in a spec")
    outcomes = counted_outcomes(counts, counting)
    per = counting.per or Per.JOB
    scale = _units(record, per, counting.nodes, counting)
    failures = int(np.sum(counts.failures[is_counted(counts.outcome, outcomes)]))
    return Exposure(
        per=per,
        outcomes=outcomes,
        failures=failures,
        events=failures,
        merged=0,
        exposure_s=counts.watched_s * scale,
        until_failure=False,
        lives=Lives(np.empty(0), np.empty(0, dtype=np.bool_), "job"),
        clock=None,
        nodes=counting.nodes,
        gpus=gpus_of(counting.nodes, counting),
        facts=("the table has counts alone: no law and no trend can be told",),
    )


def _gaps(watched: _Watched) -> Lives:
    """From each interruption to the next; the time after the last one is censored."""
    corners_s = np.concatenate(((watched.from_s,), watched.instants_s, (watched.until_s,)))
    failed = np.ones(corners_s.size - 1, dtype=np.bool_)
    failed[-1] = False
    return Lives(np.diff(corners_s), failed, "job")


def _clock(watched: _Watched, scale: float) -> OperatingClock:
    corners_s = np.array([watched.from_s, watched.until_s])
    operating_s = (corners_s - watched.from_s) * scale
    instants_s = (watched.instants_s - watched.from_s) * scale
    end_s = float(operating_s[-1])
    return OperatingClock(instants_s, instants_s, end_s, watched.until_failure, corners_s, operating_s)


def _units(record: FailureRecord, per: Per, nodes: float | None, counting: Counting) -> float:
    """How many units were at risk all the time."""
    if per is Per.JOB:
        return 1.0
    found = nodes if per is Per.NODE else gpus_of(nodes, counting)
    if found is None:
        option = "--nodes" if per is Per.NODE else "--recorded-gpus"
        message = f"{record.file}: the record does not say how many {per}s were watched"
        raise InputError(message, hint=f"give {option} N, or count --per job")
    return found

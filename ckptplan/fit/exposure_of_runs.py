"""Runs of jobs: each is at risk from its start to its end, with all of its nodes."""

import numpy as np

from ckptplan.errors import InputError
from ckptplan.fit.counting import Counting, Per
from ckptplan.fit.exposure import Exposure, Flags, Lives, clock_of, counted_outcomes, is_counted, longer_than_nothing
from ckptplan.fit.record import Allocations, FailureRecord, Floats


def exposure_of_runs(record: FailureRecord, runs: Allocations, counting: Counting) -> Exposure:
    """Time at risk of all runs, and the interruptions that ended some of them."""
    time_s = runs.end_s - runs.start_s
    if not float(np.sum(time_s)) > 0.0:
        raise InputError(f"{record.file}: no run with a start and an end is left to count", hint=_left_out(record))
    outcomes = counted_outcomes(runs, counting)
    event = is_counted(runs.outcome, outcomes)
    repeated = _repeated(runs, event, counting.merge_s)
    failed = event & ~repeated
    per, units, facts = _units(record, runs, counting)
    total_s = float(np.sum(time_s * units))
    differ = bool(np.ptp(units) > 0.0)
    # A run of twice the mean size ages twice as fast: exact for exponential failures, and said for others.
    scaled_s = time_s * units * float(np.sum(time_s)) / total_s if differ else time_s
    lives = Lives(scaled_s, failed, "run", differ)
    if counting.nodes is not None or (counting.gpus is not None and bool(np.all(runs.gpus > 0.0))):
        facts += ("runs say themselves how large they were: --nodes and --recorded-gpus have no effect on them",)
    clock = clock_of(runs.start_s, runs.end_s, units, failed, counting.merge_s)
    return Exposure(
        per=per,
        outcomes=outcomes,
        failures=int(np.count_nonzero(failed)),
        events=int(np.count_nonzero(event)),
        merged=int(np.count_nonzero(repeated)),
        exposure_s=total_s,
        until_failure=clock.until_failure,
        lives=longer_than_nothing(lives),
        clock=clock,
        nodes=_mean(runs.nodes, time_s),
        gpus=_mean(_gpus(runs, counting), time_s),
        facts=facts,
    )


def _repeated(runs: Allocations, event: Flags, window_s: float) -> Flags:
    """Interruptions of one job within the window of its interruption before."""
    rows = np.flatnonzero(event)
    order = rows[np.lexsort((runs.end_s[rows], runs.job[rows]))]
    same_job = runs.job[order][1:] == runs.job[order][:-1]
    near = np.diff(runs.end_s[order]) <= window_s
    repeated = np.zeros(event.size, dtype=np.bool_)
    repeated[order[1:][same_job & near]] = True
    return repeated


def _units(record: FailureRecord, runs: Allocations, counting: Counting) -> tuple[Per, Floats, tuple[str, ...]]:
    """Units of each run: of what was asked, else nodes, else GPUs, else the job itself."""
    known = {Per.NODE: runs.nodes, Per.GPU: _gpus(runs, counting), Per.JOB: np.ones_like(runs.start_s)}
    has = {per: bool(np.all(units > 0.0)) for per, units in known.items()}  # nan is not above 0
    asked = counting.per
    if asked is not None:
        if not has[asked]:
            missing = int(np.count_nonzero(~(known[asked] > 0.0)))
            message = f"{missing:,} of {runs.start_s.size:,} runs do not say how many {asked}s they had"
            hint = "add NNodes and AllocTRES to the columns, or count --per job"
            raise InputError(f"{record.file}: {message}", hint=hint)
        return asked, known[asked], ()
    per = next(per for per in (Per.NODE, Per.GPU, Per.JOB) if has[per])
    if per is not Per.JOB:
        return per, known[per], ()
    fact = "not every run says how many nodes it had: the rate is that of one job, of the size that was recorded"
    return per, known[per], (fact,)


def _gpus(runs: Allocations, counting: Counting) -> Floats:
    """GPUs of each run: as recorded, else nodes times GPUs per node, else as told."""
    by_nodes = runs.nodes * (np.nan if counting.gpus_per_node is None else counting.gpus_per_node)
    found = np.where(runs.gpus > 0.0, runs.gpus, by_nodes)
    return np.where(found > 0.0, found, np.nan if counting.gpus is None else counting.gpus)


def _mean(units: Floats, weight: Floats) -> float | None:
    """The mean over time, None where a part is not known."""
    if not bool(np.all(units > 0.0)):
        return None
    return float(np.sum(units * weight) / np.sum(weight))


def _left_out(record: FailureRecord) -> str:
    """Why nothing is left."""
    reasons = ", ".join(f"{one.rows:,} {one.reason}" for one in record.left_out)
    return f"of {record.rows:,} rows, left out: {reasons}" if reasons else "the file has no rows"

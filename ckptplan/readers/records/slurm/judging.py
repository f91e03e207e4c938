"""Allocations of Slurm accounting -> a failure record: every row used, or left out by a reason."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.fit.record import Allocations, Codes, FailureRecord, Outcome, Recoveries
from ckptplan.readers.records.slurm.attempts import Following, Ids, following, ids_of, once
from ckptplan.readers.records.slurm.choosing import Tally, choose
from ckptplan.readers.records.slurm.jobs import MAINTENANCE, Jobs
from ckptplan.readers.records.slurm.options import COMMAND, SlurmOptions
from ckptplan.readers.records.slurm.states import LASTING, NEVER_RAN, exit_code, rules, state_of, verdict
from ckptplan.readers.records.slurm.times import Timed, Which, timed
from ckptplan.readers.records.slurm.words import counted, sentences
from ckptplan.readers.records.stamps import Flags, Floats, clock
from ckptplan.readers.records.windows import OUTSIDE, clipped

SHORTEST_S = 1.0  # stamps are whole seconds: a run that broke in its first one lasted no longer


class States(NamedTuple):
    """The state of every row: an index of ``names``, of which "" is what is no state."""

    code: Codes
    names: tuple[str, ...]

    def among(self, names: frozenset[str]) -> Flags:
        """Rows in one of these states."""
        return np.array([name in names for name in self.names], bool)[self.code]


class Read(NamedTuple):
    """What a reader found besides the jobs."""

    file: str
    format: str
    rows: int
    left_out: dict[str, int]  # steps, torn lines
    warnings: list[str]
    facts: list[str]


def judged(jobs: Jobs, read: Read, options: SlurmOptions) -> FailureRecord:
    """The failure record of all rows."""
    tally = Tally(len(jobs.never))
    for reason, rows in read.left_out.items():
        tally.add(reason, rows)
    choose(jobs, tally)
    states, ids = _states(jobs), ids_of(jobs.job)
    times = _times(jobs, states, ids, tally, (options, read.file))
    nodes, gpus, end, conflicts = _single(jobs, states, times, ids, tally)
    if options.nodes_least > 0:
        tally.drop(f"on fewer than {options.nodes_least:,} nodes", ~(nodes >= options.nodes_least))
    ends = _ends(jobs, states, times, options)
    zero = times.run_s <= 0.0
    tally.drop("of no length, and not ended by a failure", zero & (ends.outcome == Outcome.CENSORED))
    keep = tally.used
    next_ = following(ids.whole[keep], times.start_s[keep], end[keep])
    run = np.maximum(times.run_s[keep], SHORTEST_S)
    jobs_left, job = np.unique(ids.whole[keep], return_inverse=True)
    allocations = Allocations(
        end[keep] - run, end[keep], ends.outcome[keep], nodes[keep], gpus[keep], job.astype(np.int32),
        ends.cause[keep], ends.causes, ids.names(jobs_left),
    )  # fmt: skip
    within = clipped(allocations, *times.window)
    missing = _missing(jobs, keep, next_)
    tally.drop(OUTSIDE, _of_all(keep, ~within.kept))
    zone = None if bool(jobs.start.zoned[tally.used].all()) else clock(options.zone).name
    warnings = [
        *read.warnings, *times.warnings, *missing, *conflicts, *_uncoded(ends, tally.used, options),
        *_unknown(within.runs),
    ]  # fmt: skip
    facts = [*read.facts, *rules(options, coded=ends.coded), *times.facts, *within.facts]
    facts += _facts(jobs, tally.used, ends.short, zero, options.minimum_run_s)
    if zone and options.zone is None:
        facts.append(
            "stamps have no zone and were read as UTC; --tz names another. Durations do not depend on it where the "
            "record has ElapsedRaw, and otherwise only where clocks change"
        )
    return FailureRecord(
        read.file, read.format, read.rows, tally.left_out(), within.runs, True, zone,
        sentences(warnings), sentences(facts), _requeues(within.runs, next_.gap_s[within.kept]),
    )  # fmt: skip


def _of_all(rows: Flags, some: Flags) -> Flags:
    """Some of the rows as flags of all."""
    found = np.zeros(len(rows), bool)
    found[np.flatnonzero(rows)[some]] = True
    return found


def _facts(jobs: Jobs, keep: Flags, short: Flags, zero: Flags, least_s: float) -> list[str]:
    """How rows were judged that could have counted otherwise."""
    said = []
    if int((short & keep).sum()):
        runs = counted(int((short & keep).sum()), "run")
        said.append(f"{runs} of less than {least_s:,.0f} s that FAILED or ran out of memory: censored")
    if int((zero & keep).sum()):
        said.append(f"{counted(int((zero & keep).sum()), 'run')} that broke within a second: taken to have lasted 1 s")
    if jobs.maintenance.any():
        said.append(f"comments with one of these words speak of maintenance: {', '.join(MAINTENANCE)}")
    return said


def _states(jobs: Jobs) -> States:
    names = [state_of(text.decode(errors="replace")) or "" for text in jobs.state.dictionary.to_pylist()]
    distinct = tuple(sorted({*names, ""}))
    place = np.array([distinct.index(name) for name in names], np.int32)
    return States(place[np.asarray(jobs.state.indices)].astype(np.int32), distinct)


def _times(jobs: Jobs, states: States, ids: Ids, tally: Tally, asked: tuple[SlurmOptions, str]) -> Timed:
    """Times of the rows; those without any, or that make no sense, are left out."""
    tally.drop("with a state that is none of Slurm's", states.among(frozenset(("",))))
    tally.drop("never started (pending, or cancelled while pending)", states.among(NEVER_RAN) | jobs.never)
    lasting = states.among(LASTING) & np.isnan(jobs.end.seconds)
    times = timed(jobs, Which(ids.row, lasting, tally.used.copy()), *asked)
    tally.drop("with a start that is no time", np.isnan(times.start_s))
    tally.drop("ended without an end or an elapsed time", np.isnan(times.end_s))
    tally.drop("started after the report", lasting & (times.end_s < times.start_s))
    tally.drop("with an end before the start", ~np.isfinite(jobs.elapsed_s) & (times.end_s < times.start_s))
    return times


def _single(
    jobs: Jobs, states: States, times: Timed, ids: Ids, tally: Tally
) -> tuple[Floats, Floats, Floats, list[str]]:
    """Each job and start once; parts of a heterogeneous job are one allocation on the nodes of all."""
    lasting = states.among(LASTING)
    kept = once(ids.row, times.start_s, times.end_s, state=states.code, lasting=lasting, among=tally.used)
    gone = tally.used & ~kept.rows
    tally.add("repeating another row (same job and start)", kept.repeated)
    tally.add("contradicting another row (same job and start)", kept.conflicting)
    tally.used &= ~gone
    said = []
    if kept.conflicting:
        said.append(
            f"{counted(kept.conflicting)} with the job and start of another row, but another state or end: the one "
            "that has ended was kept, then the one that ended later"
        )
    nodes, gpus, end = jobs.nodes.copy(), jobs.gpus.copy(), times.end_s.copy()
    _join_parts(ids, times, states, tally, (nodes, gpus, end))
    return nodes, gpus, end, said


def _join_parts(ids: Ids, times: Timed, states: States, tally: Tally, columns: tuple[Floats, Floats, Floats]) -> None:
    """Nodes and GPUs of parts that started together are added up in the row of the worst state; it is kept."""
    nodes, gpus, _ = columns
    at = np.flatnonzero(ids.part & tally.used)
    if len(at) == 0:
        return
    worst = np.array([name not in ("NODE_FAIL", "BOOT_FAIL", "FAILED") for name in states.names])[states.code[at]]
    order = at[np.lexsort((at, worst, times.start_s[at], ids.whole[at]))]
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(ids.whole[order]) != 0) | (np.diff(times.start_s[order]) != 0)
    starts = np.flatnonzero(new)
    for column in (nodes, gpus):
        column[order[starts]] = np.add.reduceat(column[order], starts)
    joined = np.zeros(len(ids.part), bool)
    joined[order[~new]] = True
    tally.drop("joined to the first part of a heterogeneous job", joined)


class Ends(NamedTuple):
    """How every row ended; ``short`` where it would be a failure, had the run lasted longer."""

    outcome: Codes
    cause: Codes
    causes: tuple[str, ...]
    short: Flags
    uncoded: Flags  # FAILED with an exit code that is not known, and not short
    coded: bool  # whether any exit code is known


def _ends(jobs: Jobs, states: States, times: Timed, options: SlurmOptions) -> Ends:
    """Outcome and cause of every row: one verdict for each pair of a state and an exit code."""
    exits = [exit_code(text.decode(errors="replace")) for text in jobs.exit.dictionary.to_pylist()]
    pair = states.code.astype(np.int64) * len(exits) + np.asarray(jobs.exit.indices)
    seen, row = np.unique(pair, return_inverse=True)
    found = [verdict(states.names[p // len(exits)], exits[p % len(exits)], options) for p in seen.tolist()]
    causes = {cause: number for number, cause in enumerate(dict.fromkeys(each.cause for each in found))}
    cause = np.array([causes[each.cause] for each in found], np.int32)[row]
    outcome = np.array([each.outcome for each in found], np.int32)[row]
    long = np.array([each.only_long for each in found], bool)[row]
    short = long & (times.run_s < options.minimum_run_s)
    outcome = np.where(short, np.int32(Outcome.CENSORED), outcome)
    by_others = states.among(frozenset(("CANCELLED by root", "NODE_FAIL", "REQUEUED", "CANCELLED")))
    outcome = np.where(jobs.maintenance & by_others, np.int32(Outcome.MAINTENANCE), outcome)
    unknown = np.array([code is None for code in exits], bool)[np.asarray(jobs.exit.indices)]
    uncoded = unknown & states.among(frozenset(("FAILED",))) & (times.run_s >= options.minimum_run_s)
    return Ends(outcome, cause, tuple(causes), short, uncoded, any(code is not None for code in exits))


def _missing(jobs: Jobs, keep: Flags, next_: Following) -> list[str]:
    """Signs that attempts of jobs are not in the record."""
    said = []
    restarts = jobs.restarts[keep]
    hidden = int(np.nansum(restarts)) - next_.again if np.isfinite(restarts).any() and next_.again == 0 else 0
    if hidden > 0:
        said.append(
            f"the record counts {counted(hidden, 'restart')} and shows none of the former attempts: it was printed "
            f"without -D, and interruptions are missing. Run {COMMAND}"
        )
    elif next_.again == 0 and next_.jobs > 0:
        said.append(
            "no job has a second attempt: if sacct ran without -D, each job shows its last attempt only, and "
            f"interruptions are missing. Run {COMMAND}"
        )
    if next_.inverted:
        said.append(
            f"{counted(next_.inverted, 'attempt')} out of order: started before the former one of the job ended, or "
            "listed before it"
        )
    return said


def _uncoded(ends: Ends, keep: Flags, options: SlurmOptions) -> list[str]:
    """Runs that FAILED, and of which the exit code would have told whose fault that was."""
    runs = int((ends.uncoded & keep).sum())
    if not runs or any(name.upper() == "FAILED" for name, _ in options.outcomes):
        return []
    how = "counted as failures" if options.fail_exit_codes is None else "not counted as failures"
    return [
        f"{counted(runs, 'run')} that FAILED with an exit code that is not known: {how}. Add ExitCode to the columns"
    ]


def _unknown(allocations: Allocations) -> list[str]:
    missing = int(np.isnan(allocations.nodes).sum())
    if not missing:
        return []
    return [f"{counted(missing, 'allocation')} without a number of nodes: no rate per node. Add NNodes to the columns"]


def _requeues(allocations: Allocations, gap_s: Floats) -> Recoveries | None:
    """How long jobs waited after a failure or a preemption until they ran again."""
    rows = (allocations.outcome == Outcome.FAILURE) | (allocations.outcome == Outcome.PREEMPTED)
    if not np.isfinite(gap_s[rows]).any():
        return None
    return Recoveries("requeue", allocations.cause[rows], gap_s[rows])

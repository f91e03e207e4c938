"""Whole runs of finite work: chunk by chunk, on one core or several, until enough are done."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.errors import InputError
from ckptplan.simulate.gaps import Gaps
from ckptplan.simulate.process import Process, checked
from ckptplan.simulate.summary import Z_95, Breakdown, MeanShares, Summary, summarise
from ckptplan.simulate.timeline import timeline_of
from ckptplan.simulate.whole_runs import MAX_FAILURES, Pieces, Tally, pieces_of, play_runs

Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], object]

CHUNK = 4096  # runs; a part of the result: another size would give other numbers for the same seed
_MAX_STATE = 1 << 22  # numbers that the runs of a chunk together may remember (nodes)


class Runs(NamedTuple):
    """Whole runs, one element per run. [s, 1].

    ``kept`` books under save the saves that counted, ``gross`` every second of stall and slow-down. ``wall_s`` is the
    sum of the parts of ``kept``, correctly rounded; ``clock_s`` is the same time by the clock of failures.
    """

    process: Process
    work_s: float
    pieces: Pieces
    wall_s: Floats
    clock_s: Floats
    failures: Floats
    saves_begun: Floats  # of which ``pieces.saves`` counted
    kept: Breakdown
    gross: Breakdown
    precision: float  # half-width of the 95 % interval of the mean wall time, over that mean
    precision_reached: bool  # True if none was asked for

    @property
    def goodput(self) -> Floats:
        """Work over wall time, of each run. [1]."""
        return self.work_s / self.wall_s

    @property
    def wall(self) -> Summary:
        """Wall time: mean, deviation, quantiles, and the 95 % interval of the mean. [s]."""
        return summarise(self.wall_s)

    def shares(self, ledger: Breakdown) -> MeanShares:
        """Mean time of each part of a ledger over mean wall time. [1]."""
        total = math.fsum(self.wall_s)
        return MeanShares(*(math.fsum(part) / total for part in ledger))


def simulate_runs(
    process: Process,
    gaps: Gaps,
    work_s: float,
    *,
    runs: int = 1000,
    seed: int = 0,
    jobs: int = 1,
    precision: float | None = None,
    max_runs: int = 1_000_000,
    progress: Progress | None = None,
) -> Runs:
    """Simulate whole runs of a finite work.

    Parameters
    ----------
    process : Process
        How a run saves and recovers.
    gaps : Gaps
        Where failures come from: `law`, `recorded` or `nodes`. Gaps replayed in order give one run.
    work_s : float
        Work of each run, at full speed, S. [s]
    runs : int
        Runs to simulate; with ``precision``, the least number. [1]
    seed : int
        The same seed gives the same bytes, whatever ``jobs`` is.
    jobs : int
        Processes that share the work. [1]
    precision : float, optional
        Go on until the half-width of the 95 % interval of the mean wall time is at most this part of the mean, or
        until ``max_runs``. [1]
    max_runs : int
        Most runs that a wanted precision may take. [1]
    progress : callable, optional
        Called as ``progress(done, total)`` after each chunk; with ``precision`` the total is an estimate.

    Returns
    -------
    Runs
        Wall time, failures, saves and both ledgers of each run.

    Raises
    ------
    InputError
        Bad arguments, or a run that does not get on.
    """
    process = checked(process)
    _check(work_s, runs, jobs, precision, max_runs)
    if work_s / gaps.mean_s > MAX_FAILURES:
        raise InputError(
            f"a run would have about {work_s / gaps.mean_s:,.2g} failures, more than {MAX_FAILURES:,}",
            hint="simulate less work: its goodput is the same",
        )
    if not gaps.is_random and process.host_copy_survives in (0.0, 1.0):
        runs, precision = 1, None  # all runs are the same one
    goal = _Goal(runs, precision, max_runs, progress)
    tallies: list[Tally] = []
    walls_s: list[Floats] = []
    tasks = _tasks(process, gaps, float(work_s), seed, goal)
    for tally in _played(tasks, jobs):
        tallies.append(tally)
        walls_s.append(_wall(process, work_s, tally))
        if goal.is_reached_by(walls_s[-1]):
            break
    return _gather(process, float(work_s), tallies, np.concatenate(walls_s), goal)


class _Task(NamedTuple):
    """The arguments of `play_runs`: one chunk."""

    process: Process
    gaps: Gaps
    work_s: float
    runs: int
    seed: np.random.SeedSequence


class _Goal:
    """How many runs are enough; asked after each chunk, in order, so that the answer depends on no timing."""

    def __init__(self, runs: int, precision: float | None, max_runs: int, progress: Progress | None) -> None:
        self.wanted, self.least = precision, runs
        self.most = runs if precision is None else max(runs, max_runs)
        self.precision, self.done = math.nan, 0
        self._progress, self._shift = progress, 0.0
        self._sum = self._square = 0.0

    def is_reached_by(self, wall_s: Floats) -> bool:
        """Count a chunk in, and decide."""
        if self.done == 0:
            self._shift = float(wall_s[0])  # sums about a value near the mean lose no digits
        self.done += wall_s.size
        self._sum += math.fsum(wall_s - self._shift)
        self._square += math.fsum((wall_s - self._shift) ** 2)
        mean = self._shift + self._sum / self.done
        if self.done > 1:
            variance = max(0.0, self._square - self._sum**2 / self.done) / (self.done - 1)
            self.precision = Z_95 * math.sqrt(variance / self.done) / mean
        if self._progress is not None:
            self._progress(self.done, self._total())
        return self.done >= self.most or (self.done >= self.least and self.is_met())

    def is_met(self) -> bool:
        """Whether the wanted precision is there."""
        return self.wanted is None or self.precision <= self.wanted

    def _total(self) -> int:
        if self.wanted is None or math.isnan(self.precision):
            return self.most
        needed = math.ceil(self.done * (self.precision / self.wanted) ** 2)
        return min(self.most, max(self.least, self.done, needed))


def _tasks(process: Process, gaps: Gaps, work_s: float, seed: int, goal: _Goal) -> Iterator[_Task]:
    """Chunks of fixed size, each with its own child of the seed, up to the most runs."""
    size = max(1, min(CHUNK, _MAX_STATE // max(1, gaps.state_size)))
    for number, start in enumerate(range(0, goal.most, size)):
        child = np.random.SeedSequence(seed, spawn_key=(number,))
        yield _Task(process, gaps, work_s, min(size, goal.most - start), child)


def _played(tasks: Iterator[_Task], jobs: int) -> Iterator[Tally]:
    """The chunks in their order, a few ahead of what is asked for when several processes work."""
    if jobs == 1:
        yield from (play_runs(*task) for task in tasks)
        return
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing import get_context

    # A fresh interpreter per worker: forking a process that has threads can deadlock.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_with_parent)
    waiting: list[Future[Tally]] = []
    try:
        for task in tasks:
            waiting.append(pool.submit(play_runs, *task))
            if len(waiting) > jobs:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Let a worker end when the process that started it is killed: nobody else would tell it."""
    import os
    from multiprocessing import parent_process
    from threading import Thread

    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def _wall(process: Process, work_s: float, tally: Tally) -> Floats:
    """Wall time of each run, the correctly rounded sum of its parts. [s]."""
    saves = pieces_of(process, work_s).saves * timeline_of(process).save_s
    rows = zip(tally.rework_s, tally.restart_s, strict=True)
    return np.array([math.fsum((work_s, saves, rework, restart)) for rework, restart in rows])


def _gather(process: Process, work_s: float, tallies: list[Tally], wall_s: Floats, goal: _Goal) -> Runs:
    """One result from the chunks."""
    tally = Tally(*(np.concatenate(column) for column in zip(*tallies, strict=True)))
    pieces = pieces_of(process, work_s)
    useful = np.full(tally.rework_s.size, work_s)
    saved = np.full(tally.rework_s.size, pieces.saves * timeline_of(process).save_s)
    return Runs(
        process=process,
        work_s=work_s,
        pieces=pieces,
        wall_s=wall_s,
        clock_s=tally.clock_s,
        failures=tally.failures,
        saves_begun=tally.begun,
        kept=Breakdown(useful, saved, tally.rework_s, tally.restart_s),
        gross=Breakdown(useful, tally.saving_s, tally.work_lost_s, tally.restart_s),
        precision=goal.precision,
        precision_reached=goal.is_met(),
    )


def _check(work_s: float, runs: int, jobs: int, precision: float | None, max_runs: int) -> None:
    if not (math.isfinite(work_s) and work_s > 0.0):
        raise InputError(f"the work of a run must be a positive number of seconds; got {work_s:g}")
    for what, value in (("runs", runs), ("jobs", jobs), ("max_runs", max_runs)):
        if value != int(value) or value < 1:
            raise InputError(f"{what} must be a whole number of at least 1; got {value:g}")
    if precision is not None and not 0.0 < precision < 1.0:
        raise InputError(f"the precision must lie between 0 and 1; got {precision:g}")

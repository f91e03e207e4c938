"""A chunk of whole runs, side by side: one step is one failure of each."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.errors import InputError
from ckptplan.simulate.gaps import Gaps
from ckptplan.simulate.process import Process, Recovery, recovery_of
from ckptplan.simulate.stretch import End, Stretch, play, play_hard
from ckptplan.simulate.timeline import timeline_of

Floats = npt.NDArray[np.float64]

PATIENCE = 20_000  # failures in a row without a new durable save, after which a run is given up
MAX_FAILURES = 10_000_000  # of one run
_WHOLE = 1e-9  # relative distance at which work over interval counts as a whole number
_CROWDED = 0.75  # rows of finished runs are dropped when fewer than this part is still under way


class Pieces(NamedTuple):
    """How a finite work is divided: saves that count, and the work after the last one. [1, s]."""

    saves: int
    last_s: float


class Tally(NamedTuple):
    """What was counted in each run of a chunk, one array per field. [1, s].

    ``rework_s`` belongs to the ledger "kept"; ``saving_s`` and ``work_lost_s`` to "gross". ``clock_s`` is the wall
    time by the clock of failures.
    """

    failures: Floats
    begun: Floats
    restart_s: Floats
    rework_s: Floats
    saving_s: Floats
    work_lost_s: Floats
    clock_s: Floats


_FAILURES, _BEGUN, _RESTART, _REWORK, _SAVING, _WORK_LOST, _CLOCK = range(len(Tally._fields))


def pieces_of(process: Process, work_s: float) -> Pieces:
    """Divide a finite work: a save after every interval, none after the last piece.

    Parameters
    ----------
    process : Process
        A checked process.
    work_s : float
        Work to do, S. [s]

    Returns
    -------
    Pieces
        A save whose flush would not end before the run does is left out: the last piece is longer then. [1, s]
    """
    W = process.interval_s
    quotient = work_s / W
    nearest = round(quotient)
    whole = abs(quotient - nearest) <= _WHOLE * max(1, nearest)
    saves = max(0, (nearest if whole else math.ceil(quotient)) - 1)
    while saves > 0 and work_s - saves * W < process.speed * process.flush_s * (1.0 - _WHOLE):
        saves -= 1
    return Pieces(saves, work_s - saves * W)


def play_runs(process: Process, gaps: Gaps, work_s: float, runs: int, seed: np.random.SeedSequence) -> Tally:
    """Play whole runs from start to end.

    Parameters
    ----------
    process : Process
        A checked process.
    gaps : Gaps
        Where failures come from.
    work_s : float
        Work of each run. [s]
    runs : int
        Runs to play side by side. [1]
    seed : SeedSequence
        Of this chunk alone.

    Returns
    -------
    Tally
        Counts and times of each run. [1, s]

    Raises
    ------
    InputError
        A run does not get on: ``PATIENCE`` failures in a row without a new durable save.
    """
    chunk = _Chunk(process, gaps, work_s, runs, seed)
    while chunk.is_under_way():
        chunk.step()
    return Tally(*chunk.finished)


class _Chunk:
    """The state of runs under way, one column each."""

    def __init__(self, process: Process, gaps: Gaps, work_s: float, runs: int, seed: np.random.SeedSequence) -> None:
        self._rng = np.random.default_rng(seed)
        self._stream = gaps.start(self._rng, runs)
        self._timeline, self._recovery = timeline_of(process), recovery_of(process)
        self._soft_fraction = process.host_copy_survives
        saves, self._last_s = pieces_of(process, work_s)
        self.finished = np.empty((len(Tally._fields), runs))
        self._tally = np.zeros((len(Tally._fields), runs))
        self._run = np.arange(runs)
        self._saves_left = np.full(runs, float(saves))
        self._from_copy = np.zeros(runs, dtype=np.bool_)
        self._under_way = np.ones(runs, dtype=np.bool_)
        self._failed = 0
        self._checked_saves = self._saves_left.copy()

    def is_under_way(self) -> bool:
        """Whether any run has work left."""
        return self._run.size > 0

    def step(self) -> None:
        """One recovery and the training after it, in every run."""
        gap = np.empty(self._run.size)
        self._stream.fill(gap)
        end = End(self._saves_left, self._saves_left * self._timeline.period_s + self._last_s)
        # Training starts without a recovery.
        recovery = self._recovery if self._failed else Recovery(0.0, 0.0)
        if self._soft_fraction == 0.0:
            stretch = play_hard(self._timeline, recovery, gap, end)
        else:
            soft = self._rng.random(gap.size) < self._soft_fraction
            stretch = play(self._timeline, recovery, gap, self._from_copy, soft, end=end)
            self._from_copy = stretch.to_copy
        self._count(stretch, gap, recovery)
        self._saves_left -= stretch.durable
        self._failed += 1
        self._retire(stretch.ended)
        if self._failed % PATIENCE == 0:
            self._check_progress()

    def _count(self, stretch: Stretch, gap: Floats, recovery: Recovery) -> None:
        tally = self._tally
        tally[_BEGUN] += stretch.begun
        tally[_RESTART] += stretch.restart_s
        tally[_REWORK] += stretch.rework_s
        tally[_SAVING] += stretch.saving_s
        tally[_WORK_LOST] += stretch.work_lost_s
        # The clock of failures knows the gap, and in the last stretch the time to the end.
        np.copyto(gap, recovery.struck_s + stretch.uptime_s, where=stretch.ended)
        tally[_CLOCK] += gap
        tally[_CLOCK] += recovery.safe_s

    def _retire(self, ended: npt.NDArray[np.bool_]) -> None:
        """Write down the runs that ended; their columns are dropped when there are enough of them."""
        ended = ended & self._under_way
        if not ended.any():
            return
        self._tally[_FAILURES, ended] = self._failed - 1
        self.finished[:, self._run[ended]] = self._tally[:, ended]
        self._under_way &= ~ended
        if np.count_nonzero(self._under_way) < _CROWDED * self._run.size:
            self._keep(np.flatnonzero(self._under_way))

    def _keep(self, rows: npt.NDArray[np.intp]) -> None:
        self._stream.keep(rows)
        self._run, self._tally = self._run[rows], self._tally[:, rows]
        self._saves_left, self._from_copy = self._saves_left[rows], self._from_copy[rows]
        self._under_way, self._checked_saves = self._under_way[rows], self._checked_saves[rows]

    def _check_progress(self) -> None:
        stuck = self._under_way & (self._saves_left == self._checked_saves)
        if stuck.any():
            raise InputError(
                f"the run does not get on: {PATIENCE:,} failures in a row without a new save that is durable",
                hint="shorten the interval; no interval helps if a recovery is as long as the gaps between failures",
            )
        if self._failed >= MAX_FAILURES:
            raise InputError(f"a run has more than {MAX_FAILURES:,} failures", hint="simulate less work")
        self._checked_saves = self._saves_left.copy()

"""Whole runs of finite work: chunk by chunk, until enough are done."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ckptplan.errors import InputError
from ckptplan.simulate.spectrum.books import Books
from ckptplan.simulate.spectrum.chains import Chains
from ckptplan.simulate.spectrum.events import step
from ckptplan.simulate.spectrum.pattern import SAVING, VERIFYING, Floats
from ckptplan.simulate.spectrum.process import SpectrumProcess, checked
from ckptplan.simulate.spectrum.shares import (
    CauseShare,
    SpectrumShares,
    SpectrumTimes,
    gross_times,
    kept_times,
    shares_of,
    shares_of_causes,
)
from ckptplan.simulate.summary import Summary, summarise

CHUNK = 2048  # runs; a part of the result: another size would give other numbers for the same seed
PATIENCE = 20_000  # recoveries in a row without a new save that is durable, after which a run is given up
_CROWDED = 0.75  # runs that are through are dropped when fewer than this part is still under way


class SpectrumRuns(NamedTuple):
    """Whole runs, one element per run. [s, 1].

    ``gross`` books every second of stall, slow-down beside a drain, and verification as such, and as rework the work
    that was done again. ``kept`` books under save and verify what a run without any cause has of them, and planned
    saves; the rest as rework.
    """

    process: SpectrumProcess
    work_s: float
    wall_s: Floats
    recoveries: Floats
    kept: SpectrumTimes
    gross: SpectrumTimes
    causes: tuple[CauseShare, ...]  # over all runs
    corrupt_at_end: int  # runs that ended on a silent error nobody had found
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

    def shares(self, times: SpectrumTimes) -> SpectrumShares:
        """Mean time of each part over mean wall time, with standard errors. [1]."""
        return shares_of(times, self.wall_s)


def simulate_spectrum_runs(
    process: SpectrumProcess,
    work_s: float,
    *,
    runs: int = 1000,
    seed: int = 0,
    precision: float | None = None,
    max_runs: int = 1_000_000,
    progress: Callable[[int, int], object] | None = None,
) -> SpectrumRuns:
    """Simulate whole runs of a finite work: a save after every interval, none after the last piece.

    Parameters
    ----------
    process : SpectrumProcess
        How a run saves and what goes wrong.
    work_s : float
        Work of each run, at full speed, S. [s]
    runs : int
        Runs to simulate; with ``precision``, the least number. [1]
    seed : int
        The same seed gives the same result.
    precision : float, optional
        Go on until the half-width of the 95 % interval of the mean wall time is at most this part of the mean, or
        until ``max_runs``. [1]
    max_runs : int
        Most runs that a wanted precision may take. [1]
    progress : callable, optional
        Called as ``progress(done, most)`` after each chunk.

    Returns
    -------
    SpectrumRuns
        Wall time and its parts of each run, and what each cause takes.

    Raises
    ------
    InputError
        Bad arguments, or a run that does not get on.
    """
    process = checked(process)
    _check(work_s, runs, precision, max_runs)
    most = runs if precision is None else max(runs, max_runs)
    played: list[_Played] = []
    done, reached = 0, math.nan
    while done < most:
        seeds = np.random.SeedSequence(seed, spawn_key=(len(played),))
        played.append(_play(process, float(work_s), min(CHUNK, most - done), seeds))
        done += played[-1].recoveries.size
        wall = summarise(np.concatenate([each.books.wall_s() for each in played]))
        reached = (wall.high - wall.low) / (2.0 * wall.mean)
        if progress is not None:
            progress(done, most)
        if precision is not None and done >= runs and reached <= precision:
            break
    return _gather(process, float(work_s), played, reached, precision)


class _Played(NamedTuple):
    """One chunk of runs."""

    books: Books
    recoveries: Floats
    corrupt_at_end: int


def _play(process: SpectrumProcess, work_s: float, runs: int, seed: np.random.SeedSequence) -> _Played:
    """Play whole runs from start to end."""
    playing = Chains(process, runs, np.random.default_rng(seed), work_s=work_s)
    books, recoveries = Books.of(len(process.causes), process.levels, runs), np.zeros(runs)
    under_way, corrupt = np.ones(runs, dtype=np.bool_), 0
    best, since = np.zeros(runs), np.zeros(runs)
    while playing.number.size:
        ended = step(playing)
        ended = ended[under_way[ended]]
        number = playing.number[ended]
        books.write(number, playing.books, ended)
        recoveries[number] = playing.recoveries[ended]
        corrupt += int(np.count_nonzero(np.isfinite(playing.corrupt[ended])))
        under_way[ended] = False
        newest = playing.tiers.levels[0].listed[0]
        since = np.where(newest > best, playing.recoveries, since)
        best = np.maximum(best, newest)
        if (under_way & (playing.recoveries - since >= PATIENCE)).any():
            raise InputError(
                f"the run does not get on: {PATIENCE:,} recoveries in a row without a new save that is durable",
                hint="shorten the interval; no interval helps if a recovery is as long as the gaps between failures",
            )
        if np.count_nonzero(under_way) < _CROWDED * under_way.size:
            rows = np.flatnonzero(under_way)
            playing.keep(rows)
            under_way, best, since = under_way[rows], best[rows], since[rows]
    return _Played(books, recoveries, corrupt)


def _gather(
    process: SpectrumProcess, work_s: float, played: list[_Played], reached: float, precision: float | None
) -> SpectrumRuns:
    """One result from the chunks."""
    books = Books(*(np.concatenate(parts, axis=-1) for parts in zip(*(each.books for each in played), strict=True)))
    wall_s = books.wall_s()
    free = _play(process._replace(causes=()), work_s, 1, np.random.SeedSequence(0)).books.training[:, 0]
    useful, saved, verified = (np.full(wall_s.size, time) for time in (work_s, free[SAVING], free[VERIFYING]))
    return SpectrumRuns(
        process=process,
        work_s=work_s,
        wall_s=wall_s,
        recoveries=np.concatenate([each.recoveries for each in played]),
        kept=kept_times(books, useful, saved, verified),
        gross=gross_times(books, useful),
        causes=shares_of_causes(process, books),
        corrupt_at_end=sum(each.corrupt_at_end for each in played),
        precision=reached,
        precision_reached=precision is None or reached <= precision,
    )


def _check(work_s: float, runs: int, precision: float | None, max_runs: int) -> None:
    if not (math.isfinite(work_s) and work_s > 0.0):
        raise InputError(f"the work of a run must be a positive number of seconds; got {work_s:g}")
    for what, value in (("runs", runs), ("max_runs", max_runs)):
        if value != int(value) or value < 1:
            raise InputError(f"{what} must be a whole number of at least 1; got {value:g}")
    if precision is not None and not 0.0 < precision < 1.0:
        raise InputError(f"the precision must lie between 0 and 1; got {precision:g}")

"""The long run: goodput and shares of wall time from many failures, with their standard errors.

From one failure to the next the process starts afresh wherever all failures are hard and gaps are independent: each is
a regeneration, and a share is the ratio of two sums over groups of them. Otherwise many chains run side by side, and
each chain is the unit. The standard error of a ratio r = sum q / sum t over n units is that of the mean of ``q - r t``
over the mean of t (the ratio estimator of regenerative simulation: Crane and Iglehart 1975).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.errors import InputError
from ckptplan.simulate.gaps import Gaps, Law, Nodes, Replayed, Resampled
from ckptplan.simulate.process import Process, checked, recovery_of
from ckptplan.simulate.regenerations import BLOCK, Sums, Weights, sum_up
from ckptplan.simulate.stretch import Stretch, play
from ckptplan.simulate.timeline import Timeline, timeline_of

Floats = npt.NDArray[np.float64]

_CHAINS = 1024
_WARM_UP = 50  # failures per chain that are not counted: the start is forgotten at least as fast as phi^k
_ROWS = 6
_MAX_STATE = 1 << 22  # numbers that all chains together may remember (nodes)


class Share(NamedTuple):
    """A share of wall time and its standard error. [1]."""

    value: float
    error: float


class Shares(NamedTuple):
    """Shares of wall time, which sum to one. [1]."""

    useful: Share
    save: Share
    rework: Share
    restart: Share


class LongRun(NamedTuple):
    """What many failures of one process say. [s, 1].

    ``kept`` books under save the saves that became durable, ``gross`` every second of stall and slow-down.
    ``clock_s`` is the same wall time as the clock of failures measured it.
    """

    process: Process
    failures: int
    saves: int  # that became durable
    wall_s: float
    clock_s: float
    goodput: float
    goodput_error: float
    kept: Shares
    gross: Shares


# One chain: durable saves, times in the order of the fields of `Stretch`, and wall time.
_DURABLE, _REWORK, _WORK_LOST, _SAVING, _RESTART, _CLOCK = range(_ROWS)


def simulate_cycles(process: Process, gaps: Gaps, *, failures: int = 1_000_000, seed: int = 0) -> LongRun:
    """Simulate a run without end.

    Parameters
    ----------
    process : Process
        How it saves and recovers.
    gaps : Gaps
        Where failures come from: `law`, `recorded` or `nodes`.
    failures : int
        Failures to simulate; rounded up to full chains where chains are needed. [1]
    seed : int
        The same seed gives the same result.

    Returns
    -------
    LongRun
        Goodput and shares with standard errors. Those of gaps replayed in order take the record for a sample of
        independent gaps.

    Raises
    ------
    InputError
        Bad arguments, or hardly ever a save that is kept: there is nothing to estimate.
    """
    process = checked(process)
    if failures != int(failures) or failures < 2:
        raise InputError(f"the number of failures must be a whole number of at least 2; got {failures:g}")
    if isinstance(gaps, Nodes) and gaps.are_new:
        raise InputError("new nodes have no long run: they age", hint="simulate runs of finite work")
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    if process.host_copy_survives == 0.0 and isinstance(gaps, Law | Resampled | Replayed):
        simulated, sums = int(failures), sum_up(process, _blocks(gaps, rng, int(failures)), int(failures))
    else:
        simulated, sums = _from_chains(process, gaps, rng, int(failures))
    if not math.isfinite(sums.weights.clock @ sums.total):
        raise InputError("the gaps between failures exceed the range of numbers", hint="take a less extreme shape")
    if sums.weights.saves @ sums.total == 0.0:
        raise InputError(
            f"no save was ever kept in {simulated:,} failures: the run makes no progress",
            hint="shorten the interval, or check the mean gap between failures",
        )
    return _estimate(process, simulated, sums)


def _blocks(gaps: Law | Resampled | Replayed, rng: np.random.Generator, failures: int) -> Iterator[Floats]:
    """All gaps, a block at a time."""
    block = np.empty(BLOCK)
    stream = gaps.start(rng, BLOCK)
    for start in range(0, failures, BLOCK):
        part = block[: min(BLOCK, failures - start)]
        if isinstance(gaps, Replayed):
            np.take(gaps.gaps_s, np.arange(start, start + part.size), mode="wrap", out=part)
        else:
            stream.fill(part)
        yield part


def _from_chains(process: Process, gaps: Gaps, rng: np.random.Generator, failures: int) -> tuple[int, Sums]:
    """Each chain is a unit: it remembers whether the last resume was from a copy not yet durable, and node ages."""
    chains = max(2, min(_CHAINS, failures, _MAX_STATE // max(1, gaps.state_size)))
    steps = -(-failures // chains)
    rows = np.zeros((_ROWS, chains))
    stream, fraction = gaps.start(rng, chains), process.host_copy_survives
    timeline, recovery = timeline_of(process), recovery_of(process)
    from_copy = np.zeros(chains, dtype=np.bool_)
    gap = np.empty(chains)
    for step in range(-_WARM_UP, steps):
        stream.fill(gap)
        soft = rng.random(chains) < fraction
        stretch = play(timeline, recovery, gap, from_copy, soft)
        from_copy = stretch.to_copy
        if step >= 0:
            _add(rows, stretch, gap + recovery.safe_s)
    return chains * steps, Sums(chains, rows.sum(axis=1), rows @ rows.T, _weights(timeline))


def _add(rows: Floats, stretch: Stretch, clock: Floats) -> None:
    rows[_DURABLE] += stretch.durable
    rows[_REWORK] += stretch.rework_s
    rows[_WORK_LOST] += stretch.work_lost_s
    rows[_SAVING] += stretch.saving_s
    rows[_RESTART] += stretch.restart_s
    rows[_CLOCK] += clock


def _weights(timeline: Timeline) -> Weights:
    durable, rework, work_lost, saving, restart, clock = np.eye(_ROWS)
    return Weights(
        useful=timeline.interval_s * durable,
        kept_save=timeline.save_s * durable,
        kept_rework=rework,
        gross_save=saving,
        gross_rework=work_lost,
        restart=restart,
        clock=clock,
        saves=durable,
    )


def _estimate(process: Process, failures: int, sums: Sums) -> LongRun:
    """Shares and their standard errors from the sums."""
    weights = sums.weights
    kept = (weights.useful, weights.kept_save, weights.kept_rework, weights.restart)
    gross = (weights.useful, weights.gross_save, weights.gross_rework, weights.restart)
    wall = math.fsum(float(part @ sums.total) for part in kept)
    useful = _ratio(sums, weights.useful, wall)
    return LongRun(
        process=process,
        failures=failures,
        saves=round(float(weights.saves @ sums.total)),
        wall_s=wall,
        clock_s=float(weights.clock @ sums.total),
        goodput=useful.value,
        goodput_error=useful.error,
        kept=Shares(*(_ratio(sums, part, wall) for part in kept)),
        gross=Shares(*(_ratio(sums, part, wall) for part in gross)),
    )


def _ratio(sums: Sums, part: Floats, wall: float) -> Share:
    """The share of one part in wall time."""
    value = float(part @ sums.total) / wall
    residual = part - value * sums.weights.clock
    square = max(0.0, float(residual @ sums.product @ residual))
    return Share(value, math.sqrt(square * sums.units / max(1, sums.units - 1)) / wall)

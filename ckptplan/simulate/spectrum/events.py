"""One step of all chains: each moves to its next event, and what happens there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ckptplan.simulate.spectrum.chains import (
    END,
    ERROR,
    FOUND,
    NOTHING,
    RUNNING,
    SLOW_FOUND,
    SPIKE,
    VERIFIED,
    Chains,
)
from ckptplan.simulate.spectrum.movement import glide, jump
from ckptplan.simulate.spectrum.pattern import STALL, WORKED, Ints
from ckptplan.simulate.spectrum.recoveries import Rollback, failure, interrupt, roll_back


def step(chains: Chains) -> Ints:
    """Move every chain to its next event and let it happen.

    Returns
    -------
    ndarray
        Chains whose work is done.
    """
    kind = np.full(chains.number.size, NOTHING)
    regular, tempo = chains.regular, chains.tempo
    groups = [np.flatnonzero(regular & (tempo == number)) for number in range(len(chains.timelines))]
    gliding = np.flatnonzero(~regular)
    for number, rows in enumerate(groups):
        if rows.size:
            kind[rows] = jump(chains, rows, number)
    if gliding.size:
        kind[gliding] = glide(chains, gliding)
    rollbacks = list(_happen(chains, kind))
    if rollbacks:
        roll_back(chains, Rollback(*(np.concatenate(parts) for parts in zip(*rollbacks, strict=True))))
    ended = np.flatnonzero(kind == END)
    chains.books.training[WORKED, ended] += chains.work_s - chains.worked(ended)
    return ended


def _happen(chains: Chains, kind: Ints) -> Iterator[Rollback]:
    """Let the events happen; where they end training, the rollbacks that follow."""
    rows = np.flatnonzero(kind == RUNNING)
    if rows.size:
        yield from _running(chains, rows)
    rows = np.flatnonzero((kind == FOUND) | (kind == VERIFIED))
    if rows.size:
        cause = chains.culprit[rows]
        yield Rollback(rows, cause, chains.corrupt[rows], chains.hazards.needed(chains.rng, cause))
    rows = np.flatnonzero(kind == SLOW_FOUND)
    if rows.size:
        yield interrupt(chains, rows, np.flatnonzero(chains.hazards.slows)[chains.tempo[rows] - 1])
    rows = np.flatnonzero(kind == SPIKE)
    if rows.size:
        yield _spike(chains, rows)
    rows = np.flatnonzero(kind == ERROR)
    if rows.size:
        _corrupt(chains, rows, chains.hazards.silent.which(chains.rng, rows.size))


def _running(chains: Chains, rows: Ints) -> Iterator[Rollback]:
    """The running clock: an end of the attempt, an onset of slow training, or an error in any phase."""
    hazards, rng = chains.hazards, chains.rng
    cause = hazards.running.which(rng, rows.size)
    chains.clocks_s[RUNNING, rows] = hazards.running.gaps(rng, rows.size)
    fails, slows, corrupts = hazards.fails[cause], hazards.slows[cause], hazards.corrupts[cause]
    yield failure(chains, rows[fails], cause[fails])
    planned = ~(fails | slows | corrupts)
    if planned.any():
        yield interrupt(chains, rows[planned], cause[planned])
    if slows.any():
        _slow_down(chains, rows[slows], cause[slows])
    if corrupts.any():
        _corrupt(chains, rows[corrupts], cause[corrupts])


def _slow_down(chains: Chains, rows: Ints, cause: Ints) -> None:
    """Slow training begins, unless there is one already."""
    new = chains.tempo[rows] == 0
    rows, cause = rows[new], cause[new]
    chains.tempo[rows] = chains.hazards.speed_of[cause]
    chains.clocks_s[SLOW_FOUND, rows] = chains.hazards.delays(chains.rng, cause)
    chains.enter(rows)


def _corrupt(chains: Chains, rows: Ints, cause: Ints) -> None:
    """The state is corrupt from here on, unless it was already."""
    new = np.isinf(chains.corrupt[rows])
    rows, cause = rows[new], cause[new]
    chains.corrupt[rows], chains.culprit[rows] = chains.position(rows), cause
    chains.error_s[rows] = np.inf
    delay = chains.hazards.delays(chains.rng, cause)
    chains.clocks_s[FOUND, rows] = delay
    unnoticed = rows[delay == np.inf]
    seen = np.where(chains.phase[unnoticed] < STALL, 0.0, 1.0)  # in the stall the chunk has been verified already
    chains.verdict[unnoticed] = chains.next_verified(chains.done[unnoticed] + seen)


def _spike(chains: Chains, rows: Ints) -> Rollback:
    """A loss spike is noticed; the next one comes on work after it."""
    hazards = chains.hazards
    which = (chains.spike_s[:, rows] + hazards.spike_lag_s[:, None]).argmin(axis=0)
    sound = chains.spike_s[which, rows] - hazards.spike_back_s[which]
    chains.spike_s[which, rows] += chains.rng.standard_exponential(rows.size) * hazards.spike_mean_s[which]
    cause = hazards.spikes[which]
    return Rollback(rows, cause, sound / chains.process.interval_s, hazards.needed(chains.rng, cause))

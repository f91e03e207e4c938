"""What ends training for a while: planned saves, rollbacks, and the recoveries behind them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import Strike
from ckptplan.errors import InputError
from ckptplan.simulate.spectrum.chains import FOUND, RUNNING, SLOW_FOUND, Chains
from ckptplan.simulate.spectrum.pattern import SAVING, Bools, Floats, Ints
from ckptplan.simulate.spectrum.saves import Choice

MOST_STRIKES = 20_000  # in one recovery, after which it is given up


class Rollback(NamedTuple):
    """Which chains go back, and what state serves them."""

    rows: Ints
    cause: Ints  # number of the cause of each
    limit: Floats  # position that the state must not be after [interval]
    needed: Ints  # lowest level that is left [level from 0]


def failure(chains: Chains, rows: Ints, cause: Ints) -> Rollback:
    """Any state on a level that the cause leaves serves."""
    return Rollback(rows, cause, np.full(rows.size, np.inf), chains.hazards.needed(chains.rng, cause))


def interrupt(chains: Chains, rows: Ints, cause: Ints) -> Rollback:
    """Save as planned; a failure during that save is one like any other."""
    rng, hazards = chains.rng, chains.hazards
    gap, stall = hazards.failing.gaps(rng, rows.size), hazards.planned_s[cause]
    spent = np.minimum(gap, stall)
    chains.books.training[SAVING, rows] += spent
    for clock in (FOUND, SLOW_FOUND):
        chains.clocks_s[clock, rows] = np.maximum(chains.clocks_s[clock, rows] - spent, 0.0)
    evicted = rows[hazards.slows[cause]]
    chains.tempo[evicted] = 0
    chains.clocks_s[SLOW_FOUND, evicted] = np.inf
    is_saved = gap >= stall
    saved, failed = rows[is_saved], rows[~is_saved]
    chains.books.planned[cause[is_saved], saved] += stall[is_saved]
    chains.tiers.add_planned(saved, chains.position(saved))
    chains.left_s[:, saved] = 0.0
    if not failed.size:
        return failure(chains, rows, cause)
    chains.books.events[cause[~is_saved], failed] += 1.0
    ended_by = cause.copy()
    ended_by[~is_saved] = hazards.failing.which(rng, failed.size)
    return failure(chains, rows, ended_by)


def roll_back(chains: Chains, rollback: Rollback) -> None:
    """Go back to the newest state that serves, recover, and go on from there.

    Raises
    ------
    InputError
        A recovery that does not end.
    """
    rows, cause, limit, needed = rollback
    position = chains.position(rows)
    if chains.work_s < np.inf:
        limit = np.maximum(limit, 0.0)
    needed, flags = needed.copy(), np.zeros((2, rows.size), dtype=np.bool_)
    choice = Choice(position.copy(), needed.copy(), flags[0], flags[1])
    trying = np.arange(rows.size)
    for _ in range(MOST_STRIKES):
        chains.books.events[cause, rows[trying]] += 1.0
        found = chains.tiers.choose(rows[trying], choice.position[trying], limit[trying], needed[trying])
        _book_rollback(chains, rows[trying], cause, found, choice.position[trying])
        for all_of, new in zip(choice, found, strict=True):
            all_of[trying] = new
        trying = trying[_is_struck(chains, rows[trying], cause, found.level)]
        if not trying.size:
            _resume(chains, rows, choice, needed)
            return
        cause = chains.hazards.failing.which(chains.rng, trying.size)
        needed[trying] = np.maximum(needed[trying], chains.hazards.needed(chains.rng, cause))
    raise InputError(
        f"a recovery was struck {MOST_STRIKES:,} times in a row",
        hint="recoveries are far longer than the gaps between failures: no run gets on",
    )


def _book_rollback(chains: Chains, rows: Ints, cause: Ints, choice: Choice, position: Floats) -> None:
    books = chains.books
    books.thrown_back[cause, rows] += (position - choice.position) * chains.process.interval_s
    books.rollbacks[cause, choice.level, rows] += 1.0
    books.unkept[cause, rows] += ~choice.is_kept


def _is_struck(chains: Chains, rows: Ints, cause: Ints, level: Ints) -> Bools:
    """Book one recovery; returns whether a further failure cuts it short."""
    down, restart = chains.hazards.downtime_s[cause], chains.hazards.restart_s[cause, level]
    recovering, strike = chains.books.recovering, chains.process.strike
    if strike is Strike.SAFE:
        recovering[cause, rows] += down + restart
        return np.zeros(rows.size, dtype=np.bool_)
    exposed = restart if strike is Strike.R else down + restart
    gap = chains.hazards.failing.gaps(chains.rng, rows.size)
    recovering[cause, rows] += (down + restart - exposed) + np.minimum(gap, exposed)
    return np.asarray(gap < exposed)


def _resume(chains: Chains, rows: Ints, choice: Choice, needed: Ints) -> None:
    """Training goes on from a state."""
    rng, hazards = chains.rng, chains.hazards
    chains.tiers.settle(rows, choice, needed)
    if chains.pattern.drained:
        _settle_drains(chains, rows, choice)
    chains.clocks_s[RUNNING, rows] = hazards.running.gaps(rng, rows.size)
    if hazards.corrupts.any():
        clean = rows[choice.position <= chains.corrupt[rows]]
        chains.corrupt[clean] = np.inf
        chains.clocks_s[FOUND, clean] = np.inf
        chains.verdict[clean] = np.inf
        chains.error_s[clean] = hazards.silent.gaps(rng, clean.size)
    chains.recoveries[rows] += 1
    chains.go_to(rows, choice.position)


def _settle_drains(chains: Chains, rows: Ints, choice: Choice) -> None:
    """Drains of saves that are still there start anew; levels up to the one restored from hold the state already."""
    for number, level in enumerate(chains.pattern.drained):
        stays = (chains.left_s[number, rows] > 0.0) & (chains.slot[number, rows] <= choice.position)
        stays &= level > choice.level
        chains.left_s[number, rows] = np.where(stays, chains.pattern.flush_s[number], 0.0)

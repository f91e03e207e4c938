"""Which saves exist and which are kept, level by level, for all chains at once.

Positions are work in units of the interval: slot i is at i. A level keeps its newest saves. Of these the newest few are
listed, since a drain that came to nothing leaves a gap; on a level without drains there is none, so that one is enough
there. Older ones are all slots that are due on the level, from the oldest kept one on. Beside these the level has the
last planned save, until it has a newer save.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.simulate.spectrum.causes import Silent, Spike
from ckptplan.simulate.spectrum.pattern import Bools, Floats, Ints
from ckptplan.simulate.spectrum.process import SpectrumProcess, kept_saves

_MOST_LISTED = 16


class Choice(NamedTuple):
    """Where a rollback goes. [interval, level from 0]."""

    position: Floats
    level: Ints  # lowest one that holds it; the top one for a state from the archive, or one that is no longer kept
    is_kept: Bools
    is_planned: Bools  # a planned save


class Tiers:
    """The saves of every level."""

    def __init__(self, process: SpectrumProcess, slot: Floats, *, has_past: bool) -> None:
        """Begin at the given slots: the first states of all, or with ``has_past`` with all saves before made."""
        goes_further = any(isinstance(cause, Silent | Spike) for cause in process.causes)
        listed = [_MOST_LISTED if goes_further and flush_s > 0.0 else 1 for flush_s in process.flush_s or ()]
        self.levels = [
            _Level(float(every), keep, int(min(keep, most)), slot, has_past=has_past)
            for every, keep, most in zip(process.every, kept_saves(process), listed, strict=True)
        ]
        self._archive = float(process.archive_every * process.every[-1])
        self._lost = None if process.unkept_lost_s is None else process.unkept_lost_s / process.interval_s
        self._first = -np.inf if has_past else 0.0

    def keep(self, chains: Ints) -> None:
        """Drop all chains but these."""
        for level in self.levels:
            level.keep(chains)

    def add_planned(self, chains: Ints, position: Floats) -> None:
        """A planned save on every level; one at a slot is the save of that slot where it is due."""
        for level in self.levels:
            due = position % level.every == 0.0
            level.add(chains[due], position[due], np.ones(np.count_nonzero(due)))
            level.planned[chains[~due]] = position[~due]

    def choose(self, chains: Ints, position: Floats, limit: Floats, needed: Ints) -> Choice:
        """The newest state not after a limit, on a level of at least the needed one.

        Parameters
        ----------
        chains : ndarray
            Which chains.
        position, limit : ndarray
            Where they are, and what the state must not be after; an infinite limit is none. [interval]
        needed : ndarray
            Lowest level that is left. [level from 0]
        """
        top, best = len(self.levels) - 1, np.full(chains.size, -np.inf)
        number, is_planned = np.full(chains.size, top), np.zeros(chains.size, dtype=np.bool_)
        for this in range(top, -1, -1):
            regular, planned = self.levels[this].not_after(chains, limit)
            candidate = np.maximum(regular, planned)
            better = (candidate >= best) & (candidate > -np.inf) & (this >= needed)
            best[better], number[better], is_planned[better] = candidate[better], this, (planned > regular)[better]
        if self._archive > 0.0:
            candidate = _multiple(np.minimum(self._drained_up_to(chains, position), limit), self._archive)
            better = candidate > best
            best[better], number[better], is_planned[better] = candidate[better], top, False
        is_kept = best > -np.inf
        if not is_kept.all():
            gone = ~is_kept
            best[gone] = self._fallback(position[gone], limit[gone], needed[gone])
        return Choice(best, number, is_kept, is_planned)

    def _drained_up_to(self, chains: Ints, position: Floats) -> Floats:
        """Position up to which all saves on the top level were durable once."""
        newest = self.levels[-1].listed[0, chains]
        return np.where(newest > -np.inf, newest, position)

    def _fallback(self, position: Floats, limit: Floats, needed: Ints) -> Floats:
        """Where a rollback goes for which no save is left."""
        if self._lost is not None:
            return np.maximum(np.floor(np.minimum(position - self._lost, limit)), self._first)
        every = np.array([level.every for level in self.levels])[needed]
        return np.maximum(_multiple(np.minimum(position, limit), every), self._first)

    def settle(self, chains: Ints, choice: Choice, needed: Ints) -> None:
        """What the levels hold once training resumes from a state: no later saves; lower levels hold the state, too.

        Levels below the needed one hold nothing else.
        """
        for number, level in enumerate(self.levels):
            lost = chains[number < needed]
            level.clear(lost)
            level.go_back(chains, choice.position)
            holds = number <= choice.level
            level.restore(chains[holds], choice.position[holds], choice.is_planned[holds])


class _Level:
    """The saves of one level; newest first, -inf where there is none."""

    def __init__(self, every: float, keep: float, listed: int, slot: Floats, *, has_past: bool) -> None:
        self.every, self._keep = every, keep
        self._has_more = keep > listed  # than are listed
        newest = np.floor(slot / every) * every
        self.listed = np.full((listed, slot.size), -np.inf)
        self.listed[0] = newest
        self.oldest = newest.copy()
        self.planned = np.full(slot.size, -np.inf)
        if has_past:
            self.listed = newest - np.arange(listed)[:, None] * every
            self.oldest -= (keep - 1.0) * every

    def keep(self, chains: Ints) -> None:
        self.listed, self.oldest, self.planned = self.listed[:, chains], self.oldest[chains], self.planned[chains]

    def clear(self, chains: Ints) -> None:
        """All saves are gone."""
        self.listed[:, chains] = self.planned[chains] = -np.inf

    def add(self, chains: Ints, slot: Floats, number: Floats) -> None:
        """As many saves became durable, one after another, the last one that of the slot."""
        was_empty = self.listed[0, chains] == -np.inf
        oldest = np.where(was_empty, slot - (number - 1.0) * self.every, self.oldest[chains])
        self.oldest[chains] = np.maximum(oldest, slot - (self._keep - 1.0) * self.every)
        self.planned[chains] = -np.inf
        if len(self.listed) == 1:
            self.listed[0, chains] = slot
            return
        place = np.arange(len(self.listed))[:, None]
        moved = np.maximum(place - number, 0.0).astype(np.int64)
        old = np.take_along_axis(self.listed[:, chains], moved, axis=0)
        self.listed[:, chains] = np.where(place < number, slot - place * self.every, old)

    def not_after(self, chains: Ints, limit: Floats) -> tuple[Floats, Floats]:
        """The newest save not after a limit, and the planned one if it is not; -inf for none."""
        listed, planned = self.listed[:, chains], self.planned[chains]
        newest = np.where(listed <= limit, listed, -np.inf).max(axis=0)
        newest = np.maximum(newest, self._older(chains, limit))
        return newest, np.where(planned <= limit, planned, -np.inf)

    def _older(self, chains: Ints, limit: Floats) -> Floats:
        """The newest save not after a limit that is not listed; -inf for none."""
        last = self.listed[-1, chains]
        if not self._has_more:
            return np.full(chains.size, -np.inf)
        newest = np.minimum(last - self.every, _multiple(limit, self.every))
        return np.where(newest >= self.oldest[chains], newest, -np.inf)

    def go_back(self, chains: Ints, position: Floats) -> None:
        """Saves after a position are gone."""
        planned, listed = self.planned[chains], self.listed[:, chains]
        self.planned[chains] = np.where(planned <= position, planned, -np.inf)
        gone = (listed > position).sum(axis=0)
        some = gone > 0
        if not some.any():
            return
        chains, gone = chains[some], gone[some]
        place = np.arange(len(self.listed))[:, None] + gone
        size = len(self.listed)
        moved = np.take_along_axis(self.listed[:, chains], np.minimum(place, size - 1), axis=0)
        older = self._older(chains, position[some]) - (place - size) * self.every
        older = np.where(older >= self.oldest[chains], older, -np.inf)
        self.listed[:, chains] = np.where(place < size, moved, older)

    def restore(self, chains: Ints, position: Floats, is_planned: Bools) -> None:
        """The level holds the state that training resumes from."""
        new = self.listed[0, chains] != position
        self.planned[chains[new & is_planned]] = position[new & is_planned]
        regular = new & ~is_planned
        self.add(chains[regular], position[regular], np.ones(np.count_nonzero(regular)))


def _multiple(position: Floats, step: float | Floats) -> Floats:
    return np.asarray(np.floor(position / step) * step)

"""The timeline without any event: one cycle of the pattern as pieces in which nothing changes.

The cycle starts where a save on the top level has just been taken: all its drains begin there, since those before have
ended. So the state at the start of every cycle is the same, and training that has no event is on these pieces for ever.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ckptplan.errors import InputError
from ckptplan.simulate.spectrum.pattern import (
    BOOKED,
    SAVING,
    SLOWED,
    STALL,
    VERIFY,
    VERIFYING,
    WORK,
    WORKED,
    Bools,
    Floats,
    Ints,
    Pattern,
)

_FLOOR_TOLERANCE = 1e-9  # relative: a drain may outlast its time by rounding


class Timeline(NamedTuple):
    """Pieces of one cycle, last axis; times and counts from its start. [s, 1]."""

    start_s: Floats
    work_s: Floats  # done at the start
    done: Floats  # chunks
    phase: Ints
    part_s: Floats  # of the phase, at the start
    rate: Floats  # at which that grows
    booked: Floats  # at the start, in the order of WORKED, SAVING, ...
    booking: Floats  # rates of those
    left_s: Floats  # of the drain to each drained level
    draining: Bools
    slot: Floats  # that each drain is from
    durable: Floats  # newest durable slot of each level
    saves: Floats  # that became durable on each level
    chunk: Ints  # piece with which each chunk starts
    verified_s: Floats  # end of the verification of each chunk
    working: Ints  # pieces of work
    cycle_s: float
    cycle_booked: Floats
    cycle_saves: Floats


def timeline_of(pattern: Pattern, speed: float = 1.0) -> Timeline:
    """Play one cycle without an event.

    Parameters
    ----------
    pattern : Pattern
        The pattern of saves.
    speed : float
        Training speed outside drains, below 1 with a slow node. [1]

    Raises
    ------
    InputError
        A drain would start before the one before to the same level has ended.
    """
    cycle = _Cycle(pattern, speed)
    while cycle.done < pattern.chunks:
        cycle.advance()
    return cycle.timeline()


class _Cycle:
    """One cycle under way; plain numbers, since it is one only."""

    def __init__(self, pattern: Pattern, speed: float) -> None:
        self._pattern, self._speed = pattern, speed
        self._wall = self._part = 0.0
        self.done, self._phase = 0, WORK
        self._booked = [0.0] * BOOKED
        self._left = [float(flush) for flush in pattern.flush_s]
        self._slot = [0.0] * len(pattern.drained)
        self._durable = [0.0] * len(pattern.every)
        for level in pattern.drained:
            self._durable[level] = -float(pattern.every[level])
        self._saves = [0.0] * len(pattern.every)
        self._pieces: list[tuple[object, ...]] = []
        self._chunk: list[int] = []
        self._verified: list[float] = []

    def advance(self) -> None:
        """Play to the end of the phase or of a drain, whichever is first."""
        if self._phase == WORK and self._part == 0.0:
            self._chunk.append(len(self._pieces))
        draining = [self._is_draining(k) for k in range(len(self._left))]
        booking = self._booking(draining)
        rate = booking[WORKED] if self._phase == WORK else 1.0
        rest = self._phase_s() - self._part
        drains = [left for left, is_draining in zip(self._left, draining, strict=True) if is_draining]
        to_phase_end = rest / rate if rate > 0.0 else np.inf
        step = min([to_phase_end, *drains])
        if step > 0.0:
            self._record(rate, booking, draining)
        self._wall += step
        self._booked = [total + step * each for total, each in zip(self._booked, booking, strict=True)]
        for k, is_draining in enumerate(draining):
            if is_draining:
                self._drain(k, step)
        if to_phase_end <= step:
            self._end_phase()
        else:
            self._part += rate * step

    def _is_draining(self, k: int) -> bool:
        below = any(self._left[j] > 0.0 and self._slot[j] == self._slot[k] for j in range(k))
        return self._left[k] > 0.0 and not below

    def _booking(self, draining: list[bool]) -> list[float]:
        booking = [0.0] * BOOKED
        if self._phase == WORK:
            beside = math.prod(om for om, on in zip(self._pattern.speed.tolist(), draining, strict=True) if on)
            booking[WORKED], booking[SAVING] = beside * self._speed, 1.0 - beside
            booking[SLOWED] = beside * (1.0 - self._speed)
        else:
            booking[VERIFYING if self._phase == VERIFY else SAVING] = 1.0
        return booking

    def _phase_s(self) -> float:
        if self._phase == WORK:
            return self._pattern.chunk_s
        lengths = self._pattern.verify_s if self._phase == VERIFY else self._pattern.stall_s
        return float(lengths[self.done])

    def _record(self, rate: float, booking: list[float], draining: list[bool]) -> None:
        worked = self.done * self._pattern.chunk_s + self._part
        if self._phase != WORK:
            worked = (self.done + 1) * self._pattern.chunk_s
        head = (self._wall, worked, self.done, self._phase, self._part, rate)
        drains = (list(self._left), draining, list(self._slot))
        saves = (list(self._durable), list(self._saves))
        self._pieces.append((*head, list(self._booked), booking, *drains, *saves))

    def _drain(self, k: int, step: float) -> None:
        self._left[k] = self._left[k] - step if step < self._left[k] else 0.0
        if self._left[k] == 0.0:
            self._make_durable(self._pattern.drained[k], self._slot[k])

    def _make_durable(self, level: int, slot: float) -> None:
        self._durable[level] = slot
        self._saves[level] += 1.0

    def _end_phase(self) -> None:
        self._part = 0.0
        if self._phase == VERIFY:
            self._verified.append(self._wall)
        if self._phase != STALL:
            self._phase += 1
            return
        level, slot = int(self._pattern.level[self.done]), (self.done + 1) / self._pattern.per_slot
        for below in range(level + 1):
            if below not in self._pattern.drained:
                self._make_durable(below, slot)
        for k, drained in enumerate(self._pattern.drained):
            if drained <= level:
                self._start_drain(k, slot)
        self.done, self._phase = self.done + 1, WORK

    def _start_drain(self, k: int, slot: float) -> None:
        flush, left = float(self._pattern.flush_s[k]), self._left[k]
        if left > _FLOOR_TOLERANCE * flush:
            raise InputError(
                f"the drain to level {self._pattern.drained[k] + 1} needs {left:g} s more before the next one starts",
                hint="take a longer interval, or save on that level less often",
            )
        if left > 0.0:
            self._make_durable(self._pattern.drained[k], self._slot[k])
        self._left[k], self._slot[k] = flush, slot

    def timeline(self) -> Timeline:
        """The pieces as arrays."""
        columns = [np.asarray(column) for column in zip(*self._pieces, strict=True)]
        start, work, done, phase, part, rate, booked, booking, left, draining, slot, durable, saves = columns
        return Timeline(
            start_s=start,
            work_s=work,
            done=done.astype(np.float64),
            phase=phase,
            part_s=part,
            rate=rate,
            booked=np.ascontiguousarray(booked.T),
            booking=np.ascontiguousarray(booking.T),
            left_s=left.T,
            draining=draining.T.astype(np.bool_),
            slot=slot.T,
            durable=np.ascontiguousarray(durable.T),
            saves=np.ascontiguousarray(saves.T),
            chunk=np.asarray(self._chunk),
            verified_s=np.asarray(self._verified),
            working=np.flatnonzero(phase == WORK),
            cycle_s=self._wall,
            cycle_booked=np.asarray(self._booked),
            cycle_saves=np.asarray(self._saves),
        )

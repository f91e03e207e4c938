"""Many chains of training side by side: their state, and one step of it.

A chain is *regular* while its drains are those of the timeline without events: it then jumps to its next event at once.
Otherwise (after a recovery, until the pattern is back in step; with a save whose drain is done anew) it glides from one
change of phase to the next until it is.
"""

from __future__ import annotations

import numpy as np

from ckptplan.simulate.spectrum.books import Books
from ckptplan.simulate.spectrum.hazards import hazards_of
from ckptplan.simulate.spectrum.pattern import SLOWED, WORK, WORKED, Bools, Floats, Ints, pattern_of
from ckptplan.simulate.spectrum.process import SpectrumProcess
from ckptplan.simulate.spectrum.saves import Tiers
from ckptplan.simulate.spectrum.timeline import timeline_of

# What ends a step; the first three are clocks that run while training does.
RUNNING, FOUND, SLOW_FOUND, ERROR, SPIKE, END, VERIFIED = range(7)
NOTHING = -1
_CLOCKS = 3

_WHOLE = 1e-9  # relative distance at which a position counts as a whole number of chunks
_END_TOLERANCE = 1e-6  # of an interval, by which the end of the work comes before a save that is due there


class Chains:
    """The state of all chains, one column each; positions in intervals, times in seconds."""

    def __init__(
        self, process: SpectrumProcess, chains: int, rng: np.random.Generator, *, work_s: float | None = None
    ) -> None:
        """Begin a checked process; without ``work_s`` at any save of a run without end."""
        self.process, self.rng = process, rng
        self.hazards, self.pattern = hazards_of(process), pattern_of(process)
        self.timelines = [timeline_of(self.pattern, speed) for speed in self.hazards.speeds]
        self.work_s = np.inf if work_s is None else work_s
        slot = np.zeros(chains) if work_s is not None else np.floor(rng.random(chains) * process.every[-1])
        self.tiers = Tiers(process, slot, has_past=work_s is None)
        self.books = Books.of(len(process.causes), process.levels, chains)
        self.number = np.arange(chains)
        self.recoveries = np.zeros(chains, dtype=np.int64)
        # Where they are: whole chunks, then a phase and the part of it; what is left of the drains.
        self.done, self.part_s = slot * self.pattern.per_slot, np.zeros(chains)
        self.phase = np.full(chains, WORK)
        self.left_s = np.zeros((len(self.pattern.drained), chains))
        self.slot = np.zeros_like(self.left_s)
        # The same for regular chains: the start of the cycle in chunks, the time since then, the piece of the timeline.
        self.regular = np.zeros(chains, dtype=np.bool_)
        self.origin, self.clock_s = np.zeros(chains), np.zeros(chains)
        self.piece = np.zeros(chains, dtype=np.int64)
        # What goes on: which speed, since which position the state is corrupt and who did it.
        self.tempo = np.zeros(chains, dtype=np.int64)
        self.corrupt = np.full(chains, np.inf)
        self.culprit = np.zeros(chains, dtype=np.int64)
        # When something happens: on the running clock, by work to do, at a position, at the end of a chunk.
        self.clocks_s = np.full((_CLOCKS, chains), np.inf)
        self.clocks_s[RUNNING] = self.hazards.running.gaps(rng, chains)
        self.error_s = self.hazards.silent.gaps(rng, chains)
        to_spikes = rng.standard_exponential((self.hazards.spikes.size, chains))
        self.spike_s = self.worked(self.number) + to_spikes * self.hazards.spike_mean_s[:, None]
        self.verdict = np.full(chains, np.inf)
        self._verifies = bool(np.isinf(self.hazards.latency_s[self.hazards.corrupts]).any())
        self.enter(self.number)

    def keep(self, chains: Ints) -> None:
        """Drop all chains but these."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(self, name, value[..., chains])
        self.tiers.keep(chains)
        self.books = self.books.kept(chains)

    def worked(self, chains: Ints) -> Floats:
        """Position of the state of training; in a pause that at its start. [s]."""
        done, chunk_s = self.done[chains], self.pattern.chunk_s
        return np.where(self.phase[chains] == WORK, done * chunk_s + self.part_s[chains], (done + 1.0) * chunk_s)

    def position(self, chains: Ints) -> Floats:
        """The same, exact for whole intervals. [interval]."""
        in_pause = self.phase[chains] != WORK
        part = np.where(in_pause, 1.0, self.part_s[chains] / self.pattern.chunk_s)
        return np.asarray((self.done[chains] + part) / self.pattern.per_slot)

    def go_to(self, chains: Ints, position: Floats) -> None:
        """Training goes on from a saved state."""
        chunks = position * self.pattern.per_slot
        done = np.floor(chunks + _WHOLE)
        part = chunks - done
        self.done[chains] = done
        self.part_s[chains] = np.where(part > _WHOLE, part * self.pattern.chunk_s, 0.0)
        self.phase[chains] = WORK
        self.verdict[chains] = np.where(self.verdict[chains] < np.inf, self.next_verified(done), np.inf)
        self.enter(chains)

    def next_verified(self, done: Floats) -> Floats:
        """The next chunk that a verification ends, counted from 1, after as many chunks. [1]."""
        every = self.pattern.verify_every
        return np.asarray((np.floor(done / every) + 1.0) * every)

    def enter(self, chains: Ints) -> None:
        """See which chains are on the timeline without events, and where."""
        self.regular[chains] = False
        for tempo in range(len(self.timelines)):
            rows = chains[(self.phase[chains] == WORK) & (self.tempo[chains] == tempo)]
            if rows.size:
                self._enter_timeline(rows, tempo)

    def _enter_timeline(self, chains: Ints, tempo: int) -> None:
        timeline, chunk_s = self.timelines[tempo], self.pattern.chunk_s
        done, part = self.done[chains], self.part_s[chains]
        origin = np.floor(done / self.pattern.chunks) * self.pattern.chunks
        worked = (done - origin) * chunk_s + part
        working = timeline.work_s[timeline.working]
        piece = timeline.working[np.searchsorted(working, worked, side="right") - 1]
        if self.pattern.drained:
            fresh = timeline.chunk[(done - origin).astype(np.int64)]
            same = (part == 0.0) & self._same_drains(chains, origin, timeline.left_s[:, fresh], timeline.slot[:, fresh])
            piece = np.where(same, fresh, piece)
            none = ~((timeline.left_s[:, piece] > 0.0).any(axis=0) | (self.left_s[:, chains] > 0.0).any(axis=0))
            found = same | none
            chains, origin, worked, piece = chains[found], origin[found], worked[found], piece[found]
        into = worked - timeline.work_s[piece]
        moving = timeline.rate[piece] > 0.0  # if not, it is at the start of the piece
        into[moving] /= timeline.rate[piece][moving]
        self.clock_s[chains] = timeline.start_s[piece] + into
        self.origin[chains], self.piece[chains] = origin, piece
        self.regular[chains] = True

    def _same_drains(self, chains: Ints, origin: Floats, left_s: Floats, slot: Floats) -> Bools:
        near = np.abs(self.left_s[:, chains] - left_s) <= _WHOLE * self.pattern.flush_s[:, None]
        same_slot = self.slot[:, chains] == slot + origin / self.pattern.per_slot
        return np.asarray((near & (same_slot | (left_s == 0.0))).all(axis=0))

    def next_by_work(self, chains: Ints) -> tuple[Floats, Ints] | None:
        """Work to the next event that comes by work, and its kind; None if there are no such events. [s]."""
        limits: list[Floats] = []
        kinds: list[int] = []
        if self.hazards.silent.rate > 0.0:
            limits.append(self.error_s[chains])
            kinds.append(ERROR)
        worked = self.worked(chains)
        if self.hazards.spikes.size:
            noticed = self.spike_s[:, chains] + self.hazards.spike_lag_s[:, None]
            limits.append(np.maximum(noticed.min(axis=0) - worked, 0.0))
            kinds.append(SPIKE)
        if self.work_s < np.inf:
            limits.append(self.work_s - _END_TOLERANCE * self.process.interval_s - worked)
            kinds.append(END)
        if not limits:
            return None
        all_limits = np.asarray(limits)
        first = all_limits.argmin(axis=0)
        return all_limits[first, np.arange(chains.size)], np.asarray(kinds)[first]

    def verdicts(self, chains: Ints) -> Floats | None:
        """Chunk whose verification finds a corrupt state, infinite for none; None if verifications find nothing."""
        return self.verdict[chains] if self._verifies else None

    def book(self, chains: Ints, gained: Floats) -> None:
        """Count training. [s]."""
        self.books.training[:, chains] += gained
        if self.hazards.silent.rate > 0.0:
            self.error_s[chains] -= gained[WORKED]
        if len(self.timelines) > 1:
            for cause in np.flatnonzero(self.hazards.slows):
                here = self.tempo[chains] == self.hazards.speed_of[cause]
                self.books.slowed[cause, chains[here]] += gained[SLOWED, here]

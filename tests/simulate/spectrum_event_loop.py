"""The process of `ckptplan.simulate.spectrum` as a plain event loop in Python: slow, easy to check, its saves in lists.

It reads the same description of a process and shares no other line with the package. Fail-stop causes strike a whole
recovery, or none of it.
"""

from __future__ import annotations

import math
import random

from ckptplan.cost.scenario import Strike
from ckptplan.simulate.spectrum import FailStop, Noticed, Silent, Slow, SpectrumProcess, Spike


class Loop:
    """One run; times in seconds, positions in whole or broken segments."""

    def __init__(self, process: SpectrumProcess, seed: int, *, is_new: bool = False) -> None:
        self.p, self.random = process, random.Random(seed)  # noqa: S311 - a simulation
        self.levels, self.m = len(process.every), max(1, process.verifications)
        self.keep = process.keep if isinstance(process.keep, tuple) else (process.keep or 10**9,) * self.levels
        # Per level: kept saves, oldest first, and whether each is a planned one, outside the rotation.
        past = [range(-min(k - 1, 300) * e, 1, e) for k, e in zip(self.keep, process.every, strict=True)]
        self.saves = [[(float(i), False) for i in slots if i == 0 or not is_new] for slots in past]
        self.archive_step = process.archive_every * process.every[-1]
        self.archive = [float(i) for i in range(-100 * self.archive_step, 1, self.archive_step or 1)]
        self.first = 0.0 if is_new else -math.inf
        self.chunks, self.part, self.phase = 0, 0.0, "work"
        self.drains: dict[int, list[float]] = {}  # level -> [left, slot]
        self.corrupt, self.found_in, self.checked_in, self.culprit = math.inf, math.inf, math.inf, None
        self.slow, self.slow_for = None, math.inf
        self.spikes = {c: self._draw(c.mtbf_s) for c in process.causes if isinstance(c, Spike)}
        self.wall = self.work = self.saving = self.verifying = self.slowed = 0.0
        self.recovering = {c.name: 0.0 for c in process.causes}
        self.thrown_back = {c.name: 0.0 for c in process.causes}
        self.unkept = dict.fromkeys(self.recovering, 0)
        self.rollbacks = {name: [0] * self.levels for name in self.recovering}
        self.recoveries = 0
        self.fail_stop = [c for c in process.causes if isinstance(c, FailStop)]

    def _draw(self, mean: float) -> float:
        return self.random.expovariate(1.0 / mean)

    def position(self) -> float:
        """Position of the state of training, in a pause that at its start. [segment]."""
        done = self.part / (self.p.interval_s / self.m) if self.phase == "work" else 1.0
        return (self.chunks + done) / self.m

    def _level_of(self, chunk: int) -> int:
        if chunk % self.m:
            return -1
        return max(n for n, every in enumerate(self.p.every) if (chunk // self.m) % every == 0)

    def _running_drains(self) -> list[int]:
        first: dict[float, int] = {}
        for level in sorted(self.drains):
            first.setdefault(self.drains[level][1], level)
        return list(first.values())

    def advance(self, end_s: float = math.inf) -> None:
        """To the next change of any kind; every exponential clock is drawn anew, which changes nothing."""
        p, running, chunk = self.p, self._running_drains(), self.chunks + 1
        level = self._level_of(chunk)
        beside = math.prod(p.speed[n] for n in running)
        speed = beside / (1.0 + (self.slow.slowdown if self.slow else 0.0)) if self.phase == "work" else 0.0
        ends = {"work": p.interval_s / self.m, "verify": p.verify_s}
        ends["stall"] = p.slot_stall_s[level] if level >= 0 else 0.0
        rest, rate = ends[self.phase] - self.part, speed if self.phase == "work" else 1.0
        events = [(rest / rate if rate > 0.0 else math.inf, "phase", None)]
        events += [(self.drains[n][0], "drain", n) for n in running]
        events += [(self.found_in, "found", None), (self.slow_for, "slow found", None)]
        if speed > 0.0:
            events.append(((end_s - self.position() * p.interval_s) / speed, "end", None))
        for cause in p.causes:
            if isinstance(cause, FailStop | Noticed) or (isinstance(cause, Slow) and not self.slow):
                events.append((self._draw(cause.mtbf_s), "cause", cause))
            if isinstance(cause, Silent) and self.corrupt == math.inf and (cause.on_stalls or speed > 0.0):
                events.append((self._draw(cause.mtbf_s) / (1.0 if cause.on_stalls else speed), "cause", cause))
            if isinstance(cause, Spike) and speed > 0.0:
                to = self.spikes[cause] + cause.lag_s - self.position() * p.interval_s
                events.append((max(to, 0.0) / speed, "spike", cause))
        step, what, which = min(events, key=lambda event: event[0])
        self.wall += step
        self.found_in, self.slow_for = self.found_in - step, self.slow_for - step
        self.part += rate * step
        self.work += speed * step
        self.verifying += step * (self.phase == "verify")
        self.saving += step * {"work": 1.0 - beside, "verify": 0.0}.get(self.phase, 1.0)
        self.slowed += step * (beside - speed) * (self.phase == "work")
        for n in running:
            self.drains[n][0] -= step
        if what == "phase":
            self._end_phase(chunk, level)
        elif what == "drain":
            self.add(which, self.drains.pop(which)[1])
        elif what == "end":
            self.part += 1e-9 * p.interval_s
        else:
            self._event(what, which)

    def _end_phase(self, chunk: int, level: int) -> None:
        was, self.part = self.phase, 0.0
        self.phase = {"work": "verify", "verify": "stall", "stall": "work"}[was]
        if was == "verify" and self.checked_in <= chunk:
            self._roll_back(self.culprit, self.corrupt, 0)
        elif was == "stall":
            self.chunks = chunk
            for n in range(level + 1):
                if self.p.flush_s[n]:
                    given_up = self.drains.get(n, (0.0, None))[1]
                    self.drains = {k: v for k, v in self.drains.items() if k < n or v[1] != given_up}
                    self.drains[n] = [self.p.flush_s[n], chunk / self.m]
                else:
                    self.add(n, chunk / self.m)

    def add(self, level: int, slot: float) -> None:
        """A save became durable on a level."""
        rotation = [save for save in self.saves[level] if not save[1]]
        self.saves[level] = [*rotation, (slot, False)][-self.keep[level] :]
        if level == self.levels - 1 and self.archive_step and slot % self.archive_step == 0:
            self.archive.append(slot)

    def _event(self, what: str, cause) -> None:
        if what == "found":
            self._roll_back(self.culprit, self.corrupt, 0)
        elif what == "slow found":
            self._interrupt(self.slow)
        elif what == "spike":
            sound = (self.spikes[cause] - cause.back_s) / self.p.interval_s
            self.spikes[cause] += self._draw(cause.mtbf_s)
            self._roll_back(cause, sound, 0)
        elif isinstance(cause, FailStop):
            self._roll_back(cause, math.inf, self._needed(cause))
        elif isinstance(cause, Noticed):
            self._interrupt(cause)
        elif isinstance(cause, Slow):
            self.slow, self.slow_for = cause, cause.latency_s if cause.fixed else self._draw(cause.latency_s)
        else:
            self.corrupt, self.culprit = self.position(), cause
            if cause.latency_s is None:
                self.checked_in = self.chunks + (1 if self.phase in ("work", "verify") else 2)
            else:
                self.found_in = cause.latency_s if cause.fixed else self._draw(cause.latency_s)

    def _needed(self, cause) -> int:
        if isinstance(cause.level, tuple):
            return self.random.choices(range(self.levels), cause.level)[0]
        return (cause.level or self.levels) - 1

    def _interrupt(self, cause) -> None:
        stall = self.p.slot_stall_s[-1] + sum(self.p.flush_s) if cause.save_s is None else cause.save_s
        gaps = [(self._draw(c.mtbf_s), c) for c in self.fail_stop]
        gap, striker = min(gaps, key=lambda pair: pair[0], default=(math.inf, None))
        self.wall += min(gap, stall)
        self.saving += min(gap, stall)
        self.found_in = max(0.0, self.found_in - min(gap, stall))
        self.slow_for = max(0.0, self.slow_for - min(gap, stall))
        if cause == self.slow:
            self.slow, self.slow_for = None, math.inf
        if gap < stall:
            self._roll_back(striker, math.inf, self._needed(striker))
            return
        self.add_planned(self.position())
        self.drains = {}
        self._roll_back(cause, math.inf, self._needed(cause))

    def add_planned(self, position: float) -> None:
        """A planned save replaces an older one; at a slot it is the save of that slot where it is due."""
        for n, every in enumerate(self.p.every):
            if position % every == 0:
                self.add(n, position)
            else:
                self.saves[n] = [*(save for save in self.saves[n] if not save[1]), (position, True)]

    def _roll_back(self, cause, limit: float, needed: int) -> None:
        self.recoveries += 1
        now, limit = self.position(), max(limit, self.first)
        while True:
            target, level, is_kept, is_planned = self.choose(now, limit, needed)
            self.unkept[cause.name] += not is_kept
            self.rollbacks[cause.name][level] += 1
            self.thrown_back[cause.name] += (now - target) * self.p.interval_s
            now = target
            restart = self.p.restart_s if cause.restart_s is None else cause.restart_s
            restart = restart[level] if isinstance(restart, tuple) else restart
            length = restart + (self.p.downtime_s if cause.downtime_s is None else cause.downtime_s)
            gaps = [(self._draw(c.mtbf_s), c) for c in self.fail_stop]
            gap, striker = min(gaps, key=lambda pair: pair[0], default=(math.inf, None))
            struck = self.p.strike == Strike.DR and gap < length
            self.wall += gap if struck else length
            self.recovering[cause.name] += gap if struck else length
            if not struck:
                break
            cause, needed = striker, max(needed, self._needed(striker))
        self.resume(target, level, needed, is_planned=is_planned)

    def choose(self, now: float, limit: float, needed: int) -> tuple[float, int, bool, bool]:
        """Where a rollback goes, the lowest level that has it, whether it is kept, and whether it is a planned save."""
        held = [(s, -n, extra) for n in range(needed, self.levels) for s, extra in self.saves[n] if s <= limit]
        held += [(s, 1 - self.levels, False) for s in self.archive if s <= limit and self.archive_step]
        if held:
            return max(held)[0], -max(held)[1], True, max(held)[2]
        every = self.p.every[needed]
        return max(math.floor(min(now, limit) / every) * every, self.first), self.levels - 1, False, False

    def resume(self, target: float, level: int, needed: int, *, is_planned: bool) -> None:
        """Training goes on from a state."""
        self.archive = [s for s in self.archive if s <= target]
        for n in range(self.levels):
            saves = [] if n < needed else [save for save in self.saves[n] if save[0] <= target]
            if n <= level and not any(s == target for s, _ in saves):
                if is_planned:
                    saves.append((target, True))
                else:
                    saves = [*saves, (target, False)][-self.keep[n] :]
            self.saves[n] = saves
        self.drains = {
            n: [self.p.flush_s[n], slot] for n, (_, slot) in self.drains.items() if slot <= target and n > level
        }
        chunks = target * self.m
        self.chunks = math.floor(chunks + 1e-9)
        self.part = max(0.0, chunks - self.chunks) * self.p.interval_s / self.m
        self.part = 0.0 if self.part < 1e-9 * self.p.interval_s else self.part
        self.phase = "work"
        if target <= self.corrupt:
            self.corrupt = self.found_in = self.checked_in = math.inf

"""How chains move: regular ones jump to their next event, the others glide to the next change of any kind."""

from __future__ import annotations

import numpy as np

from ckptplan.simulate.spectrum.chains import NOTHING, VERIFIED, Chains
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
    running_drains,
)
from ckptplan.simulate.spectrum.timeline import Timeline


def jump(chains: Chains, rows: Ints, tempo: int) -> Ints:
    """Move regular chains, all at one speed, to their next event.

    Returns
    -------
    ndarray
        Kind of the event of each.
    """
    timeline = chains.timelines[tempo]
    start, piece = chains.clock_s[rows], chains.piece[rows]
    before = _booked(timeline, piece, start - timeline.start_s[piece])
    step, kind = _next_event(chains, rows, timeline, before[WORKED])
    clock = start + step
    cycles = np.floor(clock / timeline.cycle_s)
    clock -= cycles * timeline.cycle_s
    np.clip(clock, 0.0, timeline.cycle_s, out=clock)
    new = np.searchsorted(timeline.start_s, clock, side="right") - 1
    since = clock - timeline.start_s[new]
    chains.clocks_s[:, rows] -= step
    chains.book(rows, _booked(timeline, new, since) + cycles * timeline.cycle_booked[:, None] - before)
    origin = chains.origin[rows] + cycles * chains.pattern.chunks
    chains.clock_s[rows], chains.origin[rows], chains.piece[rows] = clock, origin, new
    chains.done[rows] = origin + timeline.done[new]
    chains.phase[rows] = timeline.phase[new]
    chains.part_s[rows] = timeline.part_s[new] + timeline.rate[new] * since
    first_slot = origin / chains.pattern.per_slot
    for level, saves in enumerate(timeline.saves):
        number = saves[new] + cycles * timeline.cycle_saves[level] - saves[piece]
        some = number > 0.0
        slot = timeline.durable[level, new] + first_slot
        chains.tiers.levels[level].add(rows[some], slot[some], number[some])
    if chains.pattern.drained:
        chains.left_s[:, rows] = timeline.left_s[:, new] - timeline.draining[:, new] * since
        chains.slot[:, rows] = timeline.slot[:, new] + first_slot
    return kind


def _booked(timeline: Timeline, piece: Ints, since: Floats) -> Floats:
    return np.asarray(timeline.booked[:, piece] + timeline.booking[:, piece] * since)


def _next_event(chains: Chains, rows: Ints, timeline: Timeline, worked: Floats) -> tuple[Floats, Ints]:
    """Time to the next event of each chain, and its kind."""
    clocks, clock = chains.clocks_s[:, rows], chains.clock_s[rows]
    step, kind = clocks.min(axis=0), clocks.argmin(axis=0)
    by_work = chains.next_by_work(rows)
    if by_work is not None:
        work, what = by_work
        _bring_forward(step, kind, _time_of_work(timeline, worked + work) - clock, what)
    verdict = chains.verdicts(rows)
    if verdict is not None:
        chunk = verdict - chains.origin[rows]
        _bring_forward(step, kind, _time_of_verdict(chains, timeline, chunk) - clock, np.full_like(kind, VERIFIED))
    return np.maximum(step, 0.0), kind


def _bring_forward(step: Floats, kind: Ints, other: Floats, what: Ints) -> None:
    earlier = other < step
    np.copyto(step, other, where=earlier)
    np.copyto(kind, what, where=earlier)


def _time_of_work(timeline: Timeline, work: Floats) -> Floats:
    """When an amount of work since the start of the cycle is first done. [s]."""
    time = np.full(work.size, np.inf)
    finite = work < np.inf
    whole = timeline.cycle_booked[WORKED]
    cycles = np.maximum(np.ceil(work[finite] / whole) - 1.0, 0.0)
    rest = work[finite] - cycles * whole
    piece = np.maximum(np.searchsorted(timeline.work_s, rest, side="left") - 1, 0)
    into = (rest - timeline.work_s[piece]) / np.where(timeline.booking[WORKED, piece] > 0.0, timeline.rate[piece], 1.0)
    time[finite] = cycles * timeline.cycle_s + timeline.start_s[piece] + into
    return time


def _time_of_verdict(chains: Chains, timeline: Timeline, chunk: Floats) -> Floats:
    """When the verification of a chunk, counted from 1 at the start of the cycle, ends. [s]."""
    time = np.full(chunk.size, np.inf)
    finite = chunk < np.inf
    cycles = np.ceil(chunk[finite] / chains.pattern.chunks) - 1.0
    number = chunk[finite] - cycles * chains.pattern.chunks - 1.0
    time[finite] = cycles * timeline.cycle_s + timeline.verified_s[number.astype(np.int64)]
    return time


def glide(chains: Chains, rows: Ints) -> Ints:
    """Move chains to their next event, or to the next end of a phase or a drain if that is earlier.

    Returns
    -------
    ndarray
        Kind of the event of each, ``NOTHING`` if there was none.
    """
    phase, left = chains.phase[rows], chains.left_s[:, rows]
    draining = running_drains(left, chains.slot[:, rows])
    booking = _booking(chains, rows, draining)
    rate = np.where(phase == WORK, booking[WORKED], 1.0)
    with np.errstate(divide="ignore"):
        to_phase_end = (_phase_s(chains, rows) - chains.part_s[rows]) / rate
    to_drain_end = np.where(draining, left, np.inf).min(axis=0, initial=np.inf)
    step, kind = np.minimum(to_phase_end, to_drain_end), np.full(rows.size, NOTHING)
    clocks = chains.clocks_s[:, rows]
    _bring_forward(step, kind, clocks.min(axis=0), clocks.argmin(axis=0))
    by_work = chains.next_by_work(rows)
    if by_work is not None:
        work, what = by_work
        moving = booking[WORKED] > 0.0
        time = np.full(rows.size, np.inf)
        np.divide(work, booking[WORKED], out=time, where=moving)
        _bring_forward(step, kind, np.maximum(time, 0.0), what)
    chains.clocks_s[:, rows] -= step
    chains.book(rows, booking * step)
    chains.part_s[rows] += rate * step
    _drain(chains, rows, draining, step)
    ended = (to_phase_end <= step) & (kind == NOTHING)
    found = _end_phases(chains, rows, ended)
    kind[found] = VERIFIED
    chains.enter(rows[kind == NOTHING])
    return kind


def _booking(chains: Chains, rows: Ints, draining: Bools) -> Floats:
    """What a second of training is, in the order of WORKED, SAVING, ... [1]."""
    phase = chains.phase[rows]
    works, verifies = phase == WORK, phase == VERIFY
    beside = np.where(draining, chains.pattern.speed[:, None], 1.0).prod(axis=0)
    speed = np.asarray(chains.hazards.speeds)[chains.tempo[rows]]
    booking = np.zeros((BOOKED, rows.size))
    booking[WORKED] = np.where(works, beside * speed, 0.0)
    booking[SLOWED] = np.where(works, beside * (1.0 - speed), 0.0)
    booking[SAVING] = np.where(works, 1.0 - beside, np.where(verifies, 0.0, 1.0))
    booking[VERIFYING] = verifies
    return booking


def _phase_s(chains: Chains, rows: Ints) -> Floats:
    """Length of the phase that each chain is in. [s]."""
    pattern = chains.pattern
    chunk = _chunk_in_cycle(chains, rows)
    return np.choose(chains.phase[rows], [pattern.chunk_s, pattern.verify_s[chunk], pattern.stall_s[chunk]])


def _chunk_in_cycle(chains: Chains, rows: Ints) -> Ints:
    return np.mod(chains.done[rows], chains.pattern.chunks).astype(np.int64)


def _drain(chains: Chains, rows: Ints, draining: Bools, step: Floats) -> None:
    for number, level in enumerate(chains.pattern.drained):
        left = chains.left_s[number, rows] - np.where(draining[number], step, 0.0)
        ended = draining[number] & (left <= 0.0)
        chains.left_s[number, rows] = np.where(ended, 0.0, left)
        durable = rows[ended]
        chains.tiers.levels[level].add(durable, chains.slot[number, durable], np.ones(durable.size))


def _end_phases(chains: Chains, rows: Ints, ended: Bools) -> Bools:
    """Go on to the next phase; returns which chains have found their state corrupt."""
    phase = chains.phase[rows]
    found = ended & (phase == VERIFY) & (chains.verdict[rows] == chains.done[rows] + 1.0)
    chains.phase[rows[ended & (phase == VERIFY)]] = STALL
    chains.phase[rows[ended & (phase == WORK)]] = VERIFY if chains.process.verifications else STALL
    chains.part_s[rows[ended]] = 0.0
    _end_stalls(chains, rows[ended & (phase == STALL)])
    return np.asarray(found)


def _end_stalls(chains: Chains, saved: Ints) -> None:
    """A save was made: it is durable where no drain leads; its drains replace older ones, and the next chunk begins."""
    level = chains.pattern.level[_chunk_in_cycle(chains, saved)]
    slot = (chains.done[saved] + 1.0) / chains.pattern.per_slot
    for number in range(chains.process.levels):
        if number not in chains.pattern.drained:
            due = level >= number
            chains.tiers.levels[number].add(saved[due], slot[due], np.ones(np.count_nonzero(due)))
    for number, drained in enumerate(chains.pattern.drained):
        rows = saved[level >= drained]
        left, older = chains.left_s[:, rows], chains.slot[number, rows]
        fed = (left[number] > 0.0) & (chains.slot[:, rows] == older)  # by the drain that is given up
        fed[:number] = False
        chains.left_s[:, rows] = np.where(fed, 0.0, left)
        chains.left_s[number, rows] = chains.pattern.flush_s[number]
        chains.slot[number, rows] = slot[level >= drained]
    chains.done[saved] += 1.0
    chains.phase[saved] = WORK

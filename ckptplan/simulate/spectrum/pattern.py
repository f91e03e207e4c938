"""The pattern of saves: what ends each chunk of work, and the lengths that make up its timeline.

A segment is divided by its verifications into equal *chunks*. Every chunk is work, then a verification if there are
any, then the stall if it is the last of its segment. The pattern repeats after one save on the top level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.simulate.spectrum.process import SpectrumProcess

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

WORK, VERIFY, STALL = range(3)  # phases of a chunk
WORKED, SAVING, VERIFYING, SLOWED = range(4)  # what a second of training is booked as
BOOKED = 4


class Pattern(NamedTuple):
    """One cycle of saves. Chunk and level arrays are indexed by the chunks done before, modulo ``chunks``. [s, 1]."""

    chunk_s: float
    chunks: int  # in a cycle
    per_slot: int  # chunks of a segment
    verify_s: Floats  # at the end of each chunk; 0 where none is verified
    verify_every: int  # chunks from one verification to the next
    stall_s: Floats  # at the end of each chunk; 0 inside a segment
    level: Ints  # of the save at the end of each chunk, from 0; -1 inside a segment
    every: Floats  # slots from one save on each level to the next
    drained: tuple[int, ...]  # levels reached by a drain, from 0
    flush_s: Floats  # of each drained level
    speed: Floats  # of training during it


def pattern_of(process: SpectrumProcess) -> Pattern:
    """The pattern of a checked process."""
    per_slot = max(1, int(process.verifications))
    chunks = int(process.every[-1]) * per_slot
    verify_every = int(process.every[process.verify_level - 1]) if process.verify_level > 1 else 1
    ended = np.arange(1, chunks + 1)
    level = np.full(chunks, -1)
    for number, every in enumerate(process.every):
        level[ended % (every * per_slot) == 0] = number
    stall_s = np.where(level < 0, 0.0, np.asarray(process.slot_stall_s)[level])
    flush_s, speed = process.flush_s or (), process.speed or ()
    drained = tuple(number for number, length in enumerate(flush_s) if length > 0.0)
    return Pattern(
        chunk_s=process.interval_s / per_slot,
        chunks=chunks,
        per_slot=per_slot,
        verify_s=np.where(ended % verify_every == 0, process.verify_s, 0.0),
        verify_every=verify_every,
        stall_s=stall_s,
        level=level,
        every=np.asarray(process.every, dtype=np.float64),
        drained=drained,
        flush_s=np.array([flush_s[number] for number in drained]),
        speed=np.array([speed[number] for number in drained]),
    )


def running_drains(left_s: Floats, slot: Floats) -> Bools:
    """Which drains are under way: one that waits for that of a lower level from the same save is not.

    Parameters
    ----------
    left_s, slot : ndarray
        What is left of the drain to each drained level, and the save that it drains; first axis: level. [s, 1]
    """
    running = left_s > 0.0
    for upper in range(1, len(left_s)):
        for lower in range(upper):
            running[upper] &= ~((left_s[lower] > 0.0) & (slot[lower] == slot[upper]))
    return running

"""The Markov chain of nested saves to several tiers, state by state, as one system of linear equations.

States: about to run segment j of the pattern; in a recovery that began in segment j, at the level that cause s has
set, from cause c. Visits to each until the pattern is done give every expected time. No formula is shared with the
package, and no structure of the pattern is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Visits(NamedTuple):
    """Expected seconds and counts in one pattern."""

    wall: float
    save: float
    rework: np.ndarray  # by the cause that set the level
    restart: np.ndarray  # by the cause recovered from
    resumes: np.ndarray  # by level


def highest(slot, every):
    """Highest level of the save that ends this many slots after the start, from 0; the start is a top save."""
    if slot == 0:
        return len(every) - 1
    return max(level for level, n in enumerate(every) if slot % n == 0)


def visits(W, every, slot_stall, rate, level, unstruck, struck, exposed, *, from_save_read=False):
    """Solve the chain. ``level`` from 1; ``unstruck`` and ``struck`` of shape (C, L).

    ``from_save_read``: a recovery takes what the highest level of the save takes that it reads, and a save does not
    leave copies on lower levels; otherwise what the level of the cause takes.
    """
    n, C, lam = every[-1], len(rate), sum(rate)
    p = np.divide(rate, lam)
    lengths = np.array([W + slot_stall[highest(j + 1, every)] for j in range(n)])
    starts = np.concatenate([[0.0], np.cumsum(lengths)])
    recovering = {(j, s, c): n + i for i, (j, s, c) in enumerate(np.ndindex(n, C, C)) if level[c] <= level[s]}
    recovering = {key: n + i for i, key in enumerate(recovering)}
    size = n + len(recovering)
    moves, time, lost = np.zeros((size, size)), np.zeros(size), np.zeros(n)
    back = {}
    for j in range(n):
        fails = -np.expm1(-lam * lengths[j])
        time[j] = fails / lam
        lost[j] = 1 / lam - lengths[j] * (1 - fails) / fails  # mean age at a failure within the segment
        if j + 1 < n:
            moves[j, j + 1] += 1 - fails
        for c in range(C):
            moves[j, recovering[j, c, c]] += fails * p[c]
    rework, restart = np.zeros((size, C)), np.zeros((size, C))
    for (j, s, c), state in recovering.items():
        at = level[s] - 1
        slot = j // every[at] * every[at]
        read = max(at, highest(slot, every)) if from_save_read else at
        U, B, E = unstruck[c][read], struck[c][read], exposed[at]
        ends = np.exp(-lam * (B + E))
        restart[state, c] += U - np.expm1(-lam * B) / lam
        rework[state, s] += np.exp(-lam * B) * -np.expm1(-lam * E) / lam
        rework[state, s] += ends * (starts[j] - starts[slot] + lost[j])
        moves[state, slot] += ends
        back[state] = (at, ends)
        for k in range(C):
            setter = k if level[k] > level[s] else s
            moves[state, recovering[j, setter, k]] += (1 - ends) * p[k]
    first = np.zeros(size)
    first[0] = 1.0
    N = np.linalg.solve(np.eye(size) - moves.T, first)
    resumes = np.zeros(len(every))
    for state, (at, ends) in back.items():
        resumes[at] += N[state] * ends
    exposed_s = sum(
        N[i] * np.exp(-lam * struck[c][level[s] - 1]) * -np.expm1(-lam * exposed[level[s] - 1]) / lam
        for (_, s, c), i in recovering.items()
    )
    return Visits(
        wall=float(N @ time + (N @ restart).sum() + exposed_s),
        save=float(lengths.sum() - n * W),
        rework=N @ rework,
        restart=N @ restart,
        resumes=resumes,
    )


def goodput(W, every, slot_stall, rate, restart, *, struck, from_save_read=False):
    """Useful work over wall time with one cause per level and recoveries that depend on the level alone."""
    L = len(every)
    parts = [np.tile(restart, (L, 1)), np.zeros((L, L))]
    if struck:
        parts.reverse()
    found = visits(W, every, slot_stall, rate, range(1, L + 1), *parts, np.zeros(L), from_save_read=from_save_read)
    return every[-1] * W / found.wall

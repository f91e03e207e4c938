"""Thinning: keep the newest checkpoints densely and older ones ever more sparsely.

The rule is one that a job can run: the checkpoint of index i (saved at time i P) is kept as long as some stage wants
it, and a stage wants every ``every``-th index up to an age.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.errors import InputError
from ckptplan.interval.elementary import ceil_to_whole, floor_to_whole

_LONGEST_CYCLE = 1_000_000  # of a rule, that is gone through index by index

Flags = npt.NDArray[np.bool_]


class Stage(NamedTuple):
    """Every ``every``-th checkpoint is kept until it has an age of ``until_s``, which may be infinite."""

    every: int
    until_s: float


class Thinning(NamedTuple):
    """Which checkpoints are kept: those that any stage wants."""

    period_s: float  # wall time from save to save, P
    stages: tuple[Stage, ...]

    def keeps(self, index: npt.ArrayLike, age_s: npt.ArrayLike) -> Flags:
        """Whether the checkpoint of an index is kept at an age; arrays broadcast."""
        i, age = np.asarray(index), np.asarray(age_s, dtype=np.float64)
        wanted = [(i % stage.every == 0) & (age < stage.until_s) for stage in self.stages]
        return np.asarray(np.logical_or.reduce(np.broadcast_arrays(*wanted)))


class Kept(NamedTuple):
    """Checkpoints kept in the steady state, not counting one that is being written [1], and their bytes."""

    most: float
    mean: float
    mean_by_stage: tuple[float, ...]  # older than the stage before, in the order of their ages
    most_bytes: float
    mean_bytes: float


def thinning(
    period: float,
    *,
    keep_all: float,
    then_every: float = math.inf,
    then_for: float = 0.0,
    archive_every: int = 0,
    archive_for: float = math.inf,
) -> Thinning:
    """All checkpoints of the last hours, then one in a while for some days, then an archive.

    Parameters
    ----------
    period : float
        Wall time from save to save, P. [s]
    keep_all : float
        Age up to which all are kept; ``k P`` keeps the k newest. [s]
    then_every, then_for : float
        Spacing of those kept up to the age ``then_for``, rounded down to whole periods. [s]
    archive_every : int
        Every such save is kept up to the age ``archive_for``; 0 keeps none. [1]
    archive_for : float
        The length of the run, or infinity. [s]

    Returns
    -------
    Thinning
        Index i of age x is kept iff ``x < keep_all``, or ``i % a == 0`` and ``x < then_for``, or
        ``i % archive_every == 0`` and ``x < archive_for``.

    Raises
    ------
    InputError
        A number is outside its domain.
    """
    if not (0.0 < period < math.inf and keep_all >= period):
        raise InputError("a thinning needs a positive period, and keeps all checkpoints for one period at least")
    if not (then_every > 0.0 and then_for >= 0.0 and archive_every >= 0 and archive_for >= 0.0):
        raise InputError("the spacings and ages of a thinning must not be negative")
    stages = [Stage(1, keep_all)]
    if then_for > 0.0 and then_every < math.inf:
        stages.append(Stage(max(1, int(floor_to_whole(np.asarray(then_every / period)))), then_for))
    if archive_every > 0 and archive_for > 0.0:
        stages.append(Stage(int(archive_every), archive_for))
    return Thinning(period, tuple(stages))


def doubling(period: float, newest: int, levels: int, oldest: int | None = None) -> Thinning:
    """The newest checkpoints densely, then ``newest`` of every second, of every fourth, and so on.

    Parameters
    ----------
    period : float
        Wall time from save to save, P. [s]
    newest, levels : int
        Checkpoints per level, at least 2 if there are levels, and how often the spacing doubles. [1]
    oldest : int, optional
        Another number for the last level. [1]

    Returns
    -------
    Thinning
        Level j keeps index i iff ``i % 2^j == 0`` and the age is below ``newest 2^j P``: about
        ``newest (1 + levels/2)`` in all, of which one is always older than ``(oldest - 1) 2^levels P``.
    """
    if not (0.0 < period < math.inf and levels >= 0 and newest >= (2 if levels else 1)):
        raise InputError("a doubling needs a positive period, and two checkpoints per level")
    numbers = [newest] * levels + [newest if oldest is None else oldest]
    return Thinning(period, tuple(Stage(2**j, k * 2**j * period) for j, k in enumerate(numbers)))


def kept(rule: Thinning, size_bytes: float = 0.0) -> Kept:
    """How many checkpoints a thinning keeps, at most and on average, and their bytes.

    Parameters
    ----------
    rule : Thinning
        The rule.
    size_bytes : float
        Bytes of one checkpoint. [bytes]

    Returns
    -------
    Kept
        Infinite where a stage never ends: give it the length of the run.

    Notes
    -----
    The mean is a sum over ages: between two ends of stages those still open keep a fixed share of the indices. The
    most is that of the worst index, just after its save: all of a cycle (the least common multiple) are gone through.

    Raises
    ------
    InputError
        The cycle is longer than a million saves: take spacings that divide each other.
    """
    means, most, before = [], np.zeros(cycle(rule)), 0.0
    newest = np.arange(cycle(rule))
    for stage in sorted(rule.stages, key=lambda stage: stage.until_s):
        every = [other.every for other in rule.stages if other.until_s >= stage.until_s]
        share = sum(sign / multiple for sign, multiple in _unions(every))
        if stage.until_s == math.inf:
            means.append(math.inf if before < math.inf else 0.0)
            most = np.full_like(most, math.inf)
        else:
            means.append((stage.until_s - before) / rule.period_s * share)
            young, old = (int(ceil_to_whole(np.asarray(age / rule.period_s))) for age in (before, stage.until_s))
            most += sum(sign * ((newest - young) // n - (newest - old) // n) for sign, n in _unions(every))
        before = stage.until_s
    top, mean = float(most.max()), math.fsum(means)
    return Kept(top, mean, tuple(means), top * size_bytes, mean * size_bytes)


def cycle(rule: Thinning) -> int:
    """Saves after which the rule repeats: the least common multiple of its spacings.

    Raises
    ------
    InputError
        It is longer than a million saves.
    """
    length = math.lcm(*(stage.every for stage in rule.stages))
    if length > _LONGEST_CYCLE:
        raise InputError(
            f"the spacings {', '.join(str(stage.every) for stage in rule.stages)} repeat only after {length} saves",
            hint="take spacings that divide each other",
        )
    return length


def _unions(every: Iterable[int]) -> list[tuple[int, int]]:
    """The indices divisible by any of some numbers, by inclusion and exclusion: signs and multiples to count."""
    distinct = set(every)
    needed = [n for n in distinct if not any(n % other == 0 for other in distinct - {n})]
    groups = (group for size in range(1, len(needed) + 1) for group in combinations(needed, size))
    return [(-1 if len(group) % 2 == 0 else 1, math.lcm(*group)) for group in groups]

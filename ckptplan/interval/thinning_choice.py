"""What a thinning finds after a corruption, and the thinning that keeps fewest checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.errors import InputError
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import expm1_minus, expm1_minus_two
from ckptplan.interval.retention import DelayLaw, checkpoints_to_keep, no_clean_probability
from ckptplan.interval.thinning import Thinning, cycle, doubling, kept

_NEGLIGIBLE = 45.0  # mean delays after which the tail of the delay is below the rounding of 1
_BLOCK = 2_000_000  # pairs of an index and an age at a time

Integers = npt.NDArray[np.int_]


class CleanCheckpoint(NamedTuple):
    """What is left when a corruption is found, and the work that the spacing of what is kept costs."""

    probability: Floats  # that a kept checkpoint is old enough [1]
    no_clean_probability: Floats  # that none is: its complement, with full precision where it is small [1]
    rework_s: Floats  # if so: mean age of the newest such one, less the delay and the rollback
    extra_rework_s: Floats  # the part of it that keeping all of these ages would save


class ThinningChoice(NamedTuple):
    """A thinning that keeps few checkpoints, beside keeping all that are as young."""

    thinning: Thinning
    newest: int  # kept densely
    sparser_from_s: float  # the age from which spacing grows; infinite if it never does
    most: float  # checkpoints kept at most
    keep_all: float  # that keeping the newest ones, all of them, needs for the same probability
    no_clean_probability: float
    extra_rework_s: float


class _Delay(NamedTuple):
    """A delay over the period: a certain part and an exponential one."""

    certain: float
    mean: float


class _Piece(NamedTuple):
    """A range of the time since the newest save, over the period, in which the set of kept ages does not change."""

    low: float
    high: float


def clean_checkpoint(
    rule: Thinning,
    delay: npt.ArrayLike,
    *,
    law: DelayLaw = DelayLaw.EXPONENTIAL,
    rollback: npt.ArrayLike = 0.0,
) -> CleanCheckpoint:
    """Whether a checkpoint older than a corruption is left when it is found, and how much older it is.

    Parameters
    ----------
    rule : Thinning
        Which checkpoints are kept.
    delay : array_like
        From the corruption to its detection: the mean (exponential), or always this long (bounded). [s]
    law : DelayLaw
        Distribution of the delay.
    rollback : array_like
        The checkpoint must be older than the corruption by this much. [s]

    Returns
    -------
    CleanCheckpoint
        In the broadcast shape of delay and rollback; nan for input outside its domain; the work is nan where a
        clean checkpoint is never left.

    Notes
    -----
    The newest index is uniform over a cycle of the rule and the time since its save uniform in (0, P), which is cut
    where a stage or the certain part of the delay ends: in each piece the kept ages are the same indices, and the
    integral over it is closed. A gap from age x to age y, beyond the certain part, holds the mean work
    ``S(x) l (exp(-(y - x)/l) - 1 + (y - x)/l)`` with the tail S of the delay.

    Raises
    ------
    InputError
        The rule repeats only after more than a million saves.
    """
    L, B = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) / rule.period_s for v in (delay, rollback)))
    bounded = DelayLaw(law) is DelayLaw.BOUNDED
    out = np.full((4, *L.shape), np.nan)
    for at in np.ndindex(L.shape):
        if 0.0 <= L[at] < math.inf and 0.0 <= B[at] < math.inf:
            found, back = float(L[at]), float(B[at])
            parts = _Delay(back + found, 0.0) if bounded else _Delay(back, found)
            out[(slice(None), *at)] = _over_a_cycle(rule, parts)
    return CleanCheckpoint(out[0], out[1], out[2] * rule.period_s, out[3] * rule.period_s)


def thinning_for(
    max_probability: float,
    period: float,
    delay: float,
    *,
    law: DelayLaw = DelayLaw.EXPONENTIAL,
    rollback: float = 0.0,
    max_extra_rework: float = math.inf,
) -> ThinningChoice:
    """The doubling thinning with fewest checkpoints that leaves a clean one as often as asked.

    Parameters
    ----------
    max_probability : float
        Probability of no clean checkpoint that is accepted, above 0 for an exponential delay. [1]
    period : float
        Wall time from save to save, P. [s]
    delay, law, rollback
        As for `clean_checkpoint`. [s]
    max_extra_rework : float
        Mean work per corruption that the sparser spacing may cost; about a mean delay over the number kept per
        level. [s]

    Returns
    -------
    ThinningChoice
        Of the numbers per level that cost no more work than allowed, the one with fewest checkpoints.

    Notes
    -----
    With spacings that divide each other, the oldest checkpoint is one of the sparsest level: none is clean with the
    probability of `no_clean_probability` for that level alone, whose period is ``2^levels P``. It gets as many
    levels as it needs to reach far enough, and in the last one no more checkpoints than that takes.

    Raises
    ------
    InputError
        No number of checkpoints suffices, or an argument is outside its domain.
    """

    def number(spacing: float) -> float:
        return float(checkpoints_to_keep(max_probability, spacing, delay, law=law, rollback=rollback))

    needed = number(period)
    if not needed < math.inf or not max_extra_rework >= 0.0:
        raise InputError("no number of checkpoints leaves a clean one with that probability after that delay")
    missing = float(no_clean_probability(needed, period, delay, law=law, rollback=rollback))
    best = ThinningChoice(doubling(period, int(needed), 0), int(needed), math.inf, needed, needed, missing, 0.0)
    for newest in range(2, int(needed)):
        if newest >= best.most:
            break
        levels = _levels(newest, period, number)
        spacing = 2.0**levels * period
        oldest = number(spacing)
        rule = doubling(period, newest, levels, int(oldest))
        most = kept(rule).most
        if most < best.most:
            missing = float(no_clean_probability(oldest, spacing, delay, law=law, rollback=rollback))
            extra = float(clean_checkpoint(rule, delay, law=law, rollback=rollback).extra_rework_s)
            if extra <= max_extra_rework:
                best = ThinningChoice(rule, newest, newest * period, most, needed, missing, extra)
    return best


def _levels(newest: int, period: float, number: Callable[[float], float]) -> int:
    """How often the spacing doubles until so many checkpoints reach far enough."""
    return next(level for level in count() if number(2.0**level * period) <= newest)


def _over_a_cycle(rule: Thinning, delay: _Delay) -> tuple[float, float, float, float]:
    """Probabilities and works of `clean_checkpoint`, over the period: means over all indices and phases."""
    length = cycle(rule)
    ends = [stage.until_s / rule.period_s for stage in rule.stages]
    # beyond this age nothing is wanted any more, and every open stage has kept one
    widest = max(stage.every for stage in rule.stages)
    reach = math.ceil(min(max(ends), delay.certain + _NEGLIGIBLE * delay.mean + widest + 2.0))
    most = sum(int(min(end, reach)) // stage.every for end, stage in zip(ends, rule.stages, strict=True))
    rows = max(1, _BLOCK // (1 + most))
    missing = work = extra = 0.0
    for piece in _pieces([*ends, delay.certain]):
        for start in range(0, length, rows):
            index = np.arange(start, min(start + rows, length))
            phase = 0.5 * (piece.low + piece.high)
            oldest = _oldest(rule, index, phase)
            missing += np.where(oldest < 0, piece.high - piece.low, _tail(oldest, piece, delay)).sum()
            more = _works(*_kept_ages(rule, index, phase, reach), piece, delay)
            work, extra = work + more[0], extra + more[1]
    missing = 0.0 if max(ends) == math.inf else missing / length
    if missing >= 1.0:
        return 0.0, 1.0, math.nan, math.nan
    clean = 1.0 - missing
    return clean, missing, work / length / clean, extra / length / clean


def _pieces(cuts: list[float]) -> Iterator[_Piece]:
    """The parts of (0, 1) between the fractions of some ages."""
    edges = sorted({0.0, 1.0, *(cut % 1.0 for cut in cuts if cut < math.inf)})
    for low, high in pairwise(edges):
        yield _Piece(low, high)


def _oldest(rule: Thinning, index: Integers, phase: float) -> Integers:
    """Oldest age kept for each newest index, in whole periods beside the phase; -1 if none is kept or none given up."""
    oldest = np.full_like(index, -1)
    for stage in rule.stages:
        if stage.until_s < math.inf:
            last = math.ceil(stage.until_s / rule.period_s - phase) - 1
            newest = index % stage.every
            oldest = np.maximum(oldest, np.where(newest <= last, last - (last - newest) % stage.every, -1))
    return oldest


def _kept_ages(rule: Thinning, index: Integers, phase: float, reach: int) -> tuple[Integers, Integers]:
    """Rows (one per newest index) and the kept ages in each, in whole periods beside the phase, sorted."""
    keys = []
    for stage in rule.stages:
        n = min(reach, math.ceil(min(stage.until_s / rule.period_s - phase, reach)))  # ages below the end
        ages = (index % stage.every)[:, np.newaxis] + stage.every * np.arange(max(0, -(-n // stage.every)))
        keys.append((np.arange(index.size)[:, np.newaxis] * reach + ages)[ages < n])
    row, age = np.divmod(np.unique(np.concatenate(keys)), reach)
    return row, age


def _tail(ages: Integers, piece: _Piece, delay: _Delay) -> Floats:
    """Integral over the piece of the probability that the delay is longer than an age."""
    width, mean = piece.high - piece.low, delay.mean
    early = piece.low + 0.5 * width + ages < delay.certain
    if mean == 0.0:
        return np.where(early, width, 0.0)
    late = np.exp(-np.maximum(piece.low + ages - delay.certain, 0.0) / mean) * (-mean * math.expm1(-width / mean))
    return np.where(early, width, late)


def _works(row: Integers, age: Integers, piece: _Piece, delay: _Delay) -> tuple[float, float]:
    """Integrals over the piece of the rework, and of the part of it that keeping all would save, over all rows.

    The second is a sum over the ages that a gap left out: each would have saved one period to all delays below it.
    """
    width, mean = piece.high - piece.low, delay.mean
    follows = np.concatenate(([False], row[1:] == row[:-1]))[: age.size]
    younger = np.where(follows, np.roll(age, 1), -1)
    least = max(0, math.ceil(delay.certain - 0.5 * (piece.low + piece.high)))  # first age beyond the certain part
    inside = younger >= least
    gap, begun = (age - younger)[inside], _tail(younger[inside], piece, delay)
    first = age[(age >= least) & (younger < least)]
    ends = [np.maximum(phase + first - delay.certain, 0.0) for phase in (piece.low, piece.high)]
    begin = _tail(np.full_like(first, least), piece, delay)
    extra = (begun * (gap - _geometric(gap, mean))).sum()
    extra += ((first - least) * width - begin * _geometric(first - least, mean)).sum()
    if mean == 0.0:
        return float((0.5 * (ends[0] + ends[1]) * width).sum()), float(extra)
    entered, left = (expm1_minus_two(-end / mean) for end in ends)
    work = mean * (mean * (entered - left).sum() + (begun * expm1_minus(-gap / mean)).sum())
    return float(work), max(0.0, float(extra))


def _geometric(n: Integers, mean: float) -> Floats:
    """Sum of ``exp(-k/mean)`` over k below n."""
    if mean == 0.0:
        return np.minimum(n, 1.0)
    return np.asarray(np.expm1(-n / mean) / math.expm1(-1.0 / mean))

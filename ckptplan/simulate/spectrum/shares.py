"""Where wall time went, of each chain and as shares with standard errors, and what each cause takes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ckptplan.simulate.cycles import Share
from ckptplan.simulate.spectrum.books import Books
from ckptplan.simulate.spectrum.pattern import SAVING, SLOWED, VERIFYING, WORKED, Floats
from ckptplan.simulate.spectrum.process import SpectrumProcess


class SpectrumTimes(NamedTuple):
    """Where wall time went, one element per chain or run; the six parts are all of it. [s]."""

    useful: Floats
    save: Floats
    rework: Floats
    restart: Floats
    verify: Floats
    slow: Floats


class SpectrumShares(NamedTuple):
    """Shares of wall time, which sum to one. [1]."""

    useful: Share
    save: Share
    rework: Share
    restart: Share
    verify: Share
    slow: Share


class CauseShare(NamedTuple):
    """What one cause takes: shares of wall time [1], and counts.

    ``rollbacks`` are recoveries begun, by the level restored from; a state that was no longer kept counts at the top.
    """

    name: str
    restart: Share
    rework: Share  # work thrown back
    save: Share  # stalls of planned saves
    slow: Share
    events: int  # strikes of other recoveries included
    rollbacks: tuple[int, ...]
    unkept: int  # rollbacks for which no save was left

    @property
    def lost(self) -> float:
        """All that it takes. [1]."""
        return self.restart.value + self.rework.value + self.save.value + self.slow.value


def gross_times(books: Books, useful_s: Floats) -> SpectrumTimes:
    """Every second of stall, slow-down and verification as such; rework is work that was done again. [s]."""
    training = books.training
    rework = training[WORKED] - useful_s
    restart = books.recovering.sum(axis=0)
    return SpectrumTimes(useful_s, training[SAVING], rework, restart, training[VERIFYING], training[SLOWED])


def kept_times(books: Books, useful_s: Floats, save_s: Floats, verify_s: Floats) -> SpectrumTimes:
    """Saves and verifications that came to something; the rest of them is rework.

    Parameters
    ----------
    books : Books
        Those of each chain.
    useful_s, save_s, verify_s : ndarray
        Work that counts, and the saves and verifications that this work needs without any event. [s]
    """
    gross = gross_times(books, useful_s)
    kept_save = save_s + books.planned.sum(axis=0)
    rework = gross.rework + (gross.save - kept_save) + (gross.verify - verify_s)
    return gross._replace(save=kept_save, rework=rework, verify=verify_s)


def shares_of(times: SpectrumTimes, wall_s: Floats) -> SpectrumShares:
    """Times over wall time, with standard errors. [1]."""
    return SpectrumShares(*(ratio(part, wall_s) for part in times))


def shares_of_causes(process: SpectrumProcess, books: Books) -> tuple[CauseShare, ...]:
    """What each cause takes, in the order of the process."""
    wall_s = books.wall_s()
    return tuple(
        CauseShare(
            name=cause.name,
            restart=ratio(books.recovering[number], wall_s),
            rework=ratio(books.thrown_back[number], wall_s),
            save=ratio(books.planned[number], wall_s),
            slow=ratio(books.slowed[number], wall_s),
            events=round(float(books.events[number].sum())),
            rollbacks=tuple(round(float(each.sum())) for each in books.rollbacks[number]),
            unkept=round(float(books.unkept[number].sum())),
        )
        for number, cause in enumerate(process.causes)
    )


def ratio(part: Floats, whole: Floats) -> Share:
    """The share of a part in a whole, from one pair per independent chain.

    Parameters
    ----------
    part, whole : ndarray
        Sums of each chain.

    Returns
    -------
    Share
        ``sum part/sum whole``; the error is that of the ratio estimator, nan for one chain.
    """
    total = math.fsum(whole)
    value = math.fsum(part) / total
    units = part.size
    if units < 2:
        return Share(value, math.nan)
    square = float(np.sum((part - value * whole) ** 2))
    return Share(value, math.sqrt(square * units / (units - 1)) / total)

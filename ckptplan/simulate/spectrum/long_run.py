"""A run without end: goodput, shares of wall time, and what each cause takes.

Many chains run side by side. Each counts from one recovery to another, the first ones left out, so that neither its
start nor its end favours long or short gaps; standard errors take each chain for a unit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ckptplan.errors import InputError
from ckptplan.simulate.spectrum.books import Books
from ckptplan.simulate.spectrum.chains import Chains
from ckptplan.simulate.spectrum.events import step
from ckptplan.simulate.spectrum.pattern import SAVING, VERIFYING, WORKED, Floats, pattern_of
from ckptplan.simulate.spectrum.process import SpectrumProcess, checked
from ckptplan.simulate.spectrum.shares import (
    CauseShare,
    SpectrumShares,
    gross_times,
    kept_times,
    ratio,
    shares_of,
    shares_of_causes,
)
from ckptplan.simulate.spectrum.timeline import timeline_of

_MOST_CHAINS = 4096
_PER_CHAIN = 64  # recoveries that each chain counts at least, where there are enough of them
_FEW_CHAINS, _LEAST = 512, 16  # up to so many chains each counts fewer: wide steps cost hardly more than narrow ones
_WARM_UP = 50  # recoveries of each chain that are not counted
_CROWDED = 0.75  # chains that are through are dropped when fewer than this part is still under way


class SpectrumLongRun(NamedTuple):
    """What many recoveries of one process say. [s, 1].

    ``gross`` books every second of stall, slow-down beside a drain, and verification as such, and as rework the work
    that was done again. ``kept`` books under save and verify only those that came to something, the rest as rework.
    """

    process: SpectrumProcess
    recoveries: int
    wall_s: float
    goodput: float
    goodput_error: float
    kept: SpectrumShares
    gross: SpectrumShares
    causes: tuple[CauseShare, ...]


def simulate_spectrum(process: SpectrumProcess, *, failures: int = 200_000, seed: int = 0) -> SpectrumLongRun:
    """Simulate a run without end.

    Parameters
    ----------
    process : SpectrumProcess
        How it saves and what goes wrong.
    failures : int
        Recoveries to simulate, from whatever cause; rounded up to full chains. [1]
    seed : int
        The same seed gives the same result.

    Returns
    -------
    SpectrumLongRun
        Goodput, shares of wall time and what each cause takes, with standard errors.

    Raises
    ------
    InputError
        Bad arguments, nothing that goes wrong, or no progress.
    """
    process = checked(process)
    if failures != int(failures) or failures < 2:
        raise InputError(f"the number of failures must be a whole number of at least 2; got {failures:g}")
    if not any(math.isfinite(cause.mtbf_s) for cause in process.causes):
        raise InputError("nothing goes wrong: a run without end needs a cause with a finite mtbf_s")
    chains = _chains(int(failures))
    per_chain = -(-int(failures) // chains)
    books, useful = _play(process, chains, per_chain, seed)
    if not float(useful.sum()) > 0.0:
        raise InputError(
            f"the run makes no progress in {chains * per_chain:,} recoveries",
            hint="shorten the interval; no interval helps if a recovery is as long as the gaps between failures",
        )
    return _estimate(process, chains * per_chain, books, useful)


def _chains(failures: int) -> int:
    """Number of chains that share the recoveries."""
    return max(2, min(_MOST_CHAINS, max(failures // _PER_CHAIN, min(_FEW_CHAINS, failures // _LEAST))))


def _play(process: SpectrumProcess, chains: int, per_chain: int, seed: int) -> tuple[Books, Floats]:
    """Books of each chain from one recovery to another, and the work between. [s]."""
    playing = Chains(process, chains, np.random.default_rng(np.random.SeedSequence(seed)))
    books, useful = Books.of(len(process.causes), process.levels, chains), np.zeros(chains)
    under_way = np.ones(chains, dtype=np.bool_)
    while playing.number.size:
        before = playing.recoveries
        playing.recoveries = before.copy()
        step(playing)
        new = playing.recoveries > before
        first = np.flatnonzero(new & (playing.recoveries == _WARM_UP))
        playing.books.clear(first)
        useful[playing.number[first]] = -playing.worked(first)
        last = np.flatnonzero(new & (playing.recoveries == _WARM_UP + per_chain))
        books.write(playing.number[last], playing.books, last)
        useful[playing.number[last]] += playing.worked(last)
        under_way[last] = False
        if np.count_nonzero(under_way) < _CROWDED * under_way.size:
            playing.keep(np.flatnonzero(under_way))
            under_way = under_way[under_way]
    return books, useful


def _estimate(process: SpectrumProcess, recoveries: int, books: Books, useful: Floats) -> SpectrumLongRun:
    wall_s = books.wall_s()
    goodput = ratio(useful, wall_s)
    per_work = timeline_of(pattern_of(process)).cycle_booked
    per_work = per_work / per_work[WORKED]
    kept = kept_times(books, useful, useful * per_work[SAVING], useful * per_work[VERIFYING])
    return SpectrumLongRun(
        process=process,
        recoveries=recoveries,
        wall_s=math.fsum(wall_s),
        goodput=goodput.value,
        goodput_error=goodput.error,
        kept=shares_of(kept, wall_s),
        gross=shares_of(gross_times(books, useful), wall_s),
        causes=shares_of_causes(process, books),
    )

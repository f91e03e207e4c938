"""A record of failures to a rate one may trust: count, laws, trend and causes in one result."""

from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import LawName
from ckptplan.fit.combining import Combined
from ckptplan.fit.counting import SIGNIFICANCE, Counting, Per
from ckptplan.fit.dispersion import Dispersion, dispersion
from ckptplan.fit.ends import CauseRow, Recovery, causes_of, recovery_of
from ckptplan.fit.exposure import Exposure
from ckptplan.fit.exposure_of_nodes import exposure_of_nodes
from ckptplan.fit.exposure_of_runs import exposure_of_runs
from ckptplan.fit.exposure_of_system import exposure_of_counts, exposure_of_system, exposure_of_times
from ckptplan.fit.goodness import Goodness, goodness
from ckptplan.fit.laws import Choice, LawFit, best_law, fit_laws
from ckptplan.fit.likelihood import sample
from ckptplan.fit.profile import shape_interval
from ckptplan.fit.rate import mtbf_confidence
from ckptplan.fit.record import Allocations, Counts, FailureRecord, Lifetimes, Outages
from ckptplan.fit.survival import Survival, survival_curve
from ckptplan.fit.trend import Laplace, PowerLaw, Recent, laplace, power_law, recent_part

FEWEST_FOR_A_LAW = 3
FEWEST_FOR_A_TREND = 5  # moments; fewer are not cut into parts
_SEED = 0
_STEPS = 200  # of the survival curve that is kept


class Rate(NamedTuple):
    """A constant rate: the count, the time at risk, and the exact interval of the MTBF of one unit. [s]."""

    failures: int
    exposure_s: float
    until_failure: bool
    mtbf_s: float  # infinite without a failure
    low_s: float
    high_s: float
    level: float


class Laws(NamedTuple):
    """The four laws on the times to an interruption, and how well the chosen one agrees.

    The interval is that of the shape of ``shaped``: the chosen law, or Weibull where that is the exponential one.
    """

    fits: tuple[LawFit, ...]
    choice: Choice
    shaped: LawFit
    shape_low: float
    shape_high: float
    goodness: Goodness
    survival: Survival  # without a law, to hold the laws against


class Trend(NamedTuple):
    """Whether the rate changes over the record; ``recent`` is the latest part without a change."""

    laplace: Laplace
    power_law: PowerLaw
    p_value: float  # of a constant rate, adjusted for several tests
    changes: bool
    recent: Recent | None
    recent_from_s: float | None  # on the calendar of the record


class Fitted(NamedTuple):
    """All that a record says."""

    record: FailureRecord
    facts: tuple[str, ...]
    exposure: Exposure
    rate: Rate
    recent_rate: Rate | None
    laws: Laws | None
    trend: Trend | None
    dispersion: Dispersion | None
    causes: tuple[CauseRow, ...]
    recovery: Recovery | None

    @property
    def mtbf_per_gpu_s(self) -> float | None:
        """MTBF of one GPU with its share of the node; None where GPUs are not known. [s]."""
        return per_gpu(self.rate.mtbf_s, self.exposure)


def per_gpu(mtbf_s: float, exposure: Exposure) -> float | None:
    """From the unit of the rate to one GPU: rates of independent parts add. [s]."""
    if exposure.per is Per.GPU:
        return mtbf_s
    if exposure.gpus is None:
        return None
    if exposure.per is Per.JOB:
        return mtbf_s * exposure.gpus
    return None if exposure.nodes is None else mtbf_s * exposure.gpus / exposure.nodes


def exposure(record: FailureRecord, counting: Counting) -> Exposure:
    """What a record says of how often a unit is interrupted, in the way of its content."""
    content = record.content
    if isinstance(content, Allocations):
        return exposure_of_runs(record, content, counting)
    if isinstance(content, Outages):
        units = content.units if content.units == 1 else max(content.units, int(counting.nodes or 0))
        per = counting.per or (Per.NODE if units > 1 else Per.JOB)
        if units == 1 or per is Per.JOB:
            return exposure_of_system(record, content, counting, per, units)
        return exposure_of_nodes(record, content, counting, per, units)
    if isinstance(content, Lifetimes):
        return exposure_of_times(record, content, counting)
    if isinstance(content, Counts):
        return exposure_of_counts(record, content, counting)
    raise TypeError("marks are joined, not counted")


def fit_record(combined: Combined, counting: Counting) -> Fitted:
    """All that a record says of failures.

    Parameters
    ----------
    combined : Combined
        The record, with the causes that other files gave.
    counting : Counting
        What is counted, per what, and at which level of confidence.

    Returns
    -------
    Fitted

    Notes
    -----
    A trend is said where the tests of Laplace, of the power law and of one change, adjusted for being three, reject a
    constant rate at 5 %.
    """
    record = combined.record
    found = exposure(record, counting)
    rate = _rate(found.failures, found.exposure_s, found.until_failure, counting.level)
    trend = _trend(found, counting)
    recent_rate = None
    if trend is not None and trend.recent is not None and found.clock is not None:
        failures = int(np.count_nonzero(found.clock.instants_s > trend.recent.start))
        recent_rate = _rate(failures, trend.recent.exposure, found.until_failure, counting.level)
    return Fitted(
        record=record,
        facts=(*record.facts, *combined.facts, *found.facts),
        exposure=found,
        rate=rate,
        recent_rate=recent_rate,
        laws=_laws(found, counting),
        trend=trend,
        dispersion=_dispersion(found),
        causes=causes_of(record, found),
        recovery=recovery_of(record),
    )


def _rate(failures: int, exposure_s: float, until_failure: bool, level: float) -> Rate:
    until_failure = until_failure and failures > 0
    mtbf = mtbf_confidence(exposure_s, failures, level, until_failure=until_failure)
    mle, low, high = (float(value) for value in mtbf)
    return Rate(failures, exposure_s, until_failure, mle, low, high, level)


def _laws(found: Exposure, counting: Counting) -> Laws | None:
    time_s, failed = found.lives.time_s, found.lives.failed
    if np.count_nonzero(failed) < FEWEST_FOR_A_LAW or np.ptp(time_s[failed]) == 0.0:
        return None
    reduced = sample(time_s, failed)  # once for all four: a record may hold a million times
    fits = fit_laws(reduced)
    choice = best_law(fits)
    exponential = choice.best.name is LawName.EXPONENTIAL
    shaped = next(one for one in fits if one.name is LawName.WEIBULL) if exponential else choice.best
    low, high = shape_interval(shaped.name, reduced, level=counting.level)
    agrees = goodness(choice.best, reduced, (), np.random.default_rng(_SEED))
    survival = survival_curve(reduced, level=counting.level, steps=_STEPS)
    return Laws(fits, choice, shaped, low, high, agrees, survival)


def _trend(found: Exposure, counting: Counting) -> Trend | None:
    clock = found.clock
    if clock is None or clock.distinct_s.size < FEWEST_FOR_A_TREND:
        return None
    at, end = clock.distinct_s, clock.end_s
    stopped = clock.until_failure and at[-1] == clock.instants_s[-1]
    recent = recent_part(at, end, until_failure=stopped)
    changes = recent.p_value < SIGNIFICANCE
    since_s = clock.date_of(recent.start)
    return Trend(
        laplace(at, end, until_failure=stopped),
        power_law(at, end, until_failure=stopped, level=counting.level),
        recent.p_value,
        changes,
        *((recent, since_s) if changes and recent.start > 0.0 else (None, None)),
    )


def _dispersion(found: Exposure) -> Dispersion | None:
    if found.clock is None or found.clock.instants_s.size < FEWEST_FOR_A_TREND:
        return None
    return dispersion(found.clock.instants_s, found.clock.end_s)

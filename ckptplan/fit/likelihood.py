"""Likelihood of a law of failure times under right-censoring, on samples that name every time once.

A record may hold a million times in whole seconds, few of which differ: they are counted first.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import LawName
from ckptplan.errors import InputError
from ckptplan.fit.incomplete_gamma import Floats

Bools = npt.NDArray[np.bool_]

_COUNTED_BELOW = 1 << 23  # whole numbers up to here are counted, not sorted: 64 MB
_WORTH_COUNTING = 2000  # times from which counting is faster than sorting
_FAR_TAIL = 1e-280  # below, the incomplete gamma function is close to underflow
_FRACTIONS = 60  # of the continued fraction of the far tail


class Sample(NamedTuple):
    """Times until a failure, or until something else ended the observation; each pair once, failures first."""

    time: Floats
    failed: Bools  # False: right-censored, still running at that time
    weight: Floats  # how often the pair occurs

    @property
    def failures(self) -> float:
        """Number of times that ended in a failure."""
        return float(self.weight[self.failed].sum())


def sample(time: "npt.ArrayLike | Sample", failed: npt.ArrayLike = ()) -> Sample:
    """Every pair of a time and its end once, with its number; nothing is dropped.

    Parameters
    ----------
    time : array_like or Sample
        Positive and finite; a sample is given back as it is. [any unit of time]
    failed : array_like
        Whether the time ended in a failure; else it is right-censored.

    Raises
    ------
    InputError
        If a time is not positive and finite, or the two differ in length, or there are none.
    """
    if isinstance(time, Sample):
        return time
    t, f = np.asarray(time, dtype=np.float64).reshape(-1), np.asarray(failed, dtype=bool).reshape(-1)
    if t.size != f.size:
        raise InputError(f"{t.size} times and {f.size} marks of failure: there must be as many of both")
    if t.size == 0:
        raise InputError("there is no time to fit a law to")
    wrong = ~((t > 0.0) & (t < np.inf))
    if wrong.any():
        raise InputError(f"a time of {t[wrong][0]:g}: times to a failure must be above zero and finite")
    (failures, of_failures), (censored, of_censored) = _counted(t[f]), _counted(t[~f])
    return Sample(
        np.concatenate([failures, censored]),
        np.arange(failures.size + censored.size) < failures.size,
        np.concatenate([of_failures, of_censored]),
    )


def _counted(time: Floats) -> tuple[Floats, Floats]:
    """Different times in rising order and how often each occurs."""
    if time.size >= _WORTH_COUNTING and time.max() < _COUNTED_BELOW:
        whole = time.astype(np.int64)
        if np.array_equal(whole, time):
            number = np.bincount(whole)
            seen = np.flatnonzero(number)
            return seen.astype(np.float64), number[seen].astype(np.float64)
    values, counts = np.unique(time, return_counts=True)
    return values, counts.astype(np.float64)


def log_survival(name: LawName, shape: float, scale: float, time: npt.ArrayLike) -> Floats:
    """Logarithm of the probability to run longer than a time: minus the cumulative hazard.

    Parameters
    ----------
    name : LawName
        The family; not ``recorded``.
    shape, scale : float
        Weibull k, gamma a, sigma of the log-normal, not used by the exponential; scale of the law, for the
        log-normal its median. [1, unit of time]
    time : array_like
        Positive. [unit of time]

    Returns
    -------
    ndarray
        Exact far into the tail, where the probability itself underflows. [1]

    Notes
    -----
    ``-(t/scale)^k``; ``log Q(a, t/scale)``; ``log Phi(-log(t/scale)/sigma)``.
    """
    from scipy.special import log_ndtr

    x = np.log(np.asarray(time, dtype=np.float64)) - np.log(scale)
    with np.errstate(over="ignore"):
        if name is LawName.LOGNORMAL:
            return np.asarray(log_ndtr(-x / shape))
        if name is LawName.GAMMA:
            return log_upper_gamma(shape, np.exp(x))
        return np.asarray(-np.exp(x * (shape if name is LawName.WEIBULL else 1.0)))


def log_density(name: LawName, shape: float, scale: float, time: npt.ArrayLike) -> Floats:
    """Logarithm of the density of the time to a failure; arguments as for `log_survival`. [log of 1/unit]."""
    from scipy.special import gammaln

    log_t = np.log(np.asarray(time, dtype=np.float64))
    x = log_t - np.log(scale)
    with np.errstate(over="ignore"):
        if name is LawName.LOGNORMAL:
            return np.asarray(-0.5 * (x / shape) ** 2 - np.log(shape) - 0.5 * np.log(2.0 * np.pi) - log_t)
        if name is LawName.GAMMA:
            return np.asarray(shape * x - np.exp(x) - gammaln(shape) - log_t)
        k = shape if name is LawName.WEIBULL else 1.0
        return np.asarray(np.log(k) + k * x - np.exp(k * x) - log_t)


def log_upper_gamma(shape: float, y: Floats) -> Floats:
    """Logarithm of Q(a, y); by its continued fraction (DLMF 8.9.2) where Q is close to underflow."""
    from scipy.special import gammaincc, gammaln

    upper = gammaincc(shape, y)
    far = upper < _FAR_TAIL
    result = np.log(np.where(far, 1.0, upper))
    if far.any():
        x = y[far]
        tail = x + 2.0 * _FRACTIONS + 1.0 - shape
        for m in range(_FRACTIONS, 0, -1):
            tail = x + 2.0 * m - 1.0 - shape - m * (m - shape) / tail
        with np.errstate(all="ignore"):
            result[far] = shape * np.log(x) - x - gammaln(shape) - np.log(np.maximum(tail, 1e-300))
    return np.asarray(result)


def log_likelihood(name: LawName, shape: float, scale: float, of: Sample) -> float:
    """Sum of the log-densities of the failures and of the log-survivals of the censored times.

    Parameters
    ----------
    name, shape, scale
        As for `log_survival`. [1, unit of time]
    of : Sample
        The times.

    Notes
    -----
    Censoring is taken to say nothing of the failure that did not come (independent censoring; Lawless, Statistical
    models and methods for lifetime data, 2003, section 2.2).
    """
    failures = of.weight[of.failed] @ log_density(name, shape, scale, of.time[of.failed])
    return float(failures + of.weight[~of.failed] @ log_survival(name, shape, scale, of.time[~of.failed]))

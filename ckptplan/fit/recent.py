"""The latest part of a record over which the failure rate does not change."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.fit.incomplete_gamma import Floats, regularized_gamma
from ckptplan.fit.laplace import checked_instants, counted, laplace

_TRIM = 0.05  # of the time is left out at both ends of the search for a change
_LOG_ODDS = 2.0 * np.log((1.0 - _TRIM) / _TRIM)
_TESTS = 3
_FEWEST = 5  # failures in a part that can still be told to change
_SHORTEST = 0.01  # of the time observed: a burst at the end is no part to plan from


class Change(NamedTuple):
    """The most likely place of one change of the rate."""

    at: float  # exposure, nan without a failure
    statistic: float  # twice the gain in log-likelihood
    p_value: float


class Recent(NamedTuple):
    """The latest part of a record; the whole of it where no trend is found."""

    start: float  # exposure at which it begins: 0, or a failure that is not counted
    failures: int
    exposure: float
    reason: str
    p_value: float  # of a constant rate over the whole record, adjusted for the three tests


def change_point(instants: npt.ArrayLike, end: float, until_failure: bool = False) -> Change:
    """Most likely instant at which the rate changed once, and how likely such evidence is without a change.

    Parameters
    ----------
    instants, end, until_failure
        As for `ckptplan.fit.laplace.laplace`. [any unit of time]

    Notes
    -----
    ``2 (k log(k/(n u)) + (n - k) log((n - k)/(n (1 - u))))`` for k of n failures in the first share u of the time is
    greatest at a failure, or at an end of the search, which leaves 5 % of the time at both ends. The p-value is the
    tail of the greatest of it over u (Andrews 1993) in the form of DeLong 1981 and Estrella 2003, exact far in the
    tail: ``sqrt(c) exp(-c/2)/sqrt(2 pi) ((1 - 1/c) 2 log(0.95/0.05) + 2/c)``; 5 % at 9.84.
    """
    t, observed = counted(checked_instants(instants, end), end, until_failure)
    if t.size == 0 or observed <= 0.0:
        return Change(np.nan, np.nan, np.nan)
    places = np.unique(t)
    places = places[(places > _TRIM * observed) & (places < (1.0 - _TRIM) * observed)]
    places = np.concatenate([[_TRIM * observed], places, [(1.0 - _TRIM) * observed]])
    gains = np.maximum(
        *(_gain(np.searchsorted(t, places, side), t.size, places / observed) for side in ("left", "right"))
    )
    best = int(np.argmax(gains))
    return Change(float(places[best]), float(gains[best]), _tail(float(gains[best])))


def _gain(before: npt.NDArray[np.intp], n: int, u: Floats) -> Floats:
    from scipy.special import xlogy

    k = before.astype(np.float64)
    return np.asarray(2.0 * (xlogy(k, k / (n * u)) + xlogy(n - k, (n - k) / (n * (1.0 - u)))))


def _tail(c: float) -> float:
    if c < 3.0:  # the form is no tail any more; the true probability is above one half here
        return 1.0
    tail = np.sqrt(c) * np.exp(-0.5 * c) / np.sqrt(2.0 * np.pi) * ((1.0 - 1.0 / c) * _LOG_ODDS + 2.0 / c)
    return float(min(1.0, tail))


def constant_rate(instants: npt.ArrayLike, end: float, until_failure: bool = False) -> float:
    """P-value of a constant rate against any of three trends: three times the least, at most 1 (Bonferroni).

    Parameters
    ----------
    instants, end, until_failure
        As for `ckptplan.fit.laplace.laplace`. [any unit of time]

    Returns
    -------
    float
        1 where there is nothing to test. [1]

    Notes
    -----
    Laplace's test, the exact test of b = 1 of the power law, and one change. The three are not independent: false
    alarms at 5 % are measured as 2 to 3.5 % for 5 to 1,000 failures.
    """
    t = checked_instants(instants, end)
    values = [laplace(t, end, until_failure).p_value, change_point(t, end, until_failure).p_value]
    uniform, observed = counted(t[t > 0.0], end, until_failure)
    if uniform.size:
        values.append(2.0 * float(np.min(regularized_gamma(float(uniform.size), np.log(observed / uniform).sum()))))
    return float(min([1.0, *(_TESTS * v for v in values if np.isfinite(v))]))


def recent_part(instants: npt.ArrayLike, end: float, until_failure: bool = False, significance: float = 0.05) -> Recent:
    """The latest part of the record in which the rate is constant as far as three tests can tell.

    Parameters
    ----------
    instants, end, until_failure
        As for `ckptplan.fit.laplace.laplace`. [any unit of time]
    significance : float
        Probability, at most, of cutting a record of constant rate. [1]

    Returns
    -------
    Recent
        Its start, failures and exposure, as `ckptplan.fit.rate.mtbf_confidence` takes them. [unit of the instants, 1]

    Notes
    -----
    While `constant_rate` rejects, everything before the likeliest change is cut off and the rest is tested again
    (binary segmentation, Scott and Knott 1974, of its last part only). The first test alone decides whether a record of
    constant rate is cut at all, so looking again does not raise that error. Parts with fewer than five failures are not
    cut further, and no part is shorter than 1 % of the record. The failure at the start is not counted: it was chosen
    for being there.

    Good for a rate that jumped. Where it drifts, the part lags behind: of 200 failures of a power law with b = 0.6 its
    95 % interval holds the MTBF at the end in 55 % of records (that of the whole record: none). There the limits of
    `ckptplan.fit.power_law.power_law` hold it, if its form fits.
    """
    t = checked_instants(instants, end)
    observed = float(t[-1]) if until_failure and t.size else float(end)
    start, first, rest = 0.0, None, t
    while rest.size >= _FEWEST and observed > 0.0:
        p = constant_rate(rest - start, observed - start, until_failure)
        first = p if first is None else first
        change = change_point(rest - start, observed - start, until_failure)
        if p >= significance or not change.at > 0.0 or observed - start - change.at < _SHORTEST * observed:
            break
        start += change.at
        rest = t[t > start]
    return Recent(
        start, int(rest.size), observed - start, _reason(start, first, significance), 1.0 if first is None else first
    )


def _reason(start: float, first: float | None, significance: float) -> str:
    if first is None:
        return f"fewer than {_FEWEST} failures tell no trend: all of the record"
    if start == 0.0 and first < significance:
        return "the rate changes, but no part of the record is long enough to plan from: all of it"
    if start == 0.0:
        return "no trend is found: all of the record"
    return "the rate changed before; since then no trend is found"

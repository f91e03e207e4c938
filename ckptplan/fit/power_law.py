"""The power-law process of Crow (AMSAA): a failure rate that falls or grows as a power of the exposure."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.fit.incomplete_gamma import Floats, inverse_regularized_gamma, regularized_gamma
from ckptplan.fit.laplace import checked_instants, counted

_DRAWS, _LARGEST, _SEED = 2000, 100, 1974  # of the law of the Cramer-von Mises statistic, hardly changing from 100 on


class PowerLaw(NamedTuple):
    """Expected failures ``a t^b`` up to an exposure t. Times are in the unit of the instants."""

    shape: float  # b, most likely; below 1 the rate falls
    scale: float  # a, most likely
    shape_modified: float  # b without bias
    scale_modified: float
    mtbf_at_end: float  # one over the rate at the end of the observation, by the modified estimates
    mtbf_low: float  # Crow's limits as NIST computes them
    mtbf_high: float
    shape_low: float  # exact
    shape_high: float
    trend_p_value: float  # of b = 1, exact, of both sides
    note: str = ""
    mtbf_exact_low: float = np.nan  # never covers less than the level
    mtbf_exact_high: float = np.nan
    cramer_von_mises: float = np.nan
    fit_p_value: float = np.nan  # of the power law being the right form of the trend

    @property
    def growth(self) -> float:
        """Growth parameter ``1 - b`` of reliability growth: above 0 the MTBF grows. [1]."""
        return 1.0 - self.shape_modified


def power_law(instants: npt.ArrayLike, end: float, until_failure: bool = False, level: float = 0.95) -> PowerLaw:
    """Trend of the failure rate as a power of the exposure, with the MTBF that it has come to.

    Parameters
    ----------
    instants : array_like
        Exposure at each failure, from 0 to the end, in any order; ties are allowed. [any unit of time]
    end : float
        Exposure observed, T. [unit of the instants]
    until_failure : bool
        Whether the observation stopped at the last failure, not at a time fixed beforehand.
    level : float
        Confidence level of the intervals. [1]

    Returns
    -------
    PowerLaw
        nan, with a note, in what so few failures do not tell; infinity for a limit that does not exist.

    Notes
    -----
    With ``S = sum log(T/t_i)`` over n failures: ``b = n/S``, ``a = n/T^b``, MTBF at the end ``T/(n b)``; modified,
    that is without bias, ``b = (n - 1)/S``, or ``(n - 2)/S`` where a failure ended the observation (Crow 1974;
    NIST/SEMATECH e-Handbook 8.2.2.3 and 8.4.5.2). ``2 b S`` has a chi-squared distribution of 2n (2n - 2) degrees of
    freedom, which gives the interval of b and the test of b = 1 (MIL-HDBK-189, Bain and Engelhardt 1991, section 9.3).

    ``mtbf_low`` and ``mtbf_high`` are ``m n (n - 1)/(n + z^2/4 + sqrt(n z^2/2 + z^4/16))^2`` and
    ``m n (n - 1)/(n - z sqrt(n/2))^2``, approximations of Crow 1982 in NIST's form. The exact ones are in
    `exact_mtbf`; where a failure ended the observation both pairs are exact.
    """
    t = checked_instants(instants, end)
    if until_failure and t.size:
        end = float(t[-1])
    late = t[t > 0.0]
    note = "" if late.size == t.size else f"{t.size - late.size} failures at the very start are left out"
    n, uniform = late.size, counted(late, end, until_failure)[0]
    m, s = uniform.size, float(np.log(end / uniform).sum()) if uniform.size else 0.0
    if m == 0 or s <= 0.0:
        return _undefined("too few failures before the end to tell a trend from")
    b, modified, tail = n / s, ((m - 1.0) / s if m > 1 else np.nan), 0.5 * (1.0 - level)
    shapes = inverse_regularized_gamma(float(m), np.array([tail, 1.0 - tail])) / s
    exact = exact_mtbf(n, s, end, level, until_failure)
    mtbf = exact if until_failure else crow_mtbf(n, end / (n * modified), level)
    statistic, agrees = cramer_von_mises((uniform / end) ** modified) if m > 2 else (np.nan, np.nan)
    return PowerLaw(
        shape=b,
        scale=n / end**b,
        shape_modified=modified,
        scale_modified=n / end**modified,
        mtbf_at_end=end / (n * modified),
        mtbf_low=mtbf[0],
        mtbf_high=mtbf[1],
        shape_low=float(shapes[0]),
        shape_high=float(shapes[1]),
        trend_p_value=float(min(1.0, 2.0 * np.min(regularized_gamma(float(m), s)))),
        note=note or ("" if m > 2 else "so few failures tell no trend: only the limits mean something"),
        mtbf_exact_low=exact[0],
        mtbf_exact_high=exact[1],
        cramer_von_mises=statistic,
        fit_p_value=agrees,
    )


def _undefined(note: str) -> PowerLaw:
    nan = np.nan
    return PowerLaw(nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, note)


def crow_mtbf(n: int, at_end: float, level: float) -> tuple[float, float]:
    """Limits of the MTBF at a time fixed beforehand, from n failures and the modified estimate, as NIST has them."""
    z2 = 2.0 * float(inverse_regularized_gamma(0.5, level))  # the normal quantile squared
    low = at_end * n * (n - 1.0) / (n + z2 / 4.0 + np.sqrt(n * z2 / 2.0 + z2 * z2 / 16.0)) ** 2
    root = n - np.sqrt(n * z2 / 2.0)
    return float(low), float(at_end * n * (n - 1.0) / root**2) if root > 0.0 else np.inf


def exact_mtbf(n: int, s: float, end: float, level: float, until_failure: bool = False) -> tuple[float, float]:
    """Exact confidence limits of the MTBF at the end of the observation.

    Parameters
    ----------
    n : int
        Failures. [1]
    s : float
        ``sum log(T/t_i)``. [1]
    end : float
        Exposure observed, T. [any unit of time]
    level : float
        Confidence level. [1]
    until_failure : bool
        Whether the observation stopped at the last failure.

    Returns
    -------
    tuple of float
        Limits; the upper one is infinite where one failure says too little. [unit of the end]

    Notes
    -----
    Given S the probability of n failures is proportional to ``x^n/(n! (n - 1)!)``, ``x = S T/MTBF``, free of b; the
    limits are the x for which the tails are alpha/2 (Crow 1982, Technometrics 24, 67). Where failure n ended the
    observation ``n^2`` times the estimate ``T S/n^2`` over the MTBF is the product of two gamma variables of shapes
    n - 1 and n (Finkelstein 1976).
    """
    from scipy.optimize import brentq

    tail = 0.5 * (1.0 - level)
    if until_failure:
        roots = [float(np.exp(_product_quantile(n, p))) for p in (1.0 - tail, tail)]
        return end * s / roots[0], end * s / roots[1]
    around = 12.0 * np.sqrt(n) + 25.0
    ends = np.log(max(n - around, 1e-9)), np.log(n + around)
    high = brentq(lambda y: _bessel_tails(n, 2.0 * y)[0] - tail, *ends)
    certain = _bessel_tails(n, 2.0 * ends[0])[1] >= tail
    low = None if certain else brentq(lambda y: _bessel_tails(n, 2.0 * y)[1] - tail, *ends)
    return float(end * s * np.exp(-2.0 * high)), np.inf if low is None else float(end * s * np.exp(-2.0 * low))


def _bessel_tails(n: int, log_x: float) -> tuple[float, float]:
    """Probabilities of at most n and of at least n under ``p_k ~ x^k/(k! (k - 1)!)``, k from 1."""
    from scipy.special import gammaln

    mode = np.exp(0.5 * log_x)
    width = 12.0 * np.sqrt(mode) + 40.0
    k = np.arange(max(1.0, np.floor(min(n, mode) - width)), np.ceil(max(n, mode) + width))
    log_p = k * log_x - gammaln(k + 1.0) - gammaln(k)
    p = np.exp(log_p - log_p.max())
    return float(p[k <= n].sum() / p.sum()), float(p[k >= n].sum() / p.sum())


def _product_quantile(n: int, p: float) -> float:
    """Log of the quantile of a product of gamma variables of shapes n - 1 and n, by the trapezoidal rule."""
    from scipy.optimize import brentq
    from scipy.special import gammainc, gammaln

    ends = np.log(inverse_regularized_gamma(n - 1.0, np.array([1e-14, 1.0 - 1e-14])))
    x = np.linspace(ends[0], ends[1], 801)
    density = np.exp((n - 1.0) * x - np.exp(x) - gammaln(n - 1.0))
    density /= density.sum()
    limits = ends + np.log(inverse_regularized_gamma(float(n), np.array([1e-14, 1.0 - 1e-14])))
    return float(brentq(lambda q: density @ gammainc(n, np.exp(q - x)) - p, *limits))


def cramer_von_mises(uniform: Floats) -> tuple[float, float]:
    """Whether a power is the right form of a trend: Crow's statistic and its p-value.

    Parameters
    ----------
    uniform : ndarray
        ``(t_i/T)^b`` in rising order with the modified b, three or more. [1]

    Returns
    -------
    tuple of float
        Statistic and p-value. [1]

    Notes
    -----
    ``1/(12 m) + sum ((t_i/T)^b - (2i - 1)/(2m))^2``; its law depends on m alone (Crow 1974; MIL-HDBK-189). The p-value
    is the share of 2,000 records of a power law, always the same, with as many failures (100 for more), that fit worse;
    its standard error at 5 % is 0.5 points.
    """
    found = float(_statistic(uniform))
    worse = np.count_nonzero(_null_statistics(min(uniform.size, _LARGEST)) >= found)
    return found, float((1.0 + worse) / (_DRAWS + 1.0))


@lru_cache(maxsize=_LARGEST)
def _null_statistics(size: int) -> Floats:
    """Statistics of records of a power law; ``-b log(t/T)`` are exponential."""
    drawn = np.sort(np.random.default_rng(_SEED).standard_exponential((_DRAWS, size)), axis=1)[:, ::-1]
    return _statistic(np.exp(-drawn * (size - 1.0) / drawn.sum(axis=1, keepdims=True)))


def _statistic(uniform: Floats) -> Floats:
    m = uniform.shape[-1]
    away = uniform - (np.arange(m) + 0.5) / m
    return np.asarray(1.0 / (12.0 * m) + (away * away).sum(axis=-1))

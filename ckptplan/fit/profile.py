"""Profile likelihood: how likely each shape of a law is with the scale that suits it best, and the interval from it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import LawName
from ckptplan.fit.incomplete_gamma import Floats, inverse_regularized_gamma
from ckptplan.fit.likelihood import Sample, log_upper_gamma, sample

WIDEST = 13.0  # log-shapes are sought within plus and minus this: shapes from 2e-6 to 4e5
_NODES = 1500  # that stand for more different times than twice as many
_POINTS = 6  # of the interpolation between nodes
_STEPS = 100  # of Newton's method for the scale; about five are usual

Curve = Callable[[float], tuple[float, float]]  # log-shape -> log-likelihood, log-scale


class Logs(NamedTuple):
    """What the likelihood needs of a sample: logarithms of the times, from an origin at their middle."""

    origin: float  # log of the unit of time that all others are in
    failures: float
    mean: float  # of the log-times of the failures
    squares: float  # their summed squared distance from it
    total: float  # of the times of the failures, in units of exp(origin)
    everything: tuple[Floats, Floats]  # nodes and weights of all log-times
    censored: tuple[Floats, Floats]


def logs(of: Sample) -> Logs:
    """Sums and nodes of a sample with at least one failure."""
    x, w, f = np.log(of.time), of.weight, of.failed
    d = float(w[f].sum())
    origin = float(w @ x / w.sum())
    x = x - origin
    mean = float(w[f] @ x[f] / d)
    with np.errstate(over="ignore"):
        squares, total = float(w[f] @ (x[f] - mean) ** 2), float(w[f] @ np.exp(x[f]))
    return Logs(origin, d, mean, squares, total, nodes(x, w), nodes(x[~f], w[~f]))


def nodes(x: Floats, weight: Floats, number: int = _NODES) -> tuple[Floats, Floats]:
    """Few points and weights whose weighted sums of any smooth function are those of many.

    Parameters
    ----------
    x, weight : ndarray
        Points, here log-times, and their weights. [1]
    number : int
        Nodes, evenly spaced over the range; up to twice as many points are left as they are.

    Returns
    -------
    tuple of ndarray
        Nodes and weights, some of which may be negative.

    Notes
    -----
    Lagrange interpolation over six neighbours is linear in the values of the function, so its transpose moves weights
    from points to nodes. The error of ``exp(k x)`` is at most 0.005 (k h)^6 of it, h the distance of the nodes: 1e-15
    for k = 1 and 1e-9 for k = 10 over five decades of time.
    """
    if x.size <= 2 * number:
        return x, weight
    low, step = x.min(), np.ptp(x) / (number - 1)
    at = (x - low) / step
    first = np.clip(at.astype(np.int64) - _POINTS // 2 + 1, 0, number - _POINTS)
    s = at - first
    weights = np.zeros(number)
    for j in range(_POINTS):
        share = weight.copy()
        for m in range(_POINTS):
            if m != j:
                share *= (s - m) / (j - m)
        weights += np.bincount(first + j, weights=share, minlength=number)
    return low + step * np.arange(number), weights


def profile_curve(name: LawName, of: Logs) -> Curve:
    """Log-likelihood of a log-shape with its best scale, and that log-scale, as a function of the log-shape."""
    curve = {LawName.WEIBULL: _weibull, LawName.LOGNORMAL: _lognormal, LawName.GAMMA: _gamma}[name]

    def at(log_shape: float) -> tuple[float, float]:
        value, log_scale = curve(float(np.exp(log_shape)), of)
        return value - of.failures * of.origin, log_scale + of.origin

    return at


def _weibull(k: float, of: Logs) -> tuple[float, float]:
    """The best scale is ``(sum t^k / failures)^(1/k)``."""
    (x, w), d = of.everything, of.failures
    top = float(x.max())
    log_sum = k * top + float(np.log(w @ np.exp(k * (x - top))))
    return d * (np.log(k) - log_sum + np.log(d) + (k - 1.0) * of.mean - 1.0), (log_sum - np.log(d)) / k


def _lognormal(sigma: float, of: Logs) -> tuple[float, float]:
    """Newton's method for the median; from the mean of the failures it climbs without overshooting (convex score)."""
    from scipy.special import log_ndtr

    (x, w), d, mu = of.censored, of.failures, of.mean
    for _ in range(_STEPS if x.size else 0):
        z = (x - mu) / sigma
        hazard = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(-z))
        score = d * (of.mean - mu) / sigma + w @ hazard
        step = sigma * float(score / (d + w @ (hazard * (hazard - z))))
        mu += step
        if abs(step) < 1e-11 * max(sigma, 1e-3):
            break
    value = -0.5 * (of.squares + d * (mu - of.mean) ** 2) / sigma**2 + float(w @ log_ndtr((mu - x) / sigma))
    return value - d * (np.log(sigma) + 0.5 * np.log(2.0 * np.pi) + of.mean), mu


def _gamma(a: float, of: Logs) -> tuple[float, float]:
    """Newton's method for the log-scale, from the total time over the failures and the shape."""
    from scipy.special import gammaln

    (x, w), d = of.censored, of.failures
    total = of.total + float(w @ np.exp(x))
    v = float(np.log(total / (d * a)))
    for _ in range(_STEPS if x.size else 0):
        y = np.exp(x - v)
        ratio = np.exp(a * (x - v) - y - gammaln(a) - log_upper_gamma(a, y))  # y times the hazard
        score = of.total * np.exp(-v) - d * a + w @ ratio
        slope = of.total * np.exp(-v) + w @ (ratio * (a - y + ratio))
        step = max(-2.0, min(2.0, float(score / slope))) if slope > 0.0 else 1.0
        v += step
        if abs(step) * np.sqrt(a) < 1e-11 * (1.0 + np.sqrt(a) * 1e-3):
            break
    tail = float(w @ log_upper_gamma(a, np.exp(x - v))) if x.size else 0.0
    return d * ((a - 1.0) * of.mean - a * v - gammaln(a)) - of.total * float(np.exp(-v)) + tail, v


def maximum(curve: Curve, start: float = 0.0, step: float = 0.7, precision: float = 1e-9) -> float | None:
    """Log-shape of the greatest likelihood; None where it rises without end.

    Notes
    -----
    The profile has one maximum: that of Weibull is concave in k and that of the log-normal in 1/sigma (Burridge 1981,
    for censored samples). So it is walked uphill until it falls, and the bracket is closed by Brent's method.
    """
    from scipy.optimize import minimize_scalar

    left, middle, right = start - step, start, start + step
    values = [curve(at)[0] for at in (left, middle, right)]
    while not values[0] <= values[1] >= values[2]:
        if values[2] > values[0]:
            left, middle, right = middle, right, right + step
            values = [*values[1:], curve(right)[0]]
        else:
            left, middle, right = left - step, left, middle
            values = [curve(left)[0], *values[:2]]
        step *= 1.3
        if max(abs(left), abs(right)) > WIDEST or not np.isfinite(values).all():
            return None
    found = minimize_scalar(
        lambda s: -curve(s)[0], bounds=(left, right), method="bounded", options={"xatol": precision}
    )
    return float(found.x)


def shape_interval(
    name: LawName, time: npt.ArrayLike | Sample, failed: npt.ArrayLike = (), level: float = 0.95
) -> tuple[float, float]:
    """Confidence interval of the shape by profile likelihood.

    Parameters
    ----------
    name : LawName
        Weibull, gamma or log-normal; the shape of the exponential is 1 by definition.
    time, failed : array_like
        As for `ckptplan.fit.likelihood.sample`. [any unit of time]
    level : float
        Confidence level, between 0 and 1. [1]

    Returns
    -------
    tuple of float
        Ends of the interval; 0 or infinity where the profile does not fall far enough on that side, nan where the
        likelihood has no maximum or there is no failure. [1]

    Notes
    -----
    All shapes whose profile log-likelihood is within half the chi-squared quantile of one degree of freedom of the
    greatest (Lawless 2003, section 4.1; Meeker and Escobar 1998, section 8.3). Approximate: it covers less than its
    level where failures are few.
    """
    if name is LawName.EXPONENTIAL:
        return 1.0, 1.0
    s = sample(time, failed)
    if s.failures == 0.0:
        return np.nan, np.nan
    curve = profile_curve(name, logs(s))
    best = maximum(curve)
    if best is None:
        return np.nan, np.nan
    least = curve(best)[0] - float(inverse_regularized_gamma(0.5, level))
    low, high = (_crossing(curve, best, least, side) for side in (-1.0, 1.0))
    return (0.0 if low is None else float(np.exp(low))), (np.inf if high is None else float(np.exp(high)))


def _crossing(curve: Curve, best: float, least: float, side: float) -> float | None:
    """Where the profile falls below a value on one side of its maximum."""
    from scipy.optimize import brentq

    near, step = best, 0.1
    while abs(near) < WIDEST:
        far = near + side * step
        if curve(far)[0] < least:
            return float(brentq(lambda s: curve(s)[0] - least, near, far, xtol=1e-9))
        near, step = far, 2.0 * step
    return None

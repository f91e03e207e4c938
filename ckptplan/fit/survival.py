"""The survival of running times as the record shows it, with no law assumed: Kaplan-Meier."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.fit.incomplete_gamma import Floats, inverse_regularized_gamma
from ckptplan.fit.likelihood import Sample, sample


class Survival(NamedTuple):
    """Steps of the survival, one at each time of a failure."""

    time: Floats
    survival: Floats  # just after that time
    low: Floats
    high: Floats
    at_risk: Floats  # just before that time


def survival_curve(
    time: npt.ArrayLike | Sample, failed: npt.ArrayLike = (), level: float = 0.95, steps: int | None = 500
) -> Survival:
    """Kaplan-Meier estimate of the survival with a pointwise band.

    Parameters
    ----------
    time, failed : array_like
        As for `ckptplan.fit.likelihood.sample`. [any unit of time]
    level : float
        Confidence level of the band at each time. [1]
    steps : int or None
        Steps to keep at most, spread evenly over the fall of the survival, the first and the last among them; None
        keeps all.

    Returns
    -------
    Survival
        Empty without a failure. [unit of the times, 1]

    Notes
    -----
    ``S = prod (1 - d/n)`` over the times of failures, a time censored at a failure counted as at risk (Kaplan and Meier
    1958). Band: ``S^exp(+- z sqrt(V)/log S)``, ``V = sum d/(n (n - d))`` (Greenwood 1926; log-log form of Kalbfleisch
    and Prentice 1980), which stays between 0 and 1. Where S is 0 it has no variance: the limits are 0 and the upper one
    of the step before.
    """
    curve = product_limit(sample(time, failed), level)
    if steps is None or curve.time.size <= steps:
        return curve
    fall = np.interp(np.linspace(0.0, 1.0, steps), _share(curve.survival), np.arange(curve.time.size))
    kept = np.unique(np.round(fall).astype(np.int64))
    return Survival(*(values[kept] for values in curve))


def _share(survival: Floats) -> Floats:
    fallen = survival[0] - survival
    return np.asarray(fallen / fallen[-1])


def product_limit(s: Sample, level: float = 0.95) -> Survival:
    """Every step of the Kaplan-Meier estimate of a sample."""
    at, deaths = s.time[s.failed], s.weight[s.failed]
    censored, weight = s.time[~s.failed], s.weight[~s.failed]
    lost = np.concatenate([[0.0], np.cumsum(weight)])[np.searchsorted(censored, at, "left")]
    at_risk = s.weight.sum() - lost - (np.cumsum(deaths) - deaths)
    z = np.sqrt(2.0 * float(inverse_regularized_gamma(0.5, level)))
    with np.errstate(divide="ignore", invalid="ignore"):
        survival = np.cumprod(1.0 - deaths / at_risk)
        variance = np.cumsum(deaths / (at_risk * (at_risk - deaths)))
        power = z * np.sqrt(variance) / np.log(survival)
        low, high = survival ** np.exp(-power), survival ** np.exp(power)
    if at.size and survival[-1] <= 0.0:
        low[-1], high[-1] = 0.0, high[-2] if at.size > 1 else 1.0
    return Survival(at, survival, low, high, at_risk)

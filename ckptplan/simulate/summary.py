"""What a sample of runs says: mean, spread, quantiles, and how sure the mean is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

Z_95 = 1.959963984540054  # half-width of the 95 % interval of a normal variable, in standard deviations


class Breakdown(NamedTuple):
    """Where wall time went, one element per run; the four parts are all of it. [s]."""

    useful: Floats
    save: Floats
    rework: Floats
    restart: Floats


class MeanShares(NamedTuple):
    """Where wall time went, as shares of it over all runs; they sum to one. [1]."""

    useful: float
    save: float
    rework: float
    restart: float


class Summary(NamedTuple):
    """Mean, standard deviation, quantiles and the 95 % confidence interval of the mean, in the unit of the sample.

    A sample of one has no spread: its deviation and interval are nan.
    """

    mean: float
    sd: float
    p5: float
    p50: float
    p95: float
    standard_error: float
    low: float
    high: float


def summarise(sample: Floats) -> Summary:
    """Describe a sample of independent values.

    Parameters
    ----------
    sample : ndarray
        One value per run.

    Returns
    -------
    Summary
        The interval is that of the normal approximation, ``mean +- 1.96 sd/sqrt(n)``.
    """
    n = sample.size
    mean = math.fsum(sample) / n
    sd = math.sqrt(math.fsum((sample - mean) ** 2) / (n - 1)) if n > 1 else math.nan
    p5, p50, p95 = (float(q) for q in np.quantile(sample, (0.05, 0.5, 0.95)))
    error = sd / math.sqrt(n)
    return Summary(mean, sd, p5, p50, p95, error, mean - Z_95 * error, mean + Z_95 * error)


def standard_errors(simulated: float, error: float, predicted: float) -> float:
    """Difference of a prediction from the simulation, in standard errors of the simulation (a z-score).

    Parameters
    ----------
    simulated, error : float
        Simulated value and its standard error.
    predicted : float
        What a formula says.

    Returns
    -------
    float
        ``(simulated - predicted)/error``; nan where the simulation has no standard error. [1]
    """
    return (simulated - predicted) / error if error > 0.0 else math.nan

"""What a number of failures tells about the failure rate."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.fit.incomplete_gamma import Floats, inverse_regularized_gamma


class MtbfConfidence(NamedTuple):
    """An MTBF from a count, in the unit of the exposure."""

    mle: Floats  # most likely value, exposure over count; infinite without a failure
    low: Floats
    high: Floats  # infinite without a failure


class RatePosterior(NamedTuple):
    """What is believed of a failure rate after a count, in the unit of the exposure."""

    mean_rate: Floats
    mtbf_for_interval: Floats  # 1 over the mean rate
    mtbf_low: Floats
    mtbf_high: Floats


def mtbf_confidence(
    exposure: npt.ArrayLike, failures: npt.ArrayLike, level: npt.ArrayLike = 0.95, *, until_failure: bool = False
) -> MtbfConfidence:
    """Exact confidence interval of the MTBF from a number of failures, exponential gaps assumed.

    Parameters
    ----------
    exposure : array_like
        Time observed, t; device time for a rate per device. [any unit of time]
    failures : array_like
        Failures in that time, k. [1]
    level : array_like
        Confidence level, between 0 and 1. [1]
    until_failure : bool
        Whether counting stopped at the last failure, not at a time fixed beforehand.

    Returns
    -------
    MtbfConfidence
        ``t/k`` and the two limits; nan outside the domain. [unit of the exposure]

    Notes
    -----
    ``2t/chi2(1 - alpha/2; 2k + 2)`` and ``2t/chi2(alpha/2; 2k)``, with 2k in both where counting stopped at a
    failure (Epstein and Sobel 1953; Garwood 1936). Without a failure there is no upper limit, and the lower one is
    one-sided, ``t/-log(1 - level)``; counting until a failure that never came has no meaning.

    Counting until a failure covers with exactly the level. For a fixed time the count is discrete and the coverage
    at least the level (97.5 % at 95 % around ten expected failures), but for one place: just above three expected
    failures the one-sided limit of an empty record takes it down to 93.8 %.
    """
    t, k, c = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (exposure, failures, level)))
    valid = (t > 0.0) & (t < np.inf) & (k >= 0.0) & (k < np.inf) & (c > 0.0) & (c < 1.0)
    if until_failure:
        valid &= k > 0.0
    tail = 0.5 * (1.0 - c)
    none = k == 0.0
    with np.errstate(all="ignore"):
        shapes = np.stack([np.where(none, 1.0, k), k if until_failure else k + 1.0])
        quantile = inverse_regularized_gamma(shapes, np.stack([tail, np.where(none, c, 1.0 - tail)]))
        high = np.where(none, np.inf, t / quantile[0])
        return MtbfConfidence(*(np.where(valid, v, np.nan) for v in (t / k, t / quantile[1], high)))


def posterior_mtbf(
    exposure: npt.ArrayLike,
    failures: npt.ArrayLike,
    prior_shape: npt.ArrayLike = 0.5,
    prior_exposure: npt.ArrayLike = 0.0,
) -> Floats:
    """MTBF of the mean rate of `gamma_posterior`, the one to choose an interval by.

    Parameters
    ----------
    exposure, failures, prior_shape, prior_exposure
        As for `gamma_posterior`. [unit of time, 1]

    Returns
    -------
    ndarray
        ``(t + b0)/(k + a0)``; nan outside the domain. [unit of the exposure]
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (exposure, failures, prior_shape, prior_exposure))
    t, k, a0, b0 = np.broadcast_arrays(*arrays)
    valid = (t >= 0.0) & (k >= 0.0) & (a0 >= 0.0) & (b0 >= 0.0) & (k + a0 > 0.0) & (t + b0 > 0.0)
    with np.errstate(all="ignore"):
        return np.where(valid, (t + b0) / (k + a0), np.nan)


def gamma_posterior(
    exposure: npt.ArrayLike,
    failures: npt.ArrayLike,
    prior_shape: npt.ArrayLike = 0.5,
    prior_exposure: npt.ArrayLike = 0.0,
    level: npt.ArrayLike = 0.95,
) -> RatePosterior:
    """Failure rate after a number of failures, from a gamma prior.

    Parameters
    ----------
    exposure, failures : array_like
        Time observed t and failures in it k. [any unit of time, 1]
    prior_shape, prior_exposure : array_like
        What was believed before, worth a0 failures in a time b0. The default is the prior of Jeffreys for a
        Poisson count, a0 = 1/2 and b0 = 0. [1, unit of the exposure]
    level : array_like
        Probability between the two limits, cut equally at both ends. [1]

    Returns
    -------
    RatePosterior
        Mean rate, its inverse, and the limits of the MTBF; nan outside the domain. [1/unit, unit]

    Notes
    -----
    The rate has the distribution Gamma(k + a0, t + b0). To first order the overhead is linear in the rate, so
    the interval that is best on average is that of the mean *rate*; the mean MTBF is larger, and infinite for
    k + a0 <= 1.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (exposure, failures, prior_shape, prior_exposure, level))
    t, k, a0, b0, c = np.broadcast_arrays(*arrays)
    valid = (t >= 0.0) & (k >= 0.0) & (a0 >= 0.0) & (b0 >= 0.0) & (c > 0.0) & (c < 1.0)
    shape, time = k + a0, t + b0
    valid &= (shape > 0.0) & (shape < np.inf) & (time > 0.0) & (time < np.inf)
    tail = 0.5 * (1.0 - c)
    with np.errstate(all="ignore"):
        quantile = inverse_regularized_gamma(shape, np.stack([1.0 - tail, tail]))
        values = (shape / time, time / shape, time / quantile[0], time / quantile[1])
        return RatePosterior(*(np.where(valid, v, np.nan) for v in values))

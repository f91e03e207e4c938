"""The law of the gaps: exponential, Weibull, log-normal or gamma, by maximum likelihood under right-censoring."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import LawName
from ckptplan.errors import InputError
from ckptplan.fit.likelihood import Sample, log_likelihood, sample
from ckptplan.fit.profile import Logs, logs, maximum, profile_curve

FAMILIES = (LawName.EXPONENTIAL, LawName.WEIBULL, LawName.LOGNORMAL, LawName.GAMMA)
TIE = 2.0  # laws whose AIC differ by less are not told apart (Burnham and Anderson 2002, section 2.6)


class LawFit(NamedTuple):
    """A law with its most likely parameters. Times are in the unit of the sample."""

    name: LawName
    shape: float  # Weibull k, gamma a, sigma of the log-normal, 1 for the exponential
    scale: float  # of the law; for the log-normal its median
    mean: float
    log_likelihood: float  # nan where it has no maximum
    parameters: int
    aic: float
    converged: bool
    note: str  # a sentence where the numbers mean less than they seem; else empty


class Choice(NamedTuple):
    """The law to plan with, and those that the record does not tell from the likeliest."""

    best: LawFit  # the simplest of the tied ones
    tied: tuple[LawFit, ...]  # AIC within 2 of the least, the least first; the best is one of them
    least: LawFit  # of the least AIC; another than the best only in a tie


def fit_law(name: LawName, time: npt.ArrayLike, failed: npt.ArrayLike) -> LawFit:
    """Most likely parameters of one law.

    Parameters
    ----------
    name : LawName
        The family; not ``recorded``.
    time : array_like
        Times to a failure or to the end of observation, positive; location 0. [any unit of time]
    failed : array_like
        Whether the time ended in a failure; else it is right-censored.

    Returns
    -------
    LawFit
        ``AIC = 2 parameters - 2 log-likelihood`` (Akaike 1974). [unit of the times, 1]

    Raises
    ------
    InputError
        Without a failure, or if a time is not positive and finite.

    Notes
    -----
    The likelihood that `scipy.stats` maximises in ``fit(CensoredData(...), floc=0)``, with the same result to at least
    six digits. It is maximised here because scipy has no weights: a record may hold a million times in whole seconds.
    The scale is in closed form or by Newton's method for each shape, which leaves a search in one dimension. More than
    3,000 different times are put on 1,500 nodes for the search (`ckptplan.fit.profile.nodes`); the log-likelihood
    that is returned is the sum over all.
    """
    return fit_laws(time, failed, (name,))[0]


def fit_laws(
    time: npt.ArrayLike | Sample, failed: npt.ArrayLike = (), names: Sequence[LawName] = FAMILIES
) -> tuple[LawFit, ...]:
    """Most likely parameters of several laws; arguments as for `fit_law`, results in the order of the names."""
    s = sample(time, failed)
    if s.failures == 0.0:
        raise InputError(
            "no time ended in a failure: nothing tells the law of the gaps",
            hint="a record without failures still bounds the rate: state the time observed as the exposure",
        )
    reduced = logs(s) if any(name is not LawName.EXPONENTIAL for name in names) else None
    return tuple(_exponential(s) if reduced is None or n is LawName.EXPONENTIAL else _fit(n, s, reduced) for n in names)


def _exponential(s: Sample) -> LawFit:
    mean = float(s.weight @ (s.time / s.failures))
    value = -s.failures * (float(np.log(mean)) + 1.0)
    return LawFit(LawName.EXPONENTIAL, 1.0, mean, mean, value, 1, 2.0 - 2.0 * value, True, "")


def _fit(name: LawName, s: Sample, reduced: Logs) -> LawFit:
    curve = profile_curve(name, reduced)
    best = None if _unbounded(s) else maximum(curve, _start(name, reduced))
    if best is None:
        return _degenerate(name, s)
    shape, scale = float(np.exp(best)), float(np.exp(curve(best)[1]))
    value = log_likelihood(name, shape, scale, s)
    mean = law_mean(name, shape, scale)
    return LawFit(name, shape, scale, mean, value, 2, 4.0 - 2.0 * value, True, _note(s, mean))


def law_mean(name: LawName, shape: float, scale: float) -> float:
    """Mean of a law of a shape and a scale; infinite where it overflows. [unit of the scale]."""
    from scipy.special import gammaln

    with np.errstate(over="ignore"):
        if name is LawName.GAMMA:
            return shape * scale
        if name is LawName.LOGNORMAL:
            return float(np.exp(np.log(scale) + 0.5 * shape**2))
        return float(np.exp(np.log(scale) + gammaln(1.0 + 1.0 / (shape if name is LawName.WEIBULL else 1.0))))


def _unbounded(s: Sample) -> bool:
    """Whether all failures came at one time that nothing outlived: any narrower law is likelier."""
    failures = s.time[s.failed]
    return failures.size == 1 and not np.any(s.time > failures[0])


def _start(name: LawName, reduced: Logs) -> float:
    """Log-shape to seek from: that of a complete sample with the spread of the failures, not far below 1."""
    spread = float(np.sqrt(reduced.squares / reduced.failures))
    if spread < 1e-6:
        return 0.0
    if name is LawName.LOGNORMAL:
        return float(np.log(spread))
    return max(-0.5, min(11.0, float(np.log(1.28 / spread if name is LawName.WEIBULL else spread**-2))))


def _degenerate(name: LawName, s: Sample) -> LawFit:
    """What is left where the likelihood rises without end: a law that is a single time."""
    at = float(s.time[s.failed].max())
    note = "the failures are too much alike for this law: its likelihood grows without end as the spread shrinks"
    shape = 0.0 if name is LawName.LOGNORMAL else np.inf
    scale = 0.0 if name is LawName.GAMMA else at
    return LawFit(name, shape, scale, at, np.nan, 2, np.nan, False, note)


def _note(s: Sample, mean: float) -> str:
    if s.failures < 2.0:
        return "one failure alone does not tell the shape"
    if mean > s.time.max():
        return "the mean lies beyond the longest time seen: it rests on the law, not on the record"
    return ""


def best_law(fits: Sequence[LawFit]) -> Choice:
    """The simplest of the laws whose AIC is within 2 of the least, and the tie said to be one.

    Parameters
    ----------
    fits : sequence of LawFit
        Fits to one sample, at least one of them with a likelihood.

    Returns
    -------
    Choice
        Of two laws with as many parameters the one with the lower AIC is the better.

    Notes
    -----
    A difference below 2 is no evidence: Burnham and Anderson, Model selection and multimodel inference (2002),
    section 2.6.
    """
    usable = sorted((f for f in fits if np.isfinite(f.aic)), key=lambda f: f.aic)
    if not usable:
        raise InputError("no law could be fitted: every likelihood grows without end")
    tied = tuple(f for f in usable if f.aic - usable[0].aic < TIE)
    return Choice(min(tied, key=lambda f: (f.parameters, f.aic)), tied, usable[0])

"""Failures counted in cells of time against those that a fitted law expects, for samples of any size."""

import numpy as np

from ckptplan.cost.scenario import LawName
from ckptplan.fit.incomplete_gamma import Floats, regularized_gamma
from ckptplan.fit.laws import LawFit
from ckptplan.fit.likelihood import Sample, log_likelihood, log_survival
from ckptplan.fit.profile import nodes

_EXPECTED = 5.0  # failures in a cell at least
_MOST = 30  # cells
_STEP = 1e-3  # of logarithms of parameters, in differences
_KEPT = 0.05  # share of its Poisson variance that a direction must keep to be tested


def cells_test(fit: LawFit, s: Sample) -> tuple[str, float, float, str]:
    """Chi-squared test of a law fitted to right-censored times.

    Parameters
    ----------
    fit : LawFit
        The law with its most likely parameters.
    s : Sample
        The times that it was fitted to.

    Returns
    -------
    tuple
        Name of the statistic, its value, p-value, and the method. [1]

    Notes
    -----
    With O failures in a cell, E expected there (the cumulative hazard run through in it, over all times), G the
    derivatives of E by the parameters and I their information, the differences O - E have the covariance
    ``diag(E) - G I^-1 G'``; the quadratic form with its inverse is chi-squared (Akritas 1988; Hjort 1990;
    Bagdonavicius, Kruopis and Nikulin 2011, section 2). The parameters come from the times themselves, not from the
    counts. Directions that the fit has used up, with less than 5 % of their variance left, are not tested. Cells have
    equal E, ``2 d^0.4`` of them for d failures, with five or more in each, at most 30.
    """
    number = int(min(_MOST, s.failures // _EXPECTED, np.round(2.0 * s.failures**0.4)))
    if number < 3:
        return "none", np.nan, np.nan, f"fewer than {3 * _EXPECTED:.0f} failures among many times do not judge a law"
    free = np.log([fit.shape, fit.scale])
    edges = _edges(fit, s, number)
    expected = np.maximum(_expected(fit.name, free, s, edges), 1e-9)
    observed = np.bincount(np.searchsorted(edges, s.time, "left"), s.weight * s.failed, edges.size + 1)
    moved = slice(1, 2) if fit.name is LawName.EXPONENTIAL else slice(0, 2)
    shifts = _STEP * np.eye(2)[moved]
    slopes = [_expected(fit.name, free + h, s, edges) - _expected(fit.name, free - h, s, edges) for h in shifts]
    gradient = np.array(slopes).T / (2.0 * _STEP) / np.sqrt(expected)[:, None]
    information = _information(fit.name, free, s, shifts)
    if not (np.isfinite(gradient).all() and np.isfinite(information).all()):
        return "none", np.nan, np.nan, "too few cells differ to judge a law by"
    used = gradient @ np.linalg.pinv(information, hermitian=True) @ gradient.T
    variance, directions = np.linalg.eigh(np.eye(expected.size) - used)
    along = directions.T @ ((observed - expected) / np.sqrt(expected))
    kept = variance > _KEPT
    statistic = float((along[kept] ** 2 / variance[kept]).sum())
    p_value = float(regularized_gamma(0.5 * kept.sum(), 0.5 * statistic)[1])
    return "chi-squared", statistic, p_value, f"{expected.size} cells of time, {kept.sum()} degrees of freedom"


def _edges(fit: LawFit, s: Sample, number: int) -> Floats:
    """Inner edges of cells that expect equally many failures."""
    order = np.argsort(s.time)
    time, weight = s.time[order], s.weight[order]
    hazard = -log_survival(fit.name, fit.shape, fit.scale, time)
    above = s.weight.sum() - np.cumsum(weight)
    passed = np.cumsum(weight * hazard) + above * hazard
    inner = np.interp(passed[-1] * np.arange(1, number) / number, passed, time)
    return np.asarray(np.unique(inner[inner < time[-1]]))


def _expected(name: LawName, free: Floats, s: Sample, edges: Floats) -> Floats:
    """Cumulative hazard that all times together run through in each cell."""
    shape, scale = (float(value) for value in np.exp(free))
    at_edges = -log_survival(name, shape, scale, edges)
    start = np.concatenate([[0.0], at_edges])
    cell = np.searchsorted(edges, s.time, "left")
    within = -log_survival(name, shape, scale, s.time) - start[cell]
    passing = s.weight.sum() - np.cumsum(np.bincount(cell, s.weight, edges.size + 1))[:-1]
    result = np.bincount(cell, s.weight * within, edges.size + 1)
    result[:-1] += passing * np.diff(start)
    return np.asarray(result)


def _information(name: LawName, free: Floats, s: Sample, shifts: Floats) -> Floats:
    """Minus the second derivatives of the log-likelihood by the logarithms of the parameters."""
    few = _reduced(s)

    def value(at: Floats) -> float:
        return log_likelihood(name, float(np.exp(at[0])), float(np.exp(at[1])), few)

    second = [
        [value(free + g + h) - value(free + g - h) - value(free - g + h) + value(free - g - h) for h in shifts]
        for g in shifts
    ]
    return -np.array(second) / (4.0 * _STEP**2)


def _reduced(s: Sample) -> Sample:
    """A sample on few nodes that has the same likelihood."""
    x = np.log(s.time)
    (failures, of_failures), (censored, of_censored) = (nodes(x[f], s.weight[f]) for f in (s.failed, ~s.failed))
    time = np.exp(np.concatenate([failures, censored]))
    return Sample(time, np.arange(time.size) < failures.size, np.concatenate([of_failures, of_censored]))

"""Fault prediction: how often to save when a predictor announces part of the failures, and what it is worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats


class PredictionPeriod(NamedTuple):
    """How often to save, and which predictions to trust. [s]."""

    simple_s: Floats  # period, the cost of false alarms left out
    refined_s: Floats  # period, of least first-order waste
    interval_s: Floats  # work in the refined period, the save excluded
    trust_after_s: Floats  # a prediction nearer than this to the last save is ignored


class PredictorWorth(NamedTuple):
    """First-order waste at the best period, with the predictor and without. [1]."""

    waste_with: Floats
    waste_without: Floats
    gain: Floats  # the difference, 0 where no prediction is worth a save


class _Predicted(NamedTuple):
    """The numbers of the process, broadcast, nan where an argument is outside its domain."""

    stall: Floats
    mtbf: Floats
    recall: Floats
    trust_after: Floats
    recovery: Floats


def prediction_period(
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    recall: npt.ArrayLike,
    precision: npt.ArrayLike,
    proactive_stall: npt.ArrayLike,
) -> PredictionPeriod:
    """Period of saves beside a predictor, and the rule by which to trust it.

    Parameters
    ----------
    stall : array_like
        Time one periodic save blocks training, d. [s]
    mtbf : array_like
        Mean time between failures of the whole job, predicted or not, M. [s]
    recall : array_like
        Share of the failures that are predicted, r, 0 to 1. [1]
    precision : array_like
        Share of the predictions that come true, p, above 0. [1]
    proactive_stall : array_like
        Time of a save taken on a prediction, which ends at the predicted instant, C_p. [s]

    Returns
    -------
    PredictionPeriod
        nan outside the domain; infinite periods where every failure is predicted, r = 1. The interval is nan where the
        period is shorter than the save: first order says nothing there.

    Notes
    -----
    A prediction is worth a save if more than ``b = C_p/p`` has passed since the last one, for then ``p`` times the work
    it saves exceeds C_p. ``sqrt(2 M d/(1 - r))``, and ``sqrt((2 M d - r b^2)/(1 - r))`` (Aupy, Robert, Vivien and
    Zaidouni 2014). The latter is the least of `prediction_waste` as long as it exceeds b, that is for ``b < sqrt(2 M
    d)``; a dearer prediction is never worth a save, and the refined period is ``sqrt(2 M d)``, at which none is
    trusted. Periods, to first order: without a predictor the exact one is longer by d/3.
    """
    p = _predicted(stall, mtbf, recall, precision, proactive_stall, 0.0)
    with np.errstate(all="ignore"):
        square = 2.0 * p.mtbf * p.stall
        simple = _root(square, 1.0 - p.recall)
        refined = np.where(_pays(p), _root(square - p.recall * p.trust_after**2, 1.0 - p.recall), np.sqrt(square))
        interval = np.where(refined >= p.stall, refined - p.stall, np.nan)
        return PredictionPeriod(np.asarray(simple), refined, interval, p.trust_after)


def prediction_waste(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    recall: npt.ArrayLike,
    precision: npt.ArrayLike,
    proactive_stall: npt.ArrayLike,
    recovery: npt.ArrayLike = 0.0,
) -> Floats:
    """First-order waste of periodic saves beside a predictor that is trusted ``C_p/p`` after the last save.

    Parameters
    ----------
    interval : array_like
        Work between two periodic saves, W; the period is ``P = W + d``. [s]
    stall, mtbf, recall, precision, proactive_stall
        As for `prediction_period`. [s, s, 1, 1, s]
    recovery : array_like
        Whole recovery per failure, D + R. [s]

    Returns
    -------
    ndarray
        Waste, not a goodput if it is not small; nan outside the domain. [1]

    Notes
    -----
    ``d/P + [(1 - r) P/2 + D + R + (r/p) C_p (1 - b/P) + r b^2/(2 P)]/M`` for P > b (Aupy et al. 2014), in which the two
    terms of the predictor are ``r b (1 - b/(2 P))``; no prediction is trusted for P <= b, which leaves ``d/P + (P/2 + D
    + R)/M``. Too high by about 0.7 to 1.1 d/M: relative to the waste, an error of the order of ``sqrt(d/M)``, 3 % at
    d/M = 6e-4 and 0.3 % at 6e-6 without recoveries. Valid for ``d, P, C_p, D + R << M``.
    """
    W = np.asarray(interval, dtype=np.float64)
    p = _predicted(stall, mtbf, recall, precision, proactive_stall, recovery)
    with np.errstate(all="ignore"):
        P = np.where(W > 0.0, W, np.nan) + p.stall
        unpredicted = np.where(p.recall == 1.0, 0.0, 0.5 * (1.0 - p.recall) * P)
        predicted = p.recall * p.trust_after * (1.0 - 0.5 * p.trust_after / P)
        lost = np.where(p.trust_after < P, unpredicted + predicted, 0.5 * P)
        return np.asarray(p.stall / P + (lost + p.recovery) / p.mtbf)


def predictor_worth(
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    recall: npt.ArrayLike,
    precision: npt.ArrayLike,
    proactive_stall: npt.ArrayLike,
    recovery: npt.ArrayLike = 0.0,
) -> PredictorWorth:
    """What a predictor is worth: waste with it and without, each at its best period.

    Parameters
    ----------
    stall, mtbf, recall, precision, proactive_stall, recovery
        As for `prediction_waste`. [s, s, 1, 1, s, s]

    Returns
    -------
    PredictorWorth
        nan outside the domain.

    Notes
    -----
    With ``y = sqrt(2 d/M)``, ``b = C_p/(p M)``: ``y + (D + R)/M`` without, and ``sqrt(k) + r b + (D + R)/M`` with it,
    where ``k = (1 - r)(y^2 - r b^2)``. The difference is ``r (y - b)^2/(y - r b + sqrt(k))``, in which nothing cancels;
    it is 0 for ``b >= y``. First order, as `prediction_waste`.
    """
    p = _predicted(stall, mtbf, recall, precision, proactive_stall, recovery)
    with np.errstate(all="ignore"):
        y, b, recovering = np.sqrt(2.0 * p.stall / p.mtbf), p.trust_after / p.mtbf, p.recovery / p.mtbf
        root = np.sqrt((1.0 - p.recall) * (y * y - p.recall * b * b))
        gain = p.recall * (y - b) * ((y - b) / (y - p.recall * b + root))
        lost = np.where(_pays(p), root + p.recall * b, y)
        none = np.where(np.isnan(y), np.nan, 0.0)
        return PredictorWorth(np.asarray(lost + recovering), np.asarray(y + recovering), np.where(_pays(p), gain, none))


def _predicted(*arguments: npt.ArrayLike) -> _Predicted:
    """Stall, MTBF, recall, precision, proactive stall and recovery, in this order."""
    d, M, r, p, C_p, DR = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in arguments))
    valid = (d >= 0.0) & (M > 0.0) & (r >= 0.0) & (r <= 1.0) & (p > 0.0) & (p <= 1.0) & (C_p >= 0.0) & (DR >= 0.0)
    with np.errstate(all="ignore"):
        numbers = (d, M, r, C_p / p, DR)
    return _Predicted(*(np.where(valid, number, np.nan) for number in numbers))


def _pays(p: _Predicted) -> npt.NDArray[np.bool_]:
    """Whether any prediction in the best period is worth a save."""
    return np.asarray((p.trust_after**2 < 2.0 * (p.stall * p.mtbf)) & (p.recall > 0.0))


def _root(square: Floats, share: Floats) -> Floats:
    """``sqrt(square/share)``, infinite for no share at all."""
    return np.sqrt(np.where((share == 0.0) & (square >= 0.0), np.inf, square / share))

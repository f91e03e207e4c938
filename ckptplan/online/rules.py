"""Rules of other checkpoint libraries, for comparison: they bound the cost of saving and do not know the MTBF."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def overhead_budget_interval(average_cost: npt.ArrayLike, budget: npt.ArrayLike) -> Floats:
    """Interval that SCR's limit on overhead leads to.

    Parameters
    ----------
    average_cost : array_like
        Mean time of one save, c. [s]
    budget : array_like
        Share of wall time that saves may take, q, between 0 and 1; SCR_CHECKPOINT_OVERHEAD over 100. [1]

    Returns
    -------
    ndarray
        ``c (1 - q)/q``; nan outside the domain. [s]

    Notes
    -----
    Where ``c/(W + c) = q``: the rule of `scr_should_save`, whatever the MTBF. Against the best interval W* its
    overhead is larger by ``(W/W* + W*/W)/2`` (`regret_ratio_first_order` of the square of W/W*).
    """
    c, q = np.asarray(average_cost, dtype=np.float64), np.asarray(budget, dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.where((c >= 0.0) & (q > 0.0) & (q <= 1.0), c * ((1.0 - q) / q), np.nan)


def scr_should_save(
    elapsed: npt.ArrayLike, average_cost: npt.ArrayLike, budget: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Whether SCR, limited by overhead alone, asks for a save.

    Parameters
    ----------
    elapsed : array_like
        Time since the last save ended. [s]
    average_cost : array_like
        Mean time of the saves so far. [s]
    budget : array_like
        Share of wall time that saves may take, between 0 and 1. [1]

    Returns
    -------
    ndarray of bool
        True where ``c/(elapsed + c) < q``. Before the first save SCR always asks for one, to learn its cost.

    Notes
    -----
    ``SCR_Need_checkpoint`` of the SCR library, which decides on rank 0 and broadcasts.
    """
    t, c, q = (np.asarray(v, dtype=np.float64) for v in (elapsed, average_cost, budget))
    with np.errstate(all="ignore"):
        return np.asarray(c / (t + c) < q)


def checkfreq_steps(
    step_time: npt.ArrayLike, stall: npt.ArrayLike, persist: npt.ArrayLike, budget: npt.ArrayLike = 0.05
) -> Floats:
    """Steps between saves at which CheckFreq settles.

    Parameters
    ----------
    step_time : array_like
        Time of one step. [s]
    stall : array_like
        Time one save blocks training. [s]
    persist : array_like
        Time from the start of a save until it is on storage. [s]
    budget : array_like
        Largest slow-down allowed, over the time without saves; 5 % by default. [1]

    Returns
    -------
    ndarray
        Whole number of steps, at least 1; nan outside the domain. [1]

    Notes
    -----
    Mohan, Phanishayee and Chidambaram 2021 (FAST). Its program starts at ``ceil((persist - stall)/step_time)``,
    so that one save is on storage before the next begins, and raises that by two steps at a time while the
    measured overhead exceeds the budget: at most one step above the least number that meets both, which this is.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (step_time, stall, persist, budget))
    t, d, p, q = np.broadcast_arrays(*arrays)
    valid = (t > 0.0) & (d >= 0.0) & (p >= 0.0) & (q > 0.0)
    with np.errstate(all="ignore"):
        within_budget = np.ceil(d / (q * t) * (1.0 - 1e-12))  # 60 s at 5 % of 6 s are 200 steps, not 201
        drained = np.ceil((p - d) / t)
        return np.where(valid, np.maximum(1.0, np.maximum(within_budget, drained)), np.nan)

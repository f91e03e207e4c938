"""Energy: the interval of least energy, where work, saves and restarts draw different power."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.recovery import recovery_factor
from ckptplan.interval.young import young_interval

_STEPS = 30  # of Newton's method; it starts within a factor and converges from above


class EnergyOptimum(NamedTuple):
    """The interval of least energy, beside that of least time."""

    interval_first_order_s: Floats
    interval_s: Floats
    energy_per_useful_s: Floats  # power averaged over wall time, over goodput [unit of the powers]
    time_interval_s: Floats  # the interval of least time [s]


def energy_per_useful_second(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    power_compute: npt.ArrayLike,
    power_save: npt.ArrayLike,
    power_restart: npt.ArrayLike,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> Floats:
    """Energy used per second of useful work, synchronous saves and exponential failures.

    Parameters
    ----------
    interval, stall, mtbf : array_like
        Work between saves W, stall d, MTBF M of the job. [s]
    power_compute, power_save, power_restart : array_like
        Power drawn in work and rework, in a save, and in a recovery (down or restarting). [any unit]
    downtime, restart, strike
        As for `exact_goodput`. [s]

    Returns
    -------
    ndarray
        Energy per useful second; nan outside the domain. [unit of the powers]

    Notes
    -----
    ``[pc (useful + rework) + ps save + pr restart]/useful`` with the shares of `gross_shares`, which books an
    aborted save as save. With w = W/M, a = d/M and A from `recovery_factor` that is ``(B exp(w) - C)/w``.
    """
    times, powers = (interval, stall, mtbf, downtime, restart), (power_compute, power_save, power_restart)
    B, less, w, _ = _coefficients(times, powers, strike)
    with np.errstate(all="ignore"):
        # B exp(w) - C as B (exp(w) - 1) + (B - C): both positive, nothing cancels
        return np.where(w > 0.0, (B * np.expm1(w) + less) / w, np.nan)


def energy_optimum(
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    power_compute: npt.ArrayLike,
    power_save: npt.ArrayLike,
    power_restart: npt.ArrayLike,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
) -> EnergyOptimum:
    """Interval that minimises energy per useful work.

    Parameters
    ----------
    stall, mtbf, power_compute, power_save, power_restart, downtime, restart, strike
        As for `energy_per_useful_second`. [s, any unit of power]

    Returns
    -------
    EnergyOptimum
        First-order and exact interval, the energy at the latter, and the interval of least time; nan outside the
        domain, also for a computing power of 0.

    Notes
    -----
    First order ``sqrt(2 d M ps/pc)``. The minimum of ``(B exp(w) - C)/w`` obeys ``-log(1 - w) - w = log(B/C)``:
    the equation of `exact_interval` with ``log(B/C)`` in the place of d/M, so that equal powers and free restarts
    give the interval of least time. Aupy et al. 2013 study the same trade-off with more parameters.
    """
    times, powers = (0.0, stall, mtbf, downtime, restart), (power_compute, power_save, power_restart)
    B, less, _, M = _coefficients(times, powers, strike)
    with np.errstate(all="ignore"):
        C = B - less
        w = np.where(C > 0.0, exact_interval(np.log1p(less / np.where(C > 0.0, C, np.nan)), 1.0), _beyond(C / B))
        W = np.asarray(M * w)
        energy = np.where(w > 0.0, (B * np.expm1(w) + less) / w, np.nan)
        pc, ps = (np.asarray(v, dtype=np.float64) for v in (power_compute, power_save))
        first_order = young_interval(np.asarray(stall) * (ps / pc), mtbf)
        valid = np.isfinite(B)
        return EnergyOptimum(
            np.where(valid, first_order, np.nan), W, energy, np.where(valid, exact_interval(stall, mtbf), np.nan)
        )


def _coefficients(
    times: tuple[npt.ArrayLike, ...], powers: tuple[npt.ArrayLike, ...], strike: Strike
) -> tuple[Floats, Floats, Floats, Floats]:
    """B, B - C, w and M: ``B = exp(a) (pc + q)`` and ``B - C = (exp(a) - 1)(ps + q)``, ``q = pr (A - 1)``."""
    W, d, M, D, R, pc, ps, pr = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (*times, *powers)))
    valid = (W >= 0.0) & (d >= 0.0) & (M > 0.0) & np.isfinite(M) & (pc > 0.0) & (ps >= 0.0) & (pr >= 0.0)
    with np.errstate(all="ignore"):
        a, q = d / M, pr * (recovery_factor(M, D, R, strike) - 1.0)
        B = np.where(valid, np.exp(a) * (pc + q), np.nan)
        return B, np.where(valid, np.expm1(a) * (ps + q), np.nan), W / M, M


def _beyond(ratio: Floats) -> Floats:
    """Root above 1 of ``(w - 1) exp(w) = -C/B``, for C <= 0: saves that draw more than work and last about M."""
    target = np.maximum(-ratio, 0.0)
    w = 1.0 + np.log1p(target / np.e)  # an upper bound, and the function is convex
    for _ in range(_STEPS):
        w = w - ((w - 1.0) - target * np.exp(-w)) / (1.0 + target * np.exp(-w))
    return np.asarray(w)

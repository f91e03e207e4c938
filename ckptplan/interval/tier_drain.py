"""Tiers that are filled in the background from the tier below: first order, and how often that can be done."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.asynchronous import effective_stall, interval_floor, meets_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.tier_levels import tier_intervals_first_order

_ROUNDS = 100  # of floors that depend on intervals; each is closer by the share of time that stalls take

_CLOSE = 1e-9  # relative distance at which an interval is its floor


class TierDrain(NamedTuple):
    """Saves to drained tiers, to first order."""

    overhead: Floats  # (...,) H [1]
    goodput: Floats  # (...,) 1/(1 + H) [1]


class TierDrainOptimum(NamedTuple):
    """The best intervals of drained tiers, to first order."""

    intervals_s: Floats  # (..., L) work between saves of a level or a higher one [s]
    overhead: Floats  # (...,) there [1]
    goodput: Floats  # (...,) there [1]
    floor_binds: npt.NDArray[np.bool_]  # (..., L) levels whose interval is what their drain takes


def tier_drain(
    intervals: npt.ArrayLike,
    stall: npt.ArrayLike,
    rate: npt.ArrayLike,
    restart: npt.ArrayLike,
    *,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> TierDrain:
    """Overhead of saves to several tiers, each drained from the one below while training goes on, to first order.

    Parameters
    ----------
    intervals : array_like, shape (..., L)
        Work between saves of a level or a higher one, W_l: ``n_l W``. [s]
    stall : array_like, shape (..., L)
        Time that a save of the level blocks training, beside the levels below; 0 where it only drains. [s]
    rate : array_like, shape (..., L)
        Rate of the failures that a save of this level survives, and none of a lower one. [1/s]
    restart : array_like, shape (..., L)
        Recovery from a save of this level. [s]
    flush : array_like, shape (..., L)
        From the end of the stall until the save is durable on the level, F_l. [s]
    speed : array_like, shape (..., L)
        Training speed during that time, om_l. [1]

    Returns
    -------
    TierDrain
        nan where a level would be saved to less often than the next one or before its last drain has ended, and for
        input outside its domain.

    Notes
    -----
    ``H ~ sum_l C_l/W_l + lam_l (W_l/2 + om_l F_l + R_l)`` with ``C_l = d_l + (1 - om_l) F_l`` (Benoit et al. 2017 with
    the extra work at risk of Vaidya 1997). Simulated, the goodput lies between ``1 - H`` and ``1/(1 + H)``. Valid for
    ``W_l, F_l, R_l << 1/lam_l``.
    """
    W, d, lam, R, F, om = _arrays(intervals, stall, rate, restart, flush, speed)
    C = effective_stall(d, F, om)
    with np.errstate(all="ignore"):
        H = np.sum(C / W + lam * (0.5 * W + om * F + R), axis=-1)
        valid = _valid(d, lam, R, F, om) & np.all((W > 0.0) & np.isfinite(W), axis=-1)
        valid &= np.all(W[..., 1:] >= W[..., :-1], axis=-1)
        valid &= np.all(meets_floor(W, _floors(W, C, F, om)), axis=-1)
        H = np.where(valid, H, np.nan)
        return TierDrain(H, 1.0 / (1.0 + H))


def tier_drain_optimum(
    stall: npt.ArrayLike,
    rate: npt.ArrayLike,
    restart: npt.ArrayLike,
    *,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> TierDrainOptimum:
    """Best intervals of several tiers that are drained in the background, to first order, all levels kept.

    Parameters
    ----------
    stall, rate, restart, flush, speed
        As for `tier_drain`; every level needs a rate and a stall or a slow-down. [s, 1/s, 1]

    Returns
    -------
    TierDrainOptimum
        nan for input outside its domain.

    Notes
    -----
    ``W_l = sqrt(2 C_l/lam_l)``, neighbours that would cross sharing one, and none below what its drain takes. That
    floor takes the stalls of the levels below as they are at their own best intervals; that more saves there would
    lower it is not weighed (in random jobs up to 3e-5 of the overhead).
    """
    d, lam, R, F, om = _arrays(stall, rate, restart, flush, speed)
    C = effective_stall(d, F, om)
    valid = _valid(d, lam, R, F, om) & np.all((lam > 0.0) & (C > 0.0), axis=-1)
    with np.errstate(all="ignore"):
        C = np.where(valid[..., np.newaxis], C, np.nan)
        floor = interval_floor(F, om)
        for _ in range(_ROUNDS):
            W, before = tier_intervals_first_order(C, lam, np.True_, floor=floor), floor
            floor = _floors(W, C, F, om)
            if np.allclose(floor, before, rtol=1e-15, atol=0.0, equal_nan=True):
                break
    found = tier_drain(W, d, lam, R, flush=F, speed=om)
    return TierDrainOptimum(W, found.overhead, found.goodput, floor * (1.0 + _CLOSE) >= W)


def tier_interval_floor(
    every: npt.ArrayLike, slot_stall: npt.ArrayLike, *, flush: npt.ArrayLike, exposed: npt.ArrayLike
) -> Floats:
    """Least work between slots for which every drain ends before the next one of its level starts.

    Parameters
    ----------
    every : array_like, shape (..., L)
        Slots from one save of a level or higher to the next. [1]
    slot_stall : array_like, shape (..., L)
        Stall of a slot whose highest level it is, slow-down by its drain included. [s]
    flush, exposed : array_like, shape (..., L)
        Length F_l of the drain to a level, and the work done meanwhile, ``om_l F_l``. [s]

    Returns
    -------
    ndarray
        Least W, not negative. [s]

    Notes
    -----
    A drain to level l > 1 reads a copy that is there already: the next may start when ``n_l W`` and the stalls between
    have taken as long as the drain, for two tiers ``n (W + d) + (1 - om) F >= F``. The lowest level has one buffer,
    which must be free when its next save starts: ``W >= om F`` (Vaidya 1997).
    """
    n, s, F, om_F = _arrays(every, slot_stall, flush, exposed)
    floor, stalls = om_F[..., 0], s[..., 0]  # stalls in one block of the level
    with np.errstate(all="ignore"):
        for here in range(1, n.shape[-1]):
            below = n[..., here] / n[..., here - 1]
            stalls = below * stalls + s[..., here] - s[..., here - 1]
            floor = np.maximum(floor, (F[..., here] - stalls) / n[..., here])
    return np.asarray(floor)


def _floors(W: Floats, C: Floats, F: Floats, om: Floats) -> Floats:
    """Least work between saves of each level, given the intervals of the levels below it. [s]."""
    floors = interval_floor(F, om)
    share = np.zeros(W.shape[:-1])  # stalls of the levels below, per unit of work
    for here in range(1, W.shape[-1]):
        share = share + C[..., here - 1] / W[..., here - 1]
        floors[..., here] = np.maximum((F[..., here] - C[..., here]) / (1.0 + share), 0.0)
    return floors


def _arrays(*values: npt.ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values)))


def _valid(d: Floats, lam: Floats, R: Floats, F: Floats, om: Floats) -> npt.NDArray[np.bool_]:
    finite = np.isfinite(d) & np.isfinite(lam) & np.isfinite(R) & np.isfinite(F)
    inside = (d >= 0.0) & (lam >= 0.0) & (R >= 0.0) & (F >= 0.0) & (om >= 0.0) & (om <= 1.0)
    return np.asarray(np.all(finite & inside, axis=-1))

"""Several tiers to first order: which levels to keep, and how often to save to each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.tier_levels import (
    Bools,
    SlotCost,
    all_subsets,
    alone_stalls,
    kept_levels,
    tier_intervals_first_order,
)

_TIE = 1e-12  # relative gain below which the subset with fewer levels is taken


class TiersFirstOrder(NamedTuple):
    """The best levels to keep and their intervals, to first order."""

    overhead: Floats  # wall time over useful work, less 1 [1]
    kept: Bools  # (..., L); the top level always is
    intervals_s: Floats  # (..., L) work between saves of a level or a higher one; nan for a dropped level [s]


def tiers_first_order(
    stall: npt.ArrayLike,
    rate: npt.ArrayLike,
    restart: npt.ArrayLike,
    *,
    slot_cost: SlotCost = "additive",
    alone_stall: npt.ArrayLike | None = None,
) -> TiersFirstOrder:
    """Levels to keep and work between their saves, least overhead to first order.

    Parameters
    ----------
    stall : array_like, shape (..., L)
        Stall of a save, by level, the cheapest level first: what it adds to the saves of the levels below, which are
        taken with it (``additive``), or all of it, if it is taken instead of them (``replace``). [s]
    rate : array_like, shape (..., L)
        Rate of the failures that a save of this level survives, and none of a lower one. [1/s]
    restart : array_like, shape (..., L)
        Recovery from a save of this level. [s]
    slot_cost : {"additive", "replace"}
        What a save of a level means for the levels below.
    alone_stall : array_like, shape (..., L), optional
        Additive stalls of a level with none kept below it, where that differs from ``stall``. [s]

    Returns
    -------
    TiersFirstOrder
        nan, with no level kept, for input outside its domain.

    Notes
    -----
    ``H ~ sum_l C_l/W_l + lam_l W_l/2 + lam_l R_l`` over the kept levels, lam_l counting the failures of the dropped
    levels next below; each term is least at ``W_l = sqrt(2 C_l/lam_l)`` (Benoit et al. 2017; two levels: Di, Robert,
    Vivien and Cappello 2017). The best subset is a shortest path: from kept level i to kept level j it costs
    ``sqrt(2 C_j (lam_{i+1} + ... + lam_j)) + (lam_{i+1} + ... + lam_j) R_j``, with ``C_j = c_j - c_i`` for ``replace``.
    Its intervals increase by themselves unless a level is kept for its short restart alone. Saves of a level cannot be
    rarer than those of the next one; where the path says so, all subsets are compared at their best nested intervals.
    Valid for ``C_l, R_l << 1/lam``.
    """
    C, lam, R = _arrays(stall, rate, restart)
    C, lam, R, alone = _arrays(C, lam, R, alone_stalls(C, alone_stall, slot_cost))
    valid = _valid(C, lam, R) & np.all(alone >= 0.0, axis=-1)
    with np.errstate(all="ignore"):
        kept = _shortest_path(C, alone, lam, R, slot_cost)
        levels = kept_levels(C, lam, kept, slot_cost=slot_cost, alone_stall=alone)
        crossed = valid & ~_increasing(np.sqrt(2.0 * levels.stall / levels.rate), kept)
        if crossed.any():
            kept[crossed] = _best_of_all(C[crossed], alone[crossed], lam[crossed], R[crossed], slot_cost)
    kept &= valid[..., np.newaxis]
    W = tier_intervals_first_order(C, lam, kept, slot_cost=slot_cost, alone_stall=alone)
    return TiersFirstOrder(tier_overhead(C, lam, R, kept, W, slot_cost=slot_cost, alone_stall=alone), kept, W)


def tier_overhead(
    stall: npt.ArrayLike,
    rate: npt.ArrayLike,
    restart: npt.ArrayLike,
    kept: npt.ArrayLike,
    intervals: npt.ArrayLike | None = None,
    *,
    slot_cost: SlotCost = "additive",
    alone_stall: npt.ArrayLike | None = None,
) -> Floats:
    """Overhead of given levels, to first order: what a tier would cost that the best subset drops.

    Parameters
    ----------
    stall, rate, restart, slot_cost, alone_stall
        As for `tiers_first_order`. [s, 1/s]
    kept : array_like of bool, shape (..., L)
        The levels that are saved to.
    intervals : array_like, shape (..., L), optional
        Work between saves of a kept level or a higher one; those of dropped levels are not read. Left out: the best
        nested ones. [s]

    Returns
    -------
    ndarray
        H; nan if the top level is not kept, if a level is saved to less often than the next kept one, and for input
        outside its domain. [1]

    Notes
    -----
    Benoit et al. 2017. A level as rare as the next one is never the highest of a save: in the ``replace`` convention
    nothing is ever written to it, and its failures pay the restart of the next.
    """
    if intervals is None:
        intervals = tier_intervals_first_order(stall, rate, kept, slot_cost=slot_cost, alone_stall=alone_stall)
    C, lam, R, W, number = _arrays(stall, rate, restart, intervals, np.asarray(kept, dtype=np.float64))
    mask = number > 0.0
    levels = kept_levels(C, lam, mask, slot_cost=slot_cost, alone_stall=alone_stall)
    with np.errstate(all="ignore"):
        saves = np.where(levels.stall == 0.0, 0.0, levels.stall / W)
        lost = np.where(levels.rate == 0.0, 0.0, levels.rate * (0.5 * W + _restart_paid(R, W, mask, slot_cost)))
        valid = _valid(C, lam, R) & mask[..., -1] & np.all(~mask | (W >= 0.0), axis=-1)
        valid &= _increasing(W, mask, strictly=False)
        return np.where(valid, np.sum(np.where(mask, saves + lost, 0.0), axis=-1), np.nan)


def _shortest_path(C: Floats, alone: Floats, lam: Floats, R: Floats, slot_cost: SlotCost) -> Bools:
    """Kept levels of least overhead, each at its own best interval."""
    L = C.shape[-1]
    least = np.zeros((*C.shape[:-1], L + 1))
    before = np.zeros((*C.shape[:-1], L + 1), dtype=np.intp)
    for j in range(1, L + 1):
        steps = []
        for i in range(j):
            caught = lam[..., i:j].sum(axis=-1)
            own = C[..., j - 1] if i else alone[..., j - 1]
            added = own - C[..., i - 1] if i and slot_cost == "replace" else own
            cost = np.sqrt(2.0 * added * caught) + caught * R[..., j - 1]
            steps.append(least[..., i] + np.where(added >= 0.0, cost, np.inf))
        least[..., j] = np.min(steps, axis=0)
        before[..., j] = np.argmin(steps, axis=0)  # the first of equals: the one that drops more
    kept, at = np.zeros(C.shape, dtype=np.bool_), np.full(C.shape[:-1], L, dtype=np.intp)
    for j in range(L, 0, -1):
        kept[..., j - 1] = at == j
        at = np.where(at == j, before[..., j], at)
    return kept


def _best_of_all(C: Floats, alone: Floats, lam: Floats, R: Floats, slot_cost: SlotCost) -> Bools:
    """Kept levels of least overhead at nested intervals, by comparing all subsets; fewer levels where equal."""
    masks = all_subsets(C.shape[-1])
    C, alone, lam, R = (value[..., np.newaxis, :] for value in (C, alone, lam, R))
    overhead = tier_overhead(C, lam, R, masks, slot_cost=slot_cost, alone_stall=alone)
    near = overhead <= overhead.min(axis=-1, keepdims=True) * (1.0 + _TIE)
    return np.asarray(masks[np.argmax(near, axis=-1)])


def _restart_paid(R: Floats, W: Floats, kept: Bools, slot_cost: SlotCost) -> Floats:
    """Restart of each kept level; that of the next one where nothing is ever written to it."""
    if slot_cost == "additive":
        return R
    paid, above, W_above = R.copy(), R[..., -1], W[..., -1]
    for k in range(R.shape[-1] - 2, -1, -1):
        paid[..., k] = np.where(W[..., k] == W_above, above, R[..., k])
        above = np.where(kept[..., k], paid[..., k], above)
        W_above = np.where(kept[..., k], W[..., k], W_above)
    return paid


def _increasing(W: Floats, kept: Bools, *, strictly: bool = True) -> Bools:
    """Whether the intervals of kept levels rise with the level."""
    result, below = np.ones(W.shape[:-1], dtype=np.bool_), np.full(W.shape[:-1], -np.inf)
    for k in range(W.shape[-1]):
        rises = W[..., k] > below if strictly else W[..., k] >= below
        result &= rises | ~kept[..., k]
        below = np.where(kept[..., k], W[..., k], below)
    return result


def _arrays(*values: npt.ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values)))


def _valid(C: Floats, lam: Floats, R: Floats) -> Bools:
    finite = np.isfinite(C) & np.isfinite(lam) & np.isfinite(R)
    return np.asarray(np.all(finite & (C >= 0.0) & (lam >= 0.0) & (R >= 0.0), axis=-1))

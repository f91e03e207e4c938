"""Which levels of a set of tiers are kept, what each adds and catches, and their nested intervals to first order."""

from __future__ import annotations

from itertools import product
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats

Bools = npt.NDArray[np.bool_]
SlotCost = Literal["additive", "replace"]


class KeptLevels(NamedTuple):
    """What each kept level costs and catches; 0 for a dropped one."""

    stall: Floats  # (..., L) that a save of the level adds to one of the kept level below [s]
    rate: Floats  # (..., L) of the failures that go back to it [1/s]


def tier_intervals_first_order(
    stall: npt.ArrayLike,
    rate: npt.ArrayLike,
    kept: npt.ArrayLike,
    *,
    slot_cost: SlotCost = "additive",
    alone_stall: npt.ArrayLike | None = None,
    floor: npt.ArrayLike = 0.0,
) -> Floats:
    """Best work between saves of given levels, to first order, a higher level never more often than a lower one.

    Parameters
    ----------
    stall, rate, kept, slot_cost, alone_stall
        As for `tier_overhead`. [s, 1/s]
    floor : array_like, shape (..., L)
        Least interval of each level; that of a dropped one is not read. [s]

    Returns
    -------
    ndarray, shape (..., L)
        W_l; infinite for a level without failures, nan for a dropped one. [s]

    Notes
    -----
    ``sqrt(2 C_l/lam_l)`` where these increase. Where they do not, neighbours share one interval, which is a regression
    with ordered values: ``W_k = max_{i <= k} min_{j >= k} w_ij``, where w_ij is the best interval that the levels i to
    j share, ``sqrt(2 (C_i + ... + C_j)/(lam_i + ... + lam_j))`` or the largest of their floors.
    """
    C, lam = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (stall, rate)))
    mask = np.broadcast_to(np.asarray(kept, dtype=np.bool_), np.broadcast_shapes(C.shape, np.shape(kept)))
    levels = kept_levels(C, lam, mask, slot_cost=slot_cost, alone_stall=alone_stall)
    least = np.where(mask, floor, 0.0)
    with np.errstate(all="ignore"):
        W = np.stack([_ordered_interval(levels, least, k) for k in range(mask.shape[-1])], axis=-1)
    return np.where(mask, W, np.nan)


def kept_levels(
    stall: npt.ArrayLike,
    rate: npt.ArrayLike,
    kept: npt.ArrayLike,
    *,
    slot_cost: SlotCost = "additive",
    alone_stall: npt.ArrayLike | None = None,
) -> KeptLevels:
    """Added stall and rate of each kept level, the failures of dropped levels moved to the next kept one.

    Parameters
    ----------
    stall, rate, kept, slot_cost, alone_stall
        As for `tier_overhead`. [s, 1/s]

    Returns
    -------
    KeptLevels
        The stalls of ``replace`` can be negative: a higher level that is cheaper than a lower one.
    """
    C, lam = (np.asarray(value, dtype=np.float64) for value in (stall, rate))
    mask = np.asarray(kept, dtype=np.bool_)
    alone = alone_stalls(C, alone_stall, slot_cost)
    C, lam, mask, alone = np.broadcast_arrays(C, lam, mask, alone)
    added, caught = np.zeros(C.shape), np.zeros(C.shape)
    moved, below, any_below = np.zeros(C.shape[:-1]), np.zeros(C.shape[:-1]), np.zeros(C.shape[:-1], dtype=np.bool_)
    for k in range(C.shape[-1]):
        here, moved = mask[..., k], moved + lam[..., k]
        own = C[..., k] - below if slot_cost == "replace" else np.where(any_below, C[..., k], alone[..., k])
        added[..., k] = np.where(here, own, 0.0)
        caught[..., k] = np.where(here, moved, 0.0)
        moved, below, any_below = np.where(here, 0.0, moved), np.where(here, C[..., k], below), any_below | here
    return KeptLevels(added, caught)


def all_subsets(levels: int) -> Bools:
    """Every choice of levels that keeps the top one, fewest first: masks of shape (2**(levels - 1), levels)."""
    masks = np.array([(*lower, True) for lower in product((False, True), repeat=levels - 1)], dtype=np.bool_)
    return masks[np.argsort(masks.sum(axis=-1), kind="stable")]


def _ordered_interval(levels: KeptLevels, floor: Floats, k: int) -> Floats:
    """``max_{i <= k} min_{j >= k}`` of the interval that levels i to j share; infinite without stalls and failures."""
    highest: Floats | float = -np.inf
    for i in range(k + 1):
        lowest: Floats | float = np.inf
        for j in range(k, levels.stall.shape[-1]):
            stall, caught, least = (value[..., i : j + 1] for value in (*levels, floor))
            stall, caught = stall.sum(axis=-1), caught.sum(axis=-1)
            shared = np.where((stall == 0.0) & (caught == 0.0), np.inf, np.sqrt(2.0 * stall / caught))
            # A negative stall belongs to a level that shares an interval with a lower one.
            shared = np.maximum(np.where(stall < 0.0, 0.0, shared), least.max(axis=-1))
            lowest = np.minimum(lowest, shared)
        highest = np.maximum(highest, lowest)
    return np.asarray(highest)


def alone_stalls(stall: Floats, alone_stall: npt.ArrayLike | None, slot_cost: SlotCost) -> Floats:
    """Stall of a level with none kept below it. [s].

    A save that is taken instead of those below is always alone: ``replace`` does not read ``alone_stall``.
    """
    if slot_cost not in ("additive", "replace"):
        raise ValueError(f"slot_cost is 'additive' or 'replace', not {slot_cost!r}")
    if alone_stall is None or slot_cost == "replace":
        return stall
    return np.asarray(alone_stall, dtype=np.float64)

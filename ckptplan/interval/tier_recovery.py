"""Recoveries of several tiers: where a failure goes back to in the end, and what the way there takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.recovery import RecoveryParts

Levels = npt.NDArray[np.intp]

_RAREST = 1e-40  # per second: a job that never fails is one that fails this often
_LONGEST = 300.0  # of a part of a recovery over the MTBF; beyond it the goodput is below 1e-130


class Causes(NamedTuple):
    """What makes a job of several tiers fail, and the recovery from each.

    A failure clears every level below ``level``. A recovery is given for each level that it may end up with, because a
    further failure that strikes it may need a higher one.
    """

    rate: npt.ArrayLike  # (..., C) of each cause [1/s]
    level: Sequence[int] | npt.NDArray[np.integer]  # (C,) lowest level whose save survives it; 1 is the cheapest
    recovery: RecoveryParts  # (..., C, L) or (L,) with the save of a level; not read below the level of the cause [s]


class TierRecovery(NamedTuple):
    """What follows a failure in running training, over all its recoveries until training runs again."""

    rate_per_s: Floats  # (...,) of all causes [1/s]
    level: Levels  # (C,) lowest level that survives each cause
    goes_back: Floats  # (..., C) probability that this cause has set the level gone back to; sums to one [1]
    restart: Floats  # (..., C) time in recoveries from this cause, over the MTBF [1]
    rerun: Floats  # (..., C) rework that had not been drained, over the MTBF, by the cause that set the level [1]

    @property
    def factor(self) -> Floats:
        """A >= 1, by which recoveries lengthen wall time."""
        return np.asarray(1.0 + self.restart.sum(axis=-1) + self.rerun.sum(axis=-1))

    def beyond(self, level: int) -> Floats:
        """Probability that a failure goes back to a level above this one. [1]."""
        return np.asarray(self.goes_back[..., self.level > level].sum(axis=-1))

    def to_levels(self, levels: int) -> Floats:
        """Probabilities that a failure goes back to each level. [1]."""
        return np.stack([self.goes_back[..., self.level == here + 1].sum(axis=-1) for here in range(levels)], axis=-1)


def tier_recovery(causes: Causes, exposed: npt.ArrayLike = 0.0) -> TierRecovery:
    """Level that a failure goes back to in the end, and the time until training runs, when recoveries may be struck.

    Parameters
    ----------
    causes : Causes
        Rates, levels, and recoveries as `recovery_parts` splits them: the part during which the clock of failures
        stands still, then the part that a failure may strike.
    exposed : array_like, shape (..., L)
        Work done while a save of the level was drained in the background, ``om F``. A failure loses it in addition,
        so it is done again at the end of each recovery, where a failure may strike it. [s]

    Returns
    -------
    TierRecovery
        nan for input outside its domain.

    Raises
    ------
    ValueError
        If the levels are not one whole number from 1 to L per cause.

    Notes
    -----
    A recovery from cause c with the save of level l that cause k strikes begins anew as one from cause k with level
    ``max(l, level_k)``: levels only rise (Moody et al. 2010), and none of this depends on where in the pattern the
    failure was. Let a recovery at level l end unstruck with probability s_kl, and let
    ``a = sum_{level_k <= l} p_k s_kl``, ``b = sum_{level_k > l} p_k`` with p_k the share of cause k among the
    failures. A cause that sets the level l is then followed by ``J = (1 - s_cl)/(a + b)`` further strikes at that
    level, of which ``J b`` raise it, and keeps it to the end with probability ``s_cl + J a``.
    """
    lam, p, unstruck, struck, om_F, at = _arrays(causes, exposed)
    shape = lam.shape[:-1]
    total = np.maximum(lam.sum(axis=-1), _RAREST)
    goes_back, restart, rerun = np.zeros(lam.shape), np.zeros(lam.shape), np.zeros(lam.shape)
    reached = np.ones(shape)  # failures and strikes, per failure, that may set a level: those from levels below it
    for here in range(1, om_F.shape[-1] + 1):
        known = np.flatnonzero(at <= here)
        sets = at[known] == here
        share, scale = p[..., known], total[..., np.newaxis]
        B = np.minimum(scale * struck[..., known, here - 1], _LONGEST)
        E = np.minimum(scale * om_F[..., here - 1, np.newaxis], _LONGEST)
        ends = np.exp(-(B + E))
        stays = np.sum(share * ends, axis=-1)
        raised = p[..., at > here].sum(axis=-1)
        set_by = np.where(sets, share * reached[..., np.newaxis], 0.0)
        again = -np.expm1(-(B + E)) / (stays + raised)[..., np.newaxis]  # J
        strikes = np.sum(set_by * again, axis=-1)
        lost = np.exp(-B) * -np.expm1(-E)
        goes_back[..., known] += set_by * (ends + again * stays[..., np.newaxis])
        restart[..., known] += (set_by + strikes[..., np.newaxis] * share) * (
            scale * unstruck[..., known, here - 1] - np.expm1(-B)
        )
        rerun[..., known] += set_by * (lost + again * np.sum(share * lost, axis=-1, keepdims=True))
        reached = reached + strikes
    return TierRecovery(np.asarray(total), at, goes_back, restart, rerun)


def _arrays(causes: Causes, exposed: npt.ArrayLike) -> tuple[Floats, Floats, Floats, Floats, Floats, Levels]:
    """Rates, shares of the causes, both parts of a recovery, exposed work and levels in their common shapes."""
    lam, om_F = np.asarray(causes.rate, dtype=np.float64), np.asarray(exposed, dtype=np.float64)
    unstruck, struck = (np.asarray(part, dtype=np.float64) for part in causes.recovery)
    at = np.asarray(causes.level)
    C = lam.shape[-1]
    whole = at.shape == (C,) and at.dtype.kind in "iu" and bool(np.all(at >= 1))
    L = np.broadcast_shapes((1,), unstruck.shape[-1:], struck.shape[-1:], om_F.shape[-1:])[0]
    L = max(L, int(at.max())) if whole and L == 1 else L
    if not whole or at.max() > L:
        raise ValueError(f"levels: one whole number from 1 to {L} for each of {C} causes, not {causes.level!r}")
    lead = np.broadcast_shapes(lam.shape[:-1], unstruck.shape[:-2], struck.shape[:-2], om_F.shape[:-1])
    lam, om_F = np.broadcast_to(lam, (*lead, C)), np.broadcast_to(om_F, (*lead, L))
    unstruck, struck = (np.broadcast_to(part, (*lead, C, L)) for part in (unstruck, struck))
    read = at[:, np.newaxis] <= np.arange(1, L + 1)
    valid = np.all(np.isfinite(lam) & (lam >= 0.0), axis=-1) & np.all(np.isfinite(om_F) & (om_F >= 0.0), axis=-1)
    for part in (unstruck, struck):
        valid &= np.all(~read | (np.isfinite(part) & (part >= 0.0)), axis=(-2, -1))
    lam = np.where(valid[..., np.newaxis], lam, np.nan)
    total = lam.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        p = np.where(total == 0.0, 1.0 / C, lam / total)
    return lam, p, unstruck, struck, om_F, at.astype(np.intp)

"""A schedule of saves that is not periodic: often while the hazard is high, rarely while it is low."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.cost.laws import hazard, survival
from ckptplan.cost.scenario import LawName, Strike
from ckptplan.interval.blocks import Floats
from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.renewal import renewal_goodput
from ckptplan.interval.renewal_optimum import renewal_interval

_PANEL = 0.125  # of log t, integrated with the nodes below
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_FIRST = -80.0  # log of an age over the mean before which nothing happens
_NEGLIGIBLE = 1e-17  # survival at which a schedule ends
_NEWTON = 12


class Schedule(NamedTuple):
    """Saves after a restart, and what they gain over the best periodic plan.

    ``instants_s`` are the ends of the saves and ``works_s`` the work before each of them, counted from the moment
    training resumes; 0 where two instants are closer than a save is long. [s, 1]
    """

    instants_s: Floats
    works_s: Floats
    goodput: float
    periodic_interval_s: float
    periodic_goodput: float

    @property
    def gain(self) -> float:
        """Goodput gained over the best periodic plan; negative where the periodic plan is better. [1]."""
        return self.goodput - self.periodic_goodput


def fluid_schedule(
    stall: float,
    mtbf: float,
    name: LawName,
    shape: float = 1.0,
    *,
    downtime: float = 0.0,
    restart: float = 0.0,
    strike: Strike = Strike.SAFE,
    horizon: float = np.inf,
) -> Schedule:
    """Instants of synchronous saves with the density ``sqrt(h(t)/(2 d))`` that minimises loss to first order.

    Parameters
    ----------
    stall : float
        Time one save blocks training, d, positive. [s]
    mtbf : float
        Mean gap between failures of the whole job, M. [s]
    name : LawName
        Family of the law; not ``recorded``.
    shape : float
        Shape of Weibull and gamma, sigma of the log-normal. [1]
    downtime, restart : float
        Per failure, D and R. [s]
    strike : Strike
        Which part of a recovery a further failure may strike; it says at which age training resumes.
    horizon : float
        Instants later than this after training resumes are left out of the list, not out of the goodput. [s]

    Returns
    -------
    Schedule
        The instants t_j with ``int_c^{c + t_j} sqrt(h/(2 d)) = j``, until survival is negligible.

    Notes
    -----
    Ling, Mi and Lin 2001. Goodput is ``sum_j W_j S(c + t_j)/C`` with ``W_j = max(0, t_j - t_{j-1} - d)``, with c and C
    as in `ckptplan.interval.renewal.renewal_shares`. It gains wherever the hazard changes with age: under a falling one
    it saves often just after a restart, under a growing one it waits. For a constant hazard it is Young's plan with the
    *period* ``sqrt(2 d M)``. Being first order in ``sqrt(d h)`` it may lose to the best periodic plan for d near M.
    Valid for ``d << M``.
    """
    if not (stall > 0.0 and mtbf > 0.0 and shape > 0.0 and min(downtime, restart) >= 0.0):
        raise ValueError("a schedule needs a positive stall, MTBF and shape, and recoveries that are not negative")
    unstruck, start = (float(part) for part in recovery_parts(downtime, restart, strike))
    law = (LawName(name), shape)
    with np.errstate(all="ignore"):
        age = _instants(stall / mtbf, start / mtbf, *law) * mtbf
        instants = age - start
        works = np.maximum(np.diff(instants, prepend=0.0) - stall, 0.0)
        cycle = mtbf + unstruck
        goodput = float(np.sum(works * survival(age, mtbf, *law))) / cycle
    periodic = renewal_interval(stall, mtbf, *law, downtime=downtime, restart=restart, strike=strike)
    best = renewal_goodput(periodic, stall, mtbf, *law, downtime=downtime, restart=restart, strike=strike)
    shown = instants <= horizon
    return Schedule(instants[shown], works[shown], goodput, float(periodic), float(best))


def _instants(stall: float, start: float, name: LawName, shape: float) -> Floats:
    """Ages over the mean at which the count of saves is whole, by Newton's rule in log t."""
    edges = _edges(start, name, shape)
    count = np.concatenate(([0.0], np.cumsum(_count(edges[:-1], edges[1:], stall, name, shape))))
    wanted = np.arange(1.0, np.floor(count[-1]) + 1.0)
    left = np.clip(np.searchsorted(count, wanted, side="right") - 1, 0, edges.size - 2)
    low, high = edges[left], edges[left + 1]
    x = 0.5 * (low + high)
    for _ in range(_NEWTON):
        error = count[left] + _count(low, x, stall, name, shape) - wanted
        x = np.clip(x - error / _density(x, stall, name, shape), low, high)
    return np.asarray(np.exp(x))


def _edges(start: float, name: LawName, shape: float) -> Floats:
    """Panels of log t from where training resumes to where hardly any gap lasts."""
    first = np.log(start) if start > 0.0 else _FIRST
    grid = first + _PANEL * np.arange(2 + int((200.0 + _PANEL) / _PANEL))
    alive = survival(np.exp(grid), 1.0, name, shape)
    last = int(np.argmax(alive < _NEGLIGIBLE))
    return np.asarray(grid[: max(last + 1, 2)])


def _count(low: Floats, high: Floats, stall: float, name: LawName, shape: float) -> Floats:
    """Saves between two ages, given by their logarithms."""
    half = 0.5 * (high - low)
    x = (0.5 * (high + low))[..., np.newaxis] + half[..., np.newaxis] * _NODES
    return np.asarray(half * (_density(x, stall, name, shape) @ _WEIGHTS))


def _density(x: Floats, stall: float, name: LawName, shape: float) -> Floats:
    """Saves per unit of log t, ``t sqrt(h/(2 d))``."""
    t = np.exp(x)
    return np.asarray(t * np.sqrt(hazard(t, 1.0, name, shape) / (2.0 * stall)))

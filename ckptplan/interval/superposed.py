"""Many nodes that keep their age: the law of the job's gaps when only the failed node is renewed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.cost.laws import survival
from ckptplan.cost.scenario import LawName, Strike
from ckptplan.cost.unit_laws import Decay, decay, scale, unit_integral
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import Shares
from ckptplan.interval.renewal import cycle, shares_of_cycle
from ckptplan.interval.renewal_optimum import interval_under
from ckptplan.interval.renewal_sum import GapLaw, sharpness

_STEP = 1.0 / 64.0  # of log t, in the integral of a power of the survival


def superposed_shares(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    node_mtbf: npt.ArrayLike,
    name: LawName,
    shape: npt.ArrayLike = 1.0,
    *,
    nodes: npt.ArrayLike,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1,
) -> Shares:
    """Shares of wall time of a job on nodes of which each has its own age.

    Parameters
    ----------
    interval, stall : array_like
        Work between two saves and blocking time of one. [s]
    node_mtbf : array_like
        Mean gap between the failures of one node. [s]
    name : LawName
        Family of the law of one node; not ``recorded``.
    shape : array_like
        Shape of Weibull and gamma, sigma of the log-normal. [1]
    nodes : array_like
        Nodes, at least 1. [1]
    downtime, restart, strike, flush, speed, in_flight
        As for `ckptplan.interval.renewal.renewal_shares`. [s, 1]

    Returns
    -------
    Shares
        nan for input outside its domain.

    Notes
    -----
    In the long run the gap after a failure has the survival ``S(t) S_e(t)^(N-1)`` (Palm law: the failed node is new,
    the others have the stationary residual life; Cox and Lewis, The statistical analysis of series of events, 1966,
    ch. 8), with the mean M_node/N. Successive gaps are taken as independent, which they nearly are for many nodes. For
    large N the law tends to the exponential one.
    """
    arrays = (interval, stall, node_mtbf, nodes, shape, downtime, restart, flush, speed, in_flight)
    W, d, M, N, k, *rest = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in arrays))
    with np.errstate(all="ignore"):
        law = palm_law(LawName(name), k.reshape(-1), N.reshape(-1))
        return shares_of_cycle(law, cycle(law, (W, d, M / N, *rest), strike))


def superposed_goodput(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    node_mtbf: npt.ArrayLike,
    name: LawName,
    shape: npt.ArrayLike = 1.0,
    *,
    nodes: npt.ArrayLike,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1,
) -> Floats:
    """Useful work over wall time of a job on nodes of which each has its own age; see `superposed_shares`. [1]."""
    return superposed_shares(
        interval,
        stall,
        node_mtbf,
        name,
        shape,
        nodes=nodes,
        downtime=downtime,
        restart=restart,
        strike=strike,
        flush=flush,
        speed=speed,
        in_flight=in_flight,
    ).useful


def superposed_interval(
    stall: npt.ArrayLike,
    node_mtbf: npt.ArrayLike,
    name: LawName,
    shape: npt.ArrayLike = 1.0,
    *,
    nodes: npt.ArrayLike,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1,
) -> Floats:
    """Work between saves that maximises the goodput of `superposed_goodput`.

    Parameters
    ----------
    stall, node_mtbf, name, shape, nodes, downtime, restart, strike, flush, speed, in_flight
        As for `superposed_shares`. [s, 1]

    Returns
    -------
    ndarray
        Work between two saves, not below `interval_floor`; nan for input outside its domain. [s]
    """
    arrays = (stall, node_mtbf, nodes, shape, downtime, restart, flush, speed, in_flight)
    d, M, N, k, *rest = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in arrays))
    with np.errstate(all="ignore"):
        law = palm_law(LawName(name), k.reshape(-1), N.reshape(-1))
        return interval_under(law, (d, M / N, *rest), strike)


def palm_law(name: LawName, shape: Floats, nodes: Floats) -> GapLaw:
    """Law of the gaps of N superposed nodes in the long run, in units of its mean.

    Parameters
    ----------
    name : LawName
        Family of the law of one node.
    shape, nodes : ndarray
        One of each per element, flat. [1]

    Returns
    -------
    GapLaw
        nan parameters for fewer nodes than one.

    Notes
    -----
    ``S(t) S_e(t)^(N-1)`` is ``-(M_node/N) d/dt S_e(t)^N``, which gives the integral.
    """

    def others(u: Floats, k: Floats, count: Floats) -> Floats:
        """Logarithm of S_e^count; log1p keeps the digits that the power would lose for many nodes."""
        with np.errstate(divide="ignore"):  # minus infinity at the end of all gaps
            logarithm = np.log1p(-np.minimum(unit_integral(u, k, name), 1.0))
        return np.where(count == 0.0, 0.0, count * logarithm)  # one node has no others, also where S_e is 0

    def curve(t: Floats, size: Floats, k: Floats, count: Floats) -> Decay:
        u = t / size
        alive, fall = decay(u, k, name)
        old = np.exp(others(u, k, count - 1.0))
        rival = np.exp(others(u, k, np.maximum(count - 2.0, -1.0)))
        second = np.where((count > 1.0) & (alive > 0.0), (count - 1.0) / count * t * alive * alive * rival, 0.0)
        return Decay(alive * old, fall * old + second)

    def integral(t: Floats, size: Floats, k: Floats, count: Floats) -> Floats:
        return np.asarray(-np.expm1(others(t / size, k, count)))

    count = np.where((nodes >= 1.0) & np.isfinite(nodes), nodes, np.nan)
    return GapLaw(curve, integral, (scale(name, shape) * count, shape, count), sharpness(name, shape))


def rejuvenate_all_mtbf(
    node_mtbf: npt.ArrayLike, nodes: npt.ArrayLike, name: LawName, shape: npt.ArrayLike = 1.0
) -> Floats:
    """MTBF of a job if every failure made *all* nodes new; for comparison with published tables only.

    Parameters
    ----------
    node_mtbf, nodes, name, shape
        As for `superposed_shares`. [s, 1]

    Returns
    -------
    ndarray
        Mean of the least of N fresh lives. [s]

    Notes
    -----
    ``int_0^inf S^N``; ``M_node N^(-1/k)`` for Weibull (Bougeret et al. 2011). With a falling hazard it is far below
    M_node/N, because every healthy node would start its early life again: wrong for nodes that keep their age.
    """
    M, N, k = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (node_mtbf, nodes, shape)))
    with np.errstate(all="ignore"):
        if LawName(name) in {LawName.EXPONENTIAL, LawName.WEIBULL}:
            share = N ** -(np.ones_like(k) if LawName(name) is LawName.EXPONENTIAL else 1.0 / k)
        else:
            log_t = np.arange(-80.0, 40.0, _STEP).reshape(-1, *(1,) * k.ndim)
            # The trapezoidal rule converges faster than any power for a function that dies out on both sides.
            share = _STEP * np.sum(np.exp(log_t) * survival(np.exp(log_t), 1.0, name, k) ** N, axis=0)
        return np.where((M > 0.0) & (N >= 1.0) & (k > 0.0), M * share, np.nan)


def early_life_first_failures(
    duration: npt.ArrayLike,
    node_mtbf: npt.ArrayLike,
    nodes: npt.ArrayLike,
    name: LawName,
    shape: npt.ArrayLike = 1.0,
) -> Floats:
    """Expected number of new nodes that have failed at least once by a given time.

    Parameters
    ----------
    duration : array_like
        Time since all nodes were new. [s]
    node_mtbf, nodes, name, shape
        As for `superposed_shares`; only the ratio of ``duration`` to ``node_mtbf`` counts. [s, 1]

    Returns
    -------
    ndarray
        ``N (1 - S(t))``. Compare with `long_run_failures`: an MTBF measured early does not extrapolate. [1]
    """
    t, M, N, k = (np.asarray(value, dtype=np.float64) for value in (duration, node_mtbf, nodes, shape))
    with np.errstate(all="ignore"):
        if LawName(name) is LawName.WEIBULL:
            failed = -np.expm1(-((t / (M * scale(name, k))) ** k))
        elif LawName(name) is LawName.EXPONENTIAL:
            failed = -np.expm1(-t / M)
        else:
            failed = 1.0 - survival(t, M, name, k)
        return np.where((t >= 0.0) & (M > 0.0) & (N >= 1.0) & (k > 0.0), N * failed, np.nan)


def long_run_failures(duration: npt.ArrayLike, node_mtbf: npt.ArrayLike, nodes: npt.ArrayLike) -> Floats:
    """Expected number of failures in a given time once the ages of the nodes are mixed, ``N t / M_node``.

    Parameters
    ----------
    duration, node_mtbf : array_like
        Time, and mean gap of one node. [s]
    nodes : array_like
        Nodes, at least 1. [1]

    Returns
    -------
    ndarray
        The number, for any law. [1]
    """
    t, M, N = (np.asarray(value, dtype=np.float64) for value in (duration, node_mtbf, nodes))
    with np.errstate(all="ignore"):
        return np.where((t >= 0.0) & (M > 0.0) & (N >= 1.0), N * t / M, np.nan)

"""Spares: how often a job waits for a node, and how many spares keep that rare."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats

# The recursion may start this many sqrt(load) below both load and servers: its relative error falls by the product of
# 1 - B_j, which is below exp(-40) from there on.
_FORGETS = 9.0
_MET = 1e-12  # relative: a limit that is met to rounding is met
_DOUBLINGS = 60  # of a number of spares


class SpareWait(NamedTuple):
    """What too few spares cost."""

    wait_fraction: Floats  # share of wall time [1]
    mean_wait_s: Floats  # of each wait [s]


def erlang_b(servers: npt.ArrayLike, load: npt.ArrayLike) -> Floats:
    """Erlang's loss formula: share of time in which all servers are busy.

    Parameters
    ----------
    servers : array_like
        Whole number c, not negative. [1]
    load : array_like
        Arrival rate times mean service, a. [1]

    Returns
    -------
    ndarray
        B_c(a) in the broadcast shape, 0 where it is below the range of doubles; nan outside the domain. [1]

    Notes
    -----
    ``B_0 = 1, B_j = a B_{j-1}/(j + a B_{j-1})`` (Erlang 1917), which neither cancels nor overflows and forgets its
    start, so that it need not begin at 0. Exact for Poisson arrivals and any law of service.
    """
    c, a = np.broadcast_arrays(*_floats(servers, load))
    valid = _is_whole(c) & (a >= 0.0) & np.isfinite(a)
    c, a = np.where(valid, c, 0.0), np.where(valid, a, 0.0)
    j, B = _start(np.minimum(a, c), a)
    with np.errstate(under="ignore"):
        while (open_ := (j < c) & (B > 0.0)).any():
            j = np.where(open_, j + 1.0, j)
            B = np.where(open_, a * B / (j + a * B), B)
    return np.where(valid, B, np.nan)


def spare_wait_fraction(spares: npt.ArrayLike, failure_rate: npt.ArrayLike, repair_mean: npt.ArrayLike) -> SpareWait:
    """Time a job spends waiting for a node, where nodes fail only while it runs.

    Parameters
    ----------
    spares : array_like
        Nodes beyond those that the job needs, S, a whole number. [1]
    failure_rate : array_like
        Failures of the whole job while it runs, Lam: one over its MTBF by a clock that stands still in waits only.
        [1/s]
    repair_mean : array_like
        From a failure until the node is back in the pool, or its replacement is, t_r. [s]

    Returns
    -------
    SpareWait
        The fraction is of wall time; nan outside the domain.

    Notes
    -----
    The job waits when S + 1 nodes are down, which are then the busy servers of a loss system: Erlang-B(S + 1, Lam
    t_r), for any law of repair. Waits begin at rate Lam P(S down), hence their mean is t_r/(S + 1), for any law too;
    each is exponential where repairs are. All nodes are repaired at once, however many are down.
    """
    S, rate, t_r = np.broadcast_arrays(*_floats(spares, failure_rate, repair_mean))
    valid = (S >= 0.0) & (rate >= 0.0) & (t_r >= 0.0)
    with np.errstate(all="ignore"):
        fraction = np.where(valid, erlang_b(S + 1.0, rate * t_r), np.nan)
        return SpareWait(fraction, np.where(np.isnan(fraction), np.nan, t_r / (S + 1.0)))


def spares_needed(load: npt.ArrayLike, max_wait_fraction: npt.ArrayLike) -> Floats:
    """Least number of spares for which the job waits at most a given share of wall time.

    Parameters
    ----------
    load : array_like
        Failure rate of the running job times mean repair, a = Lam t_r: nodes down on average if none were missed. [1]
    max_wait_fraction : array_like
        Limit q of the share. [1]

    Returns
    -------
    ndarray
        Whole number S with Erlang-B(S + 1, a) <= q; nan outside the domain, and where no number suffices (q = 0). [1]

    Notes
    -----
    The recursion of `erlang_b`, up to the answer. At least ``a (1 - q)`` servers are busy on average, so that it may
    start below that many. A limit met to rounding is met.
    """
    a, q = np.broadcast_arrays(*_floats(load, max_wait_fraction))
    valid = (a >= 0.0) & np.isfinite(a) & (q >= 0.0) & ((q > 0.0) | (a == 0.0))
    a, q = np.where(valid, a, 0.0), np.where(valid, np.minimum(q, 1.0), 1.0)
    j, B = _start(a * (1.0 - q), a)
    limit = q * (1.0 + _MET)
    with np.errstate(under="ignore"):
        while (open_ := (j < 1.0) | (limit < B)).any():  # with at least one server, the job itself
            j = np.where(open_, j + 1.0, j)
            B = np.where(open_, a * B / (j + a * B), B)
    return np.where(valid, j - 1.0, np.nan)


def node_unavailability(repair_mean: npt.ArrayLike, mtbf_of_node: npt.ArrayLike) -> Floats:
    """Share of time a node is down, if it fails in use or not: ``q = t_r/(t_r + M_node)``, for any laws.

    Parameters
    ----------
    repair_mean, mtbf_of_node : array_like
        Mean repair t_r, and mean time from the end of a repair to the next failure, M_node. [s]

    Returns
    -------
    ndarray
        From 0 to 1; nan outside the domain. [1]
    """
    t_r, M = _floats(repair_mean, mtbf_of_node)
    with np.errstate(all="ignore"):
        return np.where((t_r >= 0.0) & (M > 0.0), t_r / (t_r + M), np.nan)


def spare_shortage_binomial(
    nodes_needed: npt.ArrayLike, spares: npt.ArrayLike, node_unavailability: npt.ArrayLike
) -> Floats:
    """Time a job spends waiting for a node, where every node fails all the time, in use or not.

    Parameters
    ----------
    nodes_needed, spares : array_like
        N, at least 1, and S; whole numbers. [1]
    node_unavailability : array_like
        Share of time each node is down, q, see `node_unavailability`. [1]

    Returns
    -------
    ndarray
        ``P(Binomial(N + S, q) > S)``, a share of wall time; nan outside the domain. [1]

    Notes
    -----
    Exact for independent nodes, for any laws of failure and of repair. Computed as the incomplete beta function
    I_q(S + 1, N), which does not cancel.
    """
    from scipy.special import betainc

    N, S, q = np.broadcast_arrays(*_floats(nodes_needed, spares, node_unavailability))
    valid = _is_whole(N) & (N >= 1.0) & _is_whole(S) & (q >= 0.0) & (q <= 1.0)
    N, S, q = np.where(valid, N, 1.0), np.where(valid, S, 0.0), np.where(valid, q, 0.0)
    with np.errstate(under="ignore"):
        return np.where(valid, betainc(S + 1.0, N, q), np.nan)


def spares_needed_binomial(
    nodes_needed: npt.ArrayLike, node_unavailability: npt.ArrayLike, max_shortage: npt.ArrayLike
) -> Floats:
    """Least number of spares for which too many nodes are down at most a given share of the time.

    Parameters
    ----------
    nodes_needed, node_unavailability : array_like
        As for `spare_shortage_binomial`. [1]
    max_shortage : array_like
        Limit of the share. [1]

    Returns
    -------
    ndarray
        Whole number S; nan outside the domain, and where no number suffices. [1]

    Notes
    -----
    The shortage falls with S: one more node is one more that may be up. Found by doubling and bisection. A limit met
    to rounding is met.
    """
    N, q, limit = np.broadcast_arrays(*_floats(nodes_needed, node_unavailability, max_shortage))
    possible = (limit > 0.0) & (q < 1.0) | (q == 0.0) & (limit >= 0.0) | (limit >= 1.0)
    valid = _is_whole(N) & (N >= 1.0) & (q >= 0.0) & (q <= 1.0) & possible
    N, q = np.where(valid, N, 1.0), np.where(valid, q, 0.0)
    limit = np.where(valid, limit, 1.0) * (1.0 + _MET)
    return np.where(valid, _least(lambda S: spare_shortage_binomial(N, S, q) <= limit, N.shape), np.nan)


def goodput_with_waits(goodput: npt.ArrayLike, wait_fraction: npt.ArrayLike) -> Floats:
    """Goodput of a job that also waits for nodes, ``(1 - B) g``.

    Parameters
    ----------
    goodput : array_like
        Useful work over the wall time that is not spent waiting, g. [1]
    wait_fraction : array_like
        Share of wall time spent waiting, B. [1]

    Returns
    -------
    ndarray
        Useful work over wall time; nan where an argument is not between 0 and 1. [1]

    Notes
    -----
    Exact where failures strike restarts (`Strike.DR`) and g counts no wait in D. With the clock standing still in a
    recovery of length R, Lam is ``1/(M + R)``, and B is good to first order in ``R/t_r``.
    """
    g, B = _floats(goodput, wait_fraction)
    with np.errstate(invalid="ignore"):
        return np.where((g >= 0.0) & (g <= 1.0) & (B >= 0.0) & (B <= 1.0), (1.0 - B) * g, np.nan)


def _start(servers: Floats, load: Floats) -> tuple[Floats, Floats]:
    """Where the recursion may begin, and with what: near enough to be forgotten before ``servers``."""
    j = np.maximum(np.floor(servers - _FORGETS * np.sqrt(load)), 0.0)
    with np.errstate(invalid="ignore"):
        return j, np.where(j > 0.0, 1.0 - j / load, 1.0)


def _least(suffices: Callable[[Floats], npt.NDArray[np.bool_]], shape: tuple[int, ...]) -> Floats:
    """Least whole number from 0 that suffices, for each element, if those above do too; nan if there is none."""
    low, high = np.full(shape, -1.0), np.zeros(shape)  # low does not suffice, high might
    for _ in range(_DOUBLINGS):
        short = ~suffices(high)
        if not short.any():
            break
        low, high = np.where(short, high, low), np.where(short, 2.0 * high + 1.0, high)
    found = suffices(high)
    while (open_ := found & (high - low > 1.0)).any():
        middle = np.floor(0.5 * (low + high))
        enough = suffices(middle)
        low, high = np.where(open_ & ~enough, middle, low), np.where(open_ & enough, middle, high)
    return np.where(found, high, np.nan)


def _is_whole(number: Floats) -> npt.NDArray[np.bool_]:
    """Whether it is 0, 1, 2, ..."""
    return np.asarray((number >= 0.0) & (np.floor(number) == number) & np.isfinite(number))


def _floats(*values: npt.ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)

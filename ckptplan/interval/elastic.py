"""Elastic training: go on with fewer replicas where a job that needs them all would wait for a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.spares import erlang_b

_STEPS = 100  # of a bracketed root; about ten are taken
_STEP = 1e-3  # first width of a bracket around the first-order value, in the logarithm
_DOUBLINGS = 12  # of that width: up to a factor of 60 either way


class ElasticOrWait(NamedTuple):
    """Throughput of the same job both ways, over that without failures, and which way does more."""

    elastic: Floats  # [1]
    wait: Floats  # [1]
    gain: Floats  # elastic over wait, less 1, also where both round to the same number [1]
    shrink: npt.NDArray[np.bool_]  # whether the gain is positive


class _Process(NamedTuple):
    """The numbers of the process, broadcast and valid."""

    load: Floats  # Lam t_r, while the job works
    spares: Floats
    replicas: Floats
    restart: Floats  # Lam R
    reshard: Floats  # Lam 2 R_reshard


class _Down(NamedTuple):
    """Replicas in use, by the truncated Poisson law of the nodes that are down."""

    out_of_spares: Floats  # P(j >= S): the next failure removes a replica
    missing: Floats  # mean share of the replicas that are missing
    present: Floats  # 1 - missing


def elastic_throughput(
    failure_rate: npt.ArrayLike,
    spares: npt.ArrayLike,
    replicas: npt.ArrayLike,
    repair_mean: npt.ArrayLike,
    *,
    reshard: npt.ArrayLike,
    restart: npt.ArrayLike,
) -> Floats:
    """Throughput of a job that goes on with fewer replicas while nodes are missing, saves and rework apart.

    Parameters
    ----------
    failure_rate : array_like
        Failures of the whole job while it works, Lam, whatever the number of replicas. [1/s]
    spares, replicas : array_like
        S, and G at full size; whole numbers, G at least 1. Each failure beyond the spares removes one replica, whose
        other nodes stand idle, until a node is back. [1]
    repair_mean : array_like
        From a failure until the node is back in the pool, t_r. [s]
    reshard : array_like
        Stop for each change of the number of replicas, R_reshard. [s]
    restart : array_like
        Stop for each failure, R. [s]

    Returns
    -------
    ndarray
        Share of the throughput without failures; nan outside the domain. [1]

    Notes
    -----
    The number j of nodes down is taken to be Poisson with mean ``Lam t_r f``, truncated at S + G, where f is the share
    of time in which the job works; ``f = 1/(1 + Lam (R + 2 R_reshard P(j >= S)))`` and the throughput is
    ``f E[1 - (j - S)^+/G]``. Exact for R = R_reshard = 0, for any law of repair. With stops an approximation that errs
    low: the clock of failures stands still in them while repairs go on, and most nodes are down just then. Simulated,
    0.1 to 0.2 % for 16 replicas, loads below 1 and stops of t_r/10; 1 % for four replicas or loads beyond the spares;
    3 % where both stops and load are large.
    """
    p, valid = _process(failure_rate, spares, replicas, repair_mean, reshard, restart)
    with np.errstate(all="ignore"):
        return np.where(valid, _elastic(p)[0], np.nan)


def elastic_or_wait(
    failure_rate: npt.ArrayLike,
    spares: npt.ArrayLike,
    replicas: npt.ArrayLike,
    repair_mean: npt.ArrayLike,
    *,
    reshard: npt.ArrayLike,
    restart: npt.ArrayLike,
) -> ElasticOrWait:
    """Compare going on with fewer replicas to waiting for a node, once the spares are used up.

    Parameters
    ----------
    failure_rate, spares, replicas, repair_mean, reshard, restart
        As for `elastic_throughput`. [1/s, 1, 1, s, s, s]

    Returns
    -------
    ElasticOrWait
        nan, and False, outside the domain.

    Notes
    -----
    Waiting has throughput ``(1 - Erlang-B(S + 1, Lam t_r f)) f`` with ``f = 1/(1 + Lam R)``, the same approximation as
    `elastic_throughput`, within 0.3 % for the same cases; both are exact without stops. The gain is formed from the
    losses, which may be far below the rounding of the throughputs.
    """
    p, valid = _process(failure_rate, spares, replicas, repair_mean, reshard, restart)
    with np.errstate(all="ignore"):
        elastic, ratio = _elastic(p)[0], _log_ratio(p)
        working = 1.0 / (1.0 + p.restart)
        wait = (1.0 - erlang_b(p.spares + 1.0, p.load * working)) * working
        gain = np.where(valid, np.expm1(ratio), np.nan)
        return ElasticOrWait(np.where(valid, elastic, np.nan), np.where(valid, wait, np.nan), gain, gain > 0.0)


def shrink_beats_waiting(
    expected_wait: npt.ArrayLike, replicas: npt.ArrayLike, reshard: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Whether to go on with one replica less rather than wait for a node: ``w > 2 R_reshard + w/G``.

    Parameters
    ----------
    expected_wait : array_like
        Mean time until a node is there, w; with S spares, all used up, ``t_r/(S + 1)``. [s]
    replicas : array_like
        At full size, G. [1]
    reshard : array_like
        Stop for each change of the number of replicas, R_reshard. [s]

    Returns
    -------
    ndarray of bool
        False outside the domain.

    Notes
    -----
    First order in the failure rate: no further failure comes before the node does. Waiting costs w; shrinking costs
    two stops and 1/G of the throughput for as long as the node is missing, which is w as well. That is t_r without
    spares only: with S of them the first of S + 1 repairs brings the replica back.
    """
    w, G, stop = np.broadcast_arrays(*_floats(expected_wait, replicas, reshard))
    with np.errstate(invalid="ignore"):
        return np.asarray((G >= 1.0) & (stop >= 0.0) & (w * (G - 1.0) > 2.0 * stop * G))


def break_even_repair_first_order(spares: npt.ArrayLike, replicas: npt.ArrayLike, reshard: npt.ArrayLike) -> Floats:
    """Mean repair above which shrinking does more than waiting, to first order in the failure rate.

    Parameters
    ----------
    spares, replicas : array_like
        S, and G at full size. [1]
    reshard : array_like
        R_reshard. [s]

    Returns
    -------
    ndarray
        ``2 R_reshard (S + 1) G/(G - 1)``; infinite for one replica, nan outside the domain. [s]
    """
    S, G, stop = np.broadcast_arrays(*_floats(spares, replicas, reshard))
    valid = (S >= 0.0) & (G >= 1.0) & (stop >= 0.0)
    with np.errstate(all="ignore"):
        mean = np.where(G == 1.0, np.inf, 2.0 * stop * (S + 1.0) * G / (G - 1.0))
        return np.where(valid, mean, np.nan)


def break_even_repair(
    failure_rate: npt.ArrayLike,
    spares: npt.ArrayLike,
    replicas: npt.ArrayLike,
    *,
    reshard: npt.ArrayLike,
    restart: npt.ArrayLike,
) -> Floats:
    """Mean repair at which both ways of `elastic_or_wait` have the same throughput; for a longer one shrink.

    Parameters
    ----------
    failure_rate, spares, replicas, reshard, restart
        As for `elastic_throughput`. [1/s, 1, 1, s, s]

    Returns
    -------
    ndarray
        Infinite for one replica, 0 where resharding is free; nan outside the domain, and where no break-even is
        found near the first-order one. [s]

    Notes
    -----
    Tends to `break_even_repair_first_order` for ``Lam t_r << 1``. Meant for loads that the spares and replicas can
    bear: far beyond, both throughputs vanish, and shrinking may lose again, because the failure rate is taken not to
    fall with the number of replicas.
    """
    first = break_even_repair_first_order(spares, replicas, reshard)
    p, valid = _process(failure_rate, spares, replicas, np.where(first < np.inf, first, 0.0), reshard, restart)
    rate = np.broadcast_to(np.asarray(failure_rate, dtype=np.float64), p.load.shape)
    limit = np.broadcast_to(first, p.load.shape)
    searched = valid & (limit > 0.0) & (limit < np.inf) & (rate > 0.0)
    p = _Process(*(np.where(searched, part, 1.0) for part in p))
    rate, start = np.where(searched, rate, 1.0), np.log(np.where(searched, limit, 1.0))

    def gain(log_mean: Floats) -> Floats:
        return _log_ratio(p._replace(load=rate * np.exp(log_mean)))

    with np.errstate(all="ignore"):
        root = np.exp(_root(gain, *_bracket(gain, start)))
    return np.where(valid, np.where(searched, root, limit), np.nan)


def _bracket(function: Callable[[Floats], Floats], start: Floats) -> tuple[Floats, Floats]:
    """Points around a rise through 0 near ``start``, nan where none is found."""
    low, high, step = start - _STEP, start + _STEP, _STEP
    for _ in range(_DOUBLINGS):
        left, right = function(low) > 0.0, function(high) < 0.0
        if not (left.any() or right.any()):
            break
        low, high = np.where(left, low - step, low), np.where(right, high + step, high)
        step *= 2.0
    found = (function(low) <= 0.0) & (function(high) >= 0.0)
    return np.where(found, low, np.nan), np.where(found, high, np.nan)


def _process(*arguments: npt.ArrayLike) -> tuple[_Process, npt.NDArray[np.bool_]]:
    """Dimensionless numbers, 1 in place of what is not valid, and what is."""
    rate, S, G, t_r, stop, R = np.broadcast_arrays(*_floats(*arguments))
    with np.errstate(all="ignore"):
        whole = (np.floor(S) == S) & (np.floor(G) == G) & (S >= 0.0) & (G >= 1.0)
        p = _Process(rate * t_r, S, G, rate * R, 2.0 * rate * stop)
        finite = np.logical_and.reduce([np.isfinite(part) for part in p])
        valid = whole & finite & (rate >= 0.0) & (t_r >= 0.0) & (stop >= 0.0) & (R >= 0.0)
    return _Process(*(np.where(valid, part, 1.0) for part in p)), valid


def _elastic(p: _Process) -> tuple[Floats, _Down]:
    """Throughput and the law of the nodes down, at the fixed point of the share of time in which the job works."""

    def excess(working: Floats) -> Floats:
        return np.asarray(working * (1.0 + p.restart + p.reshard * _down(p, working).out_of_spares) - 1.0)

    low, high = 1.0 / (1.0 + p.restart + p.reshard), 1.0 / (1.0 + p.restart)
    working = _root(excess, low, high)
    down = _down(p, working)
    return np.asarray(down.present / (1.0 + p.restart + p.reshard * down.out_of_spares)), down


def _down(p: _Process, working: Floats) -> _Down:
    """Poisson law of mean ``a = load working``, truncated at S + G.

    Adding one more state to a law truncated at j - 1 gives that state the probability B_j of Erlang's formula, and
    scales all others by 1 - B_j: every mean follows by adding terms of one sign.
    """
    a, S, G = p.load * working, p.spares, p.replicas
    B = erlang_b(S, a)
    out_of_spares, missing, present = B, np.zeros_like(B), np.ones_like(B)
    for k in range(1, int(G.max(initial=0.0)) + 1):
        B = np.where(k <= G, a * B / (S + k + a * B), 0.0)
        kept, lost = 1.0 - B, np.minimum(k / G, 1.0)
        out_of_spares, missing = out_of_spares * kept + B, missing * kept + B * lost
        present = present * kept + B * (1.0 - lost)
    return _Down(out_of_spares, missing, present)


def _log_ratio(p: _Process) -> Floats:
    """Logarithm of the throughput of shrinking over that of waiting, from three losses."""
    working = 1.0 / (1.0 + p.restart)
    down = _elastic(p)[1]
    waiting = erlang_b(p.spares + 1.0, p.load * working)
    resharding = p.reshard * down.out_of_spares * working
    return np.asarray(np.log1p(-down.missing) - np.log1p(resharding) - np.log1p(-waiting))


def _root(function: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Root of a rising function between two points around it: false position that halves a side which stays."""
    at_low, at_high, last = function(low), function(high), np.zeros(low.shape)
    point = high
    for _ in range(_STEPS):
        slope = at_high - at_low
        point = np.where(slope > 0.0, high - at_high * (high - low) / slope, low)
        value = np.where((low < point) & (point < high), function(point), 0.0)  # no further to rounding
        if not value.any():
            break
        side = np.sign(value)
        at_high = np.where(side < 0.0, np.where(last < 0.0, 0.5 * at_high, at_high), value)
        at_low = np.where(side > 0.0, np.where(last > 0.0, 0.5 * at_low, at_low), value)
        low, high, last = np.where(side > 0.0, low, point), np.where(side < 0.0, high, point), side
    return point


def _floats(*values: npt.ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)

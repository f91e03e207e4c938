"""How the time to finish a finite amount of work is distributed: exact, by inversion of its transform."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.blocks import Floats
from ckptplan.interval.completion_transform import ExcessTime
from ckptplan.interval.finite import FiniteRun, finite_run
from ckptplan.interval.inversion import Inversion


def completion_cdf(
    times: npt.ArrayLike,
    work: float,
    interval: float,
    stall: float,
    mtbf: float,
    *,
    downtime: float = 0.0,
    restart: float = 0.0,
    strike: Strike = Strike.DR,
    flush: float = 0.0,
    speed: float = 1.0,
    in_flight: float = 1.0,
) -> Floats:
    """Probability that a finite amount of work is done within given times.

    Parameters
    ----------
    times : array_like
        Wall times. [s]
    work, interval, stall, mtbf, downtime, restart, strike, flush, speed, in_flight
        As for `ckptplan.interval.finite.finite_run`; one run. [s, 1]

    Returns
    -------
    ndarray
        Probabilities, absolute error below 1e-6 and mostly 1e-8; nan for input outside its domain, and where the
        inversion does not reach that. [1]

    Notes
    -----
    The process is that of `expected_time`. Without a failure the time is the shortest one, with probability
    ``exp(-T/M)``: the distribution has a step there. See `completion_quantiles`.
    """
    run = finite_run(
        work,
        interval,
        stall,
        mtbf,
        downtime=downtime,
        restart=restart,
        strike=strike,
        flush=flush,
        speed=speed,
        in_flight=in_flight,
    )
    inversion, shortest = _inversion(run), run.shortest_s
    t = np.asarray(times, dtype=np.float64)
    if inversion is None:
        return np.full(t.shape, np.nan)
    return inversion.cdf((t - shortest).reshape(-1)).reshape(t.shape)


def completion_quantiles(
    probabilities: npt.ArrayLike,
    work: float,
    interval: float,
    stall: float,
    mtbf: float,
    *,
    downtime: float = 0.0,
    restart: float = 0.0,
    strike: Strike = Strike.DR,
    flush: float = 0.0,
    speed: float = 1.0,
    in_flight: float = 1.0,
) -> Floats:
    """Times within which a finite amount of work is done with given probabilities.

    Parameters
    ----------
    probabilities : array_like
        Between 0 and 1, both excluded; from 1e-6 to 1 - 1e-6 they can be resolved. [1]
    work, interval, stall, mtbf, downtime, restart, strike, flush, speed, in_flight
        As for `ckptplan.interval.finite.finite_run`; one run. [s, 1]

    Returns
    -------
    ndarray
        Wall times; the shortest time itself where no failure is at least as likely as the probability. nan for
        input outside its domain, and where the inversion does not resolve the distribution. [s]

    Notes
    -----
    With ``y = exp(-theta U) lambda/(lambda + theta)``, the Laplace transform of the time beyond the shortest one
    is ``exp(-T/M)`` times the product of ``(1 - y (1 - exp(-(lambda + theta) L)))^-w`` over the stretches (w, L)
    of the run. Up to three failures are inverted by hand, which takes the steps out; the rest is a Fourier sum
    whose period holds all but 1e-10 of the probability (Davies 1973), or, where a few long pieces make that sum
    too long, an Euler sum (Abate and Whitt 1995).
    """
    run = finite_run(
        work,
        interval,
        stall,
        mtbf,
        downtime=downtime,
        restart=restart,
        strike=strike,
        flush=flush,
        speed=speed,
        in_flight=in_flight,
    )
    inversion, shortest = _inversion(run), run.shortest_s
    p = np.asarray(probabilities, dtype=np.float64)
    if inversion is None:
        return np.full(p.shape, np.nan)
    return np.asarray(shortest + inversion.quantiles(p.reshape(-1)).reshape(p.shape))


def _inversion(run: FiniteRun) -> Inversion | None:
    """The inversion of one run; None where its input is outside the domain."""
    shortest = float(run.shortest_s)
    if not np.isfinite(shortest):
        return None
    stretches = [(float(weight), float(length)) for weight, length in run.stretches if weight != 0.0]
    law = ExcessTime(
        rate=1.0 / float(run.mtbf_s),
        unstruck=float(run.unstruck_s),
        shortest=shortest,
        weights=np.array([weight for weight, _ in stretches]),
        lengths=np.array([length for _, length in stretches]),
    )
    return Inversion(law)

"""The price of scale: how many GPUs are worth their price, and how many do a fixed amount of work at least cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import asynchronous_interval
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.scale import goodput_elasticity, root_of_falling

_TINY = 1e-290  # GPUs: none


class Contribution(NamedTuple):
    """What the GPUs of a job do, in GPUs that never lose anything at the reference size."""

    useful_gpus: Floats  # all of them together [1]
    marginal: Floats  # one more; negative beyond the peak [1]


class _Job(NamedTuple):
    """What does not change with the number of GPUs."""

    stall: Floats
    restart: Floats
    mtbf_per_gpu: Floats
    downtime: Floats
    exponent: Floats
    reference_gpus: Floats
    flush: Floats
    speed: Floats

    def valid(self) -> npt.NDArray[np.bool_]:
        d, R, M_gpu, D, gamma, N0, F, om = self
        positive = (M_gpu > 0.0) & (gamma > 0.0) & (N0 > 0.0) & np.isfinite(N0)
        return np.asarray(positive & (d >= 0.0) & (R >= 0.0) & (D >= 0.0) & (F >= 0.0) & (om >= 0.0) & (om <= 1.0))

    def start(self) -> Floats:
        """MTBF near which losses matter; that of the reference size if there are none. [s]."""
        scale = (self.stall + self.restart + self.downtime + self.flush) / self.exponent
        return np.where(scale > 0.0, scale, self.mtbf_per_gpu / self.reference_gpus)

    def elasticity(self, M: Floats, strike: Strike) -> Floats:
        return goodput_elasticity(
            M, self.stall, self.restart, downtime=self.downtime, strike=strike, flush=self.flush, speed=self.speed
        )

    def efficiency(self, M: Floats, strike: Strike) -> Floats:
        """Useful GPUs over GPUs."""
        W = asynchronous_interval(self.stall, self.flush, self.speed, M)
        goodput = exact_goodput(
            W,
            self.stall,
            M,
            downtime=self.downtime,
            restart=self.restart,
            strike=strike,
            flush=self.flush,
            speed=self.speed,
        )
        return np.asarray((self.mtbf_per_gpu / M / self.reference_gpus) ** (self.exponent - 1.0) * goodput)


def useful_gpus(
    gpus: npt.ArrayLike,
    stall: npt.ArrayLike,
    restart: npt.ArrayLike,
    mtbf_per_gpu: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    scaling_exponent: npt.ArrayLike = 1.0,
    reference_gpus: npt.ArrayLike = 1.0,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> Contribution:
    """Throughput of a job in GPUs that lose nothing, and what one GPU more adds to it.

    Parameters
    ----------
    gpus : array_like
        GPUs of the job, N; the interval is the best one at each size. [1]
    stall, restart, mtbf_per_gpu, downtime, strike, scaling_exponent, flush, speed
        As for `gpus_at_peak`. [s, 1]
    reference_gpus : array_like
        Size N0 at which a GPU counts as one; it matters for an exponent other than 1. [1]

    Returns
    -------
    Contribution
        ``U = N0 (N/N0)^gamma g(N)`` and ``dU/dN``; nan outside the domain. [1]

    Notes
    -----
    ``dU/dN = (U/N) (gamma - e)`` with the elasticity e of the goodput: the MTBF falls as 1/N.
    """
    arrays = (stall, restart, mtbf_per_gpu, downtime, scaling_exponent, reference_gpus, flush, speed)
    job, (N,) = _broadcast(arrays, gpus)
    with np.errstate(all="ignore"):
        M = np.where(job.valid() & (N > 0.0), job.mtbf_per_gpu / N, np.nan)
        efficiency = job.efficiency(M, strike)
        return Contribution(N * efficiency, efficiency * (job.exponent - job.elasticity(M, strike)))


def gpus_worth_adding(
    price_over_worth: npt.ArrayLike,
    stall: npt.ArrayLike,
    restart: npt.ArrayLike,
    mtbf_per_gpu: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    scaling_exponent: npt.ArrayLike = 1.0,
    reference_gpus: npt.ArrayLike = 1.0,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> Floats:
    """Number of GPUs beyond which a further one costs more than it adds.

    Parameters
    ----------
    price_over_worth : array_like
        Price of a GPU-hour over the worth of an hour of a useful GPU. [1]
    stall, restart, mtbf_per_gpu, downtime, strike, scaling_exponent, reference_gpus, flush, speed
        As for `useful_gpus`, with an exponent of at most 1: beyond, a GPU adds more the more there are. [s, 1]

    Returns
    -------
    ndarray
        N where ``dU/dN`` has fallen to the ratio, not rounded; the peak of `gpus_at_peak` at a ratio of 0; 0 where
        not even the first GPU pays: at the exponent 1 any ratio from 1 on. nan outside the domain, and where every
        further GPU pays: without losses at the exponent 1, and without a peak at a ratio of 0. [1]

    Notes
    -----
    ``dU/dN = (N/N0)^(gamma-1) g (gamma - e)``: each factor falls with N up to the peak, so there is one root; it
    is found by bisection in log(M). Without losses at all it lies at ``N0 (gamma/ratio)^(1/(1-gamma))``, and
    below that with them.
    """
    arrays = (stall, restart, mtbf_per_gpu, downtime, scaling_exponent, reference_gpus, flush, speed)
    job, (ratio,) = _broadcast(arrays, price_over_worth)

    def excess(log_m: Floats) -> Floats:
        M = np.exp(log_m)
        return np.asarray(ratio - job.efficiency(M, strike) * (job.exponent - job.elasticity(M, strike)))

    with np.errstate(all="ignore"):
        gamma, N0 = job.exponent, job.reference_gpus
        most = np.where((gamma == 1.0) & (ratio >= 1.0), 0.0, N0 * (gamma / ratio) ** (1.0 / (1.0 - gamma)))
        start = np.maximum(job.start(), job.mtbf_per_gpu / most)
        valid = job.valid() & (gamma <= 1.0) & (ratio >= 0.0)
        root = root_of_falling(excess, np.log(np.where(valid & (most >= _TINY), start, np.nan)))
        return np.where(valid & (most < _TINY), 0.0, job.mtbf_per_gpu / np.exp(root))


def gpus_of_least_cost(
    price: npt.ArrayLike,
    value_of_time: npt.ArrayLike,
    stall: npt.ArrayLike,
    restart: npt.ArrayLike,
    mtbf_per_gpu: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    scaling_exponent: npt.ArrayLike = 1.0,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
) -> Floats:
    """Number of GPUs that does a fixed amount of work at least cost.

    Parameters
    ----------
    price : array_like
        Price p of a GPU-hour. [money/h]
    value_of_time : array_like
        What it is worth to finish an hour sooner, v. [the same money/h]
    stall, restart, mtbf_per_gpu, downtime, strike, scaling_exponent, flush, speed
        As for `gpus_at_peak`. [s, 1]

    Returns
    -------
    ndarray
        N that minimises ``(p N + v)/U(N)``, not rounded. With time worth nothing and an exponent of at most 1 the
        fewest GPUs are cheapest: 0. With GPUs for nothing, the peak of `gpus_at_peak`. nan outside the domain, where
        both are 0, and where more are always better: without losses at the exponent 1, and without a peak at p = 0. [1]

    Notes
    -----
    Work of S GPU-hours takes ``S/U`` hours and costs ``(p N + v) S/U``. At the minimum the share of the GPUs in the
    cost equals the elasticity of the throughput: ``p N/(p N + v) = gamma - e``. The left side grows with N and the
    right side falls, so there is one root, found by bisection in log(M). Valid for work that lasts many MTBFs.
    """
    arrays = (stall, restart, mtbf_per_gpu, downtime, scaling_exponent, 1.0, flush, speed)
    job, (p, v) = _broadcast(arrays, price, value_of_time)
    with np.errstate(all="ignore"):
        equivalent = v / p  # GPUs whose price is the value of time

    def excess(log_m: Floats) -> Floats:
        M = np.exp(log_m)
        share_of_time = 1.0 / (1.0 + job.mtbf_per_gpu / M / equivalent)
        return np.asarray((1.0 - job.exponent) + job.elasticity(M, strike) - share_of_time)

    with np.errstate(all="ignore"):
        valid = job.valid() & (p >= 0.0) & (v >= 0.0) & (p < np.inf) & (v < np.inf) & (p + v > 0.0)
        fewest = valid & (v == 0.0) & (job.exponent <= 1.0)
        root = root_of_falling(excess, np.log(np.where(valid & ~fewest, job.start(), np.nan)))
        return np.where(fewest, 0.0, job.mtbf_per_gpu / np.exp(root))


def _broadcast(job: tuple[npt.ArrayLike, ...], *others: npt.ArrayLike) -> tuple[_Job, list[Floats]]:
    """Everything in one shape."""
    arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (*job, *others)))
    return _Job(*arrays[: len(job)]), list(arrays[len(job) :])

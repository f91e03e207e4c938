"""Mean time between failures: its scaling with the number of GPUs, and the sources that it is reduced from.

Every function broadcasts. A count or a rate of zero gives an infinite MTBF: no failure was seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

SECONDS_PER_DAY = 86_400.0


def mtbf_of_job(mtbf_per_gpu: ArrayLike, gpus: ArrayLike) -> Floats:
    """MTBF of a job that any of its GPUs can stop.

    Parameters
    ----------
    mtbf_per_gpu : array_like
        Mean time between failures of one GPU and its share of the node around it. [s]
    gpus : array_like
        GPUs of the job. [1]

    Returns
    -------
    ndarray
        Mean time between failures of the job. [s]

    Notes
    -----
    ``M = M_gpu / N``: rates of independent failures add. Exact for exponential failures; for other laws it
    holds in the long run, over many components (Herault and Robert 2015, chapter 1).
    """
    return _floats(mtbf_per_gpu) / _floats(gpus)


def mtbf_per_gpu_from_job(mtbf: ArrayLike, gpus: ArrayLike) -> Floats:
    """MTBF per GPU from that of a job.

    Parameters
    ----------
    mtbf : array_like
        Mean time between failures of the job. [s]
    gpus : array_like
        GPUs of the job on which it was observed. [1]

    Returns
    -------
    ndarray
        Mean time between failures per GPU. [s]

    Notes
    -----
    Inverse of ``mtbf_of_job``, and valid where that is.
    """
    return _floats(mtbf) * _floats(gpus)


def mtbf_per_gpu_from_node(mtbf_per_node: ArrayLike, gpus_per_node: ArrayLike) -> Floats:
    """MTBF per GPU from that of a node.

    Parameters
    ----------
    mtbf_per_node : array_like
        Mean time between failures of one node, everything in it included. [s]
    gpus_per_node : array_like
        GPUs of one node. [1]

    Returns
    -------
    ndarray
        Mean time between failures per GPU, failures of the rest of the node shared among its GPUs. [s]

    Notes
    -----
    ``M_gpu = g M_node``. Valid for whole nodes: a job on part of a node still fails with all of it.
    """
    return _floats(mtbf_per_node) * _floats(gpus_per_node)


def mtbf_per_gpu_from_rate_per_node_day(rate: ArrayLike, gpus_per_node: ArrayLike) -> Floats:
    """MTBF per GPU from failures per node and day.

    Parameters
    ----------
    rate : array_like
        Failures per node-day. Studies often print them per 1,000 node-days: divide those by 1,000. [1/day]
    gpus_per_node : array_like
        GPUs of one node. [1]

    Returns
    -------
    ndarray
        Mean time between failures per GPU. [s]

    Notes
    -----
    ``M_gpu = 86,400 g / rate``. Research clusters of 8-GPU nodes report 2.34 to 6.50 per 1,000 node-days
    (Kokolis et al., Revisiting reliability in large-scale machine learning research clusters, HPCA 2025).
    """
    with np.errstate(divide="ignore"):
        return SECONDS_PER_DAY * _floats(gpus_per_node) / _floats(rate)


def mtbf_from_interruptions(count: ArrayLike, over: ArrayLike, gpus: ArrayLike) -> Floats:
    """MTBF per GPU from a count of interruptions; with ``gpus=1``, that of the job itself.

    Parameters
    ----------
    count : array_like
        Unplanned interruptions counted. [1]
    over : array_like
        Time over which they were counted. [s]
    gpus : array_like
        GPUs of the job then. [1]

    Returns
    -------
    ndarray
        Mean time between failures per GPU, the maximum-likelihood estimate. [s]

    Notes
    -----
    ``M_gpu = N t / k``. With ``t`` as wall time the failure clock also runs through recoveries. The
    relative error is about ``1 / sqrt(k)``.
    """
    with np.errstate(divide="ignore"):
        return _floats(over) * _floats(gpus) / _floats(count)


def mtbf_from_count(
    count: ArrayLike, over: ArrayLike, gpus: ArrayLike, prior: tuple[float, float] | None = None
) -> Floats:
    """MTBF per GPU from a count of interruptions, weighed against what was believed before.

    Parameters
    ----------
    count : array_like
        Unplanned interruptions counted. [1]
    over : array_like
        Time over which they were counted. [s]
    gpus : array_like
        GPUs of the job then. [1]
    prior : tuple of float, optional
        Shape and GPU-seconds of a gamma prior of the rate. [1, GPU s]

    Returns
    -------
    ndarray
        Mean time between failures per GPU. [s]

    Notes
    -----
    A prior that is given counts: ``(N t + T) / (k + a)``, the inverse of the posterior mean of the rate. Without one,
    `mtbf_from_interruptions`; without a failure there is no mean but that of a prior, and that of Jeffreys is taken.
    """
    shape, exposure = (0.5, 0.0) if prior is None else prior
    weighed = (_floats(over) * _floats(gpus) + exposure) / (_floats(count) + shape)
    if prior is not None:
        return np.asarray(weighed)
    return np.where(_floats(count) > 0.0, mtbf_from_interruptions(count, over, gpus), weighed)


def superpose(mtbfs: ArrayLike, axis: int = -1) -> Floats:
    """MTBF of a job that several independent causes can stop.

    Parameters
    ----------
    mtbfs : array_like
        Mean time between failures of each cause, all of the same job. [s]
    axis : int
        Axis along which the causes lie.

    Returns
    -------
    ndarray
        Mean time between failures, whatever the cause. [s]

    Notes
    -----
    ``1/M = sum 1/M_i``: rates add. Exact for exponential causes.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / np.sum(1.0 / _floats(mtbfs), axis=axis))


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)

"""What one failure costs before training goes on: phases of a restart, and the time to load a checkpoint."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckptplan.cost.scenario import Cluster, Model, Restart, Scenario
from ckptplan.cost.size import sizes
from ckptplan.errors import InputError

Floats = NDArray[np.float64]


class RestartCost(NamedTuple):
    """Time from a failure until training goes on, the lost work not included [s].

    ``downtime_s`` is detection and replacement, ``restart_s`` the rest; with a total alone all of it is
    restart.
    """

    total_s: float
    downtime_s: float
    restart_s: float
    phases_s: Mapping[str, float] = MappingProxyType({})
    loaded_bytes: float | None = None  # read by all ranks together, if the load time was computed


def load_time(bytes_read: ArrayLike, bandwidth: ArrayLike, latency: ArrayLike = 0.0) -> Floats:
    """Time to load a checkpoint.

    Parameters
    ----------
    bytes_read : array_like
        Bytes that all ranks read together; replicas of a shard are read once per replica. [bytes]
    bandwidth : array_like
        Sustained aggregate read bandwidth. [bytes/s]
    latency : array_like
        Fixed time of one load. [s]

    Returns
    -------
    ndarray
        Load time. [s]

    Notes
    -----
    Valid while storage, not the ranks, is the limit. Frameworks that read once and broadcast take less.
    """
    read = np.asarray(bytes_read, dtype=np.float64) / np.asarray(bandwidth, dtype=np.float64)
    return read + np.asarray(latency, dtype=np.float64)


def restart_cost(scenario: Scenario, to_load_bytes: float | None = None) -> RestartCost:
    """Downtime and restart of a scenario, by phase where phases are given.

    Parameters
    ----------
    scenario : Scenario
        Restart, and where the load is to be computed model, cluster and storage.
    to_load_bytes : float, optional
        `bytes_to_load` of its model and cluster, where they are known already. [bytes]

    Returns
    -------
    RestartCost

    Raises
    ------
    InputError
        If the load time is to be computed and no read bandwidth is known.
    """
    restart = scenario.restart
    if restart.total_s is not None:
        return RestartCost(*restart_times(restart))
    load_s, loaded = (restart.load_s, None) if restart.load_s is not None else _computed_load(scenario, to_load_bytes)
    phases = {
        "detect": restart.detect_s,
        "replace": restart.replace_s,
        "initialise": restart.initialise_s,
        "load": load_s,
        "warm_up": restart.warm_up_s,
    }
    return RestartCost(*restart_times(restart, load_s), phases, loaded)


class RestartTimes(NamedTuple):
    """Total, downtime and restart after one failure; numbers, or arrays where what they are made of is one. [s]."""

    total_s: Any
    downtime_s: Any
    restart_s: Any


def restart_times(restart: Restart, load_s: Any = None) -> RestartTimes:
    """Downtime and restart; all of a total that is given without phases is restart.

    Parameters
    ----------
    restart : Restart
        Its times may be arrays.
    load_s : float or ndarray, optional
        Time of the load, where there are phases. [s]
    """
    if restart.total_s is not None:
        return RestartTimes(restart.total_s, 0.0, restart.total_s)
    downtime_s = restart.detect_s + restart.replace_s
    rest_s = restart.initialise_s + load_s + restart.warm_up_s
    return RestartTimes(downtime_s + rest_s, downtime_s, rest_s)


def bytes_to_load(model: Model, cluster: Cluster) -> float:
    """What all ranks read together: each what it holds, frozen weights too, wherever they are kept. [bytes]."""
    return sizes(replace(model, frozen_weights_saved=True), cluster).held_by_all_bytes


def _computed_load(scenario: Scenario, read: float | None) -> tuple[float, float]:
    """Load time and the bytes read."""
    bandwidth = scenario.storage.read_bandwidth_bytes_per_s
    if bandwidth is None:
        raise InputError(
            "restart.load is computed from the read bandwidth, which is not given",
            hint="add storage.read_bandwidth, such as 20 GB/s, or give restart.load or restart.total",
        )
    if read is None:
        read = bytes_to_load(scenario.model, scenario.cluster)
    return float(load_time(read, bandwidth, scenario.storage.latency_s)), read

"""Time to write a checkpoint: pure formulas, and which limit of storage binds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckptplan.cost.scenario import Storage

Floats = NDArray[np.float64]


class WriteTime(NamedTuple):
    """Time of one write, what it is bound by, and every limit considered with the time it would allow.

    ``burst_s`` is the time at peak bandwidth, for comparison only: storage does not hold its peak. [s]
    """

    seconds: float
    binds: str
    candidates: tuple[tuple[str, float], ...]
    burst_s: float | None = None


def aggregate_write_time(size: ArrayLike, bandwidth: ArrayLike, latency: ArrayLike = 0.0) -> Floats:
    """Time for storage as a whole to take a checkpoint.

    Parameters
    ----------
    size : array_like
        Bytes written by all writers together. [bytes]
    bandwidth : array_like
        Sustained aggregate write bandwidth. [bytes/s]
    latency : array_like
        Fixed time of one save: metadata, commit. [s]

    Returns
    -------
    ndarray
        Write time. [s]

    Notes
    -----
    Valid while bandwidth does not depend on the number of writers. The same formula with the bytes and
    bandwidth of one node or one writer gives their limits; the slowest of the three holds.
    """
    return np.asarray(size, dtype=np.float64) / np.asarray(bandwidth, dtype=np.float64) + np.asarray(
        latency, dtype=np.float64
    )


def copy_out_time(size: ArrayLike, gpus: ArrayLike, bandwidth: ArrayLike) -> Floats:
    """Time to copy a checkpoint from GPU memory to host memory, each GPU its even part.

    Parameters
    ----------
    size : array_like
        Bytes of the checkpoint. [bytes]
    gpus : array_like
        GPUs that share it evenly; 1 if ``size`` is already the part of the busiest GPU. [1]
    bandwidth : array_like
        Device-to-host bandwidth of one GPU. [bytes/s]

    Returns
    -------
    ndarray
        Stall of an asynchronous save. [s]

    Notes
    -----
    Valid for pinned host memory and GPUs that do not share a link to the host. Mohan et al., CheckFreq,
    FAST 2021, call this phase the snapshot.
    """
    return np.asarray(size, dtype=np.float64) / (
        np.asarray(gpus, dtype=np.float64) * np.asarray(bandwidth, dtype=np.float64)
    )


def write_time(
    size_bytes: float,
    nodes: int,
    writers: int,
    storage: Storage,
    *,
    busiest_node_bytes: float | None = None,
    busiest_writer_bytes: float | None = None,
) -> WriteTime | None:
    """Write time as the slowest of the limits that are known; ``None`` if none is.

    Parameters
    ----------
    size_bytes : float
        Bytes written by all writers together. [bytes]
    nodes, writers : int
        Nodes and writers that take part. [1]
    storage : Storage
        Bandwidths and latency; limits that are ``None`` do not count.
    busiest_node_bytes, busiest_writer_bytes : float, optional
        Bytes of the node and the writer with the most to write; an even division by default. [bytes]

    Returns
    -------
    WriteTime or None
    """
    node_bytes = size_bytes / nodes if busiest_node_bytes is None else busiest_node_bytes
    writer_bytes = size_bytes / writers if busiest_writer_bytes is None else busiest_writer_bytes
    candidates = tuple(
        (name, float(seconds)) for name, seconds in write_limits(size_bytes, node_bytes, writer_bytes, storage)
    )
    if not candidates:
        return None
    transfer = max(seconds for _, seconds in candidates)
    if storage.latency_s > 0:
        candidates += (("latency", storage.latency_s),)
    binds = max(candidates, key=lambda item: item[1])[0]
    peak = storage.peak_write_bandwidth_bytes_per_s
    burst = None if peak is None else float(aggregate_write_time(size_bytes, peak))
    return WriteTime(transfer + storage.latency_s, binds, candidates, burst)


def write_limits(
    size: ArrayLike, node: ArrayLike, writer: ArrayLike, storage: Storage
) -> tuple[tuple[str, Floats], ...]:
    """Limits of a write that are known, each with the time that it would allow, latency not included.

    Parameters
    ----------
    size, node, writer : array_like
        Bytes written by all writers together, by the busiest node and by the busiest writer. [bytes]
    storage : Storage
        Bandwidths; they may be arrays.

    Returns
    -------
    tuple
        Names and times; the slowest holds. [s]
    """
    limits = (
        ("aggregate write bandwidth", size, storage.write_bandwidth_bytes_per_s),
        ("write bandwidth per node", node, storage.write_bandwidth_per_node_bytes_per_s),
        ("write bandwidth per writer", writer, storage.write_bandwidth_per_writer_bytes_per_s),
    )
    return tuple(
        (name, aggregate_write_time(written, bandwidth)) for name, written, bandwidth in limits if bandwidth is not None
    )

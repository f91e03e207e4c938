"""Time to read a checkpoint back: the slowest of what storage, the busiest node and the busiest reader allow."""

from typing import NamedTuple

from ckptplan.cost.restart import load_time


class ReadRates(NamedTuple):
    """Sustained read bandwidths; ``None`` where not known. [bytes/s]; ``latency_s`` is per load [s]."""

    aggregate_bytes_per_s: float | None = None
    per_node_bytes_per_s: float | None = None
    per_reader_bytes_per_s: float | None = None
    latency_s: float = 0.0


class ReadTime(NamedTuple):
    """Time of one load, what it is bound by, and every limit with the time it would allow. [s]."""

    seconds: float
    binds: str
    candidates: tuple[tuple[str, float], ...]


def read_time(
    total_bytes: float, busiest_node_bytes: float, busiest_reader_bytes: float, rates: ReadRates
) -> ReadTime | None:
    """Load time as the slowest of the limits that are known; ``None`` if none is.

    Parameters
    ----------
    total_bytes : float
        Bytes that all readers read together, a shard once for each that reads it. [bytes]
    busiest_node_bytes, busiest_reader_bytes : float
        Bytes of the node and of the reader with the most to read. [bytes]
    rates : ReadRates
        Bandwidths and latency.

    Returns
    -------
    ReadTime or None

    Notes
    -----
    Each limit is `load_time` of its own bytes; the latency counts once. Valid while all read at one time, and no byte
    is read from a cache or sent on by another rank: frameworks that read once and broadcast take less.
    """
    limits = (
        ("aggregate read bandwidth", total_bytes, rates.aggregate_bytes_per_s),
        ("read bandwidth of the busiest node", busiest_node_bytes, rates.per_node_bytes_per_s),
        ("read bandwidth of the busiest rank", busiest_reader_bytes, rates.per_reader_bytes_per_s),
    )
    candidates = tuple(
        (name, float(load_time(size, bandwidth, rates.latency_s)))
        for name, size, bandwidth in limits
        if bandwidth is not None
    )
    if not candidates:
        return None
    binds, seconds = max(candidates, key=lambda one: one[1])
    return ReadTime(seconds, binds, candidates)

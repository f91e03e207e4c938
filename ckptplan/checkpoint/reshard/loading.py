"""How long the new ranks take to read what they need, by bandwidths: only wanted bytes, or whole stored items."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckptplan.cost.read import ReadRates, ReadTime, read_time
from ckptplan.errors import InputError

DEFAULT_GPUS_PER_NODE = 8


class Loads(NamedTuple):
    """Bytes that are read, by all ranks, the busiest node and the busiest rank, and the time of it. [bytes, s]."""

    total_bytes: int
    busiest_node_bytes: int
    busiest_rank_bytes: int
    busiest_node: int
    busiest_rank: int
    time: ReadTime | None  # None: no bandwidth is known


class Loading(NamedTuple):
    """The two ways to load: byte ranges of what is wanted, or every stored item in full, as torch's own reader does."""

    ranges: Loads
    whole_items: Loads
    gpus_per_node: int


def loading(
    payload_bytes: ArrayLike,
    whole_item_bytes: ArrayLike,
    rates: ReadRates,
    gpus_per_node: int = DEFAULT_GPUS_PER_NODE,
) -> Loading:
    """Bytes and times of a load.

    Parameters
    ----------
    payload_bytes, whole_item_bytes : array_like
        Of each rank: the bytes that it wants, and those of the stored items that hold them. [bytes]
    rates : ReadRates
        What storage, a node and a reader sustain.
    gpus_per_node : int
        Ranks of a node, which have consecutive numbers. [1]

    Returns
    -------
    Loading

    Raises
    ------
    InputError
        If a node has no GPU.
    """
    if gpus_per_node < 1:
        raise InputError(f"a node of {gpus_per_node} GPUs", hint="write how many GPUs a node has, for example 8")
    ranges = _loads(np.asarray(payload_bytes, dtype=np.int64), rates, gpus_per_node)
    return Loading(ranges, _loads(np.asarray(whole_item_bytes, dtype=np.int64), rates, gpus_per_node), gpus_per_node)


def _loads(of_ranks: NDArray[np.int64], rates: ReadRates, gpus_per_node: int) -> Loads:
    of_nodes = np.add.reduceat(of_ranks, np.arange(0, len(of_ranks), gpus_per_node))
    total, rank, node = int(of_ranks.sum()), int(of_ranks.argmax()), int(of_nodes.argmax())
    time = read_time(total, int(of_nodes[node]), int(of_ranks[rank]), rates)
    return Loads(total, int(of_nodes[node]), int(of_ranks[rank]), node, rank, time)


def restart_line(time: ReadTime) -> str:
    """The line to paste into a spec; rounded up, to three digits, never to nothing."""
    digits = max(0, 2 - math.floor(math.log10(time.seconds))) if time.seconds > 0 else 3
    seconds = math.ceil(time.seconds * 10**digits) / 10**digits
    return f"restart: {{load: {seconds:.{digits}f} s}}"

"""Host memory that saves take: the whole checkpoint on one node, or pinned buffers on every node."""

from typing import NamedTuple

from ckptplan.cost.scenario import Cluster
from ckptplan.cost.size import Sizes
from ckptplan.units import format_size

# Nodes of 2 TB are the largest common ones: above that a gathered save needs a node that most clusters lack.
_LARGE_HOST_BYTES = 2e12


class Buffers(NamedTuple):
    """Pinned memory of the busiest node [bytes], whether it fits, and what to say if it does not."""

    need_bytes: float
    fits: bool
    notes: tuple[str, ...]


def gathered(size: Sizes, cluster: Cluster) -> tuple[str, ...]:
    """What to say where one node cannot hold a gathered checkpoint."""
    need, have = size.total_bytes, cluster.host_memory_per_node_bytes
    if have is None and need > _LARGE_HOST_BYTES:
        return (
            f"a gathered save needs {format_size(need)} of memory on one node, more than most have; save "
            "sharded, or give cluster.host_memory_per_node",
        )
    if have is not None and need > have:
        return (
            f"a gathered save needs {format_size(need)} of memory on one node, which has "
            f"{format_size(have)}; save sharded",
        )
    return ()


def buffered(size: Sizes, cluster: Cluster, in_flight: int) -> Buffers:
    """Buffers of asynchronous saves: one of the bytes of the busiest node per save in flight."""
    each, have = size.written_per_node_bytes, cluster.host_memory_per_node_bytes
    need = in_flight * each
    if have is None or need <= have:
        return Buffers(need, True, ())
    many = f" in {in_flight} buffers" if in_flight > 1 else ""
    remedy = "spread it over more nodes or save synchronously"
    if in_flight > 1 and each <= have:
        remedy = f"in_flight: {int(have // each)} would fit"
    return Buffers(
        need,
        False,
        (f"an asynchronous save needs {format_size(need)} per node{many}, which has {format_size(have)}; {remedy}",),
    )

"""What one save costs: stall, flush and host memory of gathered, sharded and asynchronous saves."""

from __future__ import annotations

from typing import NamedTuple

from ckptplan.cost.scenario import Cluster, Mode, Save, Scenario, Storage
from ckptplan.cost.size import Sizes, sizes
from ckptplan.cost.write import WriteTime, aggregate_write_time, copy_out_time, write_time
from ckptplan.errors import InputError
from ckptplan.units import format_rate, format_size, format_time

__all__ = ["SaveCost", "WriteTime", "aggregate_write_time", "copy_out_time", "save_cost", "write_time"]

GIVEN = "given"
# Nodes of 2 TB are the largest common ones: above that a gathered save needs a node that most clusters lack.
_LARGE_HOST_BYTES = 2e12
# No published measurement of one process writing a checkpoint is above this.
_FAST_WRITER_BYTES_PER_S = 5e9
# A given time may be a rounded measurement of the computed one; only a clearly shorter one deserves a word.
_ROUNDING = 0.01


class SaveCost(NamedTuple):
    """Cost of one save by one strategy.

    ``write`` is set where the storage gave the stall or the flush, and ``binds`` then names the limit that
    binds; times written in the spec bind as "given". ``host_memory_per_node_bytes`` is what the busiest
    node buffers.
    """

    name: str
    mode: Mode
    stall_s: float
    flush_s: float
    training_speed_while_flushing: float
    write: WriteTime | None
    binds: str
    host_memory_per_node_bytes: float
    notes: tuple[str, ...] = ()


def save_cost(save: Save, scenario: Scenario) -> SaveCost:
    """Cost of one save of a scenario by one of its strategies.

    Parameters
    ----------
    save : Save
        The strategy. A given stall or flush is taken as it is.
    scenario : Scenario
        Model, cluster and storage.

    Returns
    -------
    SaveCost

    Raises
    ------
    InputError
        If a time is neither given nor computable.
    """
    size = sizes(scenario.model, scenario.cluster, spread_replicas=save.spread_replicas)
    if save.mode is Mode.ASYNCHRONOUS:
        return _asynchronous(save, scenario, size)
    if save.flush_s:
        raise InputError(
            f"the save {save.name!r} is {save.mode}, so nothing is flushed after its stall",
            hint="write mode: asynchronous, or leave flush out",
        )
    return _synchronous(save, scenario, size)


def _synchronous(save: Save, scenario: Scenario, size: Sizes) -> SaveCost:
    """The stall is the write: by one writer if gathered, by every GPU if sharded."""
    gathered = save.mode is Mode.GATHERED
    computed = _gathered_write(size, scenario.storage) if gathered else _sharded_write(size, scenario.storage)
    stall_s, write, notes = _given_or_computed(save, "stall", save.stall_s, computed)
    memory = size.total_bytes if gathered else 0.0
    if gathered:
        notes += _gathered_memory(size, scenario.cluster)
        notes += _one_writer(write, scenario.storage)
    binds = write.binds if write else GIVEN
    return SaveCost(save.name, save.mode, stall_s, 0.0, 1.0, write, binds, memory, notes)


def _asynchronous(save: Save, scenario: Scenario, size: Sizes) -> SaveCost:
    """The stall is the copy to host memory; the write follows in the background."""
    computed = _sharded_write(size, scenario.storage)
    flush_s, write, notes = _given_or_computed(save, "flush", save.flush_s, computed)
    copy_out_s = float(copy_out_time(size.written_per_rank_bytes, 1, save.copy_bandwidth_bytes_per_s))
    stall_s = copy_out_s if save.stall_s is None else save.stall_s
    if stall_s < copy_out_s * (1.0 - _ROUNDING):
        notes += (
            f"the given stall of {format_time(stall_s)} is shorter than the copy of {format_time(copy_out_s)} at "
            f"{format_rate(save.copy_bandwidth_bytes_per_s)} per GPU; if it was measured, write the copy_bandwidth of "
            "your link",
        )
    return SaveCost(
        name=save.name,
        mode=save.mode,
        stall_s=stall_s,
        flush_s=flush_s,
        training_speed_while_flushing=save.training_speed_while_flushing,
        write=write,
        binds=write.binds if write else GIVEN,
        host_memory_per_node_bytes=size.written_per_node_bytes,
        notes=notes + _pinned_memory(size, scenario.cluster),
    )


def _gathered_write(size: Sizes, storage: Storage) -> WriteTime | None:
    """One writer on one node: every limit applies to all bytes."""
    return write_time(size.total_bytes, 1, 1, storage)


def _sharded_write(size: Sizes, storage: Storage) -> WriteTime | None:
    return write_time(
        size.total_bytes,
        size.nodes,
        size.writers,
        storage,
        busiest_node_bytes=size.written_per_node_bytes,
        busiest_writer_bytes=size.written_per_rank_bytes,
    )


def _given_or_computed(
    save: Save, what: str, given_s: float | None, computed: WriteTime | None
) -> tuple[float, WriteTime | None, tuple[str, ...]]:
    """A given time wins; a note says where storage could not have been that fast."""
    if given_s is None:
        if computed is None:
            raise InputError(
                f"the {what} of the save {save.name!r} is not given, and no write bandwidth gives it",
                hint=f"add storage.write_bandwidth, for example 10 GB/s, or write {what}: 60 s",
            )
        return computed.seconds, computed, ()
    if computed is None or given_s >= computed.seconds * (1.0 - _ROUNDING):
        return given_s, None, ()
    return given_s, None, (_too_short(what, given_s, computed),)


def _too_short(what: str, given_s: float, computed: WriteTime) -> str:
    # A stall that short means that the write goes on behind it; a flush that short, that it goes elsewhere.
    remedy = "if the save goes on behind it, write mode: asynchronous"
    if what == "flush":
        remedy = "fine if it goes to other disks than storage describes, else measure it again"
    return (
        f"the given {what} of {format_time(given_s)} is shorter than the {format_time(computed.seconds)} "
        f"that storage needs ({computed.binds}); {remedy}"
    )


def _one_writer(write: WriteTime | None, storage: Storage) -> tuple[str, ...]:
    """A limit that is not given does not count, and one process then seems to write as fast as a whole cluster."""
    limits = (storage.write_bandwidth_per_writer_bytes_per_s, storage.write_bandwidth_per_node_bytes_per_s)
    rate = storage.write_bandwidth_bytes_per_s
    if write is None or rate is None or any(limits) or rate <= _FAST_WRITER_BYTES_PER_S:
        return ()
    return (
        f"its one writer is taken to reach the whole {format_rate(rate)} of storage, because no limit of a writer "
        "is given; add storage.write_bandwidth_per_writer (one measured stream writes about 2 GB/s)",
    )


def _gathered_memory(size: Sizes, cluster: Cluster) -> tuple[str, ...]:
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


def _pinned_memory(size: Sizes, cluster: Cluster) -> tuple[str, ...]:
    need, have = size.written_per_node_bytes, cluster.host_memory_per_node_bytes
    if have is None or need <= have:
        return ()
    return (
        f"an asynchronous save buffers {format_size(need)} per node, which has {format_size(have)}; "
        "spread it over more nodes or save synchronously",
    )

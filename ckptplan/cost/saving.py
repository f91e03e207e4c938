"""What one save costs: stall, flush and host memory of gathered, sharded and asynchronous saves."""

from typing import NamedTuple

from ckptplan.cost import host_memory
from ckptplan.cost.save_times import SaveTimes, Written, save_times, shorter
from ckptplan.cost.scenario import Mode, Save, Scenario, Storage
from ckptplan.cost.size import Sizes, sizes
from ckptplan.cost.write import WriteTime, aggregate_write_time, copy_out_time, write_time
from ckptplan.units import format_rate, format_time

__all__ = ["SaveCost", "WriteTime", "aggregate_write_time", "copy_out_time", "save_cost", "write_time"]

GIVEN = "given"
# No published measurement of one process writing a checkpoint is above this.
_FAST_WRITER_BYTES_PER_S = 5e9


class SaveCost(NamedTuple):
    """Cost of one save by one strategy.

    ``write`` is set where the storage gave the stall or the flush, and ``binds`` then names the limit that
    binds; times written in the spec bind as "given". ``host_memory_per_node_bytes`` is what the busiest
    node buffers, one buffer per save in flight.

    ``flush_s`` is all that runs in the background: the write, and before it the part of an overlapped copy that
    blocks nobody (``hidden_copy_s``). ``write_s`` is the write alone, what a blocking save would stall. Saves in
    flight share the bandwidth: no interval has less than ``transfer_s`` of wall time per save, 0 if not known.
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
    write_s: float = 0.0
    hidden_copy_s: float = 0.0
    transfer_s: float = 0.0
    in_flight: int = 1
    fits: bool = True  # whether the buffers fit into host memory, as far as that is known
    is_short: bool = False  # whether a given time is shorter than the bandwidths allow


def save_cost(save: Save, scenario: Scenario, size: Sizes | None = None) -> SaveCost:
    """Cost of one save of a scenario by one of its strategies.

    Parameters
    ----------
    save : Save
        The strategy. A given stall or flush is taken as it is.
    scenario : Scenario
        Model, cluster and storage.
    size : Sizes, optional
        `sizes` of its model and cluster, replicas spread as the strategy says, where they are known already.

    Returns
    -------
    SaveCost

    Raises
    ------
    InputError
        If a time is neither given nor computable.
    """
    if size is None:
        size = sizes(scenario.model, scenario.cluster, spread_replicas=save.spread_replicas)
    written = Written(size.total_bytes, size.written_per_node_bytes, size.written_per_rank_bytes)
    times = save_times(save, written, scenario.storage, scenario.training)
    by_mode = _asynchronous if save.mode is Mode.ASYNCHRONOUS else _synchronous
    return by_mode(save, scenario, size, times)._replace(is_short=bool(times.is_short))


def _synchronous(save: Save, scenario: Scenario, size: Sizes, times: SaveTimes) -> SaveCost:
    """The stall is the write: by one writer if gathered, by every GPU if sharded."""
    gathered = save.mode is Mode.GATHERED
    computed = _gathered_write(size, scenario.storage) if gathered else _sharded_write(size, scenario.storage)
    stall_s = float(times.stall_s)
    write, notes = _source("stall", save.stall_s, computed)
    memory = size.total_bytes if gathered else 0.0
    fits = True
    if gathered:
        found = host_memory.gathered(size, scenario.cluster)
        fits = not (found and scenario.cluster.host_memory_per_node_bytes is not None)
        notes += found
        notes += _one_writer(write, scenario.storage)
    binds = write.binds if write else GIVEN
    return SaveCost(save.name, save.mode, stall_s, 0.0, 1.0, write, binds, memory, notes, write_s=stall_s, fits=fits)


def _asynchronous(save: Save, scenario: Scenario, size: Sizes, times: SaveTimes) -> SaveCost:
    """The stall is the copy to host memory; the write follows in the background."""
    write, notes = _source("flush", save.flush_s, _sharded_write(size, scenario.storage))
    write, link_notes = _through_link(save, size, write, float(times.write_s))
    notes += link_notes
    stall_s, hidden_s, copy_s = float(times.stall_s), float(times.hidden_copy_s), float(times.copy_s)
    if shorter(stall_s + hidden_s, copy_s):
        notes += (
            f"the given stall of {format_time(stall_s)} is shorter than the copy of {format_time(copy_s)} at "
            f"{format_rate(save.copy_bandwidth_bytes_per_s)} per GPU; if it was measured, write the copy_bandwidth of "
            "your link",
        )
    memory = host_memory.buffered(size, scenario.cluster, save.in_flight)
    return SaveCost(
        name=save.name,
        mode=save.mode,
        stall_s=stall_s,
        flush_s=float(times.flush_s),
        training_speed_while_flushing=float(times.speed),
        write=write,
        binds=write.binds if write else GIVEN,
        host_memory_per_node_bytes=memory.need_bytes,
        notes=notes + memory.notes,
        write_s=float(times.write_s),
        hidden_copy_s=hidden_s,
        transfer_s=float(times.transfer_s),
        in_flight=save.in_flight,
        fits=memory.fits,
    )


def _through_link(
    save: Save, size: Sizes, write: WriteTime | None, write_s: float
) -> tuple[WriteTime | None, tuple[str, ...]]:
    """What a shared link says to a flush that it makes longer; a given one is then too short."""
    before_s = save.flush_s if write is None else write.seconds
    if save.shared_link is None or before_s == write_s:
        return write, ()
    if write is not None:
        return write._replace(seconds=write_s, binds="the shared link"), ()
    rate = format_rate(save.shared_link.bandwidth_bytes_per_s)
    note = (
        f"the given flush of {format_time(before_s or 0.0)} is shorter than the {format_time(write_s)} that a node "
        f"needs to send its bytes at {rate}; measure the flush again, or write the bandwidth of the link"
    )
    return None, (note,)


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


def _source(what: str, given_s: float | None, computed: WriteTime | None) -> tuple[WriteTime | None, tuple[str, ...]]:
    """The write that gave a time; of a given one, a note says where storage could not have been that fast."""
    if given_s is None:
        return computed, ()
    if computed is None or not shorter(given_s, computed.seconds):
        return None, ()
    return None, (_too_short(what, given_s, computed),)


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

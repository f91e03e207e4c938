"""What one save costs: stall, flush and host memory of gathered, sharded and asynchronous saves."""

from typing import NamedTuple

from ckptplan.cost import host_memory
from ckptplan.cost.scenario import Mode, Save, Scenario, Storage
from ckptplan.cost.size import Sizes, sizes
from ckptplan.cost.write import WriteTime, aggregate_write_time, copy_out_time, write_time
from ckptplan.errors import InputError
from ckptplan.units import format_rate, format_time

__all__ = ["SaveCost", "WriteTime", "aggregate_write_time", "copy_out_time", "save_cost", "write_time"]

GIVEN = "given"
# No published measurement of one process writing a checkpoint is above this.
_FAST_WRITER_BYTES_PER_S = 5e9
# A given time may be a rounded measurement of the computed one; only a clearly shorter one deserves a word.
_ROUNDING = 0.01
# Nobody publishes the split; an optimizer step is memory-bound and takes a few percent of a step of training.
FORWARD_BACKWARD_SHARE = 0.9


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
    fits = True
    if gathered:
        found = host_memory.gathered(size, scenario.cluster)
        fits = not (found and scenario.cluster.host_memory_per_node_bytes is not None)
        notes += found
        notes += _one_writer(write, scenario.storage)
    binds = write.binds if write else GIVEN
    return SaveCost(save.name, save.mode, stall_s, 0.0, 1.0, write, binds, memory, notes, write_s=stall_s, fits=fits)


def _asynchronous(save: Save, scenario: Scenario, size: Sizes) -> SaveCost:
    """The stall is the copy to host memory; the write follows in the background."""
    computed = _sharded_write(size, scenario.storage)
    write_s, write, notes = _given_or_computed(save, "flush", save.flush_s, computed)
    write_s, write, link_notes = _through_link(save, size, write_s, write)
    notes += link_notes
    copy_s = float(copy_out_time(size.written_per_rank_bytes, 1, save.copy_bandwidth_bytes_per_s))
    stall_s, hidden_s = _copy_out(save, scenario, copy_s)
    if stall_s + hidden_s < copy_s * (1.0 - _ROUNDING):
        notes += (
            f"the given stall of {format_time(stall_s)} is shorter than the copy of {format_time(copy_s)} at "
            f"{format_rate(save.copy_bandwidth_bytes_per_s)} per GPU; if it was measured, write the copy_bandwidth of "
            "your link",
        )
    speed = _speed(save, scenario, size, write_s)
    flush_s = write_s + hidden_s
    if hidden_s > 0.0 and speed < 1.0:
        speed = 1.0 - (1.0 - speed) * write_s / flush_s  # the copy beside forward and backward slows nothing
    memory = host_memory.buffered(size, scenario.cluster, save.in_flight)
    return SaveCost(
        name=save.name,
        mode=save.mode,
        stall_s=stall_s,
        flush_s=flush_s,
        training_speed_while_flushing=speed,
        write=write,
        binds=write.binds if write else GIVEN,
        host_memory_per_node_bytes=memory.need_bytes,
        notes=notes + memory.notes,
        write_s=write_s,
        hidden_copy_s=hidden_s,
        transfer_s=min(computed.seconds - scenario.storage.latency_s, write_s) if computed else 0.0,
        in_flight=save.in_flight,
        fits=memory.fits,
    )


def _through_link(
    save: Save, size: Sizes, write_s: float, write: WriteTime | None
) -> tuple[float, WriteTime | None, tuple[str, ...]]:
    """A flush through a shared link takes at least as long as the link needs for its bytes."""
    if save.shared_link is None:
        return write_s, write, ()
    least_s = size.written_per_node_bytes / save.shared_link.bandwidth_bytes_per_s
    if write_s >= least_s * (1.0 - _ROUNDING):
        return write_s, write, ()
    if write is not None:
        return least_s, write._replace(seconds=least_s, binds="the shared link"), ()
    rate = format_rate(save.shared_link.bandwidth_bytes_per_s)
    note = (
        f"the given flush of {format_time(write_s)} is shorter than the {format_time(least_s)} that a node needs to "
        f"send its bytes at {rate}; measure the flush again, or write the bandwidth of the link"
    )
    return write_s, write, (note,)


def _copy_out(save: Save, scenario: Scenario, copy_s: float) -> tuple[float, float]:
    """What of the copy-out blocks, and what is hidden behind forward and backward."""
    if not save.overlapped_copy:
        return (copy_s if save.stall_s is None else save.stall_s), 0.0
    from ckptplan.cost.slowdown import overlapped_copy_stall

    copy = overlapped_copy_stall(copy_s, forward_backward_s(save, scenario))
    if save.stall_s is not None:
        return save.stall_s, min(max(copy_s - save.stall_s, 0.0), float(copy.hidden_s))
    return float(copy.stall_s), float(copy.hidden_s)


def forward_backward_s(save: Save, scenario: Scenario) -> float:
    """Part of a step beside which an overlapped copy can run [s].

    Raises
    ------
    InputError
        If neither it nor the step time is known.
    """
    training = scenario.training
    if training.forward_backward_s is not None:
        return training.forward_backward_s
    if training.step_time_s is None:
        raise InputError(
            f"the save {save.name!r} overlaps its copy with forward and backward, whose time is not known",
            hint="add training.step_time or training.forward_backward, for example 5 s",
        )
    return FORWARD_BACKWARD_SHARE * training.step_time_s


def _speed(save: Save, scenario: Scenario, size: Sizes, write_s: float) -> float:
    """Training speed during a flush; 1 where nothing is known of it."""
    if save.training_speed_while_flushing is not None:
        return save.training_speed_while_flushing
    if save.step_time_while_flushing_s is None and save.shared_link is None:
        return 1.0
    from ckptplan.cost.slowdown import speed_from_shared_link, speed_from_step_times

    if save.step_time_while_flushing_s is not None:
        outside_s = save.step_time_outside_s or scenario.training.step_time_s
        if outside_s is None:
            raise InputError(
                f"the save {save.name!r} gives the step time while flushing, but no step time outside a save",
                hint="add training.step_time, for example 5 s",
            )
        return float(speed_from_step_times(outside_s, save.step_time_while_flushing_s))
    link = save.shared_link
    if link is None or write_s <= 0.0:
        return 1.0
    rate = size.written_per_node_bytes / write_s
    return float(speed_from_shared_link(rate, link.bandwidth_bytes_per_s, link.exposed_communication))


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

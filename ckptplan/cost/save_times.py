"""Times of one save: pure formulas over sizes, storage and training, each number of which may be an array."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckptplan.cost.scenario import Mode, Save, SharedLink, Storage, Training
from ckptplan.cost.write import copy_out_time, write_limits
from ckptplan.errors import InputError

Floats = NDArray[np.float64]

# A given time may be a rounded measurement of the computed one; only a clearly shorter one deserves a word.
ROUNDING = 0.01
# Nobody publishes the split; an optimizer step is memory-bound and takes a few percent of a step of training.
FORWARD_BACKWARD_SHARE = 0.9


class Written(NamedTuple):
    """What one save writes: all of it, and the parts of the busiest node and of the busiest writer. [bytes]."""

    total_bytes: ArrayLike
    per_node_bytes: ArrayLike
    per_rank_bytes: ArrayLike


class SaveTimes(NamedTuple):
    """Times of one save, as of `SaveCost`; ``copy_s`` is the copy to host memory, blocking or not. [s, 1].

    ``is_short`` says where a given time is clearly shorter than the bandwidths allow.
    """

    stall_s: Floats
    flush_s: Floats
    speed: Floats  # of training, while it flushes
    write_s: Floats
    hidden_copy_s: Floats
    transfer_s: Floats
    copy_s: Floats
    is_short: NDArray[np.bool_]


_ZERO, _ONE = np.zeros(()), np.ones(())


def save_times(save: Save, written: Written, storage: Storage, training: Training) -> SaveTimes:
    """Times of one save by one strategy.

    Parameters
    ----------
    save, storage, training : Save, Storage, Training
        What is known of each; a given stall or flush is taken as it is.
    written : Written
        Bytes of the checkpoint, replicas spread as the strategy says.

    Returns
    -------
    SaveTimes
        They broadcast against each other.

    Raises
    ------
    InputError
        If a time is neither given nor computable.
    """
    if save.mode is not Mode.ASYNCHRONOUS:
        if save.flush_s is not None and np.any(np.asarray(save.flush_s) != 0.0):
            raise InputError(
                f"the save {save.name!r} is {save.mode}, so nothing is flushed after its stall",
                hint="write mode: asynchronous, or leave flush out",
            )
        one_writer = save.mode is Mode.GATHERED  # on one node: every limit applies to all bytes
        by = Written(*(written.total_bytes,) * 3) if one_writer else written
        computed_s = _computed(by, storage)
        stall_s = _given_or_computed(save, "stall", save.stall_s, computed_s)
        return SaveTimes(stall_s, _ZERO, _ONE, stall_s, _ZERO, _ZERO, _ZERO, shorter(save.stall_s, computed_s))
    computed_s = _computed(written, storage)
    write_s = _given_or_computed(save, "flush", save.flush_s, computed_s)
    write_s = _through_link(save.shared_link, written, write_s)
    copy_s = copy_out_time(written.per_rank_bytes, 1, save.copy_bandwidth_bytes_per_s)
    stall_s, hidden_s = _copy_out(save, training, copy_s)
    flush_s = write_s + hidden_s
    speed = _speed(save, training, written, write_s)
    if save.overlapped_copy:  # the copy beside forward and backward slows nothing
        with np.errstate(all="ignore"):
            speed = np.where((hidden_s > 0.0) & (speed < 1.0), 1.0 - (1.0 - speed) * write_s / flush_s, speed)
    transfer_s = _ZERO if computed_s is None else np.minimum(computed_s - storage.latency_s, write_s)
    is_short = shorter(save.flush_s, computed_s) | shorter(stall_s + hidden_s, copy_s)
    return SaveTimes(stall_s, flush_s, speed, write_s, hidden_s, transfer_s, copy_s, is_short)


def shorter(given_s: ArrayLike | None, least_s: ArrayLike | None) -> NDArray[np.bool_]:
    """Where a given time is clearly shorter than what a bandwidth allows, as far as both are known."""
    if given_s is None or least_s is None:
        return np.zeros((), dtype=np.bool_)
    return np.asarray(np.asarray(given_s) < np.asarray(least_s) * (1.0 - ROUNDING))


def _computed(written: Written, storage: Storage) -> Floats | None:
    """Time of the write by the slowest limit that is known; None if none is."""
    limits = write_limits(written.total_bytes, written.per_node_bytes, written.per_rank_bytes, storage)
    if not limits:
        return None
    slowest = limits[0][1]
    for _, seconds in limits[1:]:
        slowest = np.maximum(slowest, seconds)
    return np.asarray(slowest + storage.latency_s)


def _given_or_computed(save: Save, what: str, given_s: float | None, computed_s: Floats | None) -> Floats:
    """A given time wins."""
    if given_s is not None:
        return np.asarray(given_s, dtype=np.float64)
    if computed_s is None:
        raise InputError(
            f"the {what} of the save {save.name!r} is not given, and no write bandwidth gives it",
            hint=f"add storage.write_bandwidth, for example 10 GB/s, or write {what}: 60 s",
        )
    return computed_s


def link_time(link: SharedLink, written: Written) -> Floats:
    """Time that the link of the busiest node needs for its bytes. [s]."""
    return np.asarray(written.per_node_bytes, dtype=np.float64) / link.bandwidth_bytes_per_s


def _through_link(link: SharedLink | None, written: Written, write_s: Floats) -> Floats:
    """A flush through a shared link takes at least as long as the link needs for its bytes, rounding apart."""
    if link is None:
        return write_s
    least_s = link_time(link, written)
    return np.where(write_s >= least_s * (1.0 - ROUNDING), write_s, least_s)


def _copy_out(save: Save, training: Training, copy_s: Floats) -> tuple[Floats, Floats]:
    """What of the copy-out blocks, and what is hidden behind forward and backward."""
    given_s = None if save.stall_s is None else np.asarray(save.stall_s, dtype=np.float64)
    if not save.overlapped_copy:
        return (copy_s if given_s is None else given_s), _ZERO
    from ckptplan.cost.slowdown import overlapped_copy_stall

    copy = overlapped_copy_stall(copy_s, forward_backward_s(save, training))
    if given_s is None:
        return copy.stall_s, copy.hidden_s
    return given_s, np.minimum(np.maximum(copy_s - given_s, 0.0), copy.hidden_s)


def forward_backward_s(save: Save, training: Training) -> float:
    """Part of a step beside which an overlapped copy can run [s].

    Raises
    ------
    InputError
        If neither it nor the step time is known.
    """
    if training.forward_backward_s is not None:
        return training.forward_backward_s
    if training.step_time_s is None:
        raise InputError(
            f"the save {save.name!r} overlaps its copy with forward and backward, whose time is not known",
            hint="add training.step_time or training.forward_backward, for example 5 s",
        )
    return FORWARD_BACKWARD_SHARE * training.step_time_s


def _speed(save: Save, training: Training, written: Written, write_s: Floats) -> Floats:
    """Training speed during a flush; 1 where nothing is known of it."""
    if save.training_speed_while_flushing is not None:
        return np.asarray(save.training_speed_while_flushing, dtype=np.float64)
    if save.step_time_while_flushing_s is None and save.shared_link is None:
        return _ONE
    from ckptplan.cost.slowdown import speed_from_shared_link, speed_from_step_times

    if save.step_time_while_flushing_s is not None:
        outside_s = training.step_time_s if save.step_time_outside_s is None else save.step_time_outside_s
        if outside_s is None:
            raise InputError(
                f"the save {save.name!r} gives the step time while flushing, but no step time outside a save",
                hint="add training.step_time, for example 5 s",
            )
        return speed_from_step_times(outside_s, save.step_time_while_flushing_s)
    link = save.shared_link
    if link is None:
        return _ONE
    with np.errstate(all="ignore"):
        rate = np.asarray(written.per_node_bytes, dtype=np.float64) / write_s
        beside = speed_from_shared_link(rate, link.bandwidth_bytes_per_s, link.exposed_communication)
        return np.where(write_s <= 0.0, 1.0, beside)

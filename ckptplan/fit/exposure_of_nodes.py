"""Outages of nodes: each node is at risk while it is up, from the start of its watch to the end."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.errors import InputError
from ckptplan.fit.counting import Counting, Per
from ckptplan.fit.exposure import (
    Exposure,
    Flags,
    Lives,
    clock_of,
    counted_outcomes,
    gpus_of,
    is_counted,
    longer_than_nothing,
)
from ckptplan.fit.record import FailureRecord, Floats, Outages


class _Downs(NamedTuple):
    """Times at which units went down, unit by unit, with the time that they had been up."""

    unit: NDArray[np.int32]
    start_s: Floats
    up_s: Floats
    again_s: Floats  # when it was up again
    failed: Flags


def exposure_of_nodes(record: FailureRecord, outages: Outages, counting: Counting, per: Per, units: int) -> Exposure:
    """Failures per node, or per GPU of its nodes."""
    scale = _scale(record, counting, per, units)
    facts: tuple[str, ...] = ("a node is at risk while it is up: its outages are not part of the time",)
    of_a_node = outages.unit >= 0
    if not np.all(of_a_node):
        missing = int(np.count_nonzero(~of_a_node))
        if missing == len(of_a_node):
            raise InputError(
                f"{record.file}: none of {missing:,} outages names a node", hint="count them with --per job"
            )
        facts += (f"{missing:,} outages name no node and are not counted per node; --per job counts them",)
        outages = outages.only(of_a_node)
    outcomes = counted_outcomes(outages, counting)
    counted = is_counted(outages.outcome, outcomes)
    from_s, until_s = _windows(outages, units)
    downs = _downs(outages, counted, from_s, counting.merge_s)
    since_s = from_s.copy()  # since when each unit has been up at the end
    np.maximum.at(since_s, downs.unit, downs.again_s)
    start_s = np.concatenate((downs.start_s - downs.up_s, since_s))
    up_s = np.concatenate((downs.up_s, np.maximum(until_s - since_s, 0.0)))
    failed = np.concatenate((downs.failed, np.zeros(units, dtype=np.bool_)))
    if not float(np.sum(up_s)) > 0.0:
        raise InputError(f"{record.file}: no node was up for any time", hint="give --since and --until")
    failures, events = int(np.count_nonzero(failed)), int(np.count_nonzero(counted))
    return Exposure(
        per=per,
        outcomes=outcomes,
        failures=failures,
        events=events,
        merged=events - failures,
        exposure_s=float(np.sum(up_s)) * scale,
        until_failure=False,
        lives=longer_than_nothing(Lives(up_s, failed, "node")),
        clock=clock_of(start_s, start_s + up_s, np.full(up_s.size, scale), failed, counting.merge_s),
        nodes=float(units),
        gpus=gpus_of(float(units), counting),
        facts=facts,
    )


def _scale(record: FailureRecord, counting: Counting, per: Per, units: int) -> float:
    """Units of one node."""
    if per is not Per.GPU:
        return 1.0
    gpus = gpus_of(float(units), counting)
    if gpus is None:
        message = f"{record.file}: the record does not say how many GPUs a node has"
        raise InputError(message, hint="give --gpus-per-node N, or count --per node")
    return gpus / units


def _downs(outages: Outages, counted: Flags, from_s: Floats, window_s: float) -> _Downs:
    """What belongs together: an outage that begins before the one before has ended, or soon after, is part of it."""
    order = np.lexsort((outages.start_s, outages.unit))
    unit, start_s, counted = outages.unit[order], outages.start_s[order], counted[order]
    if unit.size == 0:
        return _Downs(unit, start_s, start_s, start_s, counted)
    end_s = np.fmax(outages.end_s[order], start_s)  # an end that is not known is at once
    before_s, first = _up_since(unit, start_s, end_s, from_s)
    new = first | (start_s - before_s > window_s)
    group = np.cumsum(new) - 1
    failed = np.zeros(int(group[-1]) + 1, dtype=np.bool_)
    np.logical_or.at(failed, group, counted)
    again_s = np.full(failed.size, -np.inf)
    np.maximum.at(again_s, group, end_s)
    return _Downs(unit[new], start_s[new], np.maximum(start_s[new] - before_s[new], 0.0), again_s, failed)


def _up_since(unit: NDArray[np.int32], start_s: Floats, end_s: Floats, from_s: Floats) -> tuple[Floats, Flags]:
    """When all outages before had ended, of the same unit; at its first one, the start of its watch."""
    first = np.diff(unit, prepend=-2) != 0
    # Times of each unit are shifted above those of the unit before, so that one running maximum serves all.
    span_s = float(np.max(end_s) - np.min(start_s)) + 1.0
    shift_s = np.cumsum(first) * span_s
    latest_s = np.maximum.accumulate(end_s + shift_s) - shift_s
    return np.where(first, from_s[unit], np.concatenate((from_s[:1], latest_s[:-1]))), first


def _windows(outages: Outages, units: int) -> tuple[Floats, Floats]:
    """When each unit was watched; units that the record does not list were watched all the time."""

    def each(values_s: Floats, otherwise: float) -> Floats:
        if values_s.size == 1:
            return np.full(units, float(values_s[0]))
        return np.concatenate((values_s, np.full(units - values_s.size, otherwise)))

    return each(outages.from_s, float(np.min(outages.from_s))), each(outages.until_s, float(np.max(outages.until_s)))

"""Status of many closed rows: each sentence is made once where rows share it, by the code that makes it for one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ckptplan.plan import status
from ckptplan.plan.record import Record
from ckptplan.sweep.alike import Codes, Printed, combined, decimals, significant, where
from ckptplan.sweep.closed_rows import ClosedRow
from ckptplan.sweep.columns import Labels
from ckptplan.sweep.points import with_note

# As in `status`: where a remark begins.
_POINTS_OFF = 0.005
_STEPS_COST = 0.0005
_NO_PROGRESS = 0.05
_LARGE_STALL = 0.2

_USED = (
    "mtbf_s",
    "restart_total_s",
    "effective_stall_s",
    "interval_floor_s",
    "interval_s",
    "overhead",
    "goodput",
    "goodput_exact",
    "goodput_steps",
)


def statuses(row: ClosedRow, notes: Labels, shape: tuple[int, ...]) -> Labels:
    """The status of every point of a block by one way of saving, in order."""
    keys = _keys(row, notes, shape)
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    places: dict[str, int] = {}
    table = [places.setdefault(text, len(places)) for text in _texts(row, notes, shape, first)]
    return Labels(np.array(table, dtype=np.int32)[codes].reshape(shape), tuple(places))


def _keys(row: ClosedRow, notes: Labels, shape: tuple[int, ...]) -> Codes:
    """A number for every point: equal ones have equal sentences. Thresholds and digits are those of `status`."""
    with np.errstate(all="ignore"):
        parts = [_flags(row), _of_scale(notes), *_asked(row), *_progress(row)]
        cost = row.goodput_exact - row.goodput_steps
        parts.append(where(np.asarray(cost > _STEPS_COST), decimals(100.0 * cost, 1, 100.0)))
        if row.is_first_order:
            parts += _of_first_order(row)
    return combined(parts, shape)


def _flags(row: ClosedRow) -> Printed:
    at_floor = (row.interval_floor_s > 0) & (row.interval_s <= row.interval_floor_s) & (row.asked_s is None)
    stuck = (row.goodput_exact < _NO_PROGRESS) & (not row.is_first_order)
    flags = at_floor + 2 * stuck.astype(np.int64) + 4 * row.is_short.astype(np.int64) + 8 * _within_a_step(row)
    return _certain(flags, 16)


def _within_a_step(row: ClosedRow) -> Codes:
    if row.asked_s is None:
        return np.zeros((), dtype=np.int64)
    return (row.interval_s < row.cases.step_time_s).astype(np.int64)  # nan, of an unknown step, is no step


def _of_scale(notes: Labels) -> Printed:
    return _certain(notes.codes.astype(np.int64), len(notes.names))


def _asked(row: ClosedRow) -> Iterator[Printed]:
    """The given interval, where it is raised."""
    if row.asked_s is not None:
        numbers = np.arange(row.asked_s.size).reshape(row.asked_s.shape)
        yield where(row.interval_s > row.asked_s, _certain(numbers, row.asked_s.size))


def _progress(row: ClosedRow) -> Iterator[Printed]:
    """How many times the MTBF a given interval is that lets hardly anything through, or a save that interval."""
    if row.is_first_order:
        return
    stuck, is_long = row.goodput_exact < _NO_PROGRESS, np.zeros((), dtype=bool)
    if row.asked_s is not None:
        is_long = row.interval_s > row.mtbf_s
        yield where(stuck & is_long, significant(row.interval_s / row.mtbf_s, 3))
    if stuck.any():
        of_interval = row.effective_stall_s / row.interval_s
        stalled = stuck & ~is_long & status.stalls_most(row.goodput_exact, of_interval)
        yield _certain(stalled.astype(np.int64), 2)
        yield where(stalled, significant(of_interval, 3))


def _of_first_order(row: ClosedRow) -> Iterator[Printed]:
    """How far the first-order sum is off, and why."""
    goodput, off = row.goodput, row.goodput - row.goodput_exact
    unknown = np.isnan(goodput)
    said = unknown | (np.abs(off) >= _POINTS_OFF)
    yield where(unknown, significant(row.overhead, 3))
    yield where(~unknown & said, decimals(100.0 * np.abs(off), 1, 100.0))
    yield _certain((off < 0).astype(np.int64), 2)
    shares = (row.effective_stall_s / row.mtbf_s, row.interval_s / row.mtbf_s, row.restart_total_s / row.mtbf_s)
    most = np.maximum(np.maximum(shares[0], shares[1]), shares[2])
    of_interval = np.where(row.interval_s > 0.0, row.effective_stall_s / row.interval_s, 0.0)
    of_save = of_interval > np.maximum(most, _LARGE_STALL)
    yield where(said & of_save, significant(100.0 * of_interval, 3))
    name = np.where(shares[0] >= most, 0, np.where(shares[1] >= most, 1, 2))
    yield where(said & ~of_save, _certain(name, 3))
    small = 100.0 * most < 100.0
    yield where(said & ~of_save & small, significant(100.0 * most, 2))
    yield where(said & ~of_save & ~small, significant(most, 3))


def _certain(codes: Codes, size: int) -> Printed:
    return Printed(codes, np.ones((), dtype=bool), size)


def _texts(row: ClosedRow, notes: Labels, shape: tuple[int, ...], places: npt.NDArray[np.intp]) -> Iterator[str]:
    """The sentences of some points, by their numbers in the block."""
    shape = shape or (1,)  # without an axis there is one point
    at = np.unravel_index(places, shape)

    def chosen(array: npt.NDArray[Any]) -> list[Any]:
        found: list[Any] = np.broadcast_to(array, shape)[at].tolist()
        return found

    columns = [chosen(row.column(name)) for name in _USED]
    asked = [None] * len(places) if row.asked_s is None else chosen(row.asked_s)
    blank = _BLANK._replace(method=row.method, given=row.asked_s is not None)
    short, within, noted = chosen(row.is_short), chosen(_within_a_step(row)), chosen(notes.codes)
    for given_s, is_short, within_a_step, note, *values in zip(asked, short, within, noted, *columns, strict=True):
        known: dict[str, Any] = dict(zip(_USED, values, strict=True))
        for name in _OPTIONAL:
            known[name] = None if math.isnan(known[name]) else known[name]
        record = blank._replace(asked_interval_s=given_s, **known)
        told = status.of_record(record, is_short=is_short, within_a_step=bool(within_a_step))
        yield with_note(told, notes.names[note] or None)


_OPTIONAL = ("goodput", "goodput_steps")
_BLANK = Record(*("", "", False, None, 1, *(0.0,) * 7, None, *(0.0,) * 6, None, 0.0, None, None, None, None, ""))

"""Status of many closed rows: each sentence is made once where rows share it, by the code that makes it for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ckptplan.plan import status
from ckptplan.plan.record import Record
from ckptplan.sweep.built import Objects
from ckptplan.sweep.closed_rows import ClosedRow
from ckptplan.sweep.columns import Labels
from ckptplan.sweep.points import with_note

# As in `status`: where a remark begins.
_POINTS_OFF = 0.005
_STEPS_COST = 0.0005
_NO_PROGRESS = 0.05

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
_Keys = npt.NDArray[np.int64]


def statuses(row: ClosedRow, notes: Objects, shape: tuple[int, ...]) -> Labels:
    """The status of every point of a block by one way of saving, in order."""
    keys = _keys(row, notes, shape)
    record = _record_at(row, notes, shape)
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    texts = [record(int(place)) for place in first]
    names = dict.fromkeys(texts)
    places = {name: place for place, name in enumerate(names)}
    table = np.array([places[text] for text in texts], dtype=np.int32)
    return Labels(table[codes].reshape(shape), tuple(names))


def _keys(row: ClosedRow, notes: Objects, shape: tuple[int, ...]) -> _Keys:
    """A number for every point: equal ones have equal sentences, negative ones have a sentence of their own."""
    with np.errstate(invalid="ignore"):
        exact, steps, interval_s = row.goodput_exact, row.goodput_steps, row.interval_s
        given = row.asked_s is not None
        raised = (interval_s > row.asked_s) if row.asked_s is not None else np.array(False)
        at_floor = (row.interval_floor_s > 0) & (interval_s <= row.interval_floor_s) & (not given)
        stuck = (exact < _NO_PROGRESS) & (not row.is_first_order)
        own = stuck & given & (interval_s > row.mtbf_s)
        own = own | (exact - steps > _STEPS_COST)
        if row.is_first_order:
            goodput = row.goodput
            own = own | np.isnan(goodput) | (np.abs(goodput - exact) >= _POINTS_OFF)
    keys = at_floor + 2 * stuck.astype(np.int64)
    keys = keys + 4 * np.where(raised, 1 + _numbered(row.asked_s), 0) if row.asked_s is not None else keys
    texts, numbers = np.unique(notes.astype(str), return_inverse=True)
    if len(texts) > 1:
        keys = keys * len(texts) + numbers.reshape(notes.shape)
    keys, own = (np.broadcast_to(one, shape).reshape(-1) for one in (keys, own))
    return np.where(own, -1 - np.arange(keys.size), keys)


def _numbered(asked_s: npt.NDArray[np.float64] | None) -> _Keys:
    values = np.zeros(()) if asked_s is None else asked_s
    return np.arange(values.size).reshape(values.shape)


def _record_at(row: ClosedRow, notes: Objects, shape: tuple[int, ...]) -> Callable[[int], str]:
    """The sentence of one point by its number in the block."""
    arrays = {name: np.broadcast_to(row.column(name), shape) for name in _USED}
    asked_s = None if row.asked_s is None else np.broadcast_to(row.asked_s, shape)
    of_scale = np.broadcast_to(notes, shape)

    def text(place: int) -> str:
        at = np.unravel_index(place, shape)
        known: dict[str, Any] = {name: float(array[at]) for name, array in arrays.items()}
        known |= {name: None for name in _OPTIONAL if np.isnan(known[name])}
        given_s = None if asked_s is None else float(asked_s[at])
        made = _BLANK._replace(method=row.method, given=given_s is not None, asked_interval_s=given_s, **known)
        return with_note(status.of_record(made), of_scale[at] or None)

    return text


_OPTIONAL = ("goodput", "goodput_steps")
_BLANK = Record(*("", "", False, None, 1, *(0.0,) * 7, None, *(0.0,) * 6, None, 0.0, None, None, None, None, ""))

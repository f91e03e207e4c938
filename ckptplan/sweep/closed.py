"""Points for which closed forms hold: their costs are worked out where these change, all else as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ckptplan.sweep.built import Parts
from ckptplan.sweep.closed_costs import BlockCosts, Inputs, block_costs, inputs_of
from ckptplan.sweep.closed_refusals import refusals, replaced, without_numbers
from ckptplan.sweep.closed_rows import ClosedRow
from ckptplan.sweep.closed_status import statuses
from ckptplan.sweep.columns import Column, Labels
from ckptplan.sweep.dependence import is_closed, keeps_closed, keeps_speed
from ckptplan.sweep.grid import Block
from ckptplan.sweep.measures import MEASURES, Source, naming_columns, sources_of
from ckptplan.sweep.points import planned_rows
from ckptplan.sweep.rows import PlannedRows, methods_of
from ckptplan.sweep.stacked import within
from ckptplan.sweep.study import INTERVAL, Each, Member, Study

# Of a whole grid, held while its blocks are evaluated: a few tens of megabytes.
_MOST_OBJECTS, _MOST_NUMBERS = 1 << 16, 1 << 22

Bools = npt.NDArray[np.bool_]
_Kind = TypeVar("_Kind", bound=np.generic)


def is_closed_study(study: Study, member: Member) -> bool:
    """Whether the points of a spec need no plan of their own."""
    records_only = sources_of(study.columns) <= {Source.RECORD}
    closed = is_closed(member.scenario) and all(keeps_closed(axis) for axis in study.axes)
    return records_only and closed and keeps_speed(study.axes, member.scenario)


def inputs_at(study: Study, member: Member, block: Block) -> Inputs:
    """What the costs of a block follow from."""
    parts = Parts(study, member, block)
    return inputs_of(member.scenario, parts, parts.values(INTERVAL))


def inputs_of_all(study: Study, member: Member) -> Inputs | None:
    """The same for the whole grid, to be cut for each block; None where that is too much to be held."""
    parts = Parts(study, member, tuple(range(len(axis.values)) for axis in study.axes))
    if parts.objects_at_most > _MOST_OBJECTS or parts.numbers_at_most > _MOST_NUMBERS:
        return None
    return inputs_of(member.scenario, parts, parts.values(INTERVAL))


def block_columns(
    study: Study, member: Member, block: Block, names: Sequence[str], inputs: Inputs | None = None
) -> dict[str, Column]:
    """Measures of every row of a block.

    Parameters
    ----------
    study, member : Study, Member
        What is asked, of a spec for which `is_closed_study` holds.
    block : Block
        One range of values for each axis.
    names : sequence of str
        Of the measures.
    inputs : Inputs, optional
        Of the whole grid, where they are held.

    Returns
    -------
    dict
        Under these names. Points whose costs are no ordinary numbers are planned one by one, for what they say.
    """
    shape = tuple(len(values) for values in block)
    inputs = inputs_at(study, member, block) if inputs is None else within(inputs, block)
    costs = block_costs(inputs)
    groups = [_Group(rows, shape) for rows in _rows(study, member, costs, inputs)]
    known: Bools = np.ones(shape, dtype=bool)
    for group in groups:
        known &= group.is_known
    columns = {name: _column(name, groups, costs) for name in names}
    if known.all():
        return columns
    left: Bools = ~known.reshape(-1)
    refused = refusals(inputs, shape)
    of_rows = Labels(np.repeat(np.where(left, refused.codes, -1), len(groups)), refused.names)
    columns = without_numbers(columns, of_rows, naming_columns(study.each))
    left &= refused.codes < 0
    if not left.any():
        return columns
    points = [tuple(values[at] for values, at in zip(block, place, strict=True)) for place in _places(left, shape)]
    planned = PlannedRows([row for rows in planned_rows(study, member, points) for row in rows], study.gpu_hour_price)
    at_rows = np.repeat(left, len(groups))
    return {name: replaced(columns[name], planned.column(name), at_rows) for name in names}


def _places(chosen: Bools, shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The indices of points in a block."""
    for place in np.flatnonzero(chosen):
        yield tuple(int(at) for at in np.unravel_index(place, shape)) if shape else ()


class _Group:
    """The rows that one row of each point is chosen from."""

    def __init__(self, rows: Sequence[ClosedRow], shape: tuple[int, ...]) -> None:
        self.rows, self.shape = rows, shape
        self._best = _best(rows, shape) if len(rows) > 1 else None

    @property
    def is_known(self) -> Bools:
        """Where all of them are ordinary numbers."""
        known = np.ones(self.shape, dtype=bool)
        for row in self.rows:
            known &= row.is_known
        return known

    def chosen(self, arrays: Sequence[npt.NDArray[_Kind]]) -> npt.NDArray[_Kind]:
        """Of one array for each row, the elements of the chosen rows."""
        found = np.empty(self.shape, dtype=arrays[0].dtype)
        found[...] = arrays[0]
        for number, array in enumerate(arrays[1:], start=1):
            if array is not arrays[0]:
                np.copyto(found, array, where=self._best == number)
        return found


def _rows(study: Study, member: Member, costs: BlockCosts, inputs: Inputs) -> list[list[ClosedRow]]:
    """For each row of a point, those that it is chosen from."""
    by_strategy = [
        [
            ClosedRow(costs, number, method, asked_s=inputs.asked_s, price=study.gpu_hour_price)
            for method in methods_of(study, member)
        ]
        for number in range(len(costs.cases))
    ]
    if study.each is Each.STRATEGY:
        return by_strategy
    flat = [row for rows in by_strategy for row in rows]
    if study.each is Each.POINT:  # one row for a point is held against the best of all its ways of saving
        for row in flat:
            row.rivals = [rows[0] for rows in by_strategy]
    return [flat] if study.each is Each.POINT else [[row] for row in flat]


def _best(rows: Sequence[ClosedRow], shape: tuple[int, ...]) -> npt.NDArray[np.int8]:
    """Which row of each point is recommended: the first one of the highest goodput."""
    best = np.zeros(shape, dtype=np.int8)
    most = rows[0].goodput_typed
    for number, row in enumerate(rows[1:], start=1):
        better = row.goodput_typed > most
        most = np.where(better, row.goodput_typed, most)
        np.copyto(best, number, where=better)
    return best


def _column(name: str, groups: Sequence[_Group], costs: BlockCosts) -> Column:
    """One measure, the rows of each point side by side."""
    if not MEASURES[name].text:
        return _side_by_side([group.chosen([row.column(name) for row in group.rows]) for group in groups])
    found = [[_texts(name, row, costs, group.shape) for row in group.rows] for group in groups]
    names = tuple(dict.fromkeys(text for labels in found for one in labels for text in one.names))
    places = {text: place for place, text in enumerate(names)}

    def renumbered(labels: Labels) -> npt.NDArray[np.int32]:
        return np.array([places[text] for text in labels.names], dtype=np.int32)[labels.codes]

    chosen = [group.chosen([renumbered(one) for one in of]) for group, of in zip(groups, found, strict=True)]
    return Labels(_side_by_side(chosen), names)


def _texts(name: str, row: ClosedRow, costs: BlockCosts, shape: tuple[int, ...]) -> Labels:
    """The texts of one row; a name stands for all points."""
    if name == "status":
        return statuses(row, costs.notes, shape)
    return Labels(np.zeros((1,) * len(shape), dtype=np.int32), (getattr(row, name),))


def _side_by_side(arrays: Sequence[npt.NDArray[_Kind]]) -> npt.NDArray[_Kind]:
    return np.stack(arrays, axis=-1).reshape(-1) if len(arrays) > 1 else arrays[0].reshape(-1)

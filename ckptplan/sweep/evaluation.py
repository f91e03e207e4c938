"""A study in chunks: what is refused, how its points are parted, and what one part comes out as."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import LawName
from ckptplan.errors import InputError, Problem
from ckptplan.sweep.closed import block_columns, inputs_of_all, is_closed_study
from ckptplan.sweep.closed_costs import Inputs
from ckptplan.sweep.columns import Column, Columns, Labels, joined, length
from ckptplan.sweep.grid import Block, blocks, cuts
from ckptplan.sweep.measures import MEASURES, Source, naming_columns, sources_of
from ckptplan.sweep.points import planned_rows
from ckptplan.sweep.rows import PlannedRows, row_names
from ckptplan.sweep.study import GPUS, INTERVAL, Each, Member, Study

SPEC = "spec"  # names the column of the spec

_CLOSED_ROWS = 100_000
# Points that are planned one by one in a few seconds: exponential failures of one class; other laws, or the run to its
# end; several classes or tiers; simulated runs.
_PLANNED_POINTS, _SUMMED_POINTS, _SPECTRUM_POINTS, _PLAYED_POINTS = 2_000, 300, 20, 4
# Columns of which every planned row has a value.
_ALWAYS = ("gpus", "mtbf_s", "stall_s", "interval_s", "goodput_exact", "goodput_typed", "lost_fraction", "useful_gpus")


Numbers: TypeAlias = npt.NDArray[Any]  # int64 or float64


class Chunk(NamedTuple):
    """Points ``start`` to ``stop`` of one spec, counted within that spec, the last axis fastest."""

    member: int
    start: int
    stop: int


def check(study: Study) -> None:
    """Refuse what cannot be swept.

    Raises
    ------
    InputError
        With every fault.
    """
    problems = list(_faults(study))
    if problems:
        raise InputError(problems)


def _faults(study: Study) -> Iterator[Problem]:
    if not study.members:
        yield Problem("no spec is given", hint="name a spec, for example llama3-405b")
    keys = [axis.key for axis in study.axes]
    for axis in study.axes:
        if not axis.values:
            yield Problem("an axis without values", key=axis.key, hint="write for example cluster.gpus=1024,2048")
        if not np.all(np.isfinite(np.asarray(axis.values, dtype=np.float64))):
            yield Problem("a value that is no finite number", key=axis.key, hint="write finite numbers only")
    yield from (
        Problem("the key has two axes", key=key, hint="write all its values in one list")
        for key in dict.fromkeys(keys)
        if keys.count(key) > 1
    )
    yield from _faults_of_values(study)
    yield from _faults_of_columns(study)


def _faults_of_values(study: Study) -> Iterator[Problem]:
    for axis in study.axes:
        if axis.key == INTERVAL and any(value <= 0 for value in axis.values):
            yield Problem("an interval that is not positive", key=INTERVAL, hint="write for example interval=30min,1h")
        if axis.key == GPUS and any(value < 1 or value != int(value) for value in axis.values):
            yield Problem("a number of GPUs that is not whole and positive", key=GPUS, hint="write 1024, for example")
        if axis.key in (INTERVAL, GPUS) or not axis.values:
            continue
        for member in study.members:
            try:
                member.rebuild({axis.key: axis.values[0]})
            except KeyError:
                hint = "write it there, or set it beside the sweep"
                yield Problem(f"{member.name} does not give the key that is swept", key=axis.key, hint=hint)
            except InputError:
                continue  # a fault of this value, which its rows say


def _faults_of_columns(study: Study) -> Iterator[Problem]:
    import difflib

    for name in dict.fromkeys(study.columns):
        if name not in MEASURES:
            near = difflib.get_close_matches(name, MEASURES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(MEASURES)}"
            yield Problem(f"there is no column {name!r}", hint=hint)
    if Source.SIMULATION in sources_of(study.columns) and study.runs < 1:
        names = [name for name in study.columns if name in MEASURES and MEASURES[name].source is Source.SIMULATION]
        yield Problem(f"{', '.join(names)}: no run is simulated", hint="give a number of runs, for example 1000")


def column_names(study: Study) -> tuple[str, ...]:
    """The columns of the result in order: the spec where there are several, the axes, what tells rows apart, the rest.

    The column of a spec is named ``spec``, that of an axis by its key.
    """
    spec = (SPEC,) if len(study.members) > 1 else ()
    axes = tuple(axis.key for axis in study.axes)
    return tuple(dict.fromkeys((*spec, *axes, *naming_columns(study.each), *study.columns)))


def rows_per_point(study: Study, member: Member) -> int:
    """Rows of each point of a spec; a way of saving that only some values allow adds a row to these points."""
    return len(row_names(study, member))


def chunks(study: Study) -> tuple[Chunk, ...]:
    """The parts of a study, in order; they depend on the study alone."""
    shape = [len(axis.values) for axis in study.axes]
    found = []
    for number, member in enumerate(study.members):
        most = _points_of_a_chunk(study, member)
        found += [Chunk(number, start, stop) for start, stop in cuts(shape, most)]
    return tuple(found)


def _points_of_a_chunk(study: Study, member: Member) -> int:
    sources = sources_of(study.columns)
    if Source.SIMULATION in sources:
        return _PLAYED_POINTS
    if is_closed_study(study, member):
        return max(_CLOSED_ROWS // rows_per_point(study, member), 1)
    if member.scenario.has_spectrum:
        return _SPECTRUM_POINTS
    exponential = member.scenario.failures.law.name is LawName.EXPONENTIAL and Source.RUN not in sources
    rows = 1 if study.each is Each.POINT else rows_per_point(study, member)
    return max((_PLANNED_POINTS if exponential else _SUMMED_POINTS) // rows, 1)


class Evaluation:
    """Called with a chunk of a study, it gives its rows; what chunks share is worked out once. It pickles.

    The rows stand under the names of `column_names`; numbers are float64, axes of whole numbers int64.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._lock = Lock()
        self._inputs: dict[int, Inputs | None] = {}
        self._along = [_values(axis.values) for axis in study.axes]

    def __reduce__(self) -> tuple[type[Evaluation], tuple[Study]]:
        """Whoever gets it works out anew what chunks share."""
        return Evaluation, (self.study,)

    def __call__(self, chunk: Chunk) -> Columns:
        """The rows of one part."""
        study, member = self.study, self.study.members[chunk.member]
        if is_closed_study(study, member):
            inputs = self._inputs_of(chunk)
            shape = [len(axis.values) for axis in study.axes]
            found = [self._closed(member, block, inputs) for block in blocks(shape, chunk.start, chunk.stop)]
            columns = joined(found) if len(found) != 1 else found[0]
        else:
            columns = self._planned(member, chunk)
        return _with_spec(study, member, columns)

    def _inputs_of(self, chunk: Chunk) -> Inputs | None:
        """What all chunks of a spec take, if that is little enough to be held."""
        with self._lock:
            if chunk.member not in self._inputs:
                self._inputs[chunk.member] = inputs_of_all(self.study, self.study.members[chunk.member])
            return self._inputs[chunk.member]

    def _closed(self, member: Member, block: Block, inputs: Inputs | None) -> dict[str, Column]:
        """The rows of a block, by closed forms."""
        rows, shape = rows_per_point(self.study, member), tuple(len(values) for values in block)
        columns: dict[str, Column] = {}
        for number, axis in enumerate(self.study.axes):
            along = self._along[number][block[number].start : block[number].stop]
            places = (1,) * number + (-1,) + (1,) * (len(shape) - 1 - number)
            at_points = np.broadcast_to(along.reshape(places), shape).reshape(-1)
            columns[axis.key] = _repeated(at_points, rows)
        return {**columns, **block_columns(self.study, member, block, _measures(self.study), inputs)}

    def _planned(self, member: Member, chunk: Chunk) -> dict[str, Column]:
        """The rows of points that are planned one by one."""
        study = self.study
        first = chunk.member * study.points_each
        points = [study.indices_of(point) for point in range(chunk.start, chunk.stop)]
        of_points = list(planned_rows(study, member, points, first + chunk.start))
        rows = [row for rows in of_points for row in rows]
        lengths = [len(rows) for rows in of_points]
        columns: dict[str, Column] = {}
        for number, axis in enumerate(study.axes):
            columns[axis.key] = _repeated(self._along[number][[point[number] for point in points]], lengths)
        made = PlannedRows(rows, study.gpu_hour_price)
        return {**columns, **{name: made.column(name) for name in _measures(study)}}


def evaluate(study: Study, chunk: Chunk) -> Columns:
    """The rows of one part alone."""
    return Evaluation(study)(chunk)


def _measures(study: Study) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*naming_columns(study.each), *study.columns)))


def _values(values: tuple[float | int, ...]) -> Numbers:
    """The values of an axis, whole numbers as such."""
    whole = all(isinstance(value, int) for value in values)
    return np.array(values, dtype=np.int64) if whole else np.array(values, dtype=np.float64)


def _repeated(values: Numbers, times: int | list[int]) -> Column:
    """Values of points for the rows of each."""
    found: Column = values if times == 1 else np.repeat(values, times)
    return found


def _with_spec(study: Study, member: Member, columns: Columns) -> Columns:
    """The columns in order, with that of the spec where there are several."""
    names = column_names(study)
    found = dict(columns)
    if SPEC in names:
        found[SPEC] = Labels(np.zeros(length(columns), dtype=np.int32), (member.name,))
    return {name: found[name] for name in names}


def refuse_without_rows(study: Study, columns: Columns) -> None:
    """Refuse a result in which no point could be planned, with the first reason.

    Raises
    ------
    InputError
        If every row lacks its numbers.
    """
    told = [name for name in _ALWAYS if name in columns]
    if told and not np.isnan(np.asarray(columns[told[0]])).all():
        return
    member = study.members[0]
    first = study._replace(columns=("status",), each=Each.POINT)
    for row in next(planned_rows(first, member, [study.indices_of(0)])):
        if row.record is None:
            raise InputError(f"no point of the sweep can be planned; the first one: {row.status}")

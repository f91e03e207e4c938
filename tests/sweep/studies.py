"""Studies of shipped configurations, and their points planned one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ckptplan.load import load
from ckptplan.sweep.columns import Column, Columns, Labels, joined
from ckptplan.sweep.evaluation import Evaluation, chunks
from ckptplan.sweep.measures import MEASURES, Source, naming_columns
from ckptplan.sweep.points import planned_rows
from ckptplan.sweep.rows import PlannedRows
from ckptplan.sweep.study import Axis, Each, Member, Study

RECORD_COLUMNS = tuple(name for name, one in MEASURES.items() if one.source is Source.RECORD)


def member(name: str, sets: Sequence[str] = ()) -> Member:
    """A shipped config as a spec of a study."""
    spec = load(name, sets=sets, environment={})
    return Member(spec.scenario.name, spec.scenario, spec.with_values, spec.si, spec.with_arrays)


def numeric_keys(name: str) -> dict[str, float | int]:
    """Every numeric key that a shipped config gives, with its value in SI."""
    fields = load(name, environment={})._fields
    assert fields is not None
    return {key: found.si for key, found in fields.given.items() if isinstance(found.si, int | float)}


def study(
    spec: Member | str,
    axes: Mapping[str, Sequence[float | int]],
    columns: Sequence[str] = RECORD_COLUMNS,
    each: Each = Each.POINT,
    **settings: object,
) -> Study:
    """A study of one spec."""
    found = member(spec) if isinstance(spec, str) else spec
    made = tuple(Axis(key, tuple(values), tuple(map(str, values))) for key, values in axes.items())
    return Study((found,), made, tuple(columns), each)._replace(**settings)  # type: ignore[arg-type]


def swept(asked: Study) -> dict[str, Column]:
    """All chunks of a study, one after another."""
    evaluate = Evaluation(asked)
    return joined([evaluate(chunk) for chunk in chunks(asked)])


def point_by_point(asked: Study) -> dict[str, Column]:
    """The measures of the first spec of a study, each point planned by itself."""
    points = [asked.indices_of(point) for point in range(asked.points_each)]
    rows = [row for rows in planned_rows(asked, asked.members[0], points) for row in rows]
    made = PlannedRows(rows, asked.gpu_hour_price)
    return {name: made.column(name) for name in dict.fromkeys((*naming_columns(asked.each), *asked.columns))}


def differing(found: Columns, wanted: Columns) -> list[str]:
    """Names of the columns that differ anywhere, to the last bit; nan is like nan."""
    return [name for name, column in wanted.items() if not _alike(found[name], column)]


def _alike(found: Column, wanted: Column) -> bool:
    if isinstance(wanted, Labels) or isinstance(found, Labels):
        return isinstance(wanted, Labels) and isinstance(found, Labels) and found.texts() == wanted.texts()
    return bool(np.array_equal(found, wanted, equal_nan=True))


def numbers(columns: Columns, name: str) -> list[float]:
    """A column of numbers as a list."""
    column = columns[name]
    assert not isinstance(column, Labels)
    return [float(value) for value in column.tolist()]


def texts(columns: Columns, name: str) -> list[str | None]:
    """A column of texts."""
    column = columns[name]
    assert isinstance(column, Labels)
    return column.texts()

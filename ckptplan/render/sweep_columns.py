"""The columns of a sweep: their names for machines, with units, and their titles and cells for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ckptplan.errors import printable
from ckptplan.render.numbers import hundredths, percent, seconds, whole
from ckptplan.sweep.columns import Column, Labels
from ckptplan.sweep.measures import MEASURES, Measure
from ckptplan.sweep.study import GPUS, INTERVAL, Axis, Study
from ckptplan.sweep.titles import title_of
from ckptplan.units import format_count, format_size, format_time

SPEC = "spec"
STATUS = "status"
GOODPUT = "goodput_typed"
ALWAYS = (GOODPUT, STATUS)  # worked out for the summary, whether they are shown or not

_SUFFIX = {"s": "_s", "bytes": "_bytes", "bytes/s": "_bytes_per_s", "W": "_w"}
_OF_INTERVAL = "given_interval_s"  # interval_s is the one in force
_TITLES_OF_AXES = {GPUS: "GPUs", INTERVAL: "given interval"}
_INTERVALS = ("stall_s", "flush_s", "effective_stall_s", "typed_interval_s", "interval_s", "asked_interval_s")


class Shown(NamedTuple):
    """One column: ``name`` in the study, ``header`` in files; ``axis`` where it holds the values of one."""

    name: str
    header: str
    title: str
    unit: str
    about: str
    text: bool = False
    axis: Axis | None = None
    whole: bool = False


def shown_columns(study: Study, names: Sequence[str], hidden: Sequence[str] = ()) -> tuple[Shown, ...]:
    """The columns of a result by their names in the study, without the hidden ones."""
    axes = {axis.key: axis for axis in study.axes}
    found = []
    for name in names:
        if name in axes:
            found.append(_of_axis(axes[name]))
        elif name == SPEC:
            found.append(Shown(SPEC, SPEC, SPEC, "", "Name of the spec.", text=True))
        elif name not in hidden:
            found.append(_of_measure(MEASURES[name]))
    return tuple(found)


def header_of(axis: Axis) -> str:
    """The key with its unit: ``storage.write_bandwidth_bytes_per_s``."""
    suffix = "" if axis.key.rpartition(".")[2].startswith("bytes") else _SUFFIX.get(axis.unit, "")
    return _OF_INTERVAL if axis.key == INTERVAL else f"{axis.key}{suffix}"


def _of_axis(axis: Axis) -> Shown:
    about = "Given interval: work between two saves." if axis.key == INTERVAL else f"Value of {axis.key}."
    is_whole = all(isinstance(value, int) for value in axis.values)
    title = printable(_TITLES_OF_AXES.get(axis.key, axis.key))
    return Shown(axis.key, header_of(axis), title, axis.unit, about, axis=axis, whole=is_whole)


def _of_measure(measure: Measure) -> Shown:
    name = measure.name
    return Shown(name, name, title_of(name), measure.unit, measure.about, measure.text, whole=measure.whole)


def cells(shown: Shown, column: Column) -> list[str]:
    """The column as people read it."""
    if isinstance(column, Labels):
        names = [*map(printable, column.names), "-"]
        return [names[code] for code in column.codes.tolist()]
    if shown.axis is not None:
        texts = dict(zip(shown.axis.values, shown.axis.texts, strict=True))
        return [texts[value] for value in column.tolist()]
    show = formatter(shown)
    return ["-" if value is None else show(value) for value in _known(column)]


def _known(column: Column) -> list[float | None]:
    values = column.tolist() if isinstance(column, np.ndarray) else []
    return [value if math.isfinite(value) else None for value in values]


def formatter(shown: Shown) -> Callable[[float], str]:
    """How people read one value of a measure."""
    if shown.name in _INTERVALS:
        return seconds
    if shown.unit == "1":
        return hundredths if shown.title.endswith("%") else percent
    by_unit: dict[str, Callable[[float], str]] = {"s": format_time, "bytes": format_size}
    return by_unit.get(shown.unit, whole if shown.whole else format_count)

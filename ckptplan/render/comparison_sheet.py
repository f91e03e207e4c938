"""A comparison as sheets: inputs and results side by side, causes, and all of it in one flat sheet for CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ckptplan.errors import printable
from ckptplan.plan.comparison.inputs import Input, Side
from ckptplan.plan.comparison.record import Cause, Comparison
from ckptplan.render.numbers import duration, hundredths, percent, seconds, signed, whole
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_size, format_time


class Row(NamedTuple):
    """How one figure of an outcome is shown."""

    key: str
    title: str
    show: Callable[[Any], str]
    unit: str = ""
    share: bool = False


def price(value: float | None) -> str:
    """Money."""
    if value is None:
        return "-"
    return whole(value) if abs(value) >= 1000 else f"{value:.2f}"


ROWS = (
    Row("gpus", "GPUs", whole),
    Row("useful_gpus", "useful GPUs", whole),
    Row("size_bytes", "checkpoint", format_size, "bytes"),
    Row("mtbf_per_gpu_s", "MTBF per GPU", format_time, "s"),
    Row("mtbf_s", "MTBF of the job", format_time, "s"),
    Row("restart_total_s", "restart", seconds, "s"),
    Row("strategy", "best strategy", printable),
    Row("stall_s", "stall", seconds, "s"),
    Row("flush_s", "flush", seconds, "s"),
    Row("step_time_s", "step", seconds, "s"),
    Row("interval_s", "interval", seconds, "s"),
    Row("interval_steps", "interval in steps", whole),
    Row("save_fraction", "lost to saves", percent, share=True),
    Row("rework_fraction", "lost to rework", percent, share=True),
    Row("restart_fraction", "lost to restarts", percent, share=True),
    Row("slow_fraction", "lost to slow nodes", percent, share=True),
    Row("waiting_fraction", "lost to waiting", percent, share=True),
    Row("goodput", "goodput", percent, share=True),
    Row("work_s", "work", duration, "s"),
    Row("wall_s", "run time", duration, "s"),
    Row("gpu_hours", "GPU-hours", whole, "GPU h"),
    Row("lost_gpu_hours", "lost GPU-hours", whole, "GPU h"),
    Row("money", "money", price),
    Row("lost_money", "lost money", price),
)


def results_sheet(made: Comparison) -> Sheet:
    """Figures of both runs; those that neither has are left out."""
    a, b = made.outcomes
    rows = [(row, getattr(a, row.key), getattr(b, row.key)) for row in ROWS]
    kept = [(row, x, y) for row, x, y in rows if x or y]
    columns = (
        Column("title", "", str, right=False),
        Column("first", "A"),
        Column("second", "B"),
        Column("difference", "B - A"),
    )
    cells = tuple((row.title, _shown(row, x), _shown(row, y), _difference(row, x, y)) for row, x, y in kept)
    return Sheet(columns, cells, frozenset(i for i, (row, _, _) in enumerate(kept) if row.key == "goodput"))


def _shown(row: Row, value: Any) -> str:
    return "-" if value is None else row.show(value)


def _difference(row: Row, first: Any, second: Any) -> str:
    if first is None or second is None or isinstance(first, str):
        return ""
    if first == second:
        return "same"
    if row.share:
        return f"{signed(second - first)} points"
    return f"{'+' if second > first else '-'}{row.show(abs(second - first))}"


def inputs_sheet(inputs: Sequence[Input], files: tuple[str, str]) -> Sheet:
    """Values in force that differ, and where each came from; lines are those of the file of its side."""
    columns = (
        Column("key", "input", str, right=False),
        Column("first", "A"),
        Column("second", "B"),
        Column("first_origin", "A from"),
        Column("second_origin", "B from"),
    )
    rows = [
        (one.label, _text(one.first), _text(one.second), _from(one.first, files[0]), _from(one.second, files[1]))
        for one in inputs
    ]
    return Sheet(columns, tuple(rows))


def _text(side: Side | None) -> str:
    if side is None:
        return "not given"
    return _ENDED.get(side.text, side.text) if side.key.endswith(".until") else side.text


def _from(side: Side | None, file: str) -> str:
    """The place behind ``from``: ``line 12``, ``default``, or the key that it follows from."""
    if side is None:
        return "-"
    line = side.origin.removeprefix(f"{file}:")
    return f"line {line}" if line != side.origin else side.origin.removeprefix(_FOLLOWS)


def causes_sheet(made: Comparison) -> Sheet:
    """What each cause makes of the difference, and their sum."""
    sampled = made.orders is not None
    columns = (
        Column("cause", "cause", str, right=False),
        Column("goodput", "points"),
        Column("standard_error", "+-", None if not sampled else str),
        Column("least", "least"),
        Column("most", "most"),
    )
    rows = [_cause(cause) for cause in made.causes]
    total = ("all of it", signed(made.difference), "", "", "")
    return Sheet(columns, (*rows, total), frozenset({len(rows)}))


def _cause(cause: Cause) -> tuple[str, ...]:
    error = "" if cause.standard_error is None else hundredths(cause.standard_error)
    return cause.name, signed(cause.goodput), error, signed(cause.least), signed(cause.most)


_ENDED = {"time": "a fixed time", "failure": "the last failure"}  # what a count was ended by
_FOLLOWS = "follows from "
_FLAT = (
    "part",
    "key",
    "unit",
    "first",
    "second",
    "difference",
    "goodput",
    "standard_error",
    "least",
    "most",
    "first_origin",
    "second_origin",
)


def flat_sheet(made: Comparison, inputs: Sequence[Input]) -> Sheet:
    """Everything as one row each, under the columns of the CSV.

    ``difference`` is always the second less the first; ``goodput`` is what a loss or a cause makes of that in goodput.
    """
    rows = [*_flat_inputs(inputs), *_flat_results(made)]
    rows += [
        ("loss", one.name, "", one.first, one.second, one.second - one.first, one.goodput, *[None] * 5)
        for one in made.losses
    ]
    rows += [
        ("cause", one.name, "", None, None, None, one.goodput, one.standard_error, one.least, one.most, None, None)
        for one in made.causes
    ]
    return Sheet(tuple(Column(key) for key in _FLAT), tuple(rows))


def _flat_inputs(inputs: Sequence[Input]) -> Iterator[tuple[Any, ...]]:
    for one in inputs:
        unit = next(side.unit for side in (one.first, one.second) if side is not None)
        origins = [None if side is None else side.origin for side in (one.first, one.second)]
        yield ("input", one.label, unit, _raw(one.first), _raw(one.second), *[None] * 5, *origins)


def _raw(side: Side | None) -> Any:
    return None if side is None else side.text if side.si is None else side.si


def _flat_results(made: Comparison) -> Iterator[tuple[Any, ...]]:
    a, b = made.outcomes
    for row in ROWS:
        first, second = getattr(a, row.key), getattr(b, row.key)
        numbers = first is not None and second is not None and not isinstance(first, str)
        difference = second - first if numbers else None
        yield ("result", row.key, row.unit, first, second, difference, *[None] * 6)

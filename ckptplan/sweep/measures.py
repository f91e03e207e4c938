"""The columns that a sweep can show: one name, unit and meaning each, the same words as in the sheet of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from ckptplan.sweep.study import Each


class Source(StrEnum):
    """What must be worked out for a measure; what costs more is done only where it is asked for."""

    RECORD = "record"  # the interval and its shares: closed forms or sums
    RUN = "run"  # the run to its end
    SIMULATION = "simulation"  # whole runs played out


class Measure(NamedTuple):
    """One column. ``unit`` is empty for counts, ``1`` for shares; ``text`` marks names and sentences."""

    name: str
    unit: str
    about: str
    source: Source = Source.RECORD
    text: bool = False
    whole: bool = False  # a whole number, where it is known


_RECORD = (
    Measure("strategy", "", "Name of the way of saving.", text=True),
    Measure("method", "", "Method that gives the interval and accounts for it.", text=True),
    Measure("gpus", "", "GPUs of the job, idle ones included.", whole=True),
    Measure("mtbf_s", "s", "Mean time between failures of the whole job."),
    Measure("size_bytes", "bytes", "Size of the checkpoint."),
    Measure("restart_total_s", "s", "Downtime and restart after one failure."),
    Measure("stall_s", "s", "Time that one save blocks training."),
    Measure("flush_s", "s", "Time that one save goes on in the background."),
    Measure("effective_stall_s", "s", "Training time that one save takes, slow-down included."),
    Measure("interval_floor_s", "s", "Least work between saves that the flush allows."),
    Measure("asked_interval_s", "s", "Given interval, before the flush raised it."),
    Measure("interval_s", "s", "Work between two saves."),
    Measure("interval_steps", "", "The same in whole steps.", whole=True),
    Measure("typed_interval_s", "s", "Work between two saves of the number to type: whole steps where they are known."),
    Measure("save_fraction", "1", "Share of wall time in saves."),
    Measure("rework_fraction", "1", "Share of wall time in work that is done again."),
    Measure("restart_fraction", "1", "Share of wall time in recoveries."),
    Measure("slow_fraction", "1", "Share of wall time lost to slow nodes."),
    Measure("waiting_fraction", "1", "Share of wall time waiting for nodes."),
    Measure("overhead", "1", "Wall time over useful work, minus one."),
    Measure("goodput", "1", "Useful share of wall time, as the method accounts."),
    Measure("goodput_exact", "1", "Useful share of wall time, as the failures really come."),
    Measure("goodput_steps", "1", "The same for whole steps."),
    Measure("goodput_typed", "1", "The same for the number to type: whole steps where they are known."),
    Measure(
        "lost_fraction",
        "1",
        "Share of wall time that is not useful, for the number to type; of time alone, so that idle GPUs do not count.",
    ),
    Measure(
        "useful_gpus", "", "GPUs of the size in the spec that would do as much without losses: idle GPUs do nothing."
    ),
    Measure(
        "lost_goodput",
        "1",
        "What a given interval loses against the best number to type: of its strategy, or of all in one row a point.",
    ),
    Measure(
        "lost_gpu_hours",
        "GPU h",
        "GPU-hours, of all GPUs, that the same work takes more with a given interval than with that number.",
    ),
    Measure("lost_money", "money", "The same in money, where a price is given."),
    Measure("gpu_hours", "GPU h", "GPU-hours of the run to its end, of all GPUs: idle ones are paid too."),
    Measure("gpu_hours_lost", "GPU h", "Those of them that are not work: all hours of idle GPUs among them."),
    Measure("money", "money", "Price of those GPU-hours, where a price is given."),
    Measure("money_lost", "money", "Price of the GPU-hours that are not work, those of idle GPUs among them."),
    Measure("status", "", "What limits this row, or why it has no numbers.", text=True),
)

_RUN = tuple(
    Measure(name, unit, about, Source.RUN)
    for name, unit, about in (
        ("expected_s", "s", "Expected wall time of the run."),
        ("sd_s", "s", "Its standard deviation."),
        ("p5_s", "s", "Wall time that 5 % of the runs stay below."),
        ("p50_s", "s", "Median wall time of the run."),
        ("p95_s", "s", "Wall time that 95 % of the runs stay below."),
        ("failures", "", "Expected failures until the run ends."),
        ("saves", "", "Expected saves begun until the run ends."),
    )
)

_SIMULATION = tuple(
    Measure(name, unit, about, Source.SIMULATION)
    for name, unit, about in (
        ("simulated_goodput", "1", "Mean goodput of the simulated runs."),
        ("simulated_goodput_error", "1", "Its standard error."),
        ("simulated_wall_s", "s", "Mean wall time of the simulated runs."),
        ("simulated_wall_error_s", "s", "Its standard error."),
        ("simulated_p5_s", "s", "Wall time that 5 % of the simulated runs stay below."),
        ("simulated_p50_s", "s", "Median wall time of the simulated runs."),
        ("simulated_p95_s", "s", "Wall time that 95 % of the simulated runs stay below."),
        ("simulated_failures", "", "Mean number of failures of the simulated runs."),
    )
)

MEASURES: Mapping[str, Measure] = MappingProxyType({one.name: one for one in (*_RECORD, *_RUN, *_SIMULATION)})

_DEFAULT = ("interval_s", "interval_steps", "goodput_typed", "status")
_OF_ROWS: Mapping[Each, tuple[str, ...]] = MappingProxyType(
    {Each.POINT: (), Each.STRATEGY: ("strategy",), Each.METHOD: ("strategy", "method")}
)


def naming_columns(each: Each) -> tuple[str, ...]:
    """The columns without which the rows of one point could not be told apart."""
    return _OF_ROWS[each]


def default_columns(each: Each, *, simulated: bool = False) -> tuple[str, ...]:
    """What a sweep shows where nothing else is asked for."""
    names = naming_columns(each) or ("strategy",)
    played = ("simulated_goodput", "simulated_goodput_error") if simulated else ()
    return (*names, *_DEFAULT[:-1], *played, _DEFAULT[-1])


def sources_of(columns: Iterable[str]) -> frozenset[Source]:
    """What must be worked out for these columns."""
    return frozenset(MEASURES[name].source for name in columns if name in MEASURES)

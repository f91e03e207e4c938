"""Which rows a point has, and rows that were planned one by one as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ckptplan.cost.scenario import LawName, Scenario
from ckptplan.errors import InputError
from ckptplan.interval.methods import METHODS
from ckptplan.plan.case import cases_of
from ckptplan.plan.chosen import saves_to_tiers
from ckptplan.plan.pipeline import default_methods
from ckptplan.plan.record import PREFERENCE, TIERS, Record
from ckptplan.plan.run import RunFacts
from ckptplan.sweep.columns import Column, Labels
from ckptplan.sweep.derived import Derived, Floats
from ckptplan.sweep.measures import MEASURES
from ckptplan.sweep.study import INTERVAL, Each, Member, Study

if TYPE_CHECKING:
    from ckptplan.plan.simulation import Simulation

_NAN = float("nan")


class RowName(NamedTuple):
    """What a row is about; None where that is chosen at each point."""

    strategy: str | None
    method: str | None


class Row(NamedTuple):
    """One planned row, or why there is none. [s, bytes]."""

    name: RowName
    status: str
    record: Record | None = None
    size_bytes: float = _NAN
    work_s: float | None = None
    step_time_s: float | None = None
    working_gpus: int | None = None
    speed_gpus: float | None = None
    wall_s: float | None = None
    run: RunFacts | None = None
    played: Simulation | None = None


def row_names(study: Study, member: Member) -> tuple[RowName, ...]:
    """The rows of each point of a spec, in order."""
    if study.each is Each.POINT:
        return (RowName(None, None),)
    strategies = strategies_of(member.scenario)
    if study.each is Each.STRATEGY:
        return tuple(RowName(name, None) for name in (*strategies, *_tiers(member.scenario)))
    methods = methods_of(study, member)
    of_one = tuple(RowName(name, method) for name in strategies for method in methods)
    return (*of_one, *(RowName(name, "exact") for name in _tiers(member.scenario)))


def strategies_of(scenario: Scenario) -> tuple[str, ...]:
    """Ways of saving to one place; those of the spec alone where it cannot be planned with its own values."""
    try:
        return tuple(case.save.name for case in cases_of(scenario))
    except InputError:
        return tuple(save.name for save in scenario.saves)


def _tiers(scenario: Scenario) -> tuple[str, ...]:
    return (TIERS,) if saves_to_tiers(scenario) else ()


def methods_of(study: Study, member: Member) -> tuple[str, ...]:
    """The methods of the rows: all that are wanted, or of those the ones that a recommendation goes by."""
    wanted = study.methods or default_methods(member.scenario)
    if study.each is not Each.METHOD:
        exponential = member.scenario.failures.law.name is LawName.EXPONENTIAL
        wanted = study.methods or (("exact",) if exponential else ("renewal",))
        most = max(PREFERENCE.get(name, 0) for name in wanted)
        wanted = tuple(name for name in wanted if PREFERENCE.get(name, 0) == most)
    if any(axis.key == INTERVAL for axis in study.axes):
        return _of_given(wanted)
    return tuple(wanted)


def _of_given(methods: Sequence[str]) -> tuple[str, ...]:
    """First-order methods differ in their interval only; one of them accounts for a given one."""
    return tuple(dict.fromkeys("young" if METHODS[m].accounting == "first order" else m for m in methods))


_OF_RUN: Mapping[str, Callable[[RunFacts], float | None]] = MappingProxyType(
    {
        "expected_s": lambda run: run.expected_s,
        "sd_s": lambda run: run.sd_s,
        "p5_s": lambda run: run.quantiles_s[0],
        "p50_s": lambda run: run.quantiles_s[1],
        "p95_s": lambda run: run.quantiles_s[2],
        "failures": lambda run: run.failures,
        "saves": lambda run: run.saves,
    }
)
_OF_PLAYED: Mapping[str, Callable[[Simulation], float]] = MappingProxyType(
    {
        "simulated_goodput": lambda played: played.goodput.mean,
        "simulated_goodput_error": lambda played: played.goodput.standard_error,
        "simulated_wall_s": lambda played: played.wall_s.mean,
        "simulated_wall_error_s": lambda played: played.wall_s.standard_error,
        "simulated_p5_s": lambda played: played.wall_s.p5,
        "simulated_p50_s": lambda played: played.wall_s.p50,
        "simulated_p95_s": lambda played: played.wall_s.p95,
        "simulated_failures": lambda played: played.failures.mean,
    }
)


class PlannedRows(Derived):
    """Rows that were planned one by one, as columns."""

    def __init__(self, rows: Sequence[Row], price: float | None) -> None:
        self._rows = rows
        self.price = price

    def column(self, name: str) -> Column:
        """The column of a measure."""
        if MEASURES[name].text:
            return labels([_text(row, name) for row in self._rows])
        if name in _OF_RUN:
            of_run = _OF_RUN[name]
            return self._numbers(lambda row: None if row.run is None else of_run(row.run))
        if name in _OF_PLAYED:
            of_played = _OF_PLAYED[name]
            return self._numbers(lambda row: None if row.played is None else of_played(row.played))
        if name in Record._fields:
            return self._of_record(name)
        found: Floats = getattr(self, name)
        return found

    @cached_property
    def gpus(self) -> Floats:
        """GPUs of the job. [1]."""
        return self._of_record("gpus")

    @property
    def working_gpus(self) -> Floats:
        """Those of them that are not idle. [1]."""
        return self._numbers(lambda row: row.working_gpus)

    @property
    def speed_gpus(self) -> Floats:
        """Throughput without saves and failures, in GPUs of the size that the spec states. [1]."""
        return self._numbers(lambda row: row.speed_gpus)

    @property
    def wall_s(self) -> Floats:
        """Expected wall time of the run. [s]."""
        return self._numbers(lambda row: row.wall_s)

    @cached_property
    def work_s(self) -> Floats:
        """Work of the run. [s]."""
        return self._numbers(lambda row: row.work_s)

    @cached_property
    def goodput_typed(self) -> Floats:
        """Goodput of the number to type. [1]."""
        return self._of_record("goodput_typed")

    @property
    def size_bytes(self) -> Floats:
        """Size of the checkpoint. [bytes]."""
        return self._numbers(lambda row: row.size_bytes)

    @property
    def typed_interval_s(self) -> Floats:
        """Interval of the number to type. [s]."""
        return self._numbers(lambda row: row.record and row.record.typed_interval_s(row.step_time_s))

    def _of_record(self, name: str) -> Floats:
        return self._numbers(lambda row: getattr(row.record, name))

    def _numbers(self, of: Callable[[Row], float | None]) -> Floats:
        found = (None if row.record is None else of(row) for row in self._rows)
        return np.array([_NAN if value is None else value for value in found], dtype=np.float64)


def _text(row: Row, name: str) -> str | None:
    if name == "status":
        return row.status
    text: str | None = getattr(row.name if row.record is None else row.record, name)
    return text


def labels(texts: Sequence[str | None]) -> Labels:
    """Texts as numbers and names."""
    places: dict[str, int] = {}
    codes = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
    return Labels(np.array(codes, dtype=np.int32), tuple(places))

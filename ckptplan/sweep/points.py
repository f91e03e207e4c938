"""Points planned one by one, whatever their scenario is: laws, classes, tiers, whole runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ckptplan.cost.size import sizes
from ckptplan.errors import InputError
from ckptplan.plan.case import Case
from ckptplan.plan.pipeline import plan
from ckptplan.plan.progress import LONGEST_RUN_S
from ckptplan.plan.record import TIERS, Plan, Record, recommended
from ckptplan.plan.rows import Best, Money, best_of, held_against, records_of
from ckptplan.plan.run import RunFacts
from ckptplan.plan.scale.refusals import reason
from ckptplan.plan.status import OK
from ckptplan.plan.wall_time import wall_time
from ckptplan.sweep.measures import Source, sources_of
from ckptplan.sweep.point import Point, point_at
from ckptplan.sweep.rows import Row, RowName, methods_of, row_names
from ckptplan.sweep.study import Each, Member, Study

_ROUNDING = 1e-9  # of goodput
_OF_WALL_TIME = frozenset({"gpu_hours", "gpu_hours_lost", "money", "money_lost"})
_NOT_HERE = "no such way of saving with these values"


def planned_rows(study: Study, member: Member, points: Iterable[Sequence[int]], first: int = 0) -> Iterator[list[Row]]:
    """The rows of each point; a point that cannot be planned has rows without numbers.

    Parameters
    ----------
    study, member : Study, Member
        What is asked, of which spec.
    points : iterable of sequences of int
        Which value of each axis they have.
    first : int
        Number of the first of them in the study, from which the seeds of simulated runs follow.
    """
    names, methods = row_names(study, member), methods_of(study, member)
    for number, indices in enumerate(points, start=first):
        yield list(_rows_at((study, member), indices, number, names, methods))


def _rows_at(
    asked: tuple[Study, Member], indices: Sequence[int], number: int, names: Sequence[RowName], methods: Sequence[str]
) -> Iterator[Row]:
    study, member = asked
    try:
        point = point_at(study, member, indices)
        found = _found(study, point, methods)
        rows = [_row(study, point, record, number) for record in found]
    except InputError as error:
        yield from (Row(name, reason(error)) for name in names)
        return
    except (ArithmeticError, ValueError) as error:  # inputs so far apart that a float does not hold what follows
        yield from (Row(name, f"values outside all reason: {error}") for name in names)
        return
    if study.each is Each.POINT:
        yield from rows
        return
    by_name = {_name(study, row): row for row in rows}
    for name in names:
        row = by_name.pop(name, None)
        yield Row(name, _NOT_HERE) if row is None else row
    yield from by_name.values()


def _name(study: Study, row: Row) -> RowName:
    return row.name if study.each is Each.METHOD else row.name._replace(method=None)


def _found(study: Study, point: Point, methods: Sequence[str]) -> list[Record]:
    """The records that the rows are made of."""
    scenario, given_s = point.scenario, point.given_s
    if scenario.has_spectrum:
        made = plan(
            scenario,
            methods=methods,
            intervals_s=given_s,
            gpu_hour_price=study.gpu_hour_price,
            seed=study.seed,
            whole_run=False,
        )
        return _of_plan(study, made, point)
    money = Money(scenario.training.work_s, study.gpu_hour_price)
    # One row for a point is held against the best of all its ways of saving.
    best = _best_of_all(point.cases, money.work_s) if study.each is Each.POINT and given_s else None
    records = [
        record
        for case in point.cases
        for record in records_of(case, methods, given_s, money, best)
        if record.given == bool(given_s)
    ]
    if study.each is Each.POINT:
        return [max(records, key=recommended)]
    return _best_of_each(records) if study.each is Each.STRATEGY else records


def _best_of_each(records: Sequence[Record]) -> list[Record]:
    names = dict.fromkeys(record.strategy for record in records)
    return [max((r for r in records if r.strategy == name), key=recommended) for name in names]


def _best_of_all(cases: Sequence[Case], work_s: float | None) -> Best:
    found = [best_of(case, work_s) for case in cases]
    walls = [one.wall_s for one in found if one.wall_s is not None]
    return Best(max(one.goodput for one in found), min(walls, default=None))


def _of_plan(study: Study, made: Plan, point: Point) -> list[Record]:
    """The records of a plan that rows are made of; all tiers together are one more way of saving."""
    given = bool(made.given())
    records = [r for r in made.records if r.given == given and r.strategy != TIERS]
    tiers = [r for r in made.records if r.given == given and r.strategy == TIERS]
    if study.each is Each.METHOD:
        return records + tiers
    if study.each is Each.STRATEGY:
        return _best_of_each(records) + tiers
    best = max(records, key=recommended)
    if not given:
        return tiers if made.tiers_are_best else [best]
    best = next((t for t in tiers if t.goodput_typed > best.goodput_typed * (1.0 + _ROUNDING)), best)
    return [_against_all(best, study, made, point)]


def _against_all(record: Record, study: Study, made: Plan, point: Point) -> Record:
    """A given interval held against the best of all ways of saving, that over several tiers included."""
    work_s = point.scenario.training.work_s
    wall_s = wall_time(work_s, None, record.interval_s, made.best_goodput)
    case = None if record.strategy == TIERS else point.case_of(record)
    money = Money(work_s, study.gpu_hour_price)
    return held_against(Best(made.best_goodput, wall_s), record, case, money)


def _row(study: Study, point: Point, record: Record, number: int) -> Row:
    scenario, wanted = point.scenario, sources_of(study.columns)
    asks_hours = bool(_OF_WALL_TIME.intersection(study.columns))
    needs_run = Source.RUN in wanted or (asks_hours and not point.is_closed(record))
    status = with_note(record.status, point.size.note)
    row = Row(
        name=RowName(record.strategy, record.method),
        status=status,
        record=record,
        size_bytes=sizes(scenario.model, scenario.cluster).total_bytes,
        work_s=scenario.training.work_s,
        step_time_s=scenario.training.step_time_s,
        working_gpus=point.size.gpus - point.size.idle_gpus,
        speed_gpus=point.size.speed_gpus,
    )
    if needs_run:
        row = row._replace(run=_run_of(study, point, record))
    if asks_hours:
        row = row._replace(wall_s=_wall_s(point, row.run, record))
    if Source.RUN in wanted and row.run is None and row.work_s is not None:
        row = row._replace(status=with_note(status, _without_run(row, record)))
    if Source.SIMULATION in wanted:
        from ckptplan.sweep.simulated import simulated

        row = simulated(study, scenario, row, number)
    return row


def _without_run(row: Row, record: Record) -> str:
    """Why nothing is known of the run to its end."""
    if (row.work_s or 0.0) > LONGEST_RUN_S * record.goodput_typed:
        return "the run never ends"
    return "the run has too many failures to be played to its end"


def with_note(status: str, note: str | None) -> str:
    """A status with a note of the scale behind it."""
    if note is None:
        return status
    return note if status == OK else f"{status}; {note}"


def _wall_s(point: Point, run: RunFacts | None, record: Record) -> float | None:
    """Expected wall time of the run, as `plan` has it; of one that is too long to be played, work over goodput. [s]."""
    if run is not None:
        return run.expected_s
    training = point.scenario.training
    case = None if record.strategy == TIERS else point.case_of(record)
    return wall_time(training.work_s, case, record.typed_interval_s(training.step_time_s), record.goodput_typed)


def _run_of(study: Study, point: Point, record: Record) -> RunFacts | None:
    """The run to its end by the way of saving of a record, as `plan` says it of the best one."""
    from ckptplan.plan.run import run_facts, spectrum_run_facts

    scenario, case = point.scenario, point.case_of(record)
    if record.strategy == TIERS:
        from ckptplan.plan.tiers.tiering import tiering_of

        made = tiering_of(scenario, case, interval_s=record.asked_interval_s)
        return spectrum_run_facts(scenario, case.of_spec, record.interval_s, made, study.seed)
    interval_s = record.typed_interval_s(scenario.training.step_time_s)
    if case.spectrum is not None:
        return spectrum_run_facts(scenario, case, interval_s, None, study.seed)
    return run_facts(scenario, case, interval_s, study.seed)

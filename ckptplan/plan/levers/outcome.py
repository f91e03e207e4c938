"""What ``optimize`` would say of a run, no more than levers need: the best way of saving and what it yields."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.cost.scenario import Scenario, Strike
from ckptplan.errors import InputError
from ckptplan.plan import warnings
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.chosen import saves_to_tiers
from ckptplan.plan.progress import makes_progress
from ckptplan.plan.record import TIERS, Record, recommended
from ckptplan.plan.rows import Money, records_of

if TYPE_CHECKING:
    from ckptplan.plan.tiers.tiering import Tiering

_NOT_ASKED = Money(None, None)


class Outcome(NamedTuple):
    """The best way of saving. ``goodput`` and ``interval_s`` are those of the number to type.

    ``before_steps`` is that of the best interval of any strategy, not rounded to whole steps, which may favour another
    strategy where steps are coarse.
    """

    scenario: Scenario
    strategy: str
    interval_s: float
    interval_steps: int | None
    goodput: float
    before_steps: float
    best: Record  # the best strategy of one tier
    case: Case  # the one of ``best``
    tiering: "Tiering | None" = None  # where several tiers are best
    warnings: tuple[str, ...] = ()


def outcome_of(scenario: Scenario) -> Outcome:
    """The best way of saving of a scenario, as ``optimize`` finds it.

    Raises
    ------
    InputError
        If something needed is neither given nor computable.
    NothingLeftError
        If nothing useful is left.
    """
    cases = cases_of(scenario)
    rows = [(case, row) for case in cases for row in records_of(case, (case.method,), (), _NOT_ASKED)]
    case, best = max(rows, key=lambda pair: recommended(pair[1]))
    if not best.goodput_typed > 0.0:
        raise NothingLeftError
    said = warnings.without_table(warnings.warnings(scenario, [row for _, row in rows], cases, ()))
    made = Outcome(
        scenario=scenario,
        strategy=best.strategy,
        interval_s=best.typed_interval_s(scenario.training.step_time_s),
        interval_steps=best.interval_steps,
        goodput=best.goodput_typed,
        before_steps=max(row.goodput_exact for _, row in rows),
        best=best,
        case=case,
        warnings=said,
    )
    made = _with_tiers(made)
    if not makes_progress(made.goodput):
        raise NothingLeftError
    return made


class NothingLeftError(InputError):
    """A run that makes no progress, so that nothing can be gained or lost."""

    def __init__(self) -> None:
        super().__init__("nothing useful is left", hint="see ckptplan optimize for what limits the run")


def _with_tiers(made: Outcome) -> Outcome:
    scenario = made.scenario
    if not saves_to_tiers(scenario):
        return made
    from ckptplan.plan.tiers.tiering import tiering_of

    found = tiering_of(scenario, made.case)
    if found is None or not found.plan.beats(made.goodput):
        return made
    return made._replace(
        strategy=TIERS,
        interval_s=found.plan.interval_s,
        interval_steps=found.plan.interval_steps,
        goodput=found.plan.goodput,
        before_steps=found.plan.goodput,
        tiering=found,
    )


def outcomes_of(scenarios: Sequence[Scenario]) -> list[Outcome | InputError]:
    """Each scenario by itself; what has no answer is the error that says why."""
    found: list[Outcome | InputError] = []
    for scenario in scenarios:
        try:
            found.append(outcome_of(scenario))
        except InputError as error:
            found.append(error)
    return found


def goodputs_of(scenarios: Sequence[Scenario]) -> list[float | InputError]:
    """The typed goodput of each scenario: closed cases as arrays, to the last digit as one by one."""
    several = [_cases_or_error(scenario) for scenario in scenarios]
    closed = [one for one in several if not isinstance(one, InputError) and all(case.is_closed for case in one)]
    if len(closed) != len(several) or not closed:
        return [one if isinstance(one, InputError) else one.goodput for one in outcomes_of(scenarios)]
    return [max(part) for part in typed_goodputs(closed)]


def _cases_or_error(scenario: Scenario) -> list[Case] | InputError:
    try:
        return cases_of(scenario)
    except InputError as error:
        return error


def typed_goodputs(several: Sequence[Sequence[Case]]) -> list[list[float]]:
    """The typed goodput of every case, where all are closed: side by side those that strike alike."""
    from ckptplan.plan.closed import closed_cases

    values: dict[Strike, Iterator[float]] = {}
    for strike in {case.strike for cases in several for case in cases}:
        many = closed_cases([case for cases in several for case in cases if case.strike is strike])
        values[strike] = iter(many.shares(many.typed(many.optimum("exact"))).goodput.tolist())
    return [[next(values[case.strike]) for case in cases] for cases in several]

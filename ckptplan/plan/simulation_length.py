"""How long a simulation takes, told before it begins: its runs go from failure to failure."""

from __future__ import annotations

import math
from typing import NamedTuple

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.progress import makes_progress
from ckptplan.plan.record import TIERS
from ckptplan.simulate.runs import CHUNK
from ckptplan.simulate.whole_runs import MAX_FAILURES

# Measured on one core of a server: all runs of a chunk are played side by side, so that few runs take as long as many.
_FAILURE_S = 4e-5
_FAILURE_OF_A_RUN_S = 2.5e-8
_EVENT_S, _EVENT_OF_A_RUN_S = 3.5e-4, 1.3e-6  # where each cause is played by itself


def expected_failures(case: Case, work_s: float, interval_s: float) -> float:
    """Failures of one run: exact where a closed form knows them, else those of its wall time. [1]."""
    if case.is_closed:
        from ckptplan.interval.finite import expected_counts

        return float(expected_counts(work_s, interval_s, case.save.stall_s, case.mtbf_s, **case.process).failures)
    goodput = case.goodput(interval_s)
    return work_s / goodput / case.mtbf_s if goodput > 0.0 else float("inf")


def refuse_too_many(case: Case, work_s: float, interval_s: float) -> None:
    """Refuse a run that would be given up after minutes, before it begins.

    What makes no progress at all is left to the simulation, which sees that at once.

    Raises
    ------
    InputError
        If a run that gets on has more failures than are played.
    """
    if not case.is_closed or not makes_progress(case.goodput(interval_s)):
        return
    failures = expected_failures(case, work_s, interval_s)
    if failures > MAX_FAILURES:
        raise InputError(
            f"a run would have about {failures:,.2g} failures, more than {MAX_FAILURES:,}",
            hint="simulate less work: its goodput is the same",
        )


class Length(NamedTuple):
    """What is to be played: failures of one run, and about how long all runs take. [1, s]."""

    failures: float
    seconds: float


def spectrum_length_of(scenario: Scenario, *, strategy: str, interval_s: float, runs: int) -> Length:
    """The same for several classes or tiers, whose events are played one by one: the least time that they take."""
    from ckptplan.plan.tiers.tiering import tiering_of

    cases = cases_of(scenario)
    case = next((case for case in cases if case.save.name == strategy), cases[0])
    if strategy == TIERS:
        found = tiering_of(scenario, case.of_spec, interval_s=interval_s)
        goodput = 0.0 if found is None else found.plan.goodput
    else:
        goodput = case.goodput(case.raised(interval_s))
    if scenario.training.work_s is None or not makes_progress(goodput):
        return Length(0.0, 0.0)
    failures = scenario.training.work_s / goodput / case.mtbf_s
    return Length(failures, failures * (_EVENT_S + runs * _EVENT_OF_A_RUN_S))


def length_of(scenario: Scenario, *, strategy: str, interval_s: float, runs: int, jobs: int = 1) -> Length:
    """How long the runs of one strategy take; next to nothing where the simulation chooses or sees their end.

    Parameters
    ----------
    scenario, strategy, interval_s, runs, jobs
        As for `ckptplan.plan.simulation.simulate_plan`; of one class of failures.

    Raises
    ------
    InputError
        As `refuse_too_many`.
    """
    case = next(case for case in cases_of(scenario) if case.save.name == strategy)
    interval_s = case.raised(interval_s)
    if scenario.training.work_s is None or not makes_progress(case.goodput(interval_s)):
        return Length(0.0, 0.0)
    refuse_too_many(case, scenario.training.work_s, interval_s)
    failures = expected_failures(case, scenario.training.work_s, interval_s)
    rounds = math.ceil(math.ceil(runs / CHUNK) / jobs)
    return Length(failures, rounds * failures * (_FAILURE_S + min(runs, CHUNK) * _FAILURE_OF_A_RUN_S))

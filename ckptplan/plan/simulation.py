"""A plan played out: whole runs simulated, the prediction of the formulas beside them, and how far they are apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ckptplan.cost.scenario import LawName, Scenario
from ckptplan.interval.breakdown import Shares
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.distribution import Distribution, distribution
from ckptplan.plan.refusals import refuse
from ckptplan.plan.simulation_length import refuse_too_many
from ckptplan.plan.spectrum.shares import CaseShares
from ckptplan.plan.warnings import host_copies_left_out
from ckptplan.simulate import (
    Gaps,
    MeanShares,
    Process,
    Runs,
    Summary,
    gaps_of,
    simulate_cycles,
    simulate_runs,
    standard_errors,
)
from ckptplan.simulate.summary import summarise

RUNS = 1_000
_WITHOUT_END = 100  # MTBFs of work in a run whose end is not known
_LONG_RUN_FAILURES = 200_000
_HOLDS_WITHIN = 4.0  # standard errors
_FIRST_ORDER_WITHIN = 0.002  # of goodput: what the formulas for late errors, spikes, slow nodes and drains leave out
_LEAST_RUNS = 30  # below, the standard error itself is not known well enough to judge by
Progress = Callable[[int, int], object]


class Prediction(NamedTuple):
    """What the formulas say, and the difference of the simulation from it in standard errors (nan: none known)."""

    quantity: str  # "wall_s" of a run with an end, else "goodput" in the long run
    predicted: float
    simulated: float
    standard_error: float
    z: float
    is_exact: bool = True  # False: first order in causes that are found late, thrown back, slowed or drained

    @property
    def holds(self) -> bool:
        """Whether the formula is within four standard errors, or a first-order one within two tenths of a point."""
        near = not self.is_exact and abs(self.simulated - self.predicted) <= _FIRST_ORDER_WITHIN
        return math.isnan(self.z) or abs(self.z) <= _HOLDS_WITHIN or near


class Part(NamedTuple):
    """A share of wall time that only some runs have. [1]."""

    name: str
    simulated: float
    standard_error: float
    predicted: float


class CausePlayed(NamedTuple):
    """What one class took: shares of wall time [1], and counts per run."""

    name: str
    lost: float
    predicted: float
    events: float  # per run
    unkept: int  # rollbacks in all runs that found no save left


class Simulation(NamedTuple):
    """Whole runs of one strategy at one interval. [s, 1]."""

    name: str
    strategy: str
    gpus: int
    asked_interval_s: float  # ``interval_s`` is longer where the flush demands it
    interval_s: float
    interval_steps: int | None
    work_s: float
    has_end: bool  # False: the spec gives no work, and a length was chosen
    source: str  # of the failures
    mtbf_s: float  # mean gap that was played
    runs: int
    seed: int
    wall_s: Summary
    goodput: Summary
    failures: Summary
    saves: Summary | None  # None: not counted
    kept: MeanShares
    gross: MeanShares
    predicted_shares: Shares | CaseShares
    prediction: Prediction
    predicted_wall_s: float | None  # None: only the goodput in the long run is known
    predicted_goodput: float
    predicted_counts: tuple[float, float] | None  # failures and saves begun, where a closed form knows them
    precision: float
    precision_reached: bool
    notes: tuple[str, ...]  # what is doubtful about the save, as a plan would warn
    parts: tuple[Part, ...] = ()
    causes: tuple[CausePlayed, ...] = ()
    distribution: Distribution | None = None  # of the wall time; None: all runs take the same


def simulate_plan(
    scenario: Scenario,
    *,
    strategy: str,
    interval_s: float,
    runs: int = RUNS,
    seed: int = 0,
    jobs: int = 1,
    precision: float | None = None,
    max_runs: int = 1_000_000,
    replay: tuple[float, ...] | None = None,
    resample: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Simulation:
    """Simulate one strategy of a scenario.

    Parameters
    ----------
    scenario : Scenario
        The run. Without an end, each simulated run is 100 MTBFs of work.
    strategy : str
        Name of a save strategy.
    interval_s : float
        Work between two saves, raised to the floor that the flush sets. [s]
    runs, seed, jobs, precision, max_runs, progress
        As for `ckptplan.simulate.simulate_runs`.
    replay : tuple of float, optional
        Recorded gaps instead of the law of the spec, in their order, or resampled. [s]
    resample : bool
        Draw the recorded gaps with replacement.
    strict : bool
        Refuse an interval below the flush and buffers that do not fit.

    Returns
    -------
    Simulation

    Raises
    ------
    InputError
        If the run makes no progress, or ``strict`` refuses it.
    """
    if scenario.has_spectrum:
        from ckptplan.plan.spectrum.simulation import simulate_spectrum_plan

        return simulate_spectrum_plan(
            scenario,
            strategy=strategy,
            interval_s=interval_s,
            runs=runs,
            seed=seed,
            precision=precision,
            max_runs=max_runs,
            strict=strict,
            progress=progress,
        )
    case = next(case for case in cases_of(scenario) if case.save.name == strategy)
    if replay is not None:
        mean_s = float(np.mean(replay))
        case = case._replace(mtbf_s=mean_s, law=case.law._replace(name=LawName.RECORDED, gaps_s=replay, of_nodes=False))
    if strict:
        refuse([case], [interval_s])
    asked_s, interval_s = interval_s, case.raised(interval_s)
    work_s = scenario.training.work_s
    work_s = _WITHOUT_END * case.mtbf_s if work_s is None else work_s
    gaps = _gaps(case, in_order=replay is not None and not resample)
    refuse_too_many(case, work_s, interval_s)
    made = simulate_runs(
        _process(case, interval_s),
        gaps,
        work_s,
        runs=runs,
        seed=seed,
        jobs=jobs,
        precision=precision,
        max_runs=max_runs,
        progress=progress,
    )
    source = _source(case, replay is not None, resample)
    prediction = _prediction(case, made, gaps, seed)
    found = _described(scenario, case, made, prediction, source=source, seed=seed)
    return found._replace(asked_interval_s=asked_s)


def _described(
    scenario: Scenario, case: Case, made: Runs, prediction: Prediction, *, source: str, seed: int
) -> Simulation:
    """The simulated runs, summarised, with everything that was predicted of them."""
    interval_s, work_s = made.process.interval_s, made.work_s
    is_wall = prediction.quantity == "wall_s"
    return Simulation(
        name=scenario.name,
        strategy=case.save.name,
        gpus=case.gpus,
        asked_interval_s=interval_s,
        interval_s=interval_s,
        interval_steps=case.steps_if_whole(interval_s),
        work_s=work_s,
        has_end=scenario.training.work_s is not None,
        source=source,
        mtbf_s=case.mtbf_s,
        runs=made.wall_s.size,
        seed=seed,
        wall_s=made.wall,
        goodput=summarise(made.goodput),
        failures=summarise(made.failures),
        saves=summarise(made.saves_begun),
        kept=made.shares(made.kept),
        gross=made.shares(made.gross),
        predicted_shares=case.shares(interval_s),
        prediction=prediction,
        predicted_wall_s=prediction.predicted if is_wall else None,
        predicted_goodput=work_s / prediction.predicted if is_wall else prediction.predicted,
        predicted_counts=_counts(case, made),
        precision=made.precision,
        precision_reached=made.precision_reached,
        notes=(*(f"{case.save.name}: {note}" for note in case.save.notes), *host_copies_left_out([case])),
        distribution=distribution(made.wall_s),
    )


def simulate_case(case: Case, work_s: float, interval_s: float, *, runs: int = RUNS, seed: int = 0) -> Runs:
    """Simulate whole runs of one case, without a prediction beside them.

    Raises
    ------
    InputError
        If the run makes no progress.
    """
    return simulate_runs(_process(case, interval_s), _gaps(case), work_s, runs=runs, seed=seed)


def _process(case: Case, interval_s: float) -> Process:
    return Process(
        interval_s=interval_s,
        stall_s=case.save.stall_s,
        flush_s=case.save.flush_s,
        speed=case.speed,
        downtime_s=case.restart.downtime_s,
        restart_s=case.restart.restart_s,
        strike=case.strike,
        host_copy_survives=case.copy_survives,
        in_flight=case.save.in_flight,
    )


def _gaps(case: Case, *, in_order: bool = False) -> Gaps:
    return gaps_of(case.law, case.mtbf_s, node_count=case.nodes, in_order=in_order)


def _prediction(case: Case, made: Runs, gaps: Gaps, seed: int) -> Prediction:
    """The wall time where a closed form knows it, else the goodput in the long run, which is simulated as well."""
    interval_s = made.process.interval_s
    if case.is_closed:
        from ckptplan.interval.finite import expected_time

        predicted = float(expected_time(made.work_s, interval_s, case.save.stall_s, case.mtbf_s, **case.process))
        wall = made.wall
        enough = made.wall_s.size >= _LEAST_RUNS
        z = standard_errors(wall.mean, wall.standard_error, predicted) if enough else math.nan
        return Prediction("wall_s", predicted, wall.mean, wall.standard_error, z)
    predicted = case.goodput(interval_s)
    if not gaps.is_random:
        # One record in its order is one run: there is nothing to tell its accidents from an error of the formula.
        return Prediction("goodput", predicted, float(made.goodput[0]), float("nan"), float("nan"))
    found = simulate_cycles(_process(case, interval_s), gaps, failures=_LONG_RUN_FAILURES, seed=seed)
    z = standard_errors(found.goodput, found.goodput_error, predicted)
    return Prediction("goodput", predicted, found.goodput, found.goodput_error, z)


def _counts(case: Case, made: Runs) -> tuple[float, float] | None:
    if not case.is_closed:
        return None
    from ckptplan.interval.finite import expected_counts

    found = expected_counts(made.work_s, made.process.interval_s, case.save.stall_s, case.mtbf_s, **case.process)
    return float(found.failures), float(found.saves_durable + found.saves_aborted)


def _source(case: Case, is_replay: bool, resample: bool) -> str:
    named: dict[Any, str] = {LawName.EXPONENTIAL: "exponential failures", LawName.RECORDED: "recorded gaps, resampled"}
    if is_replay and not resample:
        return "recorded gaps in their order"
    if case.law.name in named:
        return named[case.law.name]
    of = "of each node, which keeps its age" if case.law.of_nodes else "of the job"
    return f"{case.law.name} failures {of}"

"""A run with an end: when it is done, what it takes, and how its work is divided best."""

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ckptplan.cost.scenario import Scenario
from ckptplan.plan.case import Case
from ckptplan.plan.progress import LONGEST_RUN_S
from ckptplan.units import HOUR_S

if TYPE_CHECKING:
    from ckptplan.plan.tiers.tiering import Tiering

LEVELS = (0.05, 0.5, 0.95)
SIMULATED_RUNS = 1_000
SPECTRUM_RUNS = 200  # of several classes or tiers: each event is played by itself
_MOST_STOPS = 600  # in each of them
_MOST_EVENTS = 2_400  # in each of them, those included under which it goes on: a few seconds for all runs
_FEWEST_INTERVALS = 20  # that a part of a run must hold to stand for all of it
_Z_90 = 1.6448536269514722  # half-width of the middle 90 % of a normal variable, in standard deviations
_FEWEST_RUNS = 20
_MOST_FAILURES = 20_000_000  # simulated for one plan, in a second or two
MANY_NODES = 1_000


class RunFacts(NamedTuple):
    """One strategy at one interval, from the start of the run to its end; expectations and quantiles in seconds.

    ``best_pieces`` divides the work better than equal intervals do: all attempts are equally long, so the last piece,
    which ends without a save, is longer. ``runs`` is how many were simulated where no closed form exists, else 0.
    """

    strategy: str
    interval_s: float
    work_s: float
    expected_s: float
    sd_s: float
    quantiles_s: tuple[float, float, float]  # 5, 50 and 95 %
    failures: float
    saves: float | None  # started, aborted ones included; None: not counted
    gpu_hours: float
    gpu_hours_lost: float
    best_pieces: int | None
    best_pieces_s: float | None  # expected time with them
    end: str | None  # date and time at the expected time, if a start is given
    runs: int
    taken_as_exponential: bool  # the failures of very many nodes


class _Figures(NamedTuple):
    """What a closed form or a simulation says of the run."""

    expected_s: float
    sd_s: float
    quantiles_s: tuple[float, float, float]
    failures: float
    saves: float
    runs: int = 0


def run_facts(scenario: Scenario, case: Case, interval_s: float, seed: int = 0) -> RunFacts | None:
    """The run at one interval; None if its work is not known or it never ends."""
    work_s = scenario.training.work_s
    if work_s is None:
        return None
    many = case.law.of_nodes and case.nodes > MANY_NODES  # their failures are all but exponential, and slow to simulate
    closed = (case.is_exponential or many) and case.copy_survives == 0.0 and case.spectrum is None
    figures = _closed(case, work_s, interval_s, seed) if closed else _simulated(case, work_s, interval_s, seed)
    if figures is None or not figures.expected_s <= LONGEST_RUN_S:
        return None
    pieces, pieces_s = _best_division(case, work_s) if closed else (None, None)
    gpu_hours = figures.expected_s * case.gpus / HOUR_S
    return RunFacts(
        strategy=case.save.name,
        interval_s=interval_s,
        work_s=work_s,
        expected_s=figures.expected_s,
        sd_s=figures.sd_s,
        quantiles_s=figures.quantiles_s,
        failures=figures.failures,
        saves=figures.saves,
        gpu_hours=gpu_hours,
        gpu_hours_lost=gpu_hours - work_s * case.gpus / HOUR_S,
        best_pieces=pieces,
        best_pieces_s=pieces_s,
        end=_end(scenario, figures.expected_s),
        runs=figures.runs,
        taken_as_exponential=closed and not case.is_exponential,
    )


def _closed(case: Case, work_s: float, interval_s: float, seed: int) -> _Figures | None:
    """Exact figures for exponential failures; simulated ones where the distribution cannot be inverted."""
    from ckptplan.interval.completion import completion_quantiles
    from ckptplan.interval.finite import expected_counts, expected_time, time_variance

    arguments = (work_s, interval_s, case.save.stall_s, case.mtbf_s)
    process = case.process
    expected_s = float(expected_time(*arguments, **process))
    if not expected_s <= LONGEST_RUN_S:
        return None
    low, middle, high = (float(q) for q in completion_quantiles(LEVELS, *arguments, **process))
    counts = expected_counts(*arguments, **process)
    if not np.isfinite(low + high):
        return _simulated(case, work_s, interval_s, seed)
    return _Figures(
        expected_s=expected_s,
        sd_s=float(np.sqrt(time_variance(*arguments, **process))),
        quantiles_s=(low, middle, high),
        failures=float(counts.failures),
        saves=float(counts.saves_durable + counts.saves_aborted),
    )


def spectrum_run_facts(
    scenario: Scenario, case: Case, interval_s: float, tiers: "Tiering | None", seed: int = 0
) -> RunFacts | None:
    """The run of a case with several classes, or of its tiers; None if its work is not known or it never ends.

    The share of wall time spent waiting for nodes is the predicted one: it lengthens each simulated run as a whole.
    """
    from ckptplan.errors import InputError
    from ckptplan.plan.spectrum.shares import shares_by_class, spectrum_in
    from ckptplan.plan.spectrum.simulation import spectrum_runs
    from ckptplan.simulate.summary import summarise

    work_s = scenario.training.work_s
    if work_s is None:
        return None
    shares = shares_by_class(case, spectrum_in(case), interval_s) if tiers is None else tiers.shares
    if not float(shares.useful) * LONGEST_RUN_S > work_s:
        return None  # it hardly gets on: the goodput table says so already
    played_s = _played_s(case, work_s, float(shares.useful))
    if played_s < min(work_s, _FEWEST_INTERVALS * interval_s):
        return None
    try:
        made = spectrum_runs(case, interval_s, played_s, tiers=tiers, runs=SPECTRUM_RUNS, seed=seed)
    except InputError:
        return None
    part = work_s / played_s
    wall = summarise(made.wall_s / (1.0 - float(shares.waiting)))
    mean_s, sd_s = wall.mean * part, wall.sd * part**0.5
    quantiles_s = (wall.p5, wall.p50, wall.p95)
    if part > 1.0:
        quantiles_s = (mean_s - _Z_90 * sd_s, mean_s, mean_s + _Z_90 * sd_s)
    gpu_hours = mean_s * case.gpus / HOUR_S
    return RunFacts(
        strategy=case.save.name if tiers is None else "tiers",
        interval_s=interval_s,
        work_s=work_s,
        expected_s=mean_s,
        sd_s=sd_s,
        quantiles_s=quantiles_s,
        failures=float(made.recoveries.mean()) * part,
        saves=None,
        gpu_hours=gpu_hours,
        gpu_hours_lost=gpu_hours - work_s * case.gpus / HOUR_S,
        best_pieces=None,
        best_pieces_s=None,
        end=_end(scenario, mean_s),
        runs=made.wall_s.size,
        taken_as_exponential=False,
    )


def _played_s(case: Case, work_s: float, goodput: float) -> float:
    """Work that is played of a run: of a very long one a part, for which events are few enough. [s].

    Its mean grows with the work, its deviation with the root of it.
    """
    from ckptplan.plan.spectrum.shares import rework_mtbf_s, spectrum_in

    spectrum = spectrum_in(case)
    rate = sum(one.rate_per_s(case.mtbf_s) for one in spectrum.classes)
    most_s = _MOST_EVENTS * goodput / rate if rate > 0.0 else work_s
    return min(work_s, most_s, _MOST_STOPS * rework_mtbf_s(case, spectrum))


def _simulated(case: Case, work_s: float, interval_s: float, seed: int) -> _Figures | None:
    from ckptplan.errors import InputError
    from ckptplan.plan.simulation import simulate_case

    runs = int(min(SIMULATED_RUNS, _MOST_FAILURES * case.mtbf_s / work_s))
    if runs < _FEWEST_RUNS:
        return None  # a run of a million failures: its wall time is its work over its goodput, and takes long to play
    try:
        made = simulate_case(case, work_s, interval_s, runs=runs, seed=seed)
    except InputError:
        return None  # it makes no progress: the goodput table says so already
    wall = made.wall
    return _Figures(
        expected_s=wall.mean,
        sd_s=wall.sd,
        quantiles_s=(wall.p5, wall.p50, wall.p95),
        failures=float(made.failures.mean()),
        saves=float(made.saves_begun.mean()),
        runs=made.wall_s.size,
    )


def _best_division(case: Case, work_s: float) -> tuple[int | None, float | None]:
    from ckptplan.interval.finite_pieces import best_finite_plan

    found = best_finite_plan(work_s, case.save.stall_s, case.mtbf_s, **case.process)
    # Pieces so short that the write bandwidth forbids them are no division: the formula does not know of it.
    if not np.isfinite(found.mean_s) or (found.pieces > 1 and found.work_piece_s < case.floor_s * (1.0 - 1e-9)):
        return None, None
    return int(found.pieces), float(found.mean_s)


def _end(scenario: Scenario, expected_s: float) -> str | None:
    start = scenario.training.start
    if start is None:
        return None
    try:
        end = start + timedelta(seconds=expected_s)
    except OverflowError:
        return None
    return end.isoformat(sep=" ", timespec="minutes")

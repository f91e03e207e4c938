"""A plan with several classes or tiers played out: whole runs and the long run, beside what was predicted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import LawName, Scenario
from ckptplan.errors import InputError
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.distribution import distribution
from ckptplan.plan.record import TIERS
from ckptplan.plan.refusals import refuse
from ckptplan.plan.simulation import CausePlayed, Part, Prediction, Progress, Simulation
from ckptplan.plan.spectrum.by_class import ClassFacts, of_shares
from ckptplan.plan.spectrum.process import kept_by, process_of_case, process_of_tiers
from ckptplan.plan.spectrum.shares import CaseShares, Spectrum, shares_by_class, spectrum_in
from ckptplan.plan.spectrum.standby import node_loss_rate
from ckptplan.plan.tiers.tiering import Tiering, tiering_of
from ckptplan.simulate.cycles import Share
from ckptplan.simulate.spectrum.long_run import simulate_spectrum
from ckptplan.simulate.spectrum.process import SpectrumProcess
from ckptplan.simulate.spectrum.runs import SpectrumRuns, simulate_spectrum_runs
from ckptplan.simulate.spectrum.shares import SpectrumShares
from ckptplan.simulate.summary import MeanShares, standard_errors, summarise

_RECOVERIES = 200_000
_CHAINS = 1562  # that those are divided among
_RECOVERIES_A_CHAIN = 5  # delays that a chain lasts at least, for its shares to be those of the long run
_WITHOUT_END = 100  # MTBFs of work in a run whose end is not known


class _Played(NamedTuple):
    """What is played, and what was predicted of it."""

    case: Case
    spectrum: Spectrum
    process: SpectrumProcess
    shares: CaseShares
    classes: tuple[ClassFacts, ...]
    strategy: str
    is_exact: bool


def simulate_spectrum_plan(
    scenario: Scenario,
    *,
    strategy: str,
    interval_s: float,
    runs: int,
    seed: int = 0,
    precision: float | None = None,
    max_runs: int = 1_000_000,
    strict: bool = False,
    progress: Progress | None = None,
) -> Simulation:
    """Simulate one strategy of a scenario with classes, or its tiers.

    Parameters
    ----------
    scenario : Scenario
        The run. Without an end, each simulated run is 100 MTBFs of work.
    strategy : str
        Name of a save strategy, or ``tiers``.
    interval_s : float
        Work between two saves (to any tier), raised to the floor that the flush sets. [s]
    runs, seed, precision, max_runs, progress
        As for `ckptplan.simulate.spectrum.simulate_spectrum_runs`.
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
    asked_s = interval_s
    played = _played(scenario, strategy, interval_s, strict=strict)
    work_s = scenario.training.work_s
    has_end, work_s = work_s is not None, work_s or _WITHOUT_END * played.case.mtbf_s
    made = simulate_spectrum_runs(
        played.process, work_s, runs=runs, seed=seed, precision=precision, max_runs=max_runs, progress=progress
    )
    waiting = _waiting(played, seed)
    return _described(scenario, played, made, waiting, asked_s=asked_s, has_end=has_end, seed=seed)


def spectrum_runs(
    case: Case, interval_s: float, work_s: float, *, tiers: Tiering | None, runs: int, seed: int
) -> SpectrumRuns:
    """Whole runs of a case, or of its tiers, without a prediction beside them; waiting for nodes is not in them."""
    process = process_of_case(case, interval_s) if tiers is None else process_of_tiers(case, tiers, interval_s)
    return simulate_spectrum_runs(process, work_s, runs=runs, seed=seed)


def _played(scenario: Scenario, strategy: str, interval_s: float, *, strict: bool) -> _Played:
    cases = cases_of(scenario)
    if strategy == TIERS:
        return _of_tiers(scenario, cases[0].of_spec, interval_s)
    case = next(case for case in cases if case.save.name == strategy)
    if strict:
        refuse([case], [interval_s])
    interval_s = case.raised(interval_s)
    spectrum = spectrum_in(case)
    shares = shares_by_class(case, spectrum, interval_s)
    process = kept_by(scenario.retention, process_of_case(case, interval_s), _period_s(shares, interval_s))
    is_exact = all(one.behaviour in {"stop", "verified"} for one in of_shares(case, spectrum, shares))
    is_exact &= not (spectrum.verification is not None and case.save.flush_s > 0.0) and spectrum.spares is None
    return _Played(case, spectrum, process, shares, of_shares(case, spectrum, shares), strategy, is_exact)


def _of_tiers(scenario: Scenario, case: Case, interval_s: float) -> _Played:
    found, spectrum = tiering_of(scenario, case, interval_s=interval_s), spectrum_in(case)
    if found is None:
        raise InputError("the spec has no tiers", hint="write storage: {tiers: ...}")
    classes = of_shares(case, spectrum, found.shares, found.recovery_s)
    last_s = found.plan.interval_s * found.every[-1]
    process = process_of_tiers(case, found, found.plan.interval_s)
    process = kept_by(scenario.retention, process, _period_s(found.shares, last_s))
    drained = any(tier.flush_s > 0.0 for tier in found.costs)
    is_exact = not drained and all(one.behaviour == "stop" for one in classes) and spectrum.spares is None
    return _Played(case, spectrum, process, found.shares, classes, TIERS, is_exact)


def _period_s(shares: CaseShares, interval_s: float) -> float:
    """Running time from save to save. [s]."""
    return interval_s * (1.0 + float(shares.spectrum.save / shares.spectrum.useful))


def _waiting(played: _Played, seed: int) -> Share:
    """Share of wall time lost for want of nodes, from a simulation of the pool; 0 without spares."""
    spares = played.spectrum.spares
    if spares is None:
        return Share(0.0, 0.0)
    from ckptplan.simulate import law
    from ckptplan.simulate.pool import Failing, Mode, Pool, simulate_pool

    found = played.shares.spectrum
    rate = float(node_loss_rate(played.spectrum.classes, played.case, found))
    elastic = spares.reshard_s is not None
    restart = float(found.restart)
    if elastic or spares.always_failing:
        rate /= 1.0 - restart
    pool = Pool(
        failure_rate_per_s=rate,
        repair=law(LawName.EXPONENTIAL, spares.repair_s),
        spares=spares.nodes,
        nodes=played.case.replicas if elastic else played.case.nodes,
        mode=Mode.SHRINK if elastic else Mode.WAIT,
        failing=Failing.ALWAYS if spares.always_failing else Failing.WORK,
        restart_s=restart / (1.0 - restart) / rate if elastic else 0.0,
        reshard_s=spares.reshard_s or 0.0,
    )
    made = simulate_pool(pool, seed=seed)
    if not elastic:
        return made.waiting
    kept = made.throughput.value / (1.0 - restart)
    return Share(1.0 - kept, made.throughput.error / (1.0 - restart))


def _described(
    scenario: Scenario, played: _Played, made: SpectrumRuns, waiting: Share, *, asked_s: float, has_end: bool, seed: int
) -> Simulation:
    """The simulated runs, summarised, with everything that was predicted of them."""
    rest = 1.0 - waiting.value
    wall_s = made.wall_s / rest
    kept, gross = made.shares(made.kept), made.shares(made.gross)
    shares = played.shares
    interval_s = made.process.interval_s
    prediction = _prediction(played, waiting, seed)
    return Simulation(
        name=scenario.name,
        strategy=played.strategy,
        gpus=played.case.gpus,
        asked_interval_s=asked_s,
        interval_s=interval_s,
        interval_steps=played.case.steps_if_whole(interval_s),
        work_s=made.work_s,
        has_end=has_end,
        source="failures by class",
        mtbf_s=played.case.mtbf_s,
        runs=made.wall_s.size,
        seed=seed,
        wall_s=summarise(wall_s),
        goodput=summarise(made.goodput * rest),
        failures=summarise(made.recoveries),
        saves=None,
        kept=_four(kept, rest),
        gross=_four(gross, rest),
        predicted_shares=shares,
        prediction=prediction,
        predicted_wall_s=None,
        predicted_goodput=float(shares.useful),
        predicted_counts=None,
        precision=made.precision,
        precision_reached=made.precision_reached,
        notes=tuple(_notes(scenario, played)),
        parts=_parts(kept.slow, waiting, shares, rest),
        causes=_causes(played, made, rest),
        distribution=distribution(wall_s),
    )


def _notes(scenario: Scenario, played: _Played) -> Iterator[str]:
    """What is doubtful about the save, and what of the spec is not played."""
    if played.strategy != TIERS:
        yield from (f"{played.case.save.name}: {note}" for note in played.case.save.notes)
    if scenario.retention is not None and scenario.retention.then_every_s is not None:
        yield "the sparser saves of retention (then_every) are not played: ckptplan retain reckons what they are worth"
    if scenario.prediction is not None:
        yield "prediction is not played: what it is worth stands in optimize, to first order"


def _four(shares: SpectrumShares, rest: float) -> MeanShares:
    """The parts that all runs have; verifications count as saves."""
    save = shares.save.value + shares.verify.value
    useful, rework, restart = (rest * part.value for part in (shares.useful, shares.rework, shares.restart))
    return MeanShares(useful, rest * save, rework, restart)


def _parts(slow: Share, waiting: Share, shares: CaseShares, rest: float) -> tuple[Part, ...]:
    """What only some runs lose time to."""
    found = [Part("slow", rest * slow.value, rest * slow.error, float(shares.slow))]
    found.append(Part("waiting", waiting.value, waiting.error, float(shares.waiting)))
    return tuple(part for part in found if part.simulated > 0.0 or part.predicted > 0.0)


def _causes(played: _Played, made: SpectrumRuns, rest: float) -> tuple[CausePlayed, ...]:
    return tuple(
        CausePlayed(
            one.name,
            rest * (cause.lost - cause.save.value),  # a save before an end is booked as a save
            one.lost_fraction,
            cause.events / made.wall_s.size,
            cause.unkept,
        )
        for one, cause in zip(played.classes, made.causes, strict=True)
    )


def _prediction(played: _Played, waiting: Share, seed: int) -> Prediction:
    """The goodput in the long run, predicted and simulated."""
    predicted = float(played.shares.useful)
    found = simulate_spectrum(played.process, failures=_RECOVERIES, seed=seed)
    rest = 1.0 - waiting.value
    simulated = found.goodput * rest
    error = float(np.hypot(found.goodput_error * rest, found.goodput * waiting.error))
    z = standard_errors(simulated, error, predicted)
    if _latest_s(played) * _RECOVERIES_A_CHAIN > found.wall_s / _CHAINS:
        z = math.nan  # errors that hardly any of the chains lives to find
    return Prediction("goodput", predicted, simulated, error, z if math.isfinite(z) else math.nan, played.is_exact)


def _latest_s(played: _Played) -> float:
    """The longest mean delay of an error. [s]."""
    return max((one.found_s for one in played.classes if one.behaviour == "late"), default=0.0)

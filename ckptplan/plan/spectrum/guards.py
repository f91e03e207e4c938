"""What guards the run beside its saves, judged: watchdog, eviction, verification, spares, prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.cost.classes import FailureKind, timeout_s
from ckptplan.cost.scenario import Scenario
from ckptplan.plan.case import Case
from ckptplan.plan.spectrum.shares import CaseShares, Spectrum, verification
from ckptplan.plan.spectrum.standby import node_loss_rate

_DAY_S = 86_400.0


class WatchdogFacts(NamedTuple):
    """The timeout in force and the best one, with what each loses per running second. [s, 1]."""

    timeout_s: float
    lost_fraction: float
    best_timeout_s: float
    best_lost_fraction: float
    false_alarms_per_day: float  # at the timeout in force
    best_false_alarms_per_day: float
    seen_at_s: float  # no shorter timeout is proposed than the one at which the false alarms were counted


class EvictionFacts(NamedTuple):
    """One class of slow nodes: lost with eviction and without, and the least slow-down for which eviction pays. [1]."""

    name: str
    lost_fraction: float
    kept_lost_fraction: float  # if a slow node stayed to the end of the run, or for ever
    break_even_slowdown: float | None  # None: the run has no known end, so that any slow-down pays in time


class VerificationFacts(NamedTuple):
    """Verified saves against finding errors late. [s, 1]."""

    time_s: float
    per_save: int
    goodput: float
    goodput_without: float


class SparesFacts(NamedTuple):
    """Nodes that stand by, and the two ways to go on when none is left. [1, s]."""

    nodes: int
    losses_per_day: float
    waiting_fraction: float  # of the way in force
    mean_wait_s: float | None  # if the job waits
    most_waiting: float
    nodes_needed: int | None
    elastic_fraction: float | None  # lost if the job shrinks instead; None: no time to reshard is given
    shrinking_is_better: bool | None


class PredictionFacts(NamedTuple):
    """A predictor, to first order: what it saves, the period with it, and when to trust it. [s, 1]."""

    interval_s: float
    trust_after_s: float
    waste: float
    waste_without: float


class GuardFacts(NamedTuple):
    """What is known of each guard; None for what the spec does not speak of."""

    watchdog: WatchdogFacts | None
    evictions: tuple[EvictionFacts, ...]
    verification: VerificationFacts | None
    spares: SparesFacts | None
    prediction: PredictionFacts | None
    skipped_share: float | None  # of the data, by loss spikes
    slowest_rank: float | None = None  # a step takes this much longer than a rank's mean; in the step time already


def guard_facts(scenario: Scenario, case: Case, interval_s: float) -> GuardFacts | None:
    """The guards of a case at one interval; None if there are none."""
    from ckptplan.plan.spectrum.by_class import skipped_share

    spectrum = case.spectrum
    prediction = None if scenario.prediction is None else prediction_facts(scenario, case)
    slowest = _slowest_rank(scenario)
    if spectrum is None:
        known = prediction is not None or slowest is not None
        return GuardFacts(None, (), None, None, prediction, None, slowest) if known else None
    found = case.shares(interval_s)
    if not isinstance(found, CaseShares):
        return None
    facts = GuardFacts(
        watchdog=_watchdog(scenario, case, spectrum, interval_s),
        evictions=tuple(_evictions(scenario, case, spectrum)),
        verification=_verification(case, spectrum, interval_s),
        spares=_spares(case, spectrum, found),
        prediction=prediction,
        skipped_share=skipped_share(case, spectrum),
        slowest_rank=slowest,
    )
    return None if facts == GuardFacts(None, (), None, None, None, None) else facts


def _slowest_rank(scenario: Scenario) -> float | None:
    """How much longer than its mean the slowest of all ranks takes for a step, if the noise is known. [1]."""
    training = scenario.training
    if training.step_noise == 0.0:
        return None
    from ckptplan.cost.stragglers import Noise, slowdown_from_cv

    noise = Noise.EXPONENTIAL if training.noise_is_exponential else Noise.NORMAL
    return float(slowdown_from_cv(training.step_noise, scenario.cluster.gpus, noise)) - 1.0


def _watchdog(scenario: Scenario, case: Case, spectrum: Spectrum, interval_s: float) -> WatchdogFacts | None:
    """The best timeout from the rate of hangs and that of false alarms."""
    dog = scenario.failures.watchdog
    hangs = [one for one in spectrum.classes if one.kind is FailureKind.HANG]
    if dog is None or dog.false_alarms_per_s is None or not hangs:
        return None
    from ckptplan.interval.watchdog import ExponentialTail, best_timeout, watchdog_cost

    step_s = case.step_time_s or 1.0
    hang = hangs[0]
    in_force_s = timeout_s(dog, hang)
    start_s = min(dog.seen_at_s, in_force_s)
    per_step = min(dog.false_alarms_at(start_s, case.step_time_s) * step_s, 1.0)
    tail = ExponentialTail(start_s, per_step, dog.decay_s)
    process = {
        "hang_rate": sum(one.rate_per_s(case.mtbf_s) for one in hangs),
        "step_time": step_s,
        "restart": hang.restart_s,
        "rework": interval_s / 2.0 + case.speed * case.save.flush_s,
    }
    now = watchdog_cost(in_force_s, tail, **process)
    best = best_timeout(tail, least=dog.seen_at_s, **process)
    best_s = float(best.timeout_s)
    return WatchdogFacts(
        timeout_s=in_force_s,
        lost_fraction=min(float(now.hang + now.false_alarm), 1.0),
        best_timeout_s=best_s,
        best_lost_fraction=float(best.cost.hang + best.cost.false_alarm),
        false_alarms_per_day=_DAY_S * dog.false_alarms_at(in_force_s, case.step_time_s),
        best_false_alarms_per_day=_DAY_S * dog.false_alarms_at(best_s, case.step_time_s),
        seen_at_s=dog.seen_at_s,
    )


def _evictions(scenario: Scenario, case: Case, spectrum: Spectrum) -> list[EvictionFacts]:
    from ckptplan.interval.stragglers import break_even_slowdown, eviction_worth

    found = []
    work_s = scenario.training.work_s
    for one in spectrum.classes:
        if one.kind is not FailureKind.SLOW:
            continue
        of_node_s = case.nodes / one.rate_per_s(case.mtbf_s)
        cost = {"stall": case.save.stall_s + case.save.flush_s, "restart": one.recovery_s}
        run_s = np.inf if work_s is None else work_s
        worth = eviction_worth(1.0 + one.slowdown, case.nodes, of_node_s, found_after=one.delay_s, run=run_s, **cost)
        least = None if work_s is None else float(break_even_slowdown(work_s, **cost)) - 1.0
        found.append(EvictionFacts(one.name, float(worth.evicting), float(worth.keeping), least))
    return found


def _verification(case: Case, spectrum: Spectrum, interval_s: float) -> VerificationFacts | None:
    if spectrum.verification is None:
        return None
    time_s, per_save = verification(case, spectrum)
    without = case._replace(spectrum=spectrum._replace(verification=None))
    return VerificationFacts(time_s, per_save, case.goodput(interval_s), without.goodput(without.typed_interval_s))


def _spares(case: Case, spectrum: Spectrum, found: CaseShares) -> SparesFacts | None:
    spares = spectrum.spares
    if spares is None:
        return None
    from ckptplan.plan.spectrum.standby import mean_wait_s, spares_needed, waiting_share

    rate = float(node_loss_rate(spectrum.classes, case, found.spectrum))
    waits = spares._replace(reshard_s=None)
    waiting = float(waiting_share(waits, spectrum.classes, case, found.spectrum))
    elastic = None
    if spares.reshard_s is not None:
        elastic = float(waiting_share(spares, spectrum.classes, case, found.spectrum))
    return SparesFacts(
        nodes=spares.nodes,
        losses_per_day=rate * _DAY_S,
        waiting_fraction=float(found.waiting),
        mean_wait_s=None if spares.always_failing else mean_wait_s(spares, rate),
        most_waiting=spares.most_waiting,
        nodes_needed=spares_needed(spares, spectrum.classes, case, rate),
        elastic_fraction=elastic,
        shrinking_is_better=None if elastic is None else elastic < waiting,
    )


def prediction_facts(scenario: Scenario, case: Case) -> PredictionFacts | None:
    """What a predictor is worth beside a case; None without one."""
    from ckptplan.interval.prediction import prediction_period, predictor_worth

    given = scenario.prediction
    if given is None:
        return None
    stall_s = case.effective_stall_s
    save_s = stall_s if given.save_s is None else given.save_s
    process = {"recall": given.recall, "precision": given.precision, "proactive_stall": save_s}
    mtbf_s = case.stops_mtbf_s
    period = prediction_period(stall_s, mtbf_s, **process)
    worth = predictor_worth(stall_s, mtbf_s, recovery=case.restart.total_s, **process)
    return PredictionFacts(
        interval_s=float(period.interval_s),
        trust_after_s=float(period.trust_after_s),
        waste=float(worth.waste_with),
        waste_without=float(worth.waste_without),
    )

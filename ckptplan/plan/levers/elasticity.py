"""Elasticities: how the lost share of time follows each input at the optimum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.cost.restart import restart_cost
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.levers import factors
from ckptplan.plan.levers.record import Elasticity
from ckptplan.units import format_percent, format_rate, format_time

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario
    from ckptplan.cost.tiers import Tier
    from ckptplan.plan.levers.outcome import Outcome
    from ckptplan.plan.levers.pattern import Kept

# Steps in the logarithm of an input. Four points leave an error of the order step**4: 1e-11 for closed forms, whose
# rounding is 1e-16 over the step; the sums of other laws and the searches under classes are rounder, and want a longer
# one.
_STEP_CLOSED = 2.0**-9
_STEP = 2.0**-6
_LEAST = 1e-9  # of an elasticity: below it an input does not enter
_TEN_PERCENT = 0.1

_PHASES = {
    "detect": "detection",
    "replace": "replacement",
    "initialise": "initialisation",
    "load": "load",
    "warm_up": "warm-up",
}


class _Input(NamedTuple):
    """One input: its value as text, and how it becomes larger by a factor, in the scenario or in the case."""

    key: str
    title: str
    value_text: str
    of_scenario: Callable[[Scenario, float], Scenario] | None = None
    of_case: Callable[[Case, float], Case] | None = None


def elasticities(outcome: Outcome) -> tuple[Elasticity, ...]:
    """Elasticities of the lost share of time at the best way of saving, the interval moving along.

    Parameters
    ----------
    outcome : Outcome
        The best way of saving; it stays the way of saving, with several tiers also their pattern.

    Returns
    -------
    tuple of Elasticity
        Largest first. An input that does not enter is left out.

    Notes
    -----
    ``d ln(1 - g)/d ln x`` by ``(8 (L(h) - L(-h)) - (L(2h) - L(-2h)))/12h`` with ``L(h) = ln(1 - g)`` at ``x exp(h)``, g
    at its own best interval, not rounded to steps. Where that interval is the floor that the flush sets, it moves with
    the floor. By the envelope theorem the slope of g is the partial one wherever no floor binds.
    """
    lost = _lost_of(outcome)
    now = lost(outcome.scenario, None)
    if not 0.0 < now < 1.0:
        return ()
    step = _STEP_CLOSED if outcome.case.is_closed else _STEP
    found = (_elasticity(one, outcome, lost, now, step) for one in _inputs(outcome))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: -abs(one.elasticity)))


_Lost = Callable[["Scenario", "Callable[[Case], Case] | None"], float]


def _elasticity(one: _Input, outcome: Outcome, lost: _Lost, now: float, step: float) -> Elasticity | None:
    def log_lost(at: float) -> float:
        factor = math.exp(at * step)
        scenario = outcome.scenario if one.of_scenario is None else one.of_scenario(outcome.scenario, factor)
        of_case = one.of_case
        return math.log(lost(scenario, None if of_case is None else lambda case: of_case(case, factor)))

    slope = (8.0 * (log_lost(1.0) - log_lost(-1.0)) - (log_lost(2.0) - log_lost(-2.0))) / (12.0 * step)
    if not abs(slope) > _LEAST:
        return None
    return Elasticity(one.key, one.title, one.value_text, slope, -now * slope * _TEN_PERCENT)


def _lost_of(outcome: Outcome) -> _Lost:
    """The lost share of time of a scenario under the same way of saving."""
    kept = _kept(outcome)
    name = outcome.best.strategy

    def lost(scenario: Scenario, of_case: Callable[[Case], Case] | None) -> float:
        case = cases_of(replace(scenario, strategies=(name,)))[0]
        if kept is not None:
            from ckptplan.plan.levers.pattern import at_best

            return at_best(scenario, case, kept, in_steps=False).lost
        case = case if of_case is None else of_case(case)
        found = case.shares(case.optimum(case.method))
        parts = (found.save, found.rework, found.restart, getattr(found, "slow", 0.0), getattr(found, "waiting", 0.0))
        return float(sum(parts))

    return lost


def _kept(outcome: Outcome) -> Kept | None:
    if outcome.tiering is None:
        return None
    from ckptplan.plan.levers.pattern import kept_by

    return kept_by(outcome.scenario, outcome.case, outcome.interval_s)


def _inputs(outcome: Outcome) -> Iterator[_Input]:
    scenario, case = outcome.scenario, outcome.case
    title = "MTBF, of every class" if scenario.failures.classes else "MTBF"
    yield _Input("mtbf", title, format_time(case.mtbf_s), factors.with_mtbf)
    if outcome.tiering is None:
        yield from _of_save(case)
    else:
        yield from _of_tiers(scenario, {cost.name for cost in outcome.tiering.costs})
    yield from _of_restart(scenario)
    yield from _of_guards(scenario)
    yield _bandwidth(scenario, "write", factors.TIER_WRITES, factors.with_write_bandwidth)
    yield _bandwidth(scenario, "read", factors.TIER_READS, factors.with_read_bandwidth)


def _bandwidth(
    scenario: Scenario, which: str, limits: Sequence[str], change: Callable[[Scenario, float], Scenario]
) -> _Input:
    """A bandwidth, of every tier where those have limits of their own, which follow it."""
    rate = getattr(scenario.storage, f"{which}_bandwidth_bytes_per_s")
    tiers = any(getattr(tier, name) for tier in scenario.storage.tiers for name in limits)
    title = f"{which} bandwidth{', of every tier' if tiers else ''}"
    return _Input(f"{which}_bandwidth", title, "-" if rate is None else format_rate(rate), change)


def _of_save(case: Case) -> Iterator[_Input]:
    save = case.save
    yield _Input("stall", "stall", format_time(save.stall_s), of_case=_with_stall)
    if save.flush_s > 0.0:
        yield _Input("flush", "flush", format_time(save.flush_s), of_case=_with_flush)
    if case.speed < 1.0:
        yield _Input("slow_down", "slow-down by the flush", format_percent(1.0 - case.speed), of_case=_with_slow_down)


def _with_stall(case: Case, factor: float) -> Case:
    return case._replace(save=case.save._replace(stall_s=case.save.stall_s * factor))


def _with_flush(case: Case, factor: float) -> Case:
    save = case.save
    return case._replace(save=save._replace(flush_s=save.flush_s * factor, transfer_s=save.transfer_s * factor))


def _with_slow_down(case: Case, factor: float) -> Case:
    speed = 1.0 - (1.0 - case.speed) * factor
    return case._replace(save=case.save._replace(training_speed_while_flushing=speed))


def _of_tiers(scenario: Scenario, kept: set[str]) -> Iterator[_Input]:
    """Stall and drain of each kept tier, given from now on."""
    for index, cost in enumerate(factors.tier_costs_of(scenario)):
        if cost.name not in kept:
            continue
        if cost.stall_s > 0.0:
            stall, title = partial(_with_tier_stall, index), f"stall of {cost.name}"
            yield _Input(title, title, format_time(cost.stall_s), stall)
        if cost.flush_s > 0.0:
            drain, title = partial(_with_drain, index), f"drain to {cost.name}"
            yield _Input(title, title, format_time(cost.flush_s), drain)


def _with_tier_stall(index: int, scenario: Scenario, factor: float) -> Scenario:
    cost = factors.tier_costs_of(scenario)[index]
    return _with_tier(scenario, index, scenario.storage.tiers[index]._replace(stall_s=cost.stall_s * factor))


def _with_drain(index: int, scenario: Scenario, factor: float) -> Scenario:
    cost = factors.tier_costs_of(scenario)[index]
    return _with_tier(scenario, index, scenario.storage.tiers[index]._replace(drain_s=cost.flush_s * factor))


def _with_tier(scenario: Scenario, index: int, tier: Tier) -> Scenario:
    tiers = list(scenario.storage.tiers)
    tiers[index] = tier
    return replace(scenario, storage=replace(scenario.storage, tiers=tuple(tiers)))


def _with_phase(phase: str, scenario: Scenario, factor: float) -> Scenario:
    return factors.with_phase(scenario, phase, factor)


def _of_restart(scenario: Scenario) -> Iterator[_Input]:
    cost = restart_cost(scenario)
    yield _Input("restart", "restart, all of it", format_time(cost.total_s), factors.with_restart)
    for phase, seconds in cost.phases_s.items():
        if seconds > 0.0:
            yield _Input(phase, f"{_PHASES[phase]} of the restart", format_time(seconds), partial(_with_phase, phase))


def _of_guards(scenario: Scenario) -> Iterator[_Input]:
    if scenario.verification is not None:
        text = format_time(scenario.verification.time_s)
        yield _Input("verification", "verification", text, _with_verification)
    if scenario.spares is not None:
        yield _Input("repair", "repair of a node", format_time(scenario.spares.repair_s), _with_repair)
    if any(one.detect_s for one in scenario.failures.classes):
        yield _Input("class_detection", "detection of classes", "-", _with_class_detection)


def _with_verification(scenario: Scenario, factor: float) -> Scenario:
    now = scenario.verification
    return scenario if now is None else replace(scenario, verification=now._replace(time_s=now.time_s * factor))


def _with_repair(scenario: Scenario, factor: float) -> Scenario:
    now = scenario.spares
    return scenario if now is None else replace(scenario, spares=now._replace(repair_s=now.repair_s * factor))


def _with_class_detection(scenario: Scenario, factor: float) -> Scenario:
    failures = scenario.failures
    classes = tuple(
        one if one.detect_s is None else one._replace(detect_s=one.detect_s * factor) for one in failures.classes
    )
    return replace(scenario, failures=replace(failures, classes=classes))

"""Inputs that are not known exactly, carried through the plan: seeded draws, and which input matters most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Scenario
from ckptplan.cost.spread import Spread
from ckptplan.errors import InputError
from ckptplan.plan.case import Case, cases_of

Floats = npt.NDArray[np.float64]
Rebuild = Callable[[Mapping[str, float]], Scenario]

SAMPLES = 400
_FAILURES = "failures.interruptions.count"
_LEVELS = (0.05, 0.5, 0.95)
_MOST_REFUSED = 0.5
_NOTHING = 1e-18  # variance of a goodput that does not change


class Cause(NamedTuple):
    """An input, and its part of the sum of the variances that each input alone gives the planned interval's goodput."""

    key: str
    share: float


class SpreadFacts(NamedTuple):
    """What unsure inputs make of the best interval and the goodput of one strategy: 5, 50 and 95 % quantiles."""

    strategy: str
    samples: int
    seed: int
    interval_s: tuple[float, float, float]
    goodput: tuple[float, float, float]
    typed_goodput: tuple[float, float, float]  # of the interval planned for the mean inputs
    expected_loss: float  # of goodput, for typing that interval instead of knowing the inputs
    causes: tuple[Cause, ...]  # the largest first


def propagate(
    scenario: Scenario,
    spreads: Mapping[str, Spread],
    rebuild: Rebuild,
    *,
    strategy: str,
    interval_s: float,
    seed: int = 0,
    samples: int = SAMPLES,
) -> SpreadFacts:
    """Carry unsure inputs through the plan of one strategy.

    Parameters
    ----------
    scenario : Scenario
        The run with every input at its mean.
    spreads : mapping
        What is known of each unsure input, under its key. A count of failures is one more input, with its posterior.
    rebuild : callable
        The scenario with other values for these keys.
    strategy : str
        Name of the save strategy.
    interval_s : float
        Interval planned for the means. [s]
    seed : int
        Of the generator; the same seed gives the same figures.
    samples : int
        Draws. [1]

    Returns
    -------
    SpreadFacts
    """
    draws = _draws(scenario, spreads, seed, samples)
    kept = [_outcome(_scenario(scenario, rebuild, draws, i), strategy, interval_s) for i in range(samples)]
    found = np.array([outcome for outcome in kept if outcome is not None])
    if len(found) < _MOST_REFUSED * samples:
        raise InputError(
            f"more than half of the draws of {', '.join(spreads)} make no scenario that can be planned",
            hint="narrow the ranges: their values must fit each other",
        )
    intervals, best, typed = found.T
    return SpreadFacts(
        strategy=strategy,
        samples=len(found),
        seed=seed,
        interval_s=_quantiles(intervals),
        goodput=_quantiles(best),
        typed_goodput=_quantiles(typed),
        expected_loss=float(np.mean(best - typed)),
        causes=_causes(scenario, rebuild, draws, strategy, interval_s),
    )


def _draws(scenario: Scenario, spreads: Mapping[str, Spread], seed: int, samples: int) -> dict[str, Floats]:
    """Values of every unsure input; each has its own stream, so that one more input does not change the others."""
    streams = np.random.SeedSequence(seed).spawn(len(spreads) + 1)
    drawn = {
        key: spread.draw(np.random.default_rng(stream), samples)
        for (key, spread), stream in zip(spreads.items(), streams[1:], strict=True)
    }
    evidence = scenario.failures.evidence
    if evidence is not None:
        shape = evidence.failures + evidence.prior_shape
        rates = np.random.default_rng(streams[0]).gamma(
            shape, 1.0 / (evidence.exposure_gpu_s + evidence.prior_gpu_s), samples
        )
        drawn[_FAILURES] = 1.0 / (rates * scenario.failures.mtbf_per_gpu_s)  # relative to the mean
    return drawn


def _scenario(
    scenario: Scenario, rebuild: Rebuild, draws: Mapping[str, Floats], index: int, only: str | None = None
) -> Scenario | None:
    """The scenario of one draw; with ``only``, every other input stays at its mean."""
    values = {key: float(d[index]) for key, d in draws.items() if key != _FAILURES and only in (None, key)}
    try:
        drawn = rebuild(values) if values else scenario
    except InputError:
        return None
    if _FAILURES in draws and only in (None, _FAILURES):
        mtbf_s = drawn.failures.mtbf_per_gpu_s * float(draws[_FAILURES][index])
        drawn = replace(drawn, failures=replace(drawn.failures, mtbf_per_gpu_s=mtbf_s))
    return drawn


def _outcome(scenario: Scenario | None, strategy: str, interval_s: float) -> tuple[float, float, float] | None:
    """Best interval, its goodput, and the goodput of the planned interval."""
    if scenario is None:
        return None
    case = _case(scenario, strategy)
    best_s = case.optimum(case.method)
    return best_s, case.goodput(best_s), case.goodput(max(interval_s, case.floor_s))


def _case(scenario: Scenario, strategy: str) -> Case:
    chosen = tuple(save for save in scenario.saves if save.name == strategy)
    return next(case for case in cases_of(replace(scenario, saves=chosen)) if case.save.name == strategy)


def _causes(
    scenario: Scenario, rebuild: Rebuild, draws: Mapping[str, Floats], strategy: str, interval_s: float
) -> tuple[Cause, ...]:
    variances = {}
    for key, values in draws.items():
        outcomes = [
            _outcome(_scenario(scenario, rebuild, draws, i, only=key), strategy, interval_s) for i in range(len(values))
        ]
        variances[key] = float(np.var([outcome[2] for outcome in outcomes if outcome is not None]))
    total = sum(variances.values())
    shares = [Cause(key, variance / total if total > _NOTHING else 0.0) for key, variance in variances.items()]
    return tuple(sorted(shares, key=lambda cause: -cause.share))


def _quantiles(values: Floats) -> tuple[float, float, float]:
    low, middle, high = np.quantile(values, _LEVELS)
    return float(low), float(middle), float(high)

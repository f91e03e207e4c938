"""Elasticities at the optimum, against closed forms in forty digits."""

from __future__ import annotations

from dataclasses import replace

import mpmath as mp
import pytest

from ckptplan.cost.scenario import Scenario, Strike
from ckptplan.load import load
from ckptplan.plan.levers import factors
from ckptplan.plan.levers.elasticity import elasticities
from ckptplan.plan.levers.outcome import Outcome, outcome_of
from tests.plan.levers.shipped import NAMES, levers_of, scenario_of

_Numbers = dict[str, mp.mpf]


def _goodput(at: _Numbers, W: mp.mpf, strike: Strike) -> mp.mpf:
    """Goodput of an interval: (W/P) x/(exp(x) - 1) exp(-om F/M)/A (Vaidya 1997, Herault and Robert 2015)."""
    M, d, F, slow, D, R = (at[name] for name in ("mtbf", "stall", "flush", "slow_down", "downtime", "rest"))
    P = W + d + slow * F
    A = {
        Strike.SAFE: 1 + (D + R) / M,
        Strike.R: mp.exp(R / M) * (1 + D / M),
        Strike.DR: mp.exp((D + R) / M),
    }[strike]
    return W / M / mp.expm1(P / M) * mp.exp(-(1 - slow) * F / M) / A


def _best_interval(at: _Numbers) -> mp.mpf:
    """Root of u + log(1 - u) + d_eff/M = 0, in units of the MTBF."""
    share = (at["stall"] + at["slow_down"] * at["flush"]) / at["mtbf"]
    return at["mtbf"] * mp.findroot(lambda u: u + mp.log(1 - u) + share, mp.sqrt(2 * share))


def _numbers(outcome: Outcome) -> _Numbers:
    case = outcome.case
    return {
        "mtbf": mp.mpf(case.mtbf_s),
        "stall": mp.mpf(case.save.stall_s),
        "flush": mp.mpf(case.save.flush_s),
        "slow_down": 1 - mp.mpf(case.speed),
        "downtime": mp.mpf(case.restart.downtime_s),
        "rest": mp.mpf(case.restart.restart_s),
    }


def _by_envelope(at: _Numbers, strike: Strike, keys: tuple[str, ...]) -> mp.mpf:
    """Slope d ln(1 - g)/d ln x of inputs that grow together: the partial one at the best interval."""
    W = _best_interval(at)

    def lost(factor: mp.mpf) -> mp.mpf:
        return mp.log(1 - _goodput({k: v * factor if k in keys else v for k, v in at.items()}, W, strike))

    return mp.diff(lost, 1)


def _scenario(strike: Strike, *, slow: bool) -> Scenario:
    sets = [
        f"assume.failures_strike={strike}",
        "restart={detect: 1 min, replace: 2 min, initialise: 1 min, load: 50 s, warm_up: 1 min}",
        *(["save[asynchronous].training_speed_while_flushing=0.8"] if slow else []),
    ]
    return load("llama3-405b", sets=sets, environment={}).scenario


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("slow", [True, False])
def test_they_are_those_of_the_closed_form(strike: Strike, slow: bool) -> None:
    """MTBF, stall, flush, slow-down, restart and its phases agree with the envelope theorem in 40 digits to 1e-9."""
    with mp.workdps(40):
        outcome = outcome_of(_scenario(strike, slow=slow))
        at = _numbers(outcome)
        found = {one.key: one.elasticity for one in elasticities(outcome)}
        restart = _by_envelope(at, strike, ("downtime", "rest"))
        wanted = {
            "mtbf": _by_envelope(at, strike, ("mtbf",)),
            "stall": _by_envelope(at, strike, ("stall",)),
            "flush": _by_envelope(at, strike, ("flush",)),
            "write_bandwidth": -_by_envelope(at, strike, ("flush",)),
            "restart": restart,
            "detect": _by_envelope(at, strike, ("downtime",)) * 60 / at["downtime"],
            "load": _by_envelope(at, strike, ("rest",)) * 50 / at["rest"],
        }
        if slow:
            wanted["slow_down"] = _by_envelope(at, strike, ("slow_down",))
        for key, value in wanted.items():
            assert found[key] == pytest.approx(float(value), abs=1e-9), key
        assert ("slow_down" in found) == slow


def test_a_binding_floor_takes_the_interval_along() -> None:
    """Where the flush sets the interval, a longer flush costs more than at a free interval, as in 40 digits."""
    with mp.workdps(40):
        scenario = load("llama3-405b", sets=["storage.write_bandwidth=10 GB/s"], environment={}).scenario
        outcome = outcome_of(replace(scenario, strategies=("asynchronous",)))
        assert outcome.best.interval_s == outcome.case.floor_s
        at = _numbers(outcome)

        def lost(factor: mp.mpf) -> mp.mpf:
            longer = {**at, "flush": at["flush"] * factor}
            return mp.log(1 - _goodput(longer, longer["flush"], outcome.case.strike))

        (flush,) = [one for one in elasticities(outcome) if one.key == "flush"]
        assert flush.elasticity == pytest.approx(float(mp.diff(lost, 1)), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_signs_and_sums(name: str) -> None:
    """What costs time loses when it grows, bandwidth and MTBF gain; the phases add up to the whole restart."""
    found = {one.key: one for one in levers_of(name).elasticities}
    gains = {"mtbf", "write_bandwidth", "read_bandwidth"}
    for key, one in found.items():
        assert (one.elasticity < 0.0) == (key in gains), one
        assert one.goodput_for_10_percent == pytest.approx(
            -0.1 * one.elasticity * (1.0 - levers_of(name).goodput), rel=0.05
        )
    phases = [one.elasticity for key, one in found.items() if key in factors.PHASES]
    own = any(one.total_s or one.phases_s for one in scenario_of(name).failures.classes)
    tiers = bool(scenario_of(name).storage.tiers)
    if phases and not own and not tiers:
        assert sum(phases) == pytest.approx(found["restart"].elasticity, abs=1e-9)


def test_times_and_bandwidths_together_are_a_change_of_clock() -> None:
    """Goodput depends on ratios of times only, so that the elasticities of all of them add up to nothing."""
    for name in ("llama3-405b", "opt-175b", "megascale-175b"):
        found = {one.key: one.elasticity for one in levers_of(name).elasticities}
        assert found["mtbf"] + found["stall"] + found.get("flush", 0.0) + found["restart"] == pytest.approx(
            0.0, abs=1e-9
        )


@pytest.mark.parametrize("name", ["llama3-405b-causes", "spectrum-16384"])
def test_they_predict_small_changes_of_classes_and_tiers(name: str) -> None:
    """One percent more of an input changes the lost share as its elasticity says, to the second order."""
    scenario, now = scenario_of(name), levers_of(name)
    found = {one.key: one.elasticity for one in now.elasticities}
    after = outcome_of(replace(factors.with_mtbf(scenario, 1.01)))
    change = (after.before_steps - now.goodput) / (1.0 - now.goodput)
    assert -change == pytest.approx(0.00995 * found["mtbf"], rel=0.02)


def test_an_input_that_does_not_enter_is_left_out() -> None:
    """A given stall does not follow the write bandwidth, and a given restart not the read bandwidth."""
    scenario = replace(scenario_of("llama3-405b"), strategies=("synchronous",))
    assert {one.key for one in elasticities(outcome_of(scenario))} == {"mtbf", "stall", "restart"}

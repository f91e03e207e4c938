"""A run with an end, in a plan."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.interval.finite import best_finite_plan, expected_time, time_variance
from ckptplan.load import load
from ckptplan.plan import Plan, plan
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.run import spectrum_run_facts
from ckptplan.plan.scale.size import size_at
from ckptplan.plan.spectrum.simulation import spectrum_runs
from ckptplan.simulate import Process, law, simulate_runs
from ckptplan.simulate.spectrum.runs import SpectrumRuns


def _planned(*sets: str, config: str = "llama3-405b") -> Plan:
    return plan(load(config, sets=list(sets)).scenario, methods=["exact"])


def test_the_run_takes_what_the_closed_forms_say() -> None:
    """Mean, deviation, best pieces and GPU-hours of the recommended steps are those of the formulas."""
    made = _planned("save=[{mode: sharded, stall: 60 s}]")
    run = made.run
    assert run is not None
    typed_s = made.best.interval_steps * 5.0
    arguments = (54 * 86_400.0, typed_s, 60.0, made.failures.mtbf_s)
    assert run.interval_s == typed_s
    assert run.expected_s == pytest.approx(float(expected_time(*arguments, restart=600.0)))
    assert run.sd_s**2 == pytest.approx(float(time_variance(*arguments, restart=600.0)))
    assert run.gpu_hours == pytest.approx(run.expected_s / 3600 * 16_384)
    assert run.gpu_hours_lost == pytest.approx((run.expected_s - 54 * 86_400) / 3600 * 16_384)
    best = best_finite_plan(54 * 86_400.0, 60.0, made.failures.mtbf_s, restart=600.0)
    assert (run.best_pieces, run.best_pieces_s) == (int(best.pieces), pytest.approx(float(best.mean_s)))
    assert run.runs == 0


def test_quantiles_failures_and_saves_agree_with_a_simulation() -> None:
    """Quantiles, failures and saves of a background plan are within four standard errors of 4,000 runs."""
    made = _planned("training.duration=10 d", "save=[{mode: asynchronous, stall: 5 s, flush: 200 s}]")
    run = made.run
    assert run is not None
    process = Process(run.interval_s, 5.0, 200.0, 1.0, 0.0, 600.0)
    found = simulate_runs(process, law("exponential", made.failures.mtbf_s), 10 * 86_400.0, runs=4000, seed=3)
    for quantile, level in zip(run.quantiles_s, (0.05, 0.5, 0.95), strict=True):
        below = np.count_nonzero(found.wall_s <= quantile) / 4000
        assert abs(below - level) < 4 * np.sqrt(level * (1 - level) / 4000)
    for predicted, sample in ((run.failures, found.failures), (run.saves, found.saves_begun)):
        assert abs(sample.mean() - predicted) < 4 * sample.std() / np.sqrt(4000)


def test_tokens_and_a_start_give_a_date() -> None:
    """15.6e12 tokens of 16.8e6 a step at 5 s a step, from 1 December 2026 on: 53.7 days of work end in January 2027."""
    training = "training={step_time: 5 s, tokens: 15.6e12, tokens_per_step: 16.8e6, start: 2026-12-01}"
    run = _planned(training).run
    assert run is not None
    assert run.work_s == 928_572 * 5.0
    assert run.end is not None
    assert run.end.startswith("2027-01-28")


def test_other_laws_are_simulated() -> None:
    """Where no closed form exists the figures come from simulated runs, whose number is told."""
    made = _planned("failures.law={name: weibull, shape: 0.7}", "training.duration=20 d")
    run = made.run
    assert run is not None
    assert run.runs == 1000
    assert run.best_pieces is None
    assert run.expected_s == pytest.approx(20 * 86_400 / made.best.goodput_exact, rel=0.01)


def test_a_run_that_never_ends_has_no_end() -> None:
    """Where failures come faster than restarts, no figures of the run are made up."""
    made = _planned("failures={mtbf: 30 s}")
    assert made.run is None
    assert made.best.goodput_exact < 1e-4


def test_without_work_there_is_no_run() -> None:
    """A spec that gives no work has no end."""
    assert _planned("training={step_time: 5 s}").run is None


def test_no_division_is_named_that_the_storage_forbids() -> None:
    """With ten saves in flight the formula would divide finer than the write bandwidth allows: it is not named."""
    sets = ["save=[{mode: asynchronous, stall: 5 s, in_flight: 10}]", "storage={write_bandwidth: 10 GB/s}"]
    made = _planned(*sets)
    assert made.best.interval_s == made.best.interval_floor_s
    assert made.run is not None
    assert made.run.best_pieces is None


def test_a_run_too_short_for_its_law_is_said() -> None:
    """A heavy tail shows its long-run goodput only after many MTBFs: a shorter run is warned of."""
    made = _planned("failures={mtbf: 8 h}", "failures.law={name: lognormal, sigma: 4}", "training.duration=20 d")
    assert any("too short for the long run of its failures" in warning for warning in made.warnings)
    assert not any("too short" in warning for warning in _planned().warnings)


def test_a_run_of_many_events_is_played_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events under which it goes on count too, and those of the time that is lost; a part of too few saves is none."""
    played: list[float] = []

    def noted(case: Case, interval_s: float, work_s: float, **_: object) -> SpectrumRuns:
        played.append(work_s)
        return spectrum_runs(case, interval_s, work_s, tiers=None, runs=2, seed=0)

    monkeypatch.setattr("ckptplan.plan.spectrum.simulation.spectrum_runs", noted)
    planned = load("llama3-405b-causes", environment={}).scenario
    for gpus, interval_s, is_part in ((16384, 300.0, False), (1, 3600.0, True)):
        scenario = size_at(planned, gpus).scenario
        case = cases_of(scenario)[-1]
        run = spectrum_run_facts(scenario, case, interval_s, None)
        assert run is not None
        rate = sum(one.rate_per_s(case.mtbf_s) for one in case.spectrum.classes)
        assert played[-1] * rate / case.goodput(interval_s) <= 2400 * (1.0 + 1e-9)
        assert (played[-1] < (scenario.training.work_s or 0.0)) is is_part
        assert run.expected_s == pytest.approx(run.work_s / case.goodput(interval_s), rel=0.03)
    scenario = size_at(planned, 1_000_000).scenario
    assert spectrum_run_facts(scenario, cases_of(scenario)[-1], 300.0, None) is None
    assert len(played) == 2

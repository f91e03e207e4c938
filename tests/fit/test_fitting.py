"""A record to a rate, laws, trend and classes; and what it gives a plan."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ckptplan.cost.scenario import EXPONENTIAL, LawName
from ckptplan.fit.combining import combined
from ckptplan.fit.counting import Counting, Per
from ckptplan.fit.fitting import fit_record, per_gpu
from ckptplan.fit.planning import recorded_failures, same_size
from ckptplan.fit.record import Allocations, FailureRecord, Lifetimes, Outages, Outcome, Recoveries

_F, _C = int(Outcome.FAILURE), int(Outcome.CENSORED)


def _fit(content, counting=None, **more):
    record = FailureRecord("record.txt", "made up", 100, (), content, **more)
    counting = counting or Counting()
    fitted = fit_record(combined([record]), counting)
    return fitted, recorded_failures(fitted, counting)


def _runs(rng, jobs=400, nodes=4, mean_s=40_000.0, limit_s=20_000.0, outcome=_F):
    """Runs of equal size one after another, ended by an exponential failure or by their limit."""
    life = rng.exponential(mean_s, jobs)
    failed = life < limit_s
    length = np.minimum(life, limit_s)
    start = np.concatenate(([0.0], np.cumsum(length)[:-1]))
    size = np.full(jobs, float(nodes))
    cause = failed.astype(np.int32)
    kinds = np.where(failed, outcome, _C).astype(np.int32)
    codes = np.arange(jobs, dtype=np.int32)
    return Allocations(start, start + length, kinds, size, 8 * size, codes, cause, ("completed", "node failure"))


def _events(instants_s, until_s, **more):
    at = np.asarray(instants_s, dtype=float)
    codes = np.zeros(at.size, dtype=np.int32)
    nothing = np.full(at.size, np.nan)
    window = (np.array([0.0]), np.array([until_s]))
    return Outages(at, nothing, np.full(at.size, _F, dtype=np.int32), codes - 1, codes, ("",), 1, *window, **more)


def test_419_failures_in_54_days_have_the_published_interval():
    """Llama 3: 3.093 h, 95 % 2.811 to 3.412, and 50,677 h per GPU on 16,384 of them."""
    instants = (np.arange(419) + 0.5) * 54 * 86_400 / 419
    fitted, found = _fit(_events(instants, 54 * 86_400.0), Counting(gpus=16_384, merge_s=0.0))
    rate = fitted.rate
    assert [round(s / 3600, 3) for s in (rate.mtbf_s, rate.low_s, rate.high_s)] == [3.093, 2.811, 3.412]
    assert fitted.mtbf_per_gpu_s / 3600 == pytest.approx(50_677.00239, rel=1e-9)
    assert (found.failures, found.over_s, found.gpus) == (419, 54 * 86_400.0, 16_384)


def test_the_rate_of_runs_is_failures_over_node_time_by_the_exact_interval():
    """Chi-squared quantiles of scipy give the same limits; the MTBF per GPU does not depend on the unit."""
    runs = _runs(np.random.default_rng(1))
    failures = int(np.count_nonzero(runs.outcome == _F))
    node_s = float(np.sum((runs.end_s - runs.start_s) * 4))
    fitted, _ = _fit(runs)
    assert (fitted.rate.failures, fitted.rate.exposure_s) == (failures, pytest.approx(node_s))
    assert fitted.rate.low_s == pytest.approx(2 * node_s / stats.chi2.ppf(0.975, 2 * failures + 2), rel=1e-9)
    assert fitted.rate.high_s == pytest.approx(2 * node_s / stats.chi2.ppf(0.025, 2 * failures), rel=1e-9)
    by_unit = [_fit(runs, Counting(per=per))[0].mtbf_per_gpu_s for per in Per]
    assert by_unit == pytest.approx([node_s * 8 / failures] * 3)


def test_the_law_of_runs_with_limits_is_found_under_their_censoring():
    """Exponential runs cut by a time limit: the exponential law is chosen, tied with those that contain it."""
    fitted, found = _fit(_runs(np.random.default_rng(2)))
    laws = fitted.laws
    assert laws.choice.best.name is LawName.EXPONENTIAL
    assert {one.name for one in laws.choice.tied} >= {LawName.EXPONENTIAL}
    assert laws.choice.best.mean == pytest.approx(np.sum(fitted.exposure.lives.time_s) / fitted.rate.failures)
    assert laws.goodness.p_value > 0.05
    assert found.law == EXPONENTIAL


def test_a_trend_is_found_and_the_latest_part_offered():
    """A rate that falls to a fifth half way: said, and the part after it has the later rate, to 4 standard errors."""
    rng = np.random.default_rng(3)
    early, late = np.cumsum(rng.exponential(100.0, 100)), np.cumsum(rng.exponential(500.0, 100))
    until = early[-1] + late[-1]
    content = _events(np.concatenate((early, early[-1] + late)), until + 1.0)
    fitted, found = _fit(content, Counting(merge_s=0.0))
    assert fitted.trend.changes
    assert abs(fitted.recent_rate.mtbf_s - 500.0) < 4.0 * 500.0 / np.sqrt(fitted.recent_rate.failures)
    assert fitted.rate.high_s < fitted.recent_rate.low_s
    assert any("interval of a constant rate is not valid" in warning for warning in found.warnings)
    recent = _fit(content, Counting(merge_s=0.0, recent=True))[1]
    assert recent.over_s / recent.failures == pytest.approx(fitted.recent_rate.mtbf_s)
    assert found.failures == 200


def test_no_trend_is_no_warning():
    """A constant rate says nothing of a change, and has no other part to offer."""
    instants = np.cumsum(np.random.default_rng(4).exponential(100.0, 150))
    fitted, found = _fit(_events(instants, instants[-1] + 50.0), Counting(merge_s=0.0))
    assert not fitted.trend.changes
    assert fitted.recent_rate is None
    assert found.warnings == ()


def test_a_record_without_a_failure_gives_a_bound_alone():
    """The MTBF is above t/3.0, and the sentence says so."""
    runs = _runs(np.random.default_rng(5), jobs=10, mean_s=1e12)
    fitted, found = _fit(runs)
    assert fitted.rate.mtbf_s == np.inf
    assert fitted.rate.low_s == pytest.approx(fitted.rate.exposure_s / -np.log(0.05))
    assert (fitted.laws, fitted.trend) == (None, None)
    assert "no failures counted in" in found.warnings[0]


def test_few_failures_say_how_little_they_say():
    """Three failures: the range of the MTBF stands in the warning."""
    _, found = _fit(Lifetimes(np.array([10.0, 20.0, 40.0]), np.array([True, True, True])))
    assert "only 3 failures" in found.warnings[0]


def test_ends_are_counted_by_kind_and_cause_with_their_recoveries():
    """Shares are of what is counted; means and medians are of the same cause."""
    runs = _runs(np.random.default_rng(6))
    rows = np.flatnonzero(runs.outcome == _F)
    seconds = np.linspace(10.0, 110.0, rows.size)
    gaps = Recoveries("requeue", runs.cause[rows], seconds)
    fitted, found = _fit(runs, recoveries=gaps)
    counted, rest = fitted.causes
    assert (counted.cause, counted.ends, counted.share) == ("node failure", rows.size, 1.0)
    assert (counted.recovery_mean_s, counted.recovery_median_s) == (pytest.approx(60.0), pytest.approx(60.0))
    assert (rest.cause, rest.share, rest.recovery_mean_s) == ("completed", None, None)
    assert found.recovery.phase == "requeue"
    assert found.recovery.quantile_90_s == pytest.approx(np.quantile(seconds, 0.9))
    assert found.recovery.cv == pytest.approx(np.std(seconds, ddof=1) / 60.0)


def test_what_is_not_counted_becomes_a_class_of_its_own():
    """Preemptions beside failures: their own MTBF, of one job of the mean size."""
    runs = _runs(np.random.default_rng(7))
    failed = np.flatnonzero(runs.outcome == _F)
    runs.outcome[failed[:10]] = int(Outcome.PREEMPTED)
    _, found = _fit(runs)
    job_s = float(np.sum(runs.end_s - runs.start_s))
    assert found.failures == failed.size - 10
    (other,) = found.others
    assert (other.kind, other.ends, other.mtbf_s) == ("preemption", 10, pytest.approx(job_s / 10))


def test_four_moments_are_not_tested_for_a_trend_and_a_part_without_failures_is_not_offered():
    """Four say too little; after five at the start none came, which is no rate to plan with."""
    early = np.array([7200.0, 18_000.0, 28_800.0, 43_200.0, 50_400.0])
    assert _fit(_events(early[:4], 8_640_000.0))[0].trend is None
    fitted, found = _fit(_events(early, 8_640_000.0))
    assert fitted.trend.changes
    (warning,) = [w for w in found.warnings if "the rate changes" in w]
    assert "--recent" not in warning
    assert "none came" in warning


def test_recent_without_a_change_is_said_to_count_all():
    """An option without effect does not pass in silence."""
    instants = np.cumsum(np.random.default_rng(4).exponential(100.0, 150))
    _, found = _fit(_events(instants, instants[-1] + 50.0), Counting(merge_s=0.0, recent=True))
    assert found.warnings == ("no part of the record is steadier than the whole: --recent counts all of it",)


def test_a_power_cut_is_one_event_of_the_trend_and_many_interruptions_of_the_rate():
    """Six jobs that end at once: six failures, no trend to be told, and bursts."""
    ones, codes = np.ones(6), np.zeros(6, dtype=np.int32)
    runs = Allocations(
        np.zeros(6), 86_400.0 * ones, codes + _F, 16 * ones, 128 * ones, np.arange(6, dtype=np.int32), codes, ("cut",)
    )
    fitted, found = _fit(runs)
    assert fitted.rate.failures == 6
    assert (fitted.trend, fitted.recent_rate) == (None, None)
    assert any("6 failures came at 1 moment," in warning for warning in found.warnings)


def test_a_few_failures_give_no_law_to_plan_with():
    """Three times that look log-normal are no evidence of a shape."""
    _, found = _fit(Lifetimes(np.array([1.0, 5.0, 90_000.0]), np.array([True, True, True]), in_order=False))
    assert found.law == EXPONENTIAL
    gaps = 1000.0 * np.random.default_rng(9).weibull(0.05, 400)
    _, wild = _fit(Lifetimes(gaps, np.ones(400, dtype=bool), in_order=False))
    assert wild.law == EXPONENTIAL  # a spec takes no shape below 0.1


def test_decimal_gaps_add_up_to_their_own_end():
    """The last instant is the end itself, whatever the rounding of a sum."""
    rng = np.random.default_rng(10)
    for size in range(3, 40):
        gaps = np.round(rng.exponential(5000.0, size), 1) + 0.1
        fitted, _ = _fit(Lifetimes(gaps, np.ones(size, dtype=bool)))
        assert fitted.rate.failures == size
        assert fitted.exposure.clock.instants_s[-1] == fitted.exposure.clock.end_s


def test_a_law_is_planned_with_only_where_it_is_that_of_the_job():
    """Weibull gaps of one system give a law; the same times per node, or under a trend, do not."""
    rng = np.random.default_rng(8)
    gaps = 1000.0 * rng.weibull(0.5, 400)
    _, found = _fit(Lifetimes(gaps, np.ones(400, dtype=bool), in_order=False))
    assert found.law.name is LawName.WEIBULL
    assert found.law.shape == pytest.approx(0.5, abs=4 * 0.5 * 0.78 / 20)
    _, of_nodes = _fit(Lifetimes(gaps, np.ones(400, dtype=bool), in_order=False), Counting(per=Per.NODE, nodes=16))
    assert of_nodes.law == EXPONENTIAL
    assert "tend to be exponential" in of_nodes.law_reason


def test_the_size_of_a_record_and_of_a_plan_are_compared_within_a_percent():
    """A law does not scale as its mean does."""
    assert same_size(None, 8)
    assert same_size(1024.0, 1030)
    assert not same_size(1024.0, 2048)


def test_the_mtbf_per_gpu_is_not_known_without_gpus():
    """A job of unknown size says nothing of one GPU."""
    fitted, found = _fit(Lifetimes(np.array([10.0, 20.0, 40.0]), np.array([True, True, True])))
    assert fitted.mtbf_per_gpu_s is None
    assert per_gpu(5.0, fitted.exposure) is None
    assert found.gpus is None

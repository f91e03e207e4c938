"""What a count of failures leaves open, in a plan."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.regret import posterior_regret
from ckptplan.load import load
from ckptplan.plan import Plan, plan

_DAY = 86_400.0


def _planned(failures: str, *sets: str, strategy: str = "synchronous") -> Plan:
    chosen = "save=[{name: synchronous, mode: sharded, stall: 60 s}]"
    spec = load("llama3-405b", sets=[chosen, f"failures={failures}", *sets])
    assert strategy == spec.scenario.saves[0].name
    return plan(spec.scenario, methods=["exact"])


def test_419_failures_leave_the_goodput_open_by_a_point() -> None:
    """The exact 95 % interval of 419 failures in 54 days is 2.811 h to 3.412 h; interval and goodput follow from it."""
    known = _planned("{interruptions: {count: 419, over: 54 d}}").evidence
    assert known is not None
    assert known.mtbf_low_s == pytest.approx(2.810634096 * 3600)
    assert known.mtbf_high_s == pytest.approx(3.411999537 * 3600)
    assert known.interval_low_s == pytest.approx(float(exact_interval(60.0, known.mtbf_low_s)))
    assert known.goodput_high == pytest.approx(
        float(exact_goodput(known.interval_high_s, 60.0, known.mtbf_high_s, restart=600.0))
    )
    assert 0.015 < known.goodput_high - known.goodput_low < 0.03


def test_nine_failures_leave_five_points_open_and_the_interval_hardly_matters() -> None:
    """Nine failures leave five points of goodput open, but not knowing the MTBF better costs a tenth of a point."""
    known = _planned("{interruptions: {count: 9, over: 5 d}}").evidence
    assert known is not None
    assert known.goodput_high is not None
    assert known.goodput_high - known.goodput_low > 0.05
    assert 0 < known.expected_loss < 0.002


def test_counting_until_a_failure_has_another_limit() -> None:
    """Where counting stopped at the ninth failure, the lower limit of the MTBF is that of 18 degrees of freedom."""
    known = _planned("{interruptions: {count: 9, over: 5 d, until: failure}}").evidence
    assert known is not None
    assert known.mtbf_low_s == pytest.approx(2 * 5 * _DAY / stats.chi2.ppf(0.975, 18))


def test_no_failure_gives_a_lower_bound_only() -> None:
    """Without a failure the MTBF is above t / 2.9957 at 95 %, has no upper limit, and the plan says that it guesses."""
    made = _planned("{interruptions: {count: 0, over: 500 h}}")
    known = made.evidence
    assert known is not None
    assert known.mtbf_low_s == pytest.approx(166.9041003 * 3600)
    assert (known.mtbf_high_s, known.interval_high_s, known.goodput_high) == (None, None, None)
    assert any("no failure was counted: the MTBF is above 167 h" in text for text in made.warnings)
    assert made.failures.mtbf_s == pytest.approx(1000 * 3600)


def test_a_prior_moves_the_posterior_interval() -> None:
    """With a prior worth two failures at 10 h, three failures in 100 h give the rate 5 / 120 h."""
    prior = "prior: {shape: 2, mtbf_per_gpu: 163840 h}"
    known = _planned(f"{{interruptions: {{count: 3, over: 100 h}}, {prior}}}").evidence
    assert known is not None
    assert known.posterior_mtbf_s == pytest.approx(120 / 5 * 3600)
    assert known.posterior_interval_s == pytest.approx(float(exact_interval(60.0, 24 * 3600)))


@pytest.mark.parametrize("count", [1, 3, 30])
def test_the_expected_loss_is_the_mean_over_the_posterior(count: int) -> None:
    """The loss agrees with 200,000 draws of the rate within four standard errors and the 0.3 % of its quadrature."""
    made = _planned(f"{{interruptions: {{count: {count}, over: 10 d}}}}")
    known = made.evidence
    assert known is not None
    rates = np.random.default_rng(1).gamma(count + 0.5, 1 / (10 * _DAY), 200_000)
    best = exact_goodput(exact_interval(60.0, 1 / rates), 60.0, 1 / rates, restart=600.0)
    loss = best - exact_goodput(known.posterior_interval_s, 60.0, 1 / rates, restart=600.0)
    error = loss.std() / np.sqrt(loss.size)
    assert abs(known.expected_loss - loss.mean()) < 4 * error + 0.003 * loss.mean()


def test_the_expected_loss_is_the_first_order_one_for_short_stalls() -> None:
    """For a stall of 1 ms it is the closed form of first order, to its own order."""
    made = _planned("{interruptions: {count: 9, over: 100 d}}", "save[0].stall=1 ms", "restart.total=0 s")
    known = made.evidence
    assert known is not None
    first_order = float(posterior_regret(1e-3, 9, 100 * _DAY).overhead)
    assert known.expected_loss == pytest.approx(first_order, rel=0.01)


def test_a_rate_without_a_count_has_no_evidence() -> None:
    """An MTBF that is simply given says nothing of how well it is known."""
    assert _planned("{mtbf: 3 h}").evidence is None

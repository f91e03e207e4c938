"""What a count of failures leaves open, in a plan."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ckptplan.cost.scenario import Evidence, Failures, Law, LawName
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.regret import posterior_regret
from ckptplan.load import load
from ckptplan.plan import Plan, plan
from ckptplan.plan.case import cases_of
from ckptplan.plan.evidence import evidence_facts

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


_BUFFERS = "save=[{mode: asynchronous, stall: 1 s, flush: 4000 s, in_flight: 8}]"
_COPIES = "save=[{mode: asynchronous, stall: 60 s, flush: 600 s}]"


@pytest.mark.parametrize(
    ("sets", "count"),
    [
        ((_BUFFERS,), 9),
        ((_COPIES, "failures.host_copy_survives=0.6"), 9),
        (("failures.law={name: weibull, shape: 3}",), 900),
        (("failures.law={name: weibull, shape: 0.6}",), 9),
    ],
)
def test_the_expected_loss_knows_buffers_copies_and_laws(sets: tuple[str, ...], count: int) -> None:
    """The loss agrees with its mean over 400 draws of the rate, each planned on its own."""
    first = [one for one in sets if one.startswith("save")] or ["save=[{mode: sharded, stall: 60 s}]"]
    rest = [one for one in sets if not one.startswith("save")]
    failures = f"failures={{interruptions: {{count: {count}, over: 30 d}}}}"
    spec = load("llama3-405b", sets=[failures, "storage={read_bandwidth: 2 TB/s}", "training={}", *first, *rest])
    case = cases_of(spec.scenario)[0]
    evidence = spec.scenario.failures.evidence
    assert evidence is not None
    known = evidence_facts(case, evidence)
    rates = np.random.default_rng(2).gamma(count + 0.5, 1 / (30 * _DAY), 400)
    truths = [case._replace(mtbf_s=1 / rate) for rate in rates]
    best = np.array([truth.goodput(truth.optimum(case.method)) for truth in truths])
    loss = best - np.array([truth.goodput(known.posterior_interval_s) for truth in truths])
    assert loss.mean() > 0
    assert abs(known.expected_loss - loss.mean()) < 4 * loss.std() / 20 + 0.003 * loss.mean()


def test_recorded_gaps_are_evidence_of_their_mean() -> None:
    """A record of ten gaps is a count of ten until the last failure."""
    failures = Failures(9000.0 * 64, "recorded gaps", Evidence(10, 90_000.0 * 64, until_failure=True))
    known = evidence_facts(cases_of(load("llama3-405b").scenario)[0]._replace(gpus=64), failures.evidence)
    assert known.mtbf_low_s == pytest.approx(2 * 90_000.0 / stats.chi2.ppf(0.975, 20))


def test_a_warning_quotes_the_exact_interval() -> None:
    """Few failures are warned of with the interval that they leave, and a given prior is not asked for again."""
    (warning,) = [w for w in _planned("{interruptions: {count: 9, over: 30 d}}").warnings if "only 9" in w]
    assert "lies between 42.1 h and 175 h (95 %)" in warning
    prior = "prior: {shape: 1, mtbf_per_gpu: 50000 h}"
    (warning,) = [
        w for w in _planned(f"{{interruptions: {{count: 0, over: 30 d}}, {prior}}}").warnings if "no failure" in w
    ]
    assert "write a prior" not in warning


def test_a_given_prior_counts_in_the_plan_itself() -> None:
    """With a prior, every further failure shortens the interval; without one, the plan takes the most likely MTBF."""
    prior = "prior: {shape: 2, mtbf_per_gpu: 50000 h}"
    planned = [
        _planned(f"{{interruptions: {{count: {count}, over: 30 d}}, {prior}}}").best.interval_s for count in range(6)
    ]
    assert planned == sorted(planned, reverse=True)
    assert _planned("{interruptions: {count: 3, over: 30 d}}").failures.mtbf_s == pytest.approx(10 * _DAY)


def test_recorded_gaps_leave_an_ordered_range() -> None:
    """The interval range of a record is that of its mean: the best interval of the gaps themselves jumps with it."""
    case = cases_of(load("llama3-405b").scenario)[0]
    case = case._replace(mtbf_s=19_800.0, law=Law(LawName.RECORDED, gaps_s=(18_000.0, 21_600.0)))
    known = evidence_facts(case, Evidence(2, 39_600.0 * case.gpus, until_failure=True))
    assert known.interval_high_s is not None
    assert known.interval_low_s < known.interval_high_s
    assert known.law_differs

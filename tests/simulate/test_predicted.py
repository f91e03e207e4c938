from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from ckptplan.errors import InputError
from ckptplan.simulate import standard_errors
from ckptplan.simulate.predicted import Predicted, simulate_predicted

BASE = Predicted(900.0, 100.0, 4000.0, 0.6, 0.5, 80.0, recovery_s=300.0)


def test_same_seed_same_result():
    """A seed fixes the result; another one gives another, within its standard errors."""
    first, again, other = (simulate_predicted(BASE, failures=50_000, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert abs(first.goodput - other.goodput) < 4 * np.hypot(first.goodput_error, other.goodput_error)
    assert first.goodput != other.goodput


def test_standard_errors_are_right():
    """Over 100 seeds the scatter of the goodput is its standard error, within 25 %."""
    runs = [simulate_predicted(BASE, failures=20_000, seed=seed) for seed in range(100)]
    scatter = np.std([run.goodput for run in runs], ddof=1)  # known to 7 %
    assert scatter == pytest.approx(np.mean([run.goodput_error for run in runs]), rel=0.25)


def test_predictions_have_the_given_recall_and_precision():
    """There are r/p predictions per failure; the policy does not change what happens, only what is done."""
    run = simulate_predicted(BASE, failures=400_000)
    never = simulate_predicted(BASE._replace(trust_after_s=np.inf), failures=400_000)
    assert (run.failures, run.predictions) == (never.failures, never.predictions)
    # Predictions per failure: 0.6 binomial, and 0.6 false alarms, geometric.
    error = np.sqrt((0.6 * 0.4 + 0.6 * 1.6) / run.failures)
    assert abs(run.predictions / run.failures - 1.2) < 4 * error
    assert never.trusted == 0
    assert 0 < run.trusted < run.predictions


@pytest.mark.parametrize("trust_after", [None, 400.0, np.inf])
@pytest.mark.parametrize(("recall", "proactive"), [(0.0, 80.0), (0.5, 80.0), (1.0, 80.0), (1.0, 300.0), (0.7, 0.0)])
def test_exact_without_false_alarms(recall, proactive, trust_after):
    """With precision 1 every stretch between failures is on schedule: the goodput is an integral over the gap."""
    p = BASE._replace(
        recall=recall, precision=1.0, proactive_stall_s=proactive, stall_s=100.0, trust_after_s=trust_after
    )
    W, P, M = p.interval_s, p.interval_s + p.stall_s, p.mtbf_s
    after = proactive if trust_after is None else trust_after
    saved = W / np.expm1(P / M)
    # Place of a failure in its period: exponential, cut off at P.
    low, high = min(after, P), min(P, W + proactive)
    phase = lambda x: np.exp(-x / M) / M / -np.expm1(-P / M)  # noqa: E731
    proactive_work = integrate.quad(lambda x: (x - proactive) * phase(x), low, high)[0] if low < high else 0.0
    exact = (saved + recall * proactive_work) / (M + p.recovery_s)
    run = simulate_predicted(p, failures=200_000, seed=3)
    assert abs(standard_errors(run.goodput, run.goodput_error, exact)) < 4


def _played(p: Predicted, failures: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Work saved and wall time per failure, as plainly as can be: announcements first, then save by save."""
    after = p.proactive_stall_s / p.precision if p.trust_after_s is None else p.trust_after_s
    false_mean = p.mtbf_s / (p.recall * (1 / p.precision - 1))
    useful, wall = np.zeros(failures), np.zeros(failures)
    for n in range(failures):
        fails_at = rng.exponential(p.mtbf_s)
        instants = list(np.cumsum(rng.exponential(false_mean, rng.poisson(fails_at / false_mean) + 60)))
        instants = [t for t in instants if t < fails_at]
        if rng.random() < p.recall:
            instants.append(fails_at)
        now, last_save, in_period, kept, done = 0.0, 0.0, 0.0, 0.0, 0.0
        while True:  # training is at work at ``now``, with ``in_period`` behind it
            saving_at = now + p.interval_s - in_period
            acts = [t for t in instants if t - last_save > after and now <= t - p.proactive_stall_s <= saving_at]
            acts = [t for t in acts if t - p.proactive_stall_s >= last_save][:1]
            if acts:
                begin, end, period_ends = acts[0] - p.proactive_stall_s, acts[0], False
            else:
                begin, end, period_ends = saving_at, saving_at + p.stall_s, True
            if end > fails_at:
                break
            done += begin - now
            in_period = 0.0 if period_ends else in_period + begin - now
            kept, now, last_save = done, end, end
            if now >= fails_at:
                break
        useful[n], wall[n] = kept, fails_at + p.recovery_s
    return useful, wall


@pytest.mark.parametrize(
    "process",
    [BASE, BASE._replace(precision=0.2, recall=0.9), BASE._replace(proactive_stall_s=30.0, trust_after_s=200.0)],
)
def test_against_playing_it_out(process):
    """With false alarms, goodput agrees with a plain loop over 15,000 failures that plays each save."""
    useful, wall = _played(process, 15_000, np.random.default_rng(7))
    goodput = useful.sum() / wall.sum()
    error = np.std(useful - goodput * wall) / np.sqrt(wall.size) / wall.mean()
    run = simulate_predicted(process, failures=1_000_000, seed=8)
    assert run.goodput_error < error / 4
    assert abs(goodput - run.goodput) < 4 * np.hypot(error, run.goodput_error)


@pytest.mark.parametrize(
    ("process", "message"),
    [
        (BASE._replace(interval_s=0.0), "interval_s must be a positive number of seconds; got 0"),
        (BASE._replace(stall_s=-1.0), "stall_s must be a number of seconds, not negative; got -1"),
        (BASE._replace(recall=1.1), "recall must lie between 0 and 1; got 1.1"),
        (BASE._replace(precision=0.0), "precision must be above 0 and at most 1; got 0"),
        (BASE._replace(trust_after_s=79.0), "trust_after_s must be at least the proactive save of 80 s; got 79"),
    ],
)
def test_bad_processes(process, message):
    """A process without meaning is refused in one sentence."""
    with pytest.raises(InputError, match=message):
        simulate_predicted(process)
    with pytest.raises(InputError, match="number of failures"):
        simulate_predicted(BASE, failures=1)

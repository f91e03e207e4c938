from __future__ import annotations

import heapq
import itertools

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.simulate import law, standard_errors
from ckptplan.simulate.pool import Constant, Failing, Mode, Pool, simulate_pool

SPARE = Pool(1e-3, law("exponential", 1000.0), spares=1)


def test_same_seed_same_result():
    """A seed fixes the result; another one gives another, within its standard errors."""
    first, again, other = (simulate_pool(SPARE, chains=200, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.waiting != other.waiting
    error = np.hypot(first.waiting.error, other.waiting.error)
    assert abs(first.waiting.value - other.waiting.value) < 4 * error


def test_standard_errors_are_right():
    """Over 60 seeds the scatter of each estimate is its standard error, within 30 %."""
    runs = [simulate_pool(SPARE._replace(restart_s=50.0), repairs=100, chains=60, seed=seed) for seed in range(60)]
    for values, errors in (
        ([run.waiting.value for run in runs], [run.waiting.error for run in runs]),
        ([run.throughput.value for run in runs], [run.throughput.error for run in runs]),
        ([run.mean_wait_s for run in runs], [run.mean_wait_error_s for run in runs]),
    ):
        assert np.std(values, ddof=1) == pytest.approx(np.mean(errors), rel=0.3)  # 60 values know theirs to 9 %


def test_without_spares_each_wait_is_a_repair():
    """Repairs of a constant time and no spare: each wait lasts just that, and the rest of the time is work."""
    run = simulate_pool(Pool(1e-3, Constant(500.0)), repairs=400, chains=100)
    # Waits that the window cuts off at its two ends are the only ones not whole.
    assert run.mean_wait_s == pytest.approx(500.0, rel=1 / 200)
    assert run.waits == run.failures
    assert run.throughput.value + run.waiting.value == pytest.approx(1.0, rel=1e-12)


def test_all_time_is_booked():
    """Without spares, work, waits and one restart per failure are all of wall time, whichever law repairs have."""
    for repair in (Constant(500.0), law("lognormal", 500.0, 1.0)):
        run = simulate_pool(Pool(1e-3, repair, restart_s=200.0), repairs=2000, chains=200)
        restarts = run.failures * 200.0 / (200 * 2000 * 500.0)
        # A restart that an end of the window cuts off is counted whole or not at all.
        assert run.throughput.value + run.waiting.value + restarts == pytest.approx(1.0, abs=1e-4)


def test_enough_spares_never_wait():
    """With more spares than nodes can be down the job works all the time; there is no mean wait."""
    run = simulate_pool(Pool(0.03, law("exponential", 1000.0), spares=100), repairs=20, chains=100)
    assert run.waiting == (0.0, 0.0)
    assert run.throughput.value == pytest.approx(1.0, rel=1e-12)
    assert np.isnan(run.mean_wait_s)
    # About 30 nodes are down at a time: more than the rows that the state begins with.
    assert run.failures == pytest.approx(0.03 * 1000 * 20 * 100, rel=0.02)


def _played(pool: Pool, end: float, rng: np.random.Generator) -> tuple[float, float]:
    """One chain by a queue of events, as plainly as can be: share of work, share of waits."""
    now, down, worked, waited = 0.0, 0, 0.0, 0.0
    pending, repairs, draw = 0.0, [], np.empty(1)
    to_failure = rng.exponential(1 / pool.failure_rate_per_s)
    while now < end:
        missing = max(down - pool.spares, 0)
        size = 1 - missing / pool.nodes if pool.mode is Mode.SHRINK else float(missing == 0)
        to_repair = repairs[0] - now if repairs else np.inf
        to_stop_end = pending if size > 0.0 and pending > 0.0 else np.inf
        works = size > 0.0 and pending == 0.0
        step = min(to_repair, to_stop_end, to_failure if works else np.inf)
        waited += step if size == 0.0 else 0.0
        worked += step * size if works else 0.0
        if step == to_repair:
            now = heapq.heappop(repairs)
            pending -= step if to_stop_end < np.inf else 0.0
            pending += pool.reshard_s if pool.mode is Mode.SHRINK and missing else 0.0
            to_failure -= step if works else 0.0
            down -= 1
        elif step == to_stop_end:
            now, pending = now + step, 0.0
        else:
            now += step
            pending = pool.restart_s + (pool.reshard_s if down >= pool.spares else 0.0)
            down += 1
            pool.repair.fill(rng, draw)
            heapq.heappush(repairs, now + float(draw[0]))
            to_failure = rng.exponential(1 / pool.failure_rate_per_s)
    return worked / now, waited / now


@pytest.mark.parametrize(
    "pool",
    [
        Pool(1e-3, law("gamma", 900.0, 0.5), 1, 3, Mode.SHRINK, restart_s=150.0, reshard_s=80.0),
        Pool(2e-3, Constant(1200.0), 0, 2, Mode.SHRINK, restart_s=100.0, reshard_s=200.0),
        Pool(2e-3, law("exponential", 1200.0), 2, restart_s=300.0),
    ],
)
def test_against_a_queue_of_events(pool):
    """Shrinking and waiting, stops included, agree with a plain event loop over 10,000 failures or so."""
    rng = np.random.default_rng(11)
    chains = np.array([_played(pool, 400_000.0, rng) for _ in range(40)])
    run = simulate_pool(pool, repairs=300, chains=500, seed=12)
    error = chains.std(axis=0, ddof=1) / np.sqrt(len(chains))
    for n, share in enumerate((run.throughput, run.waiting)):
        assert share.error < error[n]
        assert abs(chains[:, n].mean() - share.value) < 4 * np.hypot(error[n], share.error)


def test_idle_spares_do_not_stop_the_job():
    """Where all nodes fail, only failures of nodes in use take a restart: half of them with as many spares as nodes."""
    pool = Pool(1e-4, law("exponential", 100.0), spares=4, nodes=4, failing=Failing.ALWAYS, restart_s=100.0)
    run = simulate_pool(pool, repairs=20_000, chains=100)
    lost = 1 - run.throughput.value - run.waiting.value
    assert run.failures * 100.0 / (100 * 20_000 * 100.0) == pytest.approx(2 * lost, rel=0.05)


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (SPARE._replace(failure_rate_per_s=0.0), "failure_rate_per_s must be a positive number; got 0"),
        (SPARE._replace(repair=Constant(-1.0)), "the mean repair must be a positive number; got -1"),
        (SPARE._replace(spares=1.5), "spares must be a whole number of at least 0; got 1.5"),
        (SPARE._replace(nodes=0), "nodes must be a whole number of at least 1; got 0"),
        (SPARE._replace(restart_s=-1.0), "restart_s must be a number of seconds, not negative"),
        (SPARE._replace(reshard_s=5.0), "a job that waits does not reshard"),
        (SPARE._replace(mode="shrink", failing="always"), "shrinking is simulated for nodes that fail while"),
    ],
)
def test_bad_pools(pool, message):
    """A pool without meaning is refused in one sentence."""
    with pytest.raises(InputError, match=message):
        simulate_pool(pool)


def test_bad_length():
    """So is a simulation without length or without a spread."""
    for repairs, chains in itertools.product((0.0, 10.0), (1, 2.5)):
        with pytest.raises(InputError, match="repairs must be a positive number, and chains a whole number"):
            simulate_pool(SPARE, repairs=repairs, chains=chains)


def test_names_are_read():
    """Mode and time of failing may be given by name."""
    run = simulate_pool(SPARE._replace(mode="wait", failing="run"), chains=100)
    assert run.pool.failing is Failing.RUN
    assert abs(standard_errors(*run.waiting, 0.2)) < 4  # Erlang-B of two servers at load 1

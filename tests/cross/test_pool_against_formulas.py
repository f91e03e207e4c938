"""The node pool, simulated, against Erlang-B, the binomial law and the truncated Poisson law."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from ckptplan.cost.scenario import Strike
from ckptplan.interval.elastic import break_even_repair, elastic_or_wait, elastic_throughput
from ckptplan.interval.recovery import recovery_factor
from ckptplan.interval.spares import (
    goodput_with_waits,
    node_unavailability,
    spare_shortage_binomial,
    spare_wait_fraction,
)
from ckptplan.simulate import law, standard_errors
from ckptplan.simulate.pool import Constant, Pool, simulate_pool

LARGEST_Z = 4.0
LAM = 8.98069151325e-05
REPAIR = 1000.0
LAWS = (
    law("exponential", REPAIR),
    Constant(REPAIR),
    law("weibull", REPAIR, 0.7),
    law("gamma", REPAIR, 3.0),
    law("lognormal", REPAIR, 1.0),
)


def _judge(z):
    """The grid as a whole: no setting far off, no bias, and the sum of squares what independent errors make it."""
    low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], len(z))
    assert np.max(np.abs(z)) <= LARGEST_Z
    assert abs(np.mean(z)) <= LARGEST_Z / np.sqrt(len(z))
    assert low <= np.sum(np.square(z)) <= high


@pytest.fixture(scope="module")
def waiting():
    """Jobs that wait: 0 to 4 spares, light to heavy load, five laws of repair; failures also strike restarts."""
    runs = []
    for seed, (S, part, repair) in enumerate(itertools.product((0, 1, 4), (0.4, 0.8, 1.6), LAWS)):
        load = part * (S + 1)
        pool = Pool(load / REPAIR, repair, S, failing="run", restart_s=40.0)
        runs.append(simulate_pool(pool, repairs=20 + 120 / load, seed=seed))
    return runs


def test_wait_fraction_for_any_law_of_repair(waiting):
    """The share of time spent waiting is Erlang-B of S + 1 servers, whichever law repairs have."""
    exact = [spare_wait_fraction(run.pool.spares, run.pool.failure_rate_per_s, REPAIR).wait_fraction for run in waiting]
    _judge([standard_errors(*run.waiting, float(B)) for run, B in zip(waiting, exact, strict=True)])
    assert max(run.waiting.error for run in waiting) < 3e-3


def test_mean_wait_for_any_law_of_repair(waiting):
    """The mean wait is a repair over S + 1, whichever law repairs have."""
    z = [standard_errors(r.mean_wait_s, r.mean_wait_error_s, REPAIR / (r.pool.spares + 1)) for r in waiting]
    _judge(z)
    assert max(run.mean_wait_error_s / run.mean_wait_s for run in waiting) < 0.02


def test_goodput_with_waits(waiting):
    """Throughput is the goodput without waits times the share of time without them."""
    z = []
    for run in waiting:
        rate, S = run.pool.failure_rate_per_s, run.pool.spares
        goodput = 1.0 / recovery_factor(1 / rate, 0, run.pool.restart_s, Strike.DR)
        predicted = goodput_with_waits(goodput, spare_wait_fraction(S, rate, REPAIR).wait_fraction)
        z.append(standard_errors(*run.throughput, float(predicted)))
    _judge(z)


def test_reference_pool():
    """One spare, 3,888 s per repair, 3.09 h between failures: 4.32 % of the time is spent waiting, to 1e-3."""
    run = simulate_pool(Pool(LAM, law("exponential", 3888.0), spares=1))
    assert abs(standard_errors(*run.waiting, 0.043229804)) <= LARGEST_Z
    assert run.waiting.error < 5e-4
    assert abs(standard_errors(run.mean_wait_s, run.mean_wait_error_s, 1944.0)) <= LARGEST_Z


def test_all_nodes_fail():
    """Where spares fail like nodes in use, the wait is that of the binomial law, whichever law repairs have."""
    z = []
    grid = itertools.product((1, 4, 16), (0, 2), (0.05, 0.2), LAWS[::2])
    for seed, (nodes, spares, each, repair) in enumerate(grid, start=100):
        mtbf = REPAIR * nodes / (each * (nodes + spares) * (spares + 1))
        q = node_unavailability(REPAIR, mtbf)
        pool = Pool(nodes / mtbf, repair, spares, nodes, failing="always")
        run = simulate_pool(pool, repairs=40, chains=500, seed=seed)
        z.append(standard_errors(*run.waiting, float(spare_shortage_binomial(nodes, spares, q))))
    _judge(z)


def test_reference_of_all_nodes():
    """128 nodes needed, 2 spares, each down 1 % of the time: short 14.2 % of it."""
    run = simulate_pool(Pool(128 / 99, Constant(1.0), 2, 128, failing="always"), repairs=100)
    assert abs(standard_errors(*run.waiting, 0.1420728208)) <= LARGEST_Z
    assert run.waiting.error < 1.5e-3


def test_shrinking_without_stops():
    """Free restarts and reshards: throughput is that of the truncated Poisson law, whichever law repairs have."""
    z = []
    for seed, (S, G, load, repair) in enumerate(itertools.product((0, 2), (2, 8), (0.5, 2.0), LAWS[1::2]), start=300):
        rate = load * (S + 1) / REPAIR
        run = simulate_pool(Pool(rate, repair, S, G, "shrink"), repairs=40, chains=500, seed=seed)
        predicted = elastic_throughput(rate, S, G, REPAIR, reshard=0, restart=0)
        z.append(standard_errors(*run.throughput, float(predicted)))
    _judge(z)


def test_reference_of_shrinking():
    """One spare, 16 replicas, 6,000 s per repair: within 3e-3 for any law of repair, and the formula is the lower."""
    predicted = float(elastic_throughput(LAM, 1, 16, 6000, reshard=120, restart=300))
    for repair in (law("exponential", 6000.0), Constant(6000.0), law("lognormal", 6000.0, 1.0)):
        run = simulate_pool(Pool(LAM, repair, 1, 16, "shrink", restart_s=300, reshard_s=120))
        assert run.throughput.error < 2e-4
        assert -LARGEST_Z * run.throughput.error < run.throughput.value - predicted
        assert abs(run.throughput.value / predicted - 1) + LARGEST_Z * run.throughput.error < 3e-3


def test_shrinking_is_not_flattered():
    """With stops the formula errs low, by no more than 3 %, and less for shorter stops."""
    for S, G, rate in itertools.product((0, 3), (4, 16), (LAM, 4 * LAM)):
        error = []
        for stops in (1.0, 0.1):
            reshard, restart = 120 * stops, 300 * stops
            pool = Pool(rate, law("exponential", 3000.0), S, G, "shrink", restart_s=restart, reshard_s=reshard)
            run = simulate_pool(pool, repairs=100)
            predicted = float(elastic_throughput(rate, S, G, 3000, reshard=reshard, restart=restart))
            assert run.throughput.value - predicted > -LARGEST_Z * run.throughput.error
            error.append((run.throughput.value / predicted - 1, LARGEST_Z * run.throughput.error))
        assert error[0][0] < 0.033 + error[0][1]
        assert error[1][0] < 0.0033 + error[1][1]  # a tenth: the error is of first order in the stops


def test_which_way_does_more():
    """Well below the break-even repair waiting does more, well above shrinking does, as the formulas say."""
    rate, S, G, reshard = 5e-4, 0, 4, 300.0
    mean = float(break_even_repair(rate, S, G, reshard=reshard, restart=60.0))
    for factor, shrink in ((0.3, False), (3.0, True)):
        repair = law("exponential", mean * factor)
        elastic = simulate_pool(Pool(rate, repair, S, G, "shrink", restart_s=60.0, reshard_s=reshard)).throughput
        wait = simulate_pool(Pool(rate, repair, S, restart_s=60.0), seed=1).throughput
        difference, error = elastic.value - wait.value, np.hypot(elastic.error, wait.error)
        assert (difference > LARGEST_Z * error) if shrink else (difference < -LARGEST_Z * error)
        assert elastic_or_wait(rate, S, G, mean * factor, reshard=reshard, restart=60.0).shrink == shrink
